//! A pattern that means nothing, and what to write instead. Pure.

use std::fmt;

/// How many characters of a pattern are shown around the place.
const SHOWN: usize = 120;

/// A pattern that means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPattern {
    /// The pattern, a piece of it if it is long.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
    /// Where, in characters from 1 in the whole pattern.
    pub at: Option<usize>,
    /// What to do about it.
    pub advice: Option<String>,
    /// Where that is in what is shown, in characters before it.
    column: usize,
}

impl BadPattern {
    /// Something is wrong with `pattern` as a whole.
    pub(super) fn new(pattern: &str, why: impl Into<String>) -> Self {
        Self { pattern: excerpt(pattern, 0).0, why: why.into(), at: None, advice: None, column: 0 }
    }

    /// Something is wrong at this byte of `pattern`.
    pub(super) fn at(pattern: &str, byte: usize, why: impl Into<String>) -> Self {
        let before = pattern.char_indices().take_while(|(at, _)| *at < byte).count();
        let (shown, column) = excerpt(pattern, before);
        Self { pattern: shown, why: why.into(), at: Some(before + 1), advice: None, column }
    }

    /// The same with what to do about it.
    pub(super) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

impl std::error::Error for BadPattern {}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, why, at, advice, column } = self;
        write!(f, "{pattern:?} is no pattern that can be searched for: {why}")?;
        if let Some(at) = at {
            write!(f, ", at character {at}:\n  {}\n  {}^", plain(pattern), " ".repeat(*column))?;
        }
        match (at, advice) {
            (Some(_), Some(advice)) => write!(f, "\n{advice}"),
            (None, Some(advice)) => write!(f, ". {advice}"),
            (Some(_) | None, None) => Ok(()),
        }
    }
}

/// So much of `pattern` as is shown, with the character behind `before` others in it; and how many of these are shown.
fn excerpt(pattern: &str, before: usize) -> (String, usize) {
    let skipped = before.saturating_sub(SHOWN / 2);
    (pattern.chars().skip(skipped).take(SHOWN).collect(), before - skipped)
}

/// On one line, and each character where it was.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bad: BadPattern, want: &str) {
        assert_eq!(bad.to_string(), want);
    }

    #[test]
    fn the_place_is_shown_below_the_pattern() {
        let head = |pattern: &str| format!("{pattern:?} is no pattern that can be searched for: ");
        check(
            BadPattern::at("foo(", 3, "unclosed group"),
            &(head("foo(") + "unclosed group, at character 4:\n  foo(\n     ^"),
        );
        check(BadPattern::at("é(", 2, "x").advise("y"), &(head("é(") + "x, at character 2:\n  é(\n   ^\ny"));
        check(BadPattern::at("a\n(", 2, "x"), &(head("a\n(") + "x, at character 3:\n  a (\n    ^"));
        check(BadPattern::at("a", 1, "x"), &(head("a") + "x, at character 2:\n  a\n   ^"));
        check(BadPattern::new("a", "it is bad").advise("Do this"), &(head("a") + "it is bad. Do this"));
    }

    #[test]
    fn of_a_long_pattern_the_piece_around_the_place_is_shown() {
        let long = format!("{}({}", "a".repeat(1000), "b".repeat(1000));
        let bad = BadPattern::at(&long, 1000, "x");
        assert_eq!((bad.at, bad.pattern.len()), (Some(1001), SHOWN));
        let text = bad.to_string();
        let [line, mark] = [1, 2].map(|at| text.lines().nth(at).unwrap());
        assert_eq!(line.find('('), mark.find('^'));
    }
}
