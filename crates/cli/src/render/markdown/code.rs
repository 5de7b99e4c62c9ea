//! Lines of code in colours.

use std::cell::Cell;
use std::sync::LazyLock;

use syntect::highlighting::{FontStyle, HighlightIterator, HighlightState, Highlighter, Theme};
use syntect::parsing::{ParseState, ScopeStack, SyntaxSet};
use two_face::theme::EmbeddedThemeName;

use super::super::style::{Colour, Line, Span, Style};
use super::unmarked;

/// Most bytes of code in one text that are coloured: colouring is slow. The rest is shown plain.
const MAX_COLOURED: usize = 16 * 1024;
/// Longest line that is coloured, in bytes.
const MAX_LINE: usize = 2000;
/// What a tab is shown as.
const TAB: &str = "    ";
/// What stands before each line of code.
const INDENT: &str = "  ";

/// Made when the first block of a known language comes: most runs never need it, and it takes a while.
static LANGUAGES: LazyLock<(SyntaxSet, Theme)> = LazyLock::new(|| {
    let theme = two_face::theme::extra().get(EmbeddedThemeName::Ansi).clone();
    (two_face::syntax::extra_newlines(), theme)
});

/// A block of code that is shown line by line.
#[derive(Clone)]
pub(super) struct Code {
    colours: Option<Colours>,
    /// Blank lines that wait for a line behind them.
    blank: usize,
}

/// How many bytes of a text may still be coloured.
#[derive(Debug, Clone)]
pub(super) struct Budget(Cell<usize>);

impl Default for Budget {
    fn default() -> Self {
        Self(Cell::new(MAX_COLOURED))
    }
}

#[derive(Clone)]
struct Colours {
    parse: ParseState,
    state: HighlightState,
}

impl Code {
    /// A block in the language that `info` begins with, coloured if that is known and `coloured`.
    pub(super) fn new(info: &str, coloured: bool) -> Self {
        let name = info.split([' ', ',', '{', '\t']).next().unwrap_or_default();
        let colours = (coloured && !name.is_empty()).then(|| Colours::of(name)).flatten();
        Self { colours, blank: 0 }
    }

    /// Adds the next line, given without its end, to `lines`. Blank lines at the end of a block are not shown.
    pub(super) fn line(&mut self, text: &str, budget: &Budget, lines: &mut Vec<Line>) {
        if text.trim().is_empty() {
            self.blank += 1;
            return;
        }
        for _ in 0..std::mem::take(&mut self.blank) {
            self.coloured("", budget);
            lines.push(Line::new());
        }
        lines.push(self.coloured(text, budget));
    }

    fn coloured(&mut self, text: &str, Budget(left): &Budget) -> Line {
        let text = unmarked(text).replace('\t', TAB);
        let mut line = vec![Span::plain(INDENT)];
        // Behind a line that was left out the colours would be guesses.
        if text.len() > MAX_LINE || text.len() >= left.get() {
            self.colours = None;
        } else if self.colours.is_some() {
            left.set(left.get() - text.len() - 1);
        }
        let coloured = self.colours.as_mut().and_then(|colours| colours.line(&text));
        match coloured {
            Some(spans) => line.extend(spans),
            None => line.push(Span::plain(text)),
        }
        line
    }
}

impl Colours {
    fn of(name: &str) -> Option<Self> {
        let (languages, theme) = &*LANGUAGES;
        let syntax = languages.find_syntax_by_token(name)?;
        let state = HighlightState::new(&Highlighter::new(theme), ScopeStack::new());
        Some(Self { parse: ParseState::new(syntax), state })
    }

    fn line(&mut self, text: &str) -> Option<Vec<Span>> {
        let (languages, theme) = &*LANGUAGES;
        let text = format!("{text}\n");
        let operations = self.parse.parse_line(&text, languages).ok()?;
        let highlighter = Highlighter::new(theme);
        let pieces = HighlightIterator::new(&mut self.state, &operations, &text, &highlighter);
        let spans = pieces.map(|(style, piece)| Span::new(piece.trim_end_matches('\n'), looks(style)));
        Some(spans.filter(|span| !span.text.is_empty()).collect())
    }
}

/// A style of the theme `ansi`, in which a colour without alpha is a number of the terminal's palette, and one with a
/// little is the terminal's own.
fn looks(style: syntect::highlighting::Style) -> Style {
    let colour = style.foreground;
    Style {
        bold: style.font_style.contains(FontStyle::BOLD),
        italic: style.font_style.contains(FontStyle::ITALIC),
        underlined: style.font_style.contains(FontStyle::UNDERLINE),
        colour: (colour.a == 0).then_some(Colour(colour.r)),
        ..Style::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coloured(line: &[Span]) -> bool {
        line.iter().any(|span| span.style.colour.is_some())
    }

    #[test]
    fn a_known_language_is_coloured() {
        for name in ["rust", "rs", "rust,ignore", "ts", "toml", "sh", "python title=\"x\"", "json"] {
            let mut code = Code::new(name, true);
            let line = code.coloured("x = \"text\" // 1", &Budget::default());
            assert!(coloured(&line), "{name}: {line:?}");
        }
    }

    #[test]
    fn an_unknown_one_is_not_and_neither_is_what_is_unwanted() {
        for (name, wanted) in [("", true), ("no-such-language", true), ("rust", false)] {
            assert_eq!(
                Code::new(name, wanted).coloured("let x = \"y\";", &Budget::default()),
                [Span::plain("  "), Span::plain("let x = \"y\";")]
            );
        }
    }

    #[test]
    fn what_is_too_long_is_plain_from_there_on() {
        let budget = Budget::default();
        let mut code = Code::new("rust", true);
        let lines = MAX_COLOURED / 20 + 2;
        let shown: Vec<Line> = (0..lines).map(|_| code.coloured("let x = \"abcdefgh\";", &budget)).collect();
        assert!(coloured(&shown[lines - 10]) && !coloured(&shown[lines - 1]));
        let mut next = Code::new("rust", true);
        assert!(!coloured(&next.coloured("let x = \"abcdefgh\";", &budget)), "the budget is that of the whole text");
        let (mut code, budget) = (Code::new("rust", true), Budget::default());
        assert!(!coloured(&code.coloured(&format!("let x = {:?};", "y".repeat(MAX_LINE)), &budget)));
        assert!(!coloured(&code.coloured("let x = 1;", &budget)));
    }

    #[test]
    fn blank_lines_are_shown_between_others() {
        let mut code = Code::new("", true);
        let mut lines = Vec::new();
        for line in ["", "a", " ", "", "b", ""] {
            code.line(line, &Budget::default(), &mut lines);
        }
        let lines: Vec<String> =
            lines.iter().map(|line| line.iter().map(|span| span.text.as_str()).collect()).collect();
        assert_eq!(lines, ["", "  a", "", "", "  b"]);
    }

    #[test]
    fn a_tab_is_four_blanks() {
        assert_eq!(Code::new("", true).coloured("\tx", &Budget::default())[1], Span::plain("    x"));
    }
}
