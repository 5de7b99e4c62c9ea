//! Cutting a text into the smallest pieces that stand for the same thing in different spellings. Pure.
//!
//! A token is a run of white space, one ASCII character, one sign that has a plain form (a curly quote, a long dash), or
//! a run of other characters together with the letter that its first accent stands on. Cutting forwards and backwards
//! gives the same tokens.

use unicode_normalization::char::canonical_combining_class;

use crate::matching::{plain, plain_sign};

/// The token that `text` begins with; empty where it is.
pub(super) fn first(text: &str) -> &str {
    let mut chars = text.char_indices();
    let Some((_, c)) = chars.next() else { return "" };
    if c.is_whitespace() {
        return &text[..text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len())];
    }
    if c.is_ascii() {
        let accented = chars.next().is_some_and(|(_, next)| is_accent(next));
        return if accented { &text[..1 + run(&text[1..])] } else { &text[..1] };
    }
    if plain_sign(c) != c {
        return &text[..c.len_utf8()];
    }
    &text[..run(text)]
}

/// The token that `text` ends with; empty where it is.
pub(super) fn last(text: &str) -> &str {
    let Some(c) = text.chars().next_back() else { return "" };
    if c.is_whitespace() {
        return &text[text.trim_end().len()..];
    }
    if c.is_ascii() || plain_sign(c) != c {
        return &text[text.len() - c.len_utf8()..];
    }
    let mut start = text.trim_end_matches(is_run).len();
    if text[start..].starts_with(is_accent) && text[..start].ends_with(|c: char| c.is_ascii() && !c.is_whitespace()) {
        start -= 1;
    }
    &text[start..]
}

/// All of them, in order.
pub(super) fn all(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let token = first(rest);
        rest = &rest[token.len()..];
        (!token.is_empty()).then_some(token)
    })
}

/// How two tokens compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alike {
    /// They are the same but for white space.
    Same,
    /// They stand for the same.
    Signs,
    /// They do not.
    No,
}

pub(super) fn alike(one: &str, other: &str) -> Alike {
    if one == other {
        return Alike::Same;
    }
    let blank = |token: &str| token.starts_with(char::is_whitespace);
    match (blank(one), blank(other)) {
        (true, true) if feeds(one) == feeds(other) => Alike::Same,
        (false, false) if !(one.is_ascii() && other.is_ascii()) && plain(one) == plain(other) => Alike::Signs,
        _ => Alike::No,
    }
}

pub(super) fn feeds(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn run(text: &str) -> usize {
    text.find(|c: char| !is_run(c)).unwrap_or(text.len())
}

fn is_run(c: char) -> bool {
    !c.is_ascii() && !c.is_whitespace() && plain_sign(c) == c
}

fn is_accent(c: char) -> bool {
    !c.is_ascii() && canonical_combining_class(c) != 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_cut() {
        let cut = |text| all(text).collect::<Vec<_>>();
        assert_eq!(cut("ab \n\tc"), ["a", "b", " \n\t", "c"]);
        assert_eq!(cut("cafe\u{301}s"), ["c", "a", "f", "e\u{301}", "s"]);
        assert_eq!(cut("caf\u{e9}s"), ["c", "a", "f", "\u{e9}", "s"]);
        assert_eq!(cut("\u{201c}漢字\u{201d}"), ["\u{201c}", "漢字", "\u{201d}"]);
    }

    #[test]
    fn tokens_compare() {
        for (one, other, want) in [
            ("a", "a", Alike::Same),
            (" ", "\t ", Alike::Same),
            ("\n", " \n", Alike::Same),
            ("\n", " ", Alike::No),
            ("\u{2019}", "'", Alike::Signs),
            ("e\u{301}", "\u{e9}", Alike::Signs),
            ("e", "\u{e9}", Alike::No),
            (" ", "a", Alike::No),
        ] {
            assert_eq!(alike(one, other), want, "{one:?} {other:?}");
        }
    }

    proptest! {
        #[test]
        fn both_directions_agree(text in "[a \n\u{301}é漢’\u{a0}]{0,20}") {
            let forwards: Vec<&str> = all(&text).collect();
            let mut backwards = Vec::new();
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let token = last(rest);
                rest = &rest[..rest.len() - token.len()];
                backwards.push(token);
            }
            backwards.reverse();
            prop_assert_eq!(forwards, backwards);
        }
    }
}
