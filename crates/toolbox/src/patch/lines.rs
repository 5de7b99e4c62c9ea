//! The lines of a file as numbers that are equal where lines are, so that looking for many of them is cheap. Pure.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::matching::Looseness;

/// Most comparisons of two lines for one file. A patch that needs more was made to.
pub(super) const MAX_COMPARED: usize = 50_000_000;

/// The work would take too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// A file as lines, without their ends.
pub(super) struct Lines<'a> {
    texts: &'a [&'a str],
    /// For each looseness, once it is needed.
    levels: [Option<Level<'a>>; Looseness::ALL.len()],
    /// How many comparisons are left.
    left: usize,
}

struct Level<'a> {
    ids: Vec<u32>,
    known: HashMap<Cow<'a, str>, u32>,
}

impl<'a> Lines<'a> {
    /// For at most so many comparisons.
    pub(super) fn new(texts: &'a [&'a str], left: usize) -> Self {
        Self { texts, levels: [const { None }; Looseness::ALL.len()], left }
    }

    pub(super) fn texts(&self) -> &'a [&'a str] {
        self.texts
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The number of a line at this looseness; `None` where no line of the file is like it.
    pub(super) fn id(&mut self, level: Looseness, line: &str) -> Option<u32> {
        self.level(level).known.get(&key(level, line)).copied()
    }

    /// Whether the lines `needle` are on the line `at`.
    pub(super) fn fits(&mut self, level: Looseness, needle: &[u32], at: usize) -> Result<bool, TooMuch> {
        self.left = self.left.checked_sub(needle.len()).ok_or(TooMuch)?;
        let there = at.checked_add(needle.len()).and_then(|end| self.level(level).ids.get(at..end));
        Ok(there == Some(needle))
    }

    /// Where they first are from the line `from` on.
    pub(super) fn first(&mut self, level: Looseness, needle: &[u32], from: usize) -> Result<Option<usize>, TooMuch> {
        self.find(level, needle, from, self.len(), false)
    }

    /// Where they last are between two lines.
    pub(super) fn last(
        &mut self,
        level: Looseness,
        needle: &[u32],
        from: usize,
        until: usize,
    ) -> Result<Option<usize>, TooMuch> {
        self.find(level, needle, from, until, true)
    }

    fn find(
        &mut self,
        level: Looseness,
        needle: &[u32],
        from: usize,
        until: usize,
        backwards: bool,
    ) -> Result<Option<usize>, TooMuch> {
        let mut left = self.left;
        let hay = &self.level(level).ids;
        let mut fits = |window: &[u32]| {
            let same = window.iter().zip(needle).take_while(|(one, other)| one == other).count();
            left = left.checked_sub(same + 1).ok_or(TooMuch)?;
            Ok(same == needle.len())
        };
        let mut found = Ok(None);
        if !needle.is_empty()
            && let Some(hay) = hay.get(from..until.min(hay.len()))
        {
            let mut windows = hay.windows(needle.len()).enumerate();
            while let Some((index, window)) = if backwards { windows.next_back() } else { windows.next() } {
                match fits(window) {
                    Ok(false) => {}
                    Ok(true) => {
                        found = Ok(Some(from + index));
                        break;
                    }
                    Err(TooMuch) => {
                        found = Err(TooMuch);
                        break;
                    }
                }
            }
        }
        self.left = left;
        found
    }

    /// The line before which the block ends that the line `opens` opens: those behind it that are indented deeper.
    pub(super) fn block_end(&self, opens: usize) -> usize {
        let depth = |line: &str| line.len() - line.trim_start().len();
        let outer = depth(self.texts[opens]);
        let deeper = |line: &&&str| line.trim().is_empty() || depth(line) > outer;
        opens + 1 + self.texts[opens + 1..].iter().take_while(deeper).count()
    }

    fn level(&mut self, level: Looseness) -> &Level<'a> {
        let texts = self.texts;
        let slot = &mut self.levels[level as usize];
        slot.get_or_insert_with(|| {
            let mut known: HashMap<Cow<'a, str>, u32> = HashMap::new();
            let mut id = |line: &&'a str| {
                // A file of 4 billion different lines is larger than any that is read.
                let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known.entry(key(level, line)).or_insert(next)
            };
            let ids = texts.iter().map(&mut id).collect();
            Level { ids, known }
        })
    }
}

/// What makes two lines the same. Dots are a sign of which there are two kinds of different length.
fn key(level: Looseness, line: &str) -> Cow<'_, str> {
    match level {
        Looseness::Exact | Looseness::End | Looseness::Ends => level.key(line),
        Looseness::Signs => match level.key(line) {
            key if key.contains('\u{2026}') => key.replace('\u{2026}', "...").into(),
            key => key,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Looseness = Looseness::Exact;

    fn needle(lines: &mut Lines<'_>, level: Looseness, old: &[&str]) -> Vec<u32> {
        old.iter().map(|line| lines.id(level, line).unwrap()).collect()
    }

    #[test]
    fn lines_are_found_from_both_sides() {
        let mut lines = Lines::new(&["a", "b", "a", "b", "c"], MAX_COMPARED);
        let ab = needle(&mut lines, EXACT, &["a", "b"]);
        assert_eq!(lines.first(EXACT, &ab, 0), Ok(Some(0)));
        assert_eq!(lines.first(EXACT, &ab, 1), Ok(Some(2)));
        assert_eq!(lines.first(EXACT, &ab, 3), Ok(None));
        assert_eq!(lines.first(EXACT, &ab, 99), Ok(None));
        assert_eq!(lines.last(EXACT, &ab, 0, 5), Ok(Some(2)));
        assert_eq!(lines.last(EXACT, &ab, 0, 3), Ok(Some(0)));
        assert_eq!(lines.last(EXACT, &ab, 1, 3), Ok(None));
        assert_eq!(lines.fits(EXACT, &ab, 2), Ok(true));
        assert_eq!(lines.fits(EXACT, &ab, usize::MAX), Ok(false));
        assert_eq!(lines.id(EXACT, "A"), None);
    }

    #[test]
    fn each_level_overlooks_more() {
        let mut lines = Lines::new(&["  a\u{2026}\u{201c} "], MAX_COMPARED);
        assert_eq!(lines.id(Looseness::End, "  a\u{2026}\u{201c}"), Some(0));
        assert_eq!(lines.id(Looseness::Ends, "a\u{2026}\u{201c}"), Some(0));
        assert_eq!(lines.id(Looseness::Ends, "a...\""), None);
        assert_eq!(lines.id(Looseness::Signs, "a...\""), Some(0));
    }

    #[test]
    fn a_block_ends_where_a_line_is_no_deeper() {
        let lines = Lines::new(&["f:", "  a", "", "  b", "g:", "  c"], 0);
        assert_eq!((lines.block_end(0), lines.block_end(4), lines.block_end(5)), (4, 6, 6));
    }

    #[test]
    fn the_work_is_bounded() {
        let texts = ["a"; 40];
        let mut lines = Lines::new(&texts, 100);
        let id = lines.id(EXACT, "a").unwrap();
        // All but the last line fit everywhere.
        let needle: Vec<u32> = [id; 19].into_iter().chain([id + 1]).collect();
        assert_eq!(lines.first(EXACT, &needle, 0), Err(TooMuch));
        assert_eq!(lines.fits(EXACT, &needle, 0), Err(TooMuch));
        let mut lines = Lines::new(&texts, MAX_COMPARED);
        assert_eq!(lines.first(EXACT, &needle, 0), Ok(None));
    }
}
