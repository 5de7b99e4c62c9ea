//! Regular expressions over the lines of a file. Pure.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::bad::BadPattern;
use super::names::MAX_PATTERN;

/// Most memory, in bytes, that a compiled pattern may take.
const MAX_COMPILED: usize = 10 * 1024 * 1024;
/// How deep groups may lie in each other.
const MAX_NESTED: u32 = 250;
/// A class that is written out and has a line break among so few characters is meant to match it; one like `\s` or
/// `[^"]` has it among many others.
const FEW: usize = 5;

/// A regular expression. Takes time in proportion to what it searches.
#[derive(Debug, Clone)]
pub struct LinePattern {
    pub(super) matcher: RegexMatcher,
    spans: bool,
}

impl LinePattern {
    /// Reads a regular expression as Rust's `regex` has it; `^` and `$` are those of each line, `$` before both kinds
    /// of line end.
    ///
    /// It is about one line at a time, unless it says that it wants more: by a line break in it, by `(?s).`, or by a
    /// class of everything such as `[\s\S]`.
    ///
    /// # Errors
    ///
    /// [`BadPattern`] where it means nothing or would take too much memory.
    pub fn new(pattern: &str) -> Result<Self, BadPattern> {
        if pattern.is_empty() {
            return Err(BadPattern::new(pattern, "it is empty"));
        }
        if pattern.len() > MAX_PATTERN {
            return Err(BadPattern::new(pattern, "it is longer than 4096 bytes"));
        }
        let spans = spans(&parse(pattern)?);
        let mut builder = RegexMatcherBuilder::new();
        // Anchors mean each line, although lines come by the buffer.
        builder.multi_line(true).crlf(true).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED);
        if spans {
            // To be set after `crlf`, which sets it too.
            builder.line_terminator(None);
        }
        let built = builder.build(pattern);
        let matcher = built.map_err(|error| {
            let text = error.to_string();
            BadPattern::new(pattern, text.lines().last().unwrap_or_default().trim_start_matches("error: "))
        })?;
        Ok(Self { matcher, spans })
    }

    /// Whether it may match more than one line at once.
    pub(super) fn spans(&self) -> bool {
        self.spans
    }
}

/// What `pattern` means. The searching library would read it too, but tell the place of an error in a pattern of its
/// own.
fn parse(pattern: &str) -> Result<Hir, BadPattern> {
    let mut parser =
        regex_syntax::ParserBuilder::new().multi_line(true).crlf(true).utf8(false).nest_limit(MAX_NESTED).build();
    parser.parse(pattern).map_err(|error| match error {
        regex_syntax::Error::Parse(error) => {
            let bad = BadPattern::at(pattern, error.span().start.offset, error.kind().to_string());
            match advice(error.kind(), pattern) {
                Some(advice) => bad.advise(advice),
                None => bad,
            }
        }
        regex_syntax::Error::Translate(error) => {
            BadPattern::at(pattern, error.span().start.offset, error.kind().to_string())
        }
        other => BadPattern::new(pattern, other.to_string().lines().last().unwrap_or_default()),
    })
}

/// What to write instead.
fn advice(kind: &ErrorKind, pattern: &str) -> Option<String> {
    match kind {
        ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference => {
            Some("Search for less, and look through what is found".to_owned())
        }
        ErrorKind::NestLimitExceeded(_) => None,
        // The library may learn more kinds of mistakes; all these come from text that is taken for an expression.
        _ if pattern.len() <= 200 => {
            Some(format!("To search for the text itself, write {}", regex_syntax::escape(pattern)))
        }
        _ => Some("To search for the text itself, put a backslash before ( ) [ ] { } . * + ? | ^ $".to_owned()),
    }
}

/// Whether the expression says that it wants more than a line.
fn spans(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Unicode(class)) => {
            let few: usize = class.iter().take(FEW + 1).map(|range| range.len()).sum();
            class.iter().any(|range| range.start() <= '\n' && '\n' <= range.end())
                && (few <= FEW || matches!(class.ranges(), [all] if all.start() == '\0' && all.end() == char::MAX))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let few: usize = class.iter().take(FEW + 1).map(|range| range.len()).sum();
            class.iter().any(|range| range.start() <= b'\n' && b'\n' <= range.end())
                && (few <= FEW || matches!(class.ranges(), [all] if all.start() == 0 && all.end() == u8::MAX))
        }
        HirKind::Repetition(repetition) => spans(&repetition.sub),
        HirKind::Capture(capture) => spans(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(spans),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_means_nothing_is_refused_with_place_and_reason() {
        let row = |pattern: &str, at: Option<usize>, want: &str| {
            let error = LinePattern::new(pattern).unwrap_err();
            assert_eq!(error.at, at, "{pattern}");
            assert!(error.to_string().contains(want), "{error}");
        };
        row("", None, "it is empty");
        row("(unclosed", Some(1), "unclosed group");
        row("foo(", Some(4), "To search for the text itself, write foo\\(");
        row("é foo)", Some(6), "unopened group");
        row("a[b", Some(2), "unclosed character class");
        row("*a", Some(1), "repetition operator missing expression");
        row("a{2,1}", Some(2), "invalid repetition");
        row("\\q", Some(1), "unrecognized escape");
        row("x(?=a)", Some(2), "look-around");
        row("(?=a)", Some(1), "Search for less");
        row("(a)\\1", Some(4), "backreferences");
        row("\\p{Nothing}", Some(1), "Unicode property");
        row("\\w{1000}{1000}", None, "size limit");
        row(&"a".repeat(MAX_PATTERN + 1), None, "longer than 4096 bytes");
        row(&format!("{}(", "a".repeat(300)), Some(301), "put a backslash before");
        let deep = |depth: usize| format!("{}a{}", "(?:".repeat(depth), ")".repeat(depth));
        row(&deep(MAX_NESTED as usize + 1), Some(751), "nest");
        assert!(LinePattern::new(&deep(200)).is_ok());
        assert!(LinePattern::new(&"a".repeat(MAX_PATTERN)).is_ok());
    }

    #[test]
    fn more_than_a_line_is_wanted_where_the_pattern_says_so() {
        for pattern in
            ["a\nb", r"a\nb", r"a\r?\nb", r"(?s)a.*b", r"(?s:.)", r"[\s\S]", r"(a|[\d\D]*)", r"a[\r\n]b", r"\x0a"]
        {
            assert!(LinePattern::new(pattern).unwrap().spans(), "{pattern}");
        }
        for pattern in [r"a\s+b", "[^x]*", ".*", r"\W", "^$", r"(?s)ab", "[^\n]", r"a\\n"] {
            assert!(!LinePattern::new(pattern).unwrap().spans(), "{pattern}");
        }
    }
}
