//! What a text file has around its text: an encoding, a byte order mark, and line ends; and lines in words. Pure.

pub(crate) mod encoding;
pub(crate) mod ends;

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::beside::beside;

const MARK: char = '\u{feff}';
/// Most characters of a line that a model is shown, as UTF-16 counts them.
pub(crate) const MAX_LINE: usize = 2000;
/// What stands for the rest of a line.
pub(crate) const LINE_CUT: &str = "... (line truncated to 2000 chars)";

/// What a file is of which [`Text::read`] makes nothing.
pub(crate) const NO_TEXT: &str = "no text, or in no encoding that it could be written back in as it was";

/// Files up to this size, in bytes, are taken apart where the caller runs: it takes a millisecond at most.
const READ_AT_ONCE: usize = 64 * 1024;

/// The text of a file apart from its mark and its encoding.
///
/// What [`Text::read`] takes apart [`Text::bytes`] puts together again, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// Whether there is a byte order mark. Only Unicode has one.
    pub(crate) mark: bool,
    /// What the file is encoded in.
    pub(crate) encoding: &'static Encoding,
    /// The rest.
    pub(crate) text: String,
}

impl Text {
    /// The text of a file that holds `bytes`: UTF-8, UTF-16, or what the bytes show it to be encoded in. `None` where
    /// they are no text, or one that could not be written back as it was.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        if let Some(encoding) = encoding::sixteen(bytes)
            && let Some(text) = encoding::decode(encoding, bytes)
        {
            return Some(Self { encoding, ..Self::new(&text) });
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Some(Self::new(text));
        }
        let (encoding, text) = encoding::lossless(bytes)?;
        Some(Self { mark: false, encoding, text: text.into_owned() })
    }

    /// [`Text::read`] without holding up whoever else runs on this thread: older encodings take a while to be told.
    /// Gives the bytes back too.
    pub(crate) async fn read_beside(bytes: Vec<u8>) -> (Vec<u8>, Option<Self>) {
        if bytes.len() <= READ_AT_ONCE {
            let text = Self::read(&bytes);
            return (bytes, text);
        }
        beside(move || {
            let text = Self::read(&bytes);
            (bytes, text)
        })
        .await
    }

    /// `text` as a new file holds it, in UTF-8; its mark is taken off.
    pub(crate) fn new(text: &str) -> Self {
        let bare = text.strip_prefix(MARK);
        Self { mark: bare.is_some(), encoding: UTF_8, text: bare.unwrap_or(text).to_owned() }
    }

    /// The same file with another text: the encoding stays, and the mark; one before `text` is added.
    pub(crate) fn with(&self, text: &str) -> Self {
        let new = Self::new(text);
        Self { mark: self.mark || new.mark, encoding: self.encoding, ..new }
    }

    /// The bytes of the file that holds this.
    ///
    /// # Errors
    ///
    /// [`Unwritable`] where the file's encoding has no sign for something in the text.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Unwritable> {
        let marked = self.mark && [UTF_8, UTF_16LE, UTF_16BE].contains(&self.encoding);
        let text: Cow<'_, str> = if marked { format!("{MARK}{}", self.text).into() } else { (&self.text).into() };
        encoding::encode(self.encoding, &text).map_err(|at| Unwritable::new(self.encoding, &text, at))
    }
}

/// A text that the encoding of its file cannot hold; says which sign, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unwritable {
    encoding: &'static Encoding,
    sign: char,
    /// Of the new text, from 1.
    line: usize,
}

impl Unwritable {
    /// `at` is where the sign stands in `text`, in bytes.
    fn new(encoding: &'static Encoding, text: &str, at: usize) -> Self {
        let (before, behind) = text.split_at(at);
        let line = before.matches('\n').count() + 1;
        Self { encoding, sign: behind.chars().next().unwrap_or_default(), line }
    }
}

impl std::error::Error for Unwritable {}

impl std::fmt::Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, sign, line) = (self.encoding.name(), self.sign, self.line);
        write!(
            f,
            "the file is encoded in {name}, which has no sign for {sign:?} (U+{:04X}, line {line} of the new text), so \
             nothing was written. Write it another way, or convert the file first (iconv -f {name} -t UTF-8), read it \
             again and repeat the change",
            sign as u32
        )
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

/// A line as a model is shown it: at most [`MAX_LINE`] characters of it.
pub(crate) fn cut_line(line: &str) -> Cow<'_, str> {
    let mut units = 0;
    for (at, character) in line.char_indices() {
        units += character.len_utf16();
        if units > MAX_LINE {
            return format!("{}{LINE_CUT}", &line[..at]).into();
        }
    }
    line.into()
}

/// A number of lines in words.
pub(crate) fn count_lines(count: usize) -> String {
    let unit = if count == 1 { "line" } else { "lines" };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    fn utf_16(mark: &str, text: &str, big: bool) -> Vec<u8> {
        let bytes = if big { u16::to_be_bytes } else { u16::to_le_bytes };
        format!("{mark}{text}").encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn a_file_comes_back_in_its_encoding() {
        let row = |bytes: &[u8], encoding: &str, mark: bool, text: &str| {
            let file = Text::read(bytes).expect(encoding);
            assert_eq!((file.encoding.name(), file.mark, file.text.as_str()), (encoding, mark, text));
            assert_eq!(file.bytes().unwrap(), bytes, "{encoding}");
            // Changed, it is still what it was around the change.
            let changed = file.with(&format!("{text}x")).bytes().unwrap();
            assert!(changed.starts_with(bytes) && changed.len() > bytes.len(), "{encoding}");
        };
        row(b"", "UTF-8", false, "");
        row("gr\u{fc}n".as_bytes(), "UTF-8", false, "grün");
        row("\u{feff}grün".as_bytes(), "UTF-8", true, "grün");
        row(b"a\0b", "UTF-8", false, "a\0b");
        row(&utf_16("\u{feff}", "grün 漢😀\r\n", false), "UTF-16LE", true, "grün 漢😀\r\n");
        row(&utf_16("\u{feff}", "grün 漢😀\r\n", true), "UTF-16BE", true, "grün 漢😀\r\n");
        row(&utf_16("", "grün\n", false), "UTF-16LE", false, "grün\n");
        row(&utf_16("", "grün\n", true), "UTF-16BE", false, "grün\n");
        row(b"gr\xfcn und bl\xe4ulich\n", "windows-1252", false, "grün und bläulich\n");
    }

    #[test]
    fn what_would_not_come_back_is_no_text() {
        let row = |bytes: &[u8]| assert_eq!(Text::read(bytes), None, "{bytes:?}");
        row(b"\xff\0\xfe");
        row(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        row(&[utf_16("\u{feff}", "text", false), vec![b'x']].concat());
        row(&["gründlich geprüft für Söhne".as_bytes(), b"\xff"].concat());
    }

    #[test]
    fn a_text_that_does_not_fit_is_refused_with_its_sign() {
        let file = Text::read(b"gr\xfcn und bl\xe4ulich\n").unwrap();
        let error = file.with("eins\nzwei → drei").bytes().unwrap_err().to_string();
        let want =
            "the file is encoded in windows-1252, which has no sign for '→' (U+2192, line 2 of the new text), so";
        assert!(error.starts_with(want) && error.contains("iconv -f windows-1252 -t UTF-8"), "{error}");
        // There is no mark in it, so one that is asked for is none.
        assert_eq!(file.with("\u{feff}\u{fc}").bytes().unwrap(), b"\xfc");
        assert_eq!(Text::new("").with("\u{feff}\u{fc}").bytes().unwrap(), "\u{feff}ü".as_bytes());
    }

    proptest! {
        #[test]
        fn whatever_is_read_comes_back_byte_for_byte(
            bytes in vec(prop_oneof![Just(0u8), Just(b'\n'), 0x20..0x7fu8, any::<u8>()], 0..80),
            front in prop::sample::select(vec![&b""[..], b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"]),
        ) {
            let bytes = [front, &bytes].concat();
            if let Some(file) = Text::read(&bytes) {
                prop_assert_eq!(file.bytes().unwrap(), bytes);
            }
        }

        #[test]
        fn high_bytes_in_texts_come_back_too(bytes in vec(prop_oneof![b'a'..=b'z', 0x80..=0xffu8], 0..200)) {
            if let Some(file) = Text::read(&bytes) {
                prop_assert_eq!(file.bytes().unwrap(), bytes);
            }
        }

        #[test]
        fn every_text_in_utf_16_is_read(text in "\\PC{0,60}", big in any::<bool>()) {
            let bytes = utf_16("\u{feff}", &text, big);
            let file = Text::read(&bytes).expect("it has a mark");
            prop_assert_eq!(&file.text, &text);
            prop_assert_eq!(file.bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn one_line_is_a_line() {
        assert_eq!([0, 1, 2].map(count_lines), ["0 lines", "1 line", "2 lines"]);
    }
}
