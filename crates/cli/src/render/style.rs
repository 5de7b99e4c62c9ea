//! Text with looks: spans of one style each, in lines. Pure.

use unicode_width::UnicodeWidthChar;

use super::Paint;

/// How a span looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underlined: bool,
    pub struck: bool,
    pub colour: Option<Colour>,
}

/// A colour of the terminal's own palette, 0 to 15, so that it suits light and dark backgrounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Colour(pub u8);

impl Colour {
    pub(super) const CYAN: Self = Self(6);
}

impl Style {
    pub(super) const DIM: Self =
        Self { bold: false, dim: true, italic: false, underlined: false, struck: false, colour: None };

    /// The codes of the style, joined as a terminal takes them; empty for plain text.
    fn codes(self, paint: Paint) -> String {
        // What has a colour of its own keeps it.
        let faint = if self.colour.is_some() { "2" } else { paint.faint() };
        let switches =
            [(self.bold, "1"), (self.dim, faint), (self.italic, "3"), (self.underlined, "4"), (self.struck, "9")];
        let mut codes: Vec<String> =
            switches.iter().filter(|(on, _)| *on).map(|(_, code)| (*code).to_owned()).collect();
        codes.extend(self.colour.map(|Colour(number)| paint.colour(number)));
        codes.join(";")
    }
}

/// Text of one style. It holds no line breaks and nothing that a terminal obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub text: String,
    pub style: Style,
}

impl Span {
    pub(super) fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::default())
    }
}

/// One line on the screen.
pub(super) type Line = Vec<Span>;

/// How many columns `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// How many columns `c` takes.
pub(crate) fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// How many columns a line takes.
pub(super) fn line_width(line: &[Span]) -> usize {
    line.iter().map(|span| width(&span.text)).sum()
}

/// Adds `text` to `line`, to its last span if that looks the same.
pub(super) fn add(line: &mut Line, text: &str, style: Style) {
    match line.last_mut() {
        Some(last) if last.style == style => last.text.push_str(text),
        _ if text.is_empty() => {}
        _ => line.push(Span::new(text, style)),
    }
}

/// `line` as a terminal takes it, without blanks at its end.
pub(super) fn painted(line: &[Span], paint: Paint) -> String {
    let mut out = String::new();
    let mut plain = 0;
    for span in line {
        let codes = span.style.codes(paint);
        if codes.is_empty() || !paint.is_on() || span.text.is_empty() {
            out.push_str(&span.text);
        } else {
            out.push_str(&format!("\u{1b}[{codes}m{}\u{1b}[0m", span.text));
            plain = out.len();
        }
    }
    let end = out.trim_end_matches(' ').len();
    out.truncate(end.max(plain));
    out
}

/// `text`, which may hold codes of [`painted`], cut to at most `columns`.
pub(super) fn clipped(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut taken = 0;
    let mut coloured = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            out.push(c);
            coloured = true;
            for c in chars.by_ref() {
                out.push(c);
                if c == 'm' {
                    break;
                }
            }
            continue;
        }
        if taken + char_width(c) > columns {
            if coloured {
                out.push_str("\u{1b}[0m");
            }
            break;
        }
        taken += char_width(c);
        out.push(c);
    }
    out
}

/// How many columns `text` takes, the codes of [`painted`] left out.
pub(super) fn shown_width(text: &str) -> usize {
    let mut columns = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => drop(chars.by_ref().find(|&c| c == 'm')),
            c => columns += char_width(c),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_painted_span_by_span() {
        let bold = Style { bold: true, colour: Some(Colour(9)), ..Style::default() };
        let line = vec![Span::plain("a "), Span::new("b", bold), Span::plain("  ")];
        assert_eq!(painted(&line, Paint::ON), "a \u{1b}[1;91mb\u{1b}[0m");
        assert_eq!(painted(&line, Paint::OFF), "a b");
    }

    #[test]
    fn a_clipped_line_takes_no_more_than_it_may() {
        let row = |text: &str, columns: usize, want: &str| assert_eq!(clipped(text, columns), want);
        row("abc", 3, "abc");
        row("abcd", 3, "abc");
        row("漢字", 3, "漢");
        row("\u{1b}[2mabc\u{1b}[0m", 2, "\u{1b}[2mab\u{1b}[0m");
        row("e\u{301}e\u{301}", 1, "e\u{301}");
        assert_eq!(shown_width("\u{1b}[1;2mab漢\u{1b}[0m"), 4);
    }
}
