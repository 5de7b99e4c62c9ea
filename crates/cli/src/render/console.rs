//! The terminal: lines that were printed, and below them a few that are drawn anew.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::screen::{self, Raw, Size};
use super::style::{clipped, folded, shown_width};

/// The lines at the bottom of this process's terminal. There is one terminal, and whoever prints to it (the run, the log, a
/// complaint) must know what stands there.
static BOTTOM: LazyLock<Bottom> = LazyLock::new(Bottom::default);

/// The lines that are drawn anew. A handle, cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bottom(Arc<Mutex<Drawn>>);

#[derive(Debug, Default)]
struct Drawn {
    live: Vec<String>,
    foot: Foot,
    /// How wide the terminal was then.
    columns: usize,
}

/// What stands below everything else: the line that a person types, with the cursor in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Foot {
    /// Each fits into the terminal.
    pub lines: Vec<String>,
    /// The line that the cursor is in, counted from 0.
    pub row: usize,
    /// How many columns stand before the cursor in it.
    pub column: usize,
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
        let mut bottom = self.bottom.lock();
        // What has scrolled away cannot be drawn anew.
        let room = rows.saturating_sub(1 + bottom.foot.lines.len()).max(1);
        let live = fitting(&live[live.len().saturating_sub(room)..], columns);
        let above: Vec<String> = above.iter().map(|line| screen::line(line)).collect();
        let foot = bottom.foot.clone();
        let bytes = bottom.change(&above, live, foot, columns);
        drop(bottom);
        self.write(&bytes);
    }

    /// Keeps `foot` below everything else until the next call; nothing in it takes it away. Of more lines than the
    /// terminal has, those around the cursor are shown.
    pub(crate) fn foot(&mut self, foot: &Foot) {
        let Size { columns, rows } = self.size();
        let room = rows.saturating_sub(1).max(1);
        let first = foot.row.saturating_sub(room - 1);
        let last = foot.lines.len().min(first + room);
        let lines = fitting(foot.lines.get(first..last).unwrap_or_default(), columns);
        let foot = Foot { lines, row: foot.row.saturating_sub(first), column: foot.column };
        let mut bottom = self.bottom.lock();
        let kept = rows.saturating_sub(1 + foot.lines.len()).min(bottom.live.len());
        let live = bottom.live[bottom.live.len() - kept..].to_vec();
        let bytes = bottom.change(&[], live, foot, columns);
        drop(bottom);
        self.write(&bytes);
    }

    /// Leaves what [`Console::foot`] shows where it stands, as something that was printed.
    pub(crate) fn leave_foot(&mut self) {
        let columns = self.size().columns;
        let mut bottom = self.bottom.lock();
        let (live, foot) = (bottom.live.clone(), std::mem::take(&mut bottom.foot));
        let mut bytes = bottom.erased_with(&foot, columns);
        bottom.live.clear();
        bytes.push_str(&bottom.change(&foot.lines, live, Foot::default(), columns));
        drop(bottom);
        self.write(&bytes);
    }

    /// Clears the screen, all but what is drawn anew.
    pub(crate) fn clear(&mut self) {
        let drawn = self.bottom.lock().drawn();
        self.write(&format!("\u{1b}[H\u{1b}[2J{drawn}"));
    }

    /// Draws everything again, below what another program has left on the screen.
    pub(crate) fn again(&mut self) {
        let drawn = self.bottom.lock().drawn();
        self.write(&format!("\r\u{1b}[J{drawn}"));
    }

    fn write(&mut self, bytes: &str) {
        if !bytes.is_empty() {
            // A terminal that went away must not stop the turn; the end of the run finds out.
            let _ = self.out.write_all(bytes.as_bytes()).and_then(|()| self.out.flush());
        }
    }
}

/// `lines` as they can be drawn on a terminal of so many columns.
fn fitting(lines: &[String], columns: usize) -> Vec<String> {
    // In the last column a terminal is undecided about the next line.
    lines.iter().map(|line| clipped(&screen::line(line), columns.saturating_sub(1))).collect()
}

impl Bottom {
    fn lock(&self) -> MutexGuard<'_, Drawn> {
        // Each use leaves it whole, so a panic elsewhere does no harm to it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drawn {
    /// What brings the terminal from what is drawn to `live` and `foot` below `above`; empty if that is nothing.
    fn change(&mut self, above: &[String], live: Vec<String>, foot: Foot, columns: usize) -> String {
        let still = above.is_empty() && columns == self.columns;
        if above.is_empty() && live.is_empty() && foot.lines.is_empty() && self.is_empty()
            || still && live == self.live && foot == self.foot
        {
            return String::new();
        }
        let next = Drawn { live, foot, columns };
        let mut bytes = String::new();
        if still && !next.is_empty() && next.lines().count() == self.lines().count() {
            let mut at = self.cursor().0;
            for (row, (line, before)) in next.lines().zip(self.lines()).enumerate() {
                if line != before {
                    bytes.push_str(&moved(at, row));
                    bytes.push_str("\r\u{1b}[2K");
                    bytes.push_str(line);
                    at = row;
                }
            }
            bytes.push_str(&next.placed(at));
        } else {
            bytes.push_str(&self.erased(columns));
            for line in above {
                bytes.push_str(line);
                bytes.push('\n');
            }
            bytes.push_str(&next.drawn());
        }
        *self = next;
        bytes
    }

    fn is_empty(&self) -> bool {
        self.live.is_empty() && self.foot.lines.is_empty()
    }

    fn lines(&self) -> impl Iterator<Item = &String> {
        self.live.iter().chain(&self.foot.lines)
    }

    /// The line that the cursor is in, and its column.
    fn cursor(&self) -> (usize, usize) {
        match self.foot.lines.is_empty() {
            true => (self.live.len().saturating_sub(1), self.live.last().map_or(0, |line| shown_width(line))),
            false => (self.live.len() + self.foot.row.min(self.foot.lines.len() - 1), self.foot.column),
        }
    }

    /// All lines, with the cursor where it belongs.
    fn drawn(&self) -> String {
        let lines: Vec<&str> = self.lines().map(String::as_str).collect();
        format!("{}{}", lines.join("\n"), self.placed(lines.len().saturating_sub(1)))
    }

    /// What brings the cursor from the line `at` to where it belongs.
    fn placed(&self, at: usize) -> String {
        // Where nobody types the cursor may stand anywhere.
        if self.foot.lines.is_empty() {
            return moved(at, self.live.len().saturating_sub(1));
        }
        let (row, column) = self.cursor();
        let right = if column == 0 { String::new() } else { format!("\u{1b}[{column}C") };
        format!("{}\r{right}", moved(at, row))
    }

    /// What takes the drawn lines away from a terminal that is `columns` wide by now, and leaves the cursor where they
    /// began.
    fn erased(&self, columns: usize) -> String {
        if self.is_empty() {
            return String::new();
        }
        // A terminal that became narrower has broken lines that no longer fit.
        let rows = |width: usize| width.div_ceil(columns.max(1)).max(1);
        let (row, column) = self.cursor();
        let above: usize = self.lines().take(row).map(|line| rows(shown_width(line))).sum();
        match above + rows(column) - 1 {
            0 => "\r\u{1b}[J".to_owned(),
            up => format!("\r\u{1b}[{up}A\u{1b}[J"),
        }
    }

    /// The same with another foot.
    fn erased_with(&self, foot: &Foot, columns: usize) -> String {
        Drawn { live: self.live.clone(), foot: foot.clone(), columns: self.columns }.erased(columns)
    }
}

/// What brings the cursor from one drawn line to another.
fn moved(from: usize, to: usize) -> String {
    match (from, to) {
        (from, to) if from > to => format!("\u{1b}[{}A", from - to),
        (from, to) if from < to => format!("\u{1b}[{}B", to - from),
        _ => String::new(),
    }
}

/// Prints `text`, which ends with a line end, to stderr, above what is drawn at the bottom of the terminal.
pub(crate) fn print_beside(text: &str) {
    let drawn = BOTTOM.lock();
    // Nobody there to read it is no error.
    let _ = match drawn.is_empty() || !screen::errors_are_terminal() {
        true => screen::beside("", text, ""),
        false => {
            let columns = screen::size().columns;
            let lines = text.lines().flat_map(|line| folded(&screen::line(line), columns.saturating_sub(1)));
            let text: String = lines.map(|line| line + "\n").collect();
            screen::beside(&drawn.erased(columns), &text, &drawn.drawn())
        }
    };
}

/// Takes what is drawn off the terminal, if something still is: the program ends.
pub(crate) fn leave() {
    let mut drawn = BOTTOM.lock();
    let erased = drawn.erased(screen::size().columns);
    *drawn = Drawn::default();
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
            let bytes = drawn.change(&lines(above), lines(live), Foot::default(), *columns);
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
        assert_eq!(drawn.change(&[], Vec::new(), Foot::default(), 20), "");
        assert_eq!(drawn.change(&[], lines(&["a", "b"]), Foot::default(), 20), "a\nb");
        assert_eq!(drawn.change(&[], lines(&["a", "b"]), Foot::default(), 20), "");
        assert_eq!(
            drawn.change(&[], lines(&["a", "c"]), Foot::default(), 20),
            "\r\u{1b}[2Kc",
            "a line that turns costs one line"
        );
    }

    #[test]
    fn a_terminal_that_became_narrower_has_more_rows() {
        let mut drawn = Drawn::default();
        drawn.change(&[], lines(&["0123456789", "x"]), Foot::default(), 20);
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

    /// What a person sees of a console that does what `draw` does, and where the cursor is then.
    #[track_caller]
    fn seen(draw: impl FnOnce(&mut Console<Vec<u8>>), want: &str, cursor: (u16, u16)) {
        let mut console = Console::of_size(Vec::new(), || Size { columns: 20, rows: 5 });
        draw(&mut console);
        let size = |n| std::num::NonZeroU16::new(n).unwrap();
        let mut screen = vt100::Parser::new(size(5), size(20), 1000);
        screen.process(String::from_utf8(console.out).unwrap().replace('\n', "\r\n").as_bytes());
        assert_eq!((screen.screen().contents().as_str(), screen.screen().cursor_position()), (want, cursor));
    }

    fn foot(text: &[&str], row: usize, column: usize) -> Foot {
        Foot { lines: lines(text), row, column }
    }

    #[test]
    fn what_is_typed_stays_below_whatever_is_printed() {
        let typed = foot(&["> hello"], 0, 4);
        seen(|console| console.foot(&typed), "> hello", (0, 4));
        seen(
            |console| {
                console.foot(&typed);
                console.frame(&lines(&["a"]), &lines(&["works · 1 s"]));
                console.frame(&[], &lines(&["works · 2 s"]));
                console.foot(&foot(&["> hello", "  you"], 1, 5));
                console.frame(&lines(&["b"]), &[]);
            },
            "a\nb\n> hello\n  you",
            (3, 5),
        );
    }

    #[test]
    fn what_was_typed_is_printed_when_it_is_done() {
        seen(
            |console| {
                console.frame(&[], &lines(&["works"]));
                console.foot(&foot(&["> one", "  two"], 0, 3));
                console.leave_foot();
                console.frame(&lines(&["answer"]), &[]);
            },
            "> one\n  two\nanswer",
            (3, 0),
        );
    }

    #[test]
    fn a_line_that_turns_leaves_the_cursor_where_somebody_types() {
        let mut drawn = Drawn::default();
        drawn.change(&[], lines(&["w 1"]), foot(&["> a"], 0, 3), 20);
        assert_eq!(
            drawn.change(&[], lines(&["w 2"]), foot(&["> a"], 0, 3), 20),
            "\u{1b}[1A\r\u{1b}[2Kw 2\u{1b}[1B\r\u{1b}[3C"
        );
    }

    #[test]
    fn of_what_is_typed_the_lines_around_the_cursor_fit() {
        let many: Vec<String> = (0..9).map(|n| n.to_string()).collect();
        seen(|console| console.foot(&Foot { lines: many.clone(), row: 8, column: 1 }), "5\n6\n7\n8", (3, 1));
        seen(
            |console| {
                console.frame(&[], &lines(&["works"]));
                console.foot(&Foot { lines: many.clone(), row: 0, column: 1 });
            },
            "0\n1\n2\n3",
            (0, 1),
        );
    }
}
