//! How far two lines may differ and still be the same. Pure.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// What is overlooked when lines are compared. Each overlooks what those before it do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Looseness {
    /// Nothing.
    Exact,
    /// White space at the end.
    End,
    /// White space at both ends.
    Ends,
    /// Which of several signs stands for the same thing: quotes, dashes, spaces, and how accents are put together.
    Signs,
}

impl Looseness {
    /// All of them, strictest first.
    pub(crate) const ALL: [Self; 4] = [Self::Exact, Self::End, Self::Ends, Self::Signs];

    /// Two lines are the same under this looseness exactly if their keys are equal.
    pub(crate) fn key(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => line.into(),
            Self::End => line.trim_end().into(),
            Self::Ends => line.trim().into(),
            Self::Signs => plain(line.trim()),
        }
    }
}

/// `text` with plain quotes, dashes and spaces, in normal form C. The length may differ.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let sign = |c: char| plain_sign(c);
    let text: String = match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => text.chars().map(sign).collect(),
        IsNormalized::No | IsNormalized::Maybe => text.nfc().map(sign).collect(),
    };
    text.into()
}

/// The plain sign that stands for the same as `c`.
pub(crate) fn plain_sign(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_overlooks_more() {
        #[track_caller]
        fn check(one: &str, other: &str, least: Option<Looseness>) {
            let same = |looseness: &Looseness| looseness.key(one) == looseness.key(other);
            assert_eq!(Looseness::ALL.into_iter().find(same), least, "{one:?} {other:?}");
            let first = Looseness::ALL.iter().position(same).unwrap_or(Looseness::ALL.len());
            assert!(Looseness::ALL[first..].iter().all(same), "{one:?} {other:?}");
        }
        check("a", "a", Some(Looseness::Exact));
        check("a \t", "a", Some(Looseness::End));
        check("\ta", "  a", Some(Looseness::Ends));
        check("say \u{201c}hi\u{201d}", "say \"hi\"", Some(Looseness::Signs));
        check("a\u{a0}\u{2013} b", "a - b", Some(Looseness::Signs));
        check("caf\u{e9}", "cafe\u{301}", Some(Looseness::Signs));
        check("a", "b", None);
        check("a  b", "a b", None);
    }
}
