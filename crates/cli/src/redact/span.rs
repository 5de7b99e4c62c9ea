//! Pieces of a text, and values that stand in one. Pure.

use std::ops::Range;

/// What stands for a secret.
pub(super) const KEY: &str = "[key]";

/// A piece of a text that goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub range: Range<usize>,
    /// What stands there then.
    pub instead: &'static str,
    /// Whether the same goes wherever else it stands.
    pub spreads: bool,
}

impl Spot {
    /// A secret at `range`, which goes everywhere.
    pub(super) fn key(range: Range<usize>) -> Self {
        Self { range, instead: KEY, spreads: true }
    }

    /// The same, which goes only here.
    pub(super) fn only_here(self) -> Self {
        Self { spreads: false, ..self }
    }
}

/// `text` without `spots`. Where some lie over each other, all goes that one of them covers.
pub(super) fn without(text: &str, mut spots: Vec<Spot>) -> String {
    spots.sort_by_key(|spot| (spot.range.start, std::cmp::Reverse(spot.range.end)));
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for Spot { range, instead, .. } in spots {
        if range.start >= end {
            out.push_str(&text[end..range.start]);
            out.push_str(instead);
        }
        end = end.max(range.end);
    }
    out.push_str(&text[end..]);
    out
}

/// A value as it stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// Without its quotes.
    pub range: Range<usize>,
    pub quoted: bool,
}

/// The value that begins at `at`, or behind the blanks there: what stands between quotes, also between escaped ones, else
/// what comes before a blank or one of `ends`.
pub(super) fn value(text: &str, at: usize, ends: &str) -> Option<Value> {
    let rest = &text[at..];
    let begin = at + (rest.len() - rest.trim_start_matches([' ', '\t']).len());
    let rest = &text[begin..];
    // A letter may say what kind of string it is.
    let kind = usize::from(rest.starts_with(['b', 'r', 'f', 'u']) && rest[1..].starts_with(['"', '\'']));
    let slashes = rest[kind..].chars().take_while(|letter| *letter == '\\').count();
    let quote = rest[kind + slashes..].chars().next().filter(|letter| "\"'`".contains(*letter));
    if let Some(quote) = quote {
        let inner = begin + kind + slashes + 1;
        return closed(&text[inner..], quote, slashes)
            .map(|end| Value { range: inner..inner + end, quoted: true })
            // It was cut off.
            .or_else(|| bare(text, inner, ends).map(|cut| Value { quoted: true, ..cut }));
    }
    bare(text, begin, ends)
}

/// Where `quote`, which stands behind so many `slashes`, ends what begins `text`, on the same line.
fn closed(text: &str, quote: char, slashes: usize) -> Option<usize> {
    let mut before = 0;
    for (at, letter) in text.char_indices() {
        if letter == '\n' {
            return None;
        }
        if letter == quote && before <= slashes {
            return Some(at - before.min(slashes));
        }
        // Two of them are one that means itself.
        before = if letter == '\\' { if slashes == 0 { (before + 1) % 2 } else { before + 1 } } else { 0 };
    }
    None
}

fn bare(text: &str, begin: usize, ends: &str) -> Option<Value> {
    let rest = &text[begin..];
    let mut end = rest.find(|letter: char| letter.is_whitespace() || ends.contains(letter)).unwrap_or(rest.len());
    // A break, or a quote, as a text within a text writes it.
    let escape = |at: &usize| rest[*at + 1..].starts_with(['n', 'r', 't', '"', '\'']);
    end = rest[..end].match_indices('\\').map(|(at, _)| at).find(escape).unwrap_or(end);
    (end > 0).then_some(Value { range: begin..begin + end, quoted: false })
}

/// The places of `word` in `text` where it is no part of another one.
pub(super) fn places<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    text.match_indices(word).map(|(at, word)| at..at + word.len()).filter(move |range| {
        let before = &text[..range.start];
        let first = word.chars().next().is_some_and(char::is_alphanumeric);
        let last = word.chars().next_back().is_some_and(char::is_alphanumeric);
        // The `n` of a break that is written as `\n`.
        let is_escape = ["\\n", "\\t", "\\r"].iter().any(|escape| before.ends_with(escape));
        let glued = before.chars().next_back().is_some_and(char::is_alphanumeric) && !is_escape;
        let goes_on = text[range.end..].chars().next().is_some_and(char::is_alphanumeric);
        !(first && glued || last && goes_on)
    })
}
