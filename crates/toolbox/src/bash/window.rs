//! The end of an output of any size, in bounded memory. Pure.

use haft_tool::truncate::PREVIEW_CHARS;

use super::plain::Plain;

/// How many bytes at the end of the text are remembered at least: more than is ever shown, also when every character
/// of the preview takes four bytes.
pub(crate) const SIZE: usize = 4 * PREVIEW_CHARS;

/// Remembers the last 120,000 bytes of plain text at least and twice as many at most, and the line that is not ended.
#[derive(Debug, Default)]
pub(crate) struct Window {
    plain: Plain,
    text: Text,
    bytes: u64,
}

/// The settled text.
#[derive(Debug, Default)]
struct Text {
    end: String,
    /// Bytes that were forgotten.
    forgotten: u64,
    feeds: u64,
}

/// How far somebody has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Bytes of settled text.
    settled: u64,
    /// The line that was not ended.
    line: String,
}

/// What came since a [`Mark`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// The text, or the end of it.
    pub(crate) text: String,
    /// Whether its beginning is forgotten.
    pub(crate) cut: bool,
    /// How far it goes.
    pub(crate) until: Mark,
}

impl Window {
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let Self { plain, text, .. } = self;
        plain.push(piece, &mut |settled| text.push(settled));
    }

    /// Nothing more will come.
    pub(crate) fn finish(&mut self) {
        let Self { plain, text, .. } = self;
        plain.finish(&mut |settled| text.push(settled));
    }

    /// How many bytes came in all.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many lines there are in all: a line feed at the very end begins none that anybody would count.
    pub(crate) fn lines(&self) -> u64 {
        let open = !self.plain.line().is_empty() || (!self.text.end.is_empty() && !self.text.end.ends_with('\n'));
        self.text.feeds + u64::from(open)
    }

    /// What is remembered.
    pub(crate) fn text(&self) -> String {
        self.text.end.clone() + &self.plain.line()
    }

    /// What came since `mark`. A line that was not ended then is told again when it has changed.
    pub(crate) fn since(&self, mark: &Mark) -> News {
        let line = self.plain.line();
        let settled = self.text.forgotten + self.text.end.len() as u64;
        let cut = mark.settled < self.text.forgotten;
        let from = usize::try_from(mark.settled.saturating_sub(self.text.forgotten)).unwrap_or(usize::MAX);
        let new = format!("{}{line}", self.text.end.get(from..).unwrap_or_default());
        // A line that was told before it ended.
        let text = if !cut && new == mark.line { String::new() } else { new };
        News { text, cut, until: Mark { settled, line } }
    }
}

impl Text {
    fn push(&mut self, settled: &str) {
        self.feeds += settled.bytes().filter(|&byte| byte == b'\n').count() as u64;
        let from = settled.ceil_char_boundary(settled.len().saturating_sub(SIZE));
        if from > 0 {
            // All that is there goes, and more.
            self.forgotten += (self.end.len() + from) as u64;
            self.end.clear();
        }
        self.end.push_str(&settled[from..]);
        // Only now and then, so that each byte is moved at most once.
        if self.end.len() >= 2 * SIZE {
            let gone = self.end.floor_char_boundary(self.end.len() - SIZE);
            self.end.drain(..gone);
            self.forgotten += gone as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(pieces: &[&[u8]]) -> Window {
        let mut window = Window::default();
        pieces.iter().for_each(|piece| window.push(piece));
        window
    }

    #[test]
    fn a_short_output_is_whole() {
        let window = window(&[b"a\nb", "é\n".as_bytes()]);
        assert_eq!(window.text(), "a\nbé\n");
        assert_eq!((window.bytes(), window.lines()), (6, 2));
    }

    #[test]
    fn lines_are_counted_as_people_do() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            let mut window = window(&[text.as_bytes()]);
            assert_eq!(window.lines(), lines, "{text:?}");
            window.finish();
            assert_eq!(window.lines(), lines, "{text:?}");
        }
    }

    #[test]
    fn a_character_in_two_pieces_is_one() {
        let bytes = "é".as_bytes();
        assert_eq!(window(&[&bytes[..1], &bytes[1..]]).text(), "é");
    }

    #[test]
    fn memory_is_bounded_and_the_end_stays() {
        let mut window = Window::default();
        for number in 0..200_000_u32 {
            window.push(format!("{number}\n").as_bytes());
            assert!(window.text.end.len() <= 2 * SIZE);
        }
        assert!(window.text().ends_with("199998\n199999\n"));
        window.push(&[b'x'; 10 * SIZE]);
        assert!(window.text.end.len() <= 2 * SIZE && window.text.end.capacity() <= 4 * SIZE);
        window.push("é".repeat(SIZE).as_bytes());
        window.push(b"!");
        assert!(window.text().starts_with('é') && window.text().ends_with("é!"));
        assert!(window.text().len() >= SIZE);
    }

    #[test]
    fn news_are_told_once() {
        let mut window = window(&[b"a\nb\n50%"]);
        let mut mark = Mark::default();
        let mut look = |window: &Window, want: &str| {
            let news = window.since(&mark);
            mark = news.until;
            assert_eq!((news.text.as_str(), news.cut), (want, false));
        };
        look(&window, "a\nb\n50%");
        look(&window, "");
        window.push(b"\r90%");
        look(&window, "90%");
        window.push(b"\nc");
        look(&window, "90%\nc");
        window.finish();
        look(&window, "");
    }

    #[test]
    fn what_nobody_read_in_time_is_cut() {
        let mut window = window(&[b"first\n"]);
        let mark = window.since(&Mark::default()).until;
        window.push(&b"x\n".repeat(2 * SIZE));
        let news = window.since(&mark);
        assert!(news.cut && news.text.ends_with("x\nx\n") && news.text.len() >= SIZE);
        assert!(!window.since(&news.until).cut);
    }
}
