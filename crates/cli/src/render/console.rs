//! The terminal: lines that were printed, and below them a few that are drawn anew.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::screen::{self, Raw, Size};
use super::style::{clipped, shown_width};

/// The lines at the bottom of this process's terminal. There is one terminal, and whoever prints to it (the run, the log, a
/// complaint) must know what stands there.
static BOTTOM: LazyLock<Bottom> = LazyLock::new(Bottom::default);

/// The lines that are drawn anew. A handle, cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bottom(Arc<Mutex<Drawn>>);

#[derive(Debug, Default)]
struct Drawn {
    lines: Vec<String>,
    /// How wide the terminal was then.
    columns: usize,
}

/// Draws on a terminal.
pub(crate) struct Console<W> {
    out: W,
    bottom: Bottom,
    size: Box<dyn Fn() -> Size + Send>,
}

impl Console<Raw> {
    /// Draws on this process's terminal.
    pub(crate) fn here() -> Self {
        Self { out: screen::raw(), bottom: BOTTOM.clone(), size: Box::new(screen::size) }
    }
}

impl<W: Write> Console<W> {
    /// Draws through `out` on something of its own.
    #[cfg(test)]
    pub(crate) fn of_size(out: W, size: impl Fn() -> Size + Send + 'static) -> Self {
        Self { out, bottom: Bottom::default(), size: Box::new(size) }
    }

    /// The size of the terminal as it is now.
    pub(crate) fn size(&self) -> Size {
        (self.size)()
    }

    /// Prints `above` for good, and `live` below it until the next frame. One write at most.
    pub(crate) fn frame(&mut self, above: &[String], live: &[String]) {
        let Size { columns, rows } = self.size();
        // What has scrolled away cannot be drawn anew.
        let live = &live[live.len().saturating_sub(rows.saturating_sub(1).max(1))..];
        // In the last column a terminal is undecided about the next line.
        let live: Vec<String> =
            live.iter().map(|line| clipped(&screen::line(line), columns.saturating_sub(1))).collect();
        let above: Vec<String> = above.iter().map(|line| screen::line(line)).collect();
        let bytes = self.bottom.lock().change(&above, live, columns);
        if !bytes.is_empty() {
            // A terminal that went away must not stop the turn; the end of the run finds out.
            let _ = self.out.write_all(bytes.as_bytes()).and_then(|()| self.out.flush());
        }
    }
}

impl Bottom {
    fn lock(&self) -> MutexGuard<'_, Drawn> {
        // Each use leaves it whole, so a panic elsewhere does no harm to it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drawn {
    /// What brings the terminal from what is drawn to `live` below `above`; empty if that is nothing.
    fn change(&mut self, above: &[String], live: Vec<String>, columns: usize) -> String {
        let still = above.is_empty() && columns == self.columns;
        if above.is_empty() && live.is_empty() && self.lines.is_empty() || still && live == self.lines {
            return String::new();
        }
        let upper = |lines: &[String]| lines.len().saturating_sub(1);
        let mut bytes = String::new();
        if still
            && !live.is_empty()
            && live.len() == self.lines.len()
            && live[..upper(&live)] == self.lines[..upper(&live)]
        {
            bytes.push_str("\r\u{1b}[2K");
            live.last().into_iter().for_each(|last| bytes.push_str(last));
        } else {
            bytes.push_str(&self.erased(columns));
            for line in above {
                bytes.push_str(line);
                bytes.push('\n');
            }
            bytes.push_str(&live.join("\n"));
        }
        (self.lines, self.columns) = (live, columns);
        bytes
    }

    /// What takes the drawn lines away from a terminal that is `columns` wide by now, and leaves the cursor where they
    /// began.
    fn erased(&self, columns: usize) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        // A terminal that became narrower has broken lines that no longer fit.
        let rows: usize = self.lines.iter().map(|line| shown_width(line).div_ceil(columns.max(1)).max(1)).sum();
        match rows - 1 {
            0 => "\r\u{1b}[J".to_owned(),
            up => format!("\r\u{1b}[{up}A\u{1b}[J"),
        }
    }
}

/// Prints `text`, which ends with a line end, to stderr, above what is drawn at the bottom of the terminal.
pub(crate) fn print_beside(text: &str) {
    let drawn = BOTTOM.lock();
    // Nobody there to read it is no error.
    let _ = match drawn.lines.is_empty() || !screen::errors_are_terminal() {
        true => screen::beside("", text, ""),
        false => screen::beside(&drawn.erased(screen::size().columns), text, &drawn.lines.join("\n")),
    };
}

/// Takes what is drawn off the terminal, if something still is: the program ends.
pub(crate) fn leave() {
    let mut drawn = BOTTOM.lock();
    let erased = drawn.erased(screen::size().columns);
    drawn.lines.clear();
    drop(drawn);
    if !erased.is_empty() {
        let _ = screen::erase(&erased);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    /// What a person sees on a terminal of 5 rows, its history included, after frames of `columns`, above and below.
    #[track_caller]
    fn check(frames: &[(usize, &[&str], &[&str])], want: &str) {
        let mut drawn = Drawn::default();
        let rows = std::num::NonZeroU16::new(5).unwrap();
        let width = |columns: usize| std::num::NonZeroU16::new(columns.try_into().unwrap()).unwrap();
        let mut screen = vt100::Parser::new(rows, width(frames[0].0), 1000);
        for (columns, above, live) in frames {
            let bytes = drawn.change(&lines(above), lines(live), *columns);
            screen.process(bytes.replace('\n', "\r\n").as_bytes());
        }
        assert_eq!(screen.screen().contents(), want);
    }

    #[test]
    fn what_is_live_is_replaced_and_what_is_printed_stays() {
        check(&[(20, &[], &["one", "two"]), (20, &[], &["three"])], "three");
        check(&[(20, &["a"], &["one", "two"]), (20, &["b", "c"], &["x"])], "a\nb\nc\nx");
        check(&[(20, &["a"], &["one", "two"]), (20, &[], &["one", "2"])], "a\none\n2");
        check(&[(20, &["a"], &["one"]), (20, &[], &[])], "a");
        check(&[(20, &["a"], &["one"]), (20, &[], &[]), (20, &["b"], &[])], "a\nb");
    }

    #[test]
    fn a_frame_that_changes_nothing_writes_nothing() {
        let mut drawn = Drawn::default();
        assert_eq!(drawn.change(&[], Vec::new(), 20), "");
        assert_eq!(drawn.change(&[], lines(&["a", "b"]), 20), "a\nb");
        assert_eq!(drawn.change(&[], lines(&["a", "b"]), 20), "");
        assert_eq!(drawn.change(&[], lines(&["a", "c"]), 20), "\r\u{1b}[2Kc", "a line that turns costs one line");
    }

    #[test]
    fn a_terminal_that_became_narrower_has_more_rows() {
        let mut drawn = Drawn::default();
        drawn.change(&[], lines(&["0123456789", "x"]), 20);
        assert_eq!(drawn.erased(20), "\r\u{1b}[1A\u{1b}[J");
        assert_eq!(drawn.erased(4), "\r\u{1b}[3A\u{1b}[J");
        assert_eq!(drawn.erased(0), "\r\u{1b}[10A\u{1b}[J");
    }

    #[test]
    fn no_live_line_is_as_wide_as_the_terminal() {
        let mut console = Console::of_size(Vec::new(), || Size { columns: 10, rows: 5 });
        console.frame(&[], &lines(&["0123456789abc"]));
        assert_eq!(console.out, b"012345678");
    }

    #[test]
    fn no_more_is_live_than_fits() {
        let mut console = Console::of_size(Vec::new(), || Size { columns: 10, rows: 3 });
        console.frame(&[], &lines(&["a", "b", "c", "d"]));
        assert_eq!(console.out, b"c\nd");
    }
}
