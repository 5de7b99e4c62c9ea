//! What a text file has around its text: a byte order mark, and line ends; and lines in words. Pure.

use std::borrow::Cow;

const MARK: char = '\u{feff}';

/// The text of a file apart from its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// Whether there is a byte order mark.
    pub(crate) mark: bool,
    /// The rest.
    pub(crate) text: String,
}

impl Text {
    /// The text of a file that holds `bytes`, its mark taken off; `None` where they are no text.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok().map(Self::new)
    }

    /// `text` as it is to be written, its mark taken off.
    pub(crate) fn new(text: &str) -> Self {
        let bare = text.strip_prefix(MARK);
        Self { mark: bare.is_some(), text: bare.unwrap_or(text).to_owned() }
    }

    /// The bytes of the file that holds this.
    ///
    /// # Errors
    ///
    /// [`Unwritable`] where the file's encoding has no sign for something in the text.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Unwritable> {
        let text = if self.mark { format!("{MARK}{}", self.text) } else { self.text.clone() };
        Ok(text.into_bytes())
    }
}

/// A text that the encoding of its file cannot hold; says which sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unwritable(String);

impl std::error::Error for Unwritable {}

impl std::fmt::Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How the lines of a file end.
#[allow(dead_code, reason = "files are made with it")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Lf,
    CrLf,
}

#[allow(dead_code, reason = "files are made with it")]
impl Ending {
    /// One carriage return before a line feed makes the whole file one with both.
    pub(crate) fn of(text: &str) -> Self {
        if text.contains("\r\n") { Ending::CrLf } else { Ending::Lf }
    }

    /// `text` with its line ends turned into these.
    pub(crate) fn apply(self, text: &str) -> String {
        match self {
            Ending::Lf => lf(text).into_owned(),
            Ending::CrLf => lf(text).replace('\n', "\r\n"),
        }
    }
}

/// `text` with line feeds alone.
pub(crate) fn lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

/// A name or a path on one line. A name may hold line breaks, and behind them what looks like the words of a tool.
pub(crate) fn on_one_line(name: &str) -> Cow<'_, str> {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if !name.contains(breaks) {
        return name.into();
    }
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        if breaks(c) { text.extend(c.escape_default()) } else { text.push(c) }
    }
    text.into()
}

/// A number of lines in words.
pub(crate) fn count_lines(count: usize) -> String {
    let unit = if count == 1 { "line" } else { "lines" };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_set_aside_and_put_back() {
        for (whole, mark, text) in
            [("\u{feff}a", true, "a"), ("a", false, "a"), ("\u{feff}", true, ""), ("", false, "")]
        {
            let got = Text::new(whole);
            assert_eq!((got.mark, got.text.as_str()), (mark, text));
            assert_eq!(got.bytes().unwrap(), whole.as_bytes());
        }
    }

    #[test]
    fn one_line_is_a_line() {
        assert_eq!([0, 1, 2].map(count_lines), ["0 lines", "1 line", "2 lines"]);
    }

    #[test]
    fn line_ends_follow_the_file() {
        assert_eq!(Ending::of("a\nb\r\n"), Ending::CrLf);
        assert_eq!(Ending::of("a\rb\n"), Ending::Lf);
        assert_eq!(Ending::CrLf.apply("a\nb\r\nc\rd"), "a\r\nb\r\nc\rd");
        assert_eq!(Ending::Lf.apply("a\nb\r\nc\rd"), "a\nb\nc\rd");
    }
}
