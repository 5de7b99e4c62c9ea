//! Deciding how to cut a long output. Pure.
//!
//! Lines are what line feeds separate, so a text that ends with one has an empty last line. Sizes are in bytes of
//! UTF-8. Nothing here ever cuts inside a character.

use std::borrow::Cow;

/// How much of an output a model is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most lines.
    pub lines: usize,
    /// Most bytes.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: 2000, bytes: 50 * 1024 }
    }
}

/// Most characters of a command's output that [`preview`] shows.
pub const PREVIEW_CHARS: usize = 30_000;

/// A text that was too long, and what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut<'a> {
    /// What is kept.
    pub kept: &'a str,
    /// The first line that is kept, from 1.
    pub first: usize,
    /// How many lines are kept. One of them may be kept in part, see `inside_line`.
    pub lines: usize,
    /// How many lines there were.
    pub total_lines: usize,
    /// How many bytes there were.
    pub total_bytes: usize,
    /// Whether the text ended with a line feed, so that its last line is empty.
    pub ends_with_feed: bool,
    /// Which limit was hit.
    pub by: Unit,
    /// A single line was longer than the limit, and a piece of it is all that is kept.
    pub inside_line: bool,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Lines.
    Lines,
    /// Bytes.
    Bytes,
}

impl Cut<'_> {
    /// How much is gone, in the unit of the limit that was hit.
    pub fn removed(&self) -> usize {
        match self.by {
            Unit::Lines => self.total_lines - self.lines,
            Unit::Bytes => self.total_bytes - self.kept.len(),
        }
    }

    /// The line that stands for what is gone.
    pub fn marker(&self) -> String {
        let unit = match self.by {
            Unit::Lines => "lines",
            Unit::Bytes => "bytes",
        };
        format!("...{} {unit} truncated...", self.removed())
    }
}

/// Keeps the beginning of `text`. `None` when all of it fits.
pub fn head(text: &str, limits: Limits) -> Option<Cut<'_>> {
    cut(text, limits, End::Head)
}

/// Keeps the end of `text`. `None` when all of it fits.
pub fn tail(text: &str, limits: Limits) -> Option<Cut<'_>> {
    cut(text, limits, End::Tail)
}

/// The last [`PREVIEW_CHARS`] characters of a growing output, after `...` where something is missing.
pub fn preview(text: &str) -> Cow<'_, str> {
    // Bytes first: they are many, and counting them costs nothing.
    if text.len() <= PREVIEW_CHARS {
        return text.into();
    }
    match text.char_indices().rev().nth(PREVIEW_CHARS - 1) {
        Some((from, _)) if from > 0 => format!("...\n\n{}", &text[from..]).into(),
        _ => text.into(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Head,
    Tail,
}

fn cut(text: &str, limits: Limits, end: End) -> Option<Cut<'_>> {
    let total_lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
    if total_lines <= limits.lines && text.len() <= limits.bytes {
        return None;
    }
    let (mut lines, mut size, mut by) = (0, 0, Unit::Lines);
    let mut take = |line: &str| {
        let more = line.len() + usize::from(lines > 0);
        if lines == limits.lines {
            return false;
        }
        if size + more > limits.bytes {
            by = Unit::Bytes;
            return false;
        }
        lines += 1;
        size += more;
        true
    };
    match end {
        End::Head => text.split('\n').all(&mut take),
        End::Tail => text.rsplit('\n').all(&mut take),
    };
    let mut kept = piece(text, size, end);
    // One line longer than all that may be kept would leave nothing to see.
    let inside_line = by == Unit::Bytes && kept.trim().is_empty() && !text.trim().is_empty();
    if inside_line {
        kept = piece(text, limits.bytes, end);
        lines = kept.bytes().filter(|&byte| byte == b'\n').count() + usize::from(!kept.is_empty());
    }
    let first = match end {
        End::Head => 1,
        End::Tail => total_lines - lines + 1,
    };
    let ends_with_feed = text.ends_with('\n');
    Some(Cut { kept, first, lines, total_lines, total_bytes: text.len(), ends_with_feed, by, inside_line })
}

/// At most `size` bytes from one end.
fn piece(text: &str, size: usize, end: End) -> &str {
    match end {
        End::Head => &text[..text.floor_char_boundary(size)],
        End::Tail => &text[text.ceil_char_boundary(text.len() - size.min(text.len()))..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits { lines: 3, bytes: 20 };

    #[track_caller]
    fn check(cut: Option<Cut<'_>>, want: Option<(&str, &str)>) {
        let got = cut.map(|cut| (cut.kept.to_owned(), cut.marker()));
        assert_eq!(got, want.map(|(kept, marker)| (kept.to_owned(), marker.to_owned())));
    }

    #[test]
    fn what_fits_is_left_alone() {
        check(head("", SMALL), None);
        check(head("a\nb\nc", SMALL), None);
        check(tail("12345678901234567890", SMALL), None);
    }

    #[test]
    fn too_many_lines() {
        check(head("a\nb\nc\n", SMALL), Some(("a\nb\nc", "...1 lines truncated...")));
        check(tail("a\nb\nc\n", SMALL), Some(("b\nc\n", "...1 lines truncated...")));
        check(tail("a\nb\nc\nd\ne", SMALL), Some(("c\nd\ne", "...2 lines truncated...")));
    }

    #[test]
    fn too_many_bytes() {
        check(head("1234567890\n123456789", SMALL), None);
        check(head("1234567890\n1234567890", SMALL), Some(("1234567890", "...11 bytes truncated...")));
        check(tail("1234567890\n1234567890", SMALL), Some(("1234567890", "...11 bytes truncated...")));
        check(head("1\n2\n34567890123456789012345", SMALL), Some(("1\n2", "...24 bytes truncated...")));
    }

    #[test]
    fn a_line_longer_than_everything_is_cut_inside() {
        let long = "é".repeat(20);
        check(head(&long, SMALL), Some(("éééééééééé", "...20 bytes truncated...")));
        check(head("x", Limits { lines: 3, bytes: 0 }), Some(("", "...1 bytes truncated...")));
        let odd = Limits { lines: 3, bytes: 7 };
        check(head(&long, odd), Some(("ééé", "...34 bytes truncated...")));
        check(tail(&long, odd), Some(("ééé", "...34 bytes truncated...")));
        check(tail(&format!("{long}\n"), odd), Some(("ééé\n", "...34 bytes truncated...")));
        assert!(tail(&long, odd).unwrap().inside_line);
    }

    #[test]
    fn blank_lines_are_kept_as_they_are() {
        check(tail("\n\n\n\n", SMALL), Some(("\n\n", "...2 lines truncated...")));
        check(head("a", Limits { lines: 0, bytes: 20 }), Some(("", "...1 lines truncated...")));
    }

    #[test]
    fn the_kept_lines_are_numbered() {
        let cut = tail("a\nb\nc\nd\ne", SMALL).unwrap();
        assert_eq!((cut.first, cut.lines, cut.total_lines), (3, 3, 5));
        let cut = head("a\nb\nc\nd\ne", SMALL).unwrap();
        assert_eq!((cut.first, cut.lines, cut.total_lines), (1, 3, 5));
    }

    #[test]
    fn a_preview_is_the_end_of_the_text() {
        let full = "é".repeat(PREVIEW_CHARS);
        assert_eq!(preview(""), "");
        assert_eq!(preview(&full), full);
        assert_eq!(preview(&format!("x{full}")), format!("...\n\n{full}"));
    }
}
