//! Finding the text to replace, and replacing it. Pure.
//!
//! To teach it a new way to match, write a [`Strategy`], add it to [`STRATEGIES`] and rows to the table below.

use std::ops::Range;

/// Finds the places in a content that are meant by an old text. No two of them begin at the same byte, and none is
/// empty; they come in order.
type Strategy = fn(content: &str, old: &str) -> Vec<Range<usize>>;

/// The ways to match, strictest first. The first one that finds anything decides.
const STRATEGIES: [Strategy; 1] = [exact];

/// How many places are named where there are too many.
const MAX_NAMED: usize = 10;

/// How many places may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The only one there is.
    One,
    /// Every one.
    All,
}

/// A content with its replacements made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// The whole new content.
    pub(crate) text: String,
    /// How many places were replaced.
    pub(crate) places: usize,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Old and new text are the same.
    Same,
    /// The old text is empty, which is everywhere and nowhere.
    Empty,
    /// The old text is not there.
    NotFound,
    /// It is there more than once and one was wanted.
    Several {
        /// How often.
        count: usize,
        /// The lines that the first [`MAX_NAMED`] places begin on, from 1.
        lines: Vec<usize>,
    },
}

/// Replaces `old` in `content` by exactly `new`.
pub(crate) fn replace(content: &str, old: &str, new: &str, scope: Scope) -> Result<Replaced, Refusal> {
    if old == new {
        return Err(Refusal::Same);
    }
    if old.is_empty() {
        return Err(Refusal::Empty);
    }
    let found = STRATEGIES.iter().map(|find| find(content, old)).find(|places| !places.is_empty());
    let places = found.ok_or(Refusal::NotFound)?;
    if scope == Scope::One && places.len() > 1 {
        let lines = lines(content, &places[..places.len().min(MAX_NAMED)]);
        return Err(Refusal::Several { count: places.len(), lines });
    }
    Ok(put(content, &places, new))
}

/// What is there byte for byte. Where two places overlap they count as two, but only the last such pair is noticed.
fn exact(content: &str, old: &str) -> Vec<Range<usize>> {
    let mut places: Vec<_> = content.match_indices(old).map(|(at, _)| at..at + old.len()).collect();
    let last = content.rfind(old).map(|at| at..at + old.len());
    places.extend(last.filter(|last| places.last() != Some(last)));
    places
}

fn put(content: &str, places: &[Range<usize>], new: &str) -> Replaced {
    let mut text = String::with_capacity(content.len());
    let (mut done, mut count) = (0, 0);
    for place in places {
        // What a replacement has used up cannot be replaced again.
        if place.start < done {
            continue;
        }
        text.push_str(&content[done..place.start]);
        text.push_str(new);
        done = place.end;
        count += 1;
    }
    text.push_str(&content[done..]);
    Replaced { text, places: count }
}

fn lines(content: &str, places: &[Range<usize>]) -> Vec<usize> {
    let (mut line, mut at) = (1, 0);
    let number = |place: &Range<usize>| {
        line += content.as_bytes()[at..place.start].iter().filter(|&&byte| byte == b'\n').count();
        at = place.start;
        line
    };
    places.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn one(content: &str, old: &str, new: &str, want: &str) {
        let want = Replaced { text: want.to_owned(), places: 1 };
        assert_eq!(replace(content, old, new, Scope::One), Ok(want));
    }

    #[track_caller]
    fn all(content: &str, old: &str, new: &str, want: &str, places: usize) {
        let want = Replaced { text: want.to_owned(), places };
        assert_eq!(replace(content, old, new, Scope::All), Ok(want));
    }

    #[track_caller]
    fn refused(content: &str, old: &str, new: &str, want: Refusal) {
        assert_eq!(replace(content, old, new, Scope::One), Err(want));
    }

    #[test]
    fn the_only_place_is_replaced() {
        one("a b c", "b", "x", "a x c");
        one("a\nb\nc", "a\nb", "x", "x\nc");
        one("a", "a", "", "");
        one("é漢é", "漢", "", "éé");
    }

    #[test]
    fn the_new_text_is_taken_literally() {
        one("a b", "b", "$& $1 \\1 $$", "a $& $1 \\1 $$");
    }

    #[test]
    fn every_place_is_replaced_once() {
        all("a b a", "a", "aa", "aa b aa", 2);
        all("aaa", "aa", "b", "ba", 1);
        all("a", "a", "b", "b", 1);
    }

    #[test]
    fn several_places_are_named() {
        refused("a\nb\na\n", "a", "x", Refusal::Several { count: 2, lines: vec![1, 3] });
        refused("aa", "a", "x", Refusal::Several { count: 2, lines: vec![1, 1] });
        refused(&"a\n".repeat(99), "a", "x", Refusal::Several { count: 99, lines: (1..=10).collect() });
        refused("x\naba\n", "a", "x", Refusal::Several { count: 2, lines: vec![2, 2] });
        refused("}\n}\n}\n", "}\n}\n", "x", Refusal::Several { count: 2, lines: vec![1, 2] });
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        refused("a", "b", "c", Refusal::NotFound);
        refused("a", "A", "c", Refusal::NotFound);
        refused("a", "a", "a", Refusal::Same);
        refused("a", "", "a", Refusal::Empty);
        refused("", "a", "b", Refusal::NotFound);
    }
}
