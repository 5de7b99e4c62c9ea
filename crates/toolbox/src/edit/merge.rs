//! Bringing what a model changed into the lines that the file has. Pure.
//!
//! The old text and the new one are compared line by line. What is the same in both stays as the file has it, byte for
//! byte; what differs comes from the new text, indented as the lines of the file are that it stands with.

use std::borrow::Cow;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::document::Change;
use super::how::Place;
use super::noise::Noise;
use super::sheet::Sheet;
use super::spelling::respell;
use crate::matching::Indents;

/// Most pairs of lines that are compared to find which stay. Beyond that all count as changed.
const MAX_PAIRS: usize = 4_000_000;

/// What is to be done with the old lines, in order.
pub(super) struct Merge<'a> {
    old: &'a Sheet<'a>,
    new: &'a Sheet<'a>,
    steps: Vec<Step>,
}

/// These old lines become those new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    old: std::ops::Range<usize>,
    new: std::ops::Range<usize>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(old: &'a Sheet<'a>, new: &'a Sheet<'a>) -> Self {
        Self { old, new, steps: steps(&old.lines, &new.lines) }
    }

    /// The changes for one place of `text`; `None` where it is in doubt what they would be.
    pub(super) fn at(&self, text: &str, place: &Place) -> Option<Vec<Change>> {
        let pairs = self.old.lines.iter().zip(&place.rows).enumerate().filter_map(|(at, (old, row))| {
            let row = row.clone().filter(|_| at > 0 || !place.cut_first)?;
            Some((at, *old, &text[row]))
        });
        // The first line of a cut place has its indentation in front of it.
        let new = self.new.lines.iter().copied().skip(usize::from(place.cut_first));
        let here =
            Here { merge: self, text, place, indents: Indents::learn(pairs.clone(), new), noise: Noise::learn(pairs) };
        if !self.steps.iter().all(|step| here.is_whole(step)) {
            return None;
        }
        let mut changes = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            changes.extend(here.change(step)?);
        }
        Some(changes)
    }
}

fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let bare = |lines: &[&str]| lines.iter().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let (old, new) = (bare(old), bare(new));
    let most = old.len().min(new.len());
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let after = old.iter().rev().zip(new.iter().rev()).take(most - before).take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old.len() - after, new.len() - after);
    let (from, to) = (&old[before..old_end], &new[before..new_end]);
    if from.is_empty() && to.is_empty() {
        return Vec::new();
    }
    if from.len() * to.len() > MAX_PAIRS {
        return vec![Step { old: before..old_end, new: before..new_end }];
    }
    let ops = capture_diff_slices(Algorithm::Myers, from, to);
    let mut steps: Vec<Step> = Vec::new();
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        let (old, new) = (op.old_range(), op.new_range());
        let step = Step { old: old.start + before..old.end + before, new: new.start + before..new.end + before };
        // What is removed and what is put in its place may come as two.
        match steps.last_mut().filter(|last| last.old.end == step.old.start && last.new.end == step.new.start) {
            Some(last) => *last = Step { old: last.old.start..step.old.end, new: last.new.start..step.new.end },
            None => steps.push(step),
        }
    }
    steps
}

/// A merge at one place.
struct Here<'a> {
    merge: &'a Merge<'a>,
    text: &'a str,
    place: &'a Place,
    indents: Indents<'a>,
    noise: Noise<'a>,
}

impl Here<'_> {
    /// Whether the old lines of a step and those beside it follow each other in the file as they do in the old text. Where
    /// there are more blank lines, or fewer, it cannot be told what the edit means to do with them.
    fn is_whole(&self, step: &Step) -> bool {
        let rows = &self.place.rows;
        let around = step.old.start.saturating_sub(1)..(step.old.end + 1).min(rows.len());
        rows[around].windows(2).all(|pair| match (&pair[0], &pair[1]) {
            (Some(one), Some(next)) => one.end + 1 == next.start,
            _ => false,
        })
    }

    fn change(&self, step: &Step) -> Option<Option<Change>> {
        let rows = &self.place.rows;
        let last_row = rows.len() - 1;
        let there: Vec<usize> = step.old.clone().filter(|at| rows[*at].is_some()).collect();
        let before = rows[..step.old.start].iter().rposition(Option::is_some);
        let after = (step.old.end..rows.len()).find(|at| rows[*at].is_some());
        let row = |at: usize| rows[at].clone().unwrap_or_default();
        let cut_before = |at: usize| at == 0 && self.place.cut_first;
        let cut_after = |at: usize| at == last_row && self.place.cut_last;
        let lines = self.lines(step, &there);
        let (range, text) = match (there.first(), there.last()) {
            (Some(&first), Some(&last)) if lines.is_empty() => {
                // Of a line that the place has a part of, another part would be left alone.
                if cut_before(first) && rows.len() > 1 || cut_after(last) && rows.len() > 1 {
                    return None;
                }
                let (start, end) = (row(first).start, row(last).end);
                let range = match (after, before) {
                    (Some(_), _) => start..end + 1,
                    (None, Some(_)) => start - 1..end,
                    (None, None) if self.text[end..].starts_with('\n') => start..end + 1,
                    (None, None) => start..end,
                };
                (range, String::new())
            }
            (Some(&first), Some(&last)) => {
                let fewer = step.old.len() != step.new.len();
                if fewer && (cut_before(first) || cut_after(last)) && rows.len() > 1 {
                    return None;
                }
                (row(first).start..row(last).end, lines.join("\n"))
            }
            _ if lines.is_empty() => return Some(None),
            _ => match (before, after) {
                (Some(before), _) if !cut_after(before) => {
                    let at = row(before).end;
                    (at..at, format!("\n{}", lines.join("\n")))
                }
                (None, Some(after)) if !cut_before(after) => {
                    let at = row(after).start;
                    (at..at, format!("{}\n", lines.join("\n")))
                }
                _ => return None,
            },
        };
        Some(Some(Change { range, text }))
    }

    /// The new lines of a step as they come into the file. `there` are the old ones that it has.
    fn lines(&self, step: &Step, there: &[usize]) -> Vec<Cow<'_, str>> {
        let (old, new) = (&self.merge.old.lines, &self.merge.new.lines);
        let same_number = step.old.len() == step.new.len();
        let line = |(number, at): (usize, usize)| {
            let line = new[at];
            let beside = step.old.start + number;
            let near = if number < step.old.len() { beside } else { step.old.end.saturating_sub(1) };
            let cut = at == 0 && near == 0 && self.place.cut_first;
            let line = if cut { line.into() } else { self.indents.apply(near, line) };
            let line = self.noise.clear(line);
            // Only lines that stand for each other can share their spelling.
            let twin = (number < step.old.len() && (same_number || number == 0)).then_some(beside);
            let twin =
                twin.filter(|at| there.contains(at)).and_then(|at| Some((old[at], self.place.rows[at].clone()?)));
            match twin {
                Some((old, row)) => respell(&line, old, &self.text[row]).map_or(line, Cow::Owned),
                None => line,
            }
        };
        step.new.clone().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::sheet::{Lines, pair};

    /// Merges at a place that is all of `file`.
    #[track_caller]
    fn check(file: &str, old: &str, new: &str, want: &str) {
        let (old, new) = pair(old, new);
        let lines = Lines::of(file);
        let rows = (0..lines.len()).map(|at| Some(lines.range(at))).collect();
        let place = Place { rows, cut_first: false, cut_last: false };
        let changes = Merge::new(&old, &new).at(file, &place).unwrap();
        let mut document = crate::edit::document::Document::new(file);
        document.change(&changes);
        assert_eq!(document.into_content(), want);
    }

    #[test]
    fn lines_that_stay_are_those_of_the_file() {
        check("a  \n\tb\nc", "a\nb\nc", "a\nb\nd", "a  \n\tb\nd");
        check("a  \n  b\n", "a\nb\n", "a\nnew\nb\n", "a  \nnew\n  b\n");
        check("  a\n  b\n", "a\nb\n", "a\nnew\nb\n", "  a\n  new\n  b\n");
        check("  a\n  b\n", "a\nb\n", "b\n", "  b\n");
        check("  a\n  b\n", "a\nb\n", "a\n", "  a\n");
        check("  a\n  b", "a\nb", "x\ny\nz", "  x\n  y\n  z");
        check("  a\n", "a\n", "", "");
        check("  a", "a", "", "");
    }

    #[test]
    fn blocks_are_indented_as_the_file_is() {
        check(
            "\tif a {\n\t\tb();\n\t}\n",
            "if a {\n    b();\n}\n",
            "if a {\n    if c {\n        b();\n    }\n}\n",
            "\tif a {\n\t\tif c {\n\t\t\tb();\n\t\t}\n\t}\n",
        );
    }

    #[test]
    fn too_many_lines_are_not_compared() {
        let lines = |from: usize, count: usize| (from..from + count).map(|at| at.to_string()).collect::<Vec<_>>();
        let (old, new) = (lines(0, 2001), lines(5, 2001));
        let refs = |lines: &'static [String]| lines.iter().map(String::as_str).collect::<Vec<_>>();
        let (old, new) = (refs(old.leak()), refs(new.leak()));
        assert_eq!(steps(&old, &new), [Step { old: 0..2001, new: 0..2001 }]);
        assert_eq!(steps(&old[..2000], &new[..2000]).len(), 2);
    }
}
