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

/// `text`, which may hold codes of [`painted`], broken between words so that no line takes more than `columns`. What goes
/// on stands below where the text begins, unless that leaves it less than half of the line. A word that is wider by itself
/// is broken where the line ends.
pub(super) fn folded(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    if shown_width(text) <= columns {
        return vec![text.to_owned()];
    }
    let signs = signs(text);
    let blanks = |signs: &[Sign<'_>]| signs.iter().take_while(|sign| sign.char == ' ').count();
    let indent = Some(blanks(&signs)).filter(|indent| indent * 2 <= columns).unwrap_or_default();
    let mut lines = Vec::new();
    let mut rest = &signs[..];
    while !rest.is_empty() {
        let margin = if lines.is_empty() { 0 } else { indent };
        let (line, behind) = rest.split_at(fitting(rest, columns - margin));
        lines.push(format!("{}{}", " ".repeat(margin), written(line)));
        rest = &behind[blanks(behind)..];
    }
    lines
}

/// A sign, with the codes of the style that it has.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sign<'a> {
    char: char,
    codes: &'a str,
}

/// The signs of `text`, without its codes.
fn signs(text: &str) -> Vec<Sign<'_>> {
    let (mut signs, mut codes, mut rest) = (Vec::new(), "", text);
    while let Some(char) = rest.chars().next() {
        let end = if char == '\u{1b}' { rest.find('m').map_or(rest.len(), |end| end + 1) } else { char.len_utf8() };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        match piece {
            "\u{1b}[0m" => codes = "",
            piece if char == '\u{1b}' => codes = piece,
            _ => signs.push(Sign { char, codes }),
        }
    }
    signs
}

/// How many of `signs` go into a line of so many columns: all, else those before the last blank that does.
fn fitting(signs: &[Sign<'_>], columns: usize) -> usize {
    let (mut taken, mut end, mut begun) = (0, None, false);
    for (at, Sign { char, .. }) in signs.iter().enumerate() {
        let wide = char_width(*char);
        // Scripts without blanks may break before each sign.
        if begun && (*char == ' ' || wide > 1) && taken <= columns {
            end = Some(at);
        }
        begun |= *char != ' ';
        taken += wide;
        if taken > columns {
            return end.unwrap_or(at.max(1));
        }
    }
    signs.len()
}

/// `signs` as a terminal takes them, without blanks at the end.
fn written(signs: &[Sign<'_>]) -> String {
    let end = signs.iter().rposition(|sign| sign.char != ' ').map_or(0, |last| last + 1);
    let alike = signs[..end].chunk_by(|one, next| one.codes == next.codes);
    let painted = alike.map(|run| {
        let text: String = run.iter().map(|sign| sign.char).collect();
        match run.first().map_or("", |sign| sign.codes) {
            "" => text,
            codes => format!("{codes}{text}\u{1b}[0m"),
        }
    });
    painted.collect()
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

    #[test]
    fn a_long_text_is_broken_between_its_words() {
        let row = |text: &str, columns: usize, want: &[&str]| {
            let got = folded(text, columns);
            assert_eq!(got, want, "{text:?} in {columns}");
            assert!(got.iter().all(|line| shown_width(line) <= columns.max(2)), "{text:?} in {columns}");
        };
        row("", 5, &[""]);
        row("one two", 7, &["one two"]);
        row("one two three", 7, &["one two", "three"]);
        row("one two three", 8, &["one two", "three"]);
        row("one   two", 5, &["one", "two"]);
        row("abcdefgh ij", 5, &["abcde", "fgh", "ij"]);
        row("  one two three", 8, &["  one", "  two", "  three"]);
        // An indent that leaves no room is none for what goes on.
        row("      one two", 9, &["      one", "two"]);
        row("漢字漢字", 5, &["漢字", "漢字"]);
        row("e\u{301}e\u{301} x", 2, &["e\u{301}e\u{301}", "x"]);
        row("ab", 0, &["ab"]);
        // Each line has the looks of its words, and ends them.
        row("\u{1b}[2mone two\u{1b}[0m x", 5, &["\u{1b}[2mone\u{1b}[0m", "\u{1b}[2mtwo\u{1b}[0m x"]);
    }
}
