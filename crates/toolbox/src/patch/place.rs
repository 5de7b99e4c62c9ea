//! Where in a file each hunk belongs. Pure.
//!
//! Hunks stand in the order of the file and do not overlap. Going down the file each takes the first place that fits, at
//! the strictest looseness at which one does; going up again each takes the last. Where both are the same place no other
//! is possible; where they are not the patch does not say which is meant, and none is taken.
//!
//! A hunk with lines above it begins behind the first of them, and takes the first place that fits there, unless the
//! block that the line above opens has a second one.

use std::ops::Range;

use super::grammar::{Hunk, Row};
use super::lines::{Lines, MAX_COMPARED, TooMuch};
use super::nearest::{nearest, nearest_line};
use super::refusal::{Refusal, Why};
use crate::matching::Looseness;

/// How many places are named where there are too many.
const MAX_NAMED: usize = 10;

/// A hunk at its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    /// The line of the file that it begins on, from 0.
    pub(super) at: usize,
    /// Those of its rows that count: blank lines at its ends may be decoration.
    pub(super) rows: Range<usize>,
}

/// Finds the place of each hunk.
pub(super) fn place(file: &[&str], hunks: &[Hunk]) -> Result<Vec<Placed>, Refusal> {
    place_within(file, hunks, MAX_COMPARED)
}

/// The same with at most so many comparisons of lines.
fn place_within(file: &[&str], hunks: &[Hunk], compared: usize) -> Result<Vec<Placed>, Refusal> {
    let mut search = Search { lines: Lines::new(file, compared) };
    let mut firsts = Vec::with_capacity(hunks.len());
    let mut from = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let first = search.first(hunk, from).map_err(|why| Refusal { hunk: index + 1, why })?;
        if let Hold::Free { .. } | Hold::Fixed = first.hold {
            from = first.at + first.needle.len();
        }
        firsts.push(first);
    }
    let mut doubt = None;
    let mut until = file.len();
    for (index, first) in firsts.iter().enumerate().rev() {
        let refused = |why| Refusal { hunk: index + 1, why };
        if let Some(why) = search.last(first, &mut until).map_err(|TooMuch| refused(Why::TooMuch))? {
            doubt = Some(refused(why));
        }
    }
    doubt.map_or_else(|| Ok(firsts.into_iter().map(|first| Placed { at: first.at, rows: first.rows }).collect()), Err)
}

/// The first place that fits a hunk.
struct First {
    at: usize,
    rows: Range<usize>,
    level: Looseness,
    /// Its old lines at that looseness; none where it only adds.
    needle: Vec<u32>,
    hold: Hold,
}

enum Hold {
    /// Behind the last line of the file, wherever the others are.
    Behind,
    /// The patch says that it is there.
    Fixed,
    /// It is the first that fits behind these lines, if there are any, the first of which is on the line `begins`.
    Free { above: Vec<Above>, begins: usize },
}

/// A line that stands above a hunk.
#[derive(Clone, Copy)]
struct Above {
    level: Looseness,
    id: u32,
}

struct Search<'a> {
    lines: Lines<'a>,
}

impl Search<'_> {
    fn first(&mut self, hunk: &Hunk, from: usize) -> Result<First, Why> {
        let mut above = Vec::with_capacity(hunk.above.len());
        let (mut base, mut begins) = (from, from);
        for line in &hunk.above {
            let Some((level, id, at)) = self.line(line, base)? else { return Err(self.no_above(line, base)) };
            if above.is_empty() {
                begins = at;
            }
            above.push(Above { level, id });
            base = at + 1;
        }
        let end = self.lines.len();
        if hunk.old().next().is_none() {
            let rows = 0..hunk.rows.len();
            let (at, hold) = match above.is_empty() || hunk.at_end {
                true => (end, Hold::Behind),
                false => (base, Hold::Free { above, begins }),
            };
            return Ok(First { at, rows, level: Looseness::Exact, needle: Vec::new(), hold });
        }
        if hunk.at_end {
            for (rows, level, needle) in self.needles(hunk) {
                let Some(at) = end.checked_sub(needle.len()).filter(|&at| at >= base) else { continue };
                if self.lines.fits(level, &needle, at)? {
                    return Ok(First { at, rows, level, needle, hold: Hold::Fixed });
                }
            }
        }
        for (rows, level, needle) in self.needles(hunk) {
            let Some(at) = self.lines.first(level, &needle, base)? else { continue };
            // Where the very line fits that the patch names, it is that one.
            let named = hunk.line.map(|line| line - 1 + rows.start).filter(|&named| named >= base);
            if let Some(at) = named
                && self.lines.fits(level, &needle, at)?
            {
                return Ok(First { at, rows, level, needle, hold: Hold::Fixed });
            }
            return Ok(First { at, rows, level, needle, hold: Hold::Free { above, begins } });
        }
        Err(self.no_lines(hunk, from, base))
    }

    /// Goes up again: whether the hunk may also be further down. `until` is the line before which it ends, and is moved
    /// to where it begins.
    fn last(&mut self, first: &First, until: &mut usize) -> Result<Option<Why>, TooMuch> {
        let First { at, level, needle, hold, .. } = first;
        let (last, begins) = match hold {
            Hold::Behind => return Ok(None),
            Hold::Fixed => (*at, *at),
            Hold::Free { above, .. } if above.is_empty() => {
                let last = self.lines.last(*level, needle, *at, *until)?.unwrap_or(*at);
                (last, last)
            }
            Hold::Free { above, begins } => {
                if let Some(second) = self.second_in_block(first, above, *until)? {
                    return Ok(Some(Why::Several { lines: vec![*at + 1, second + 1], more: false }));
                }
                self.last_behind(first, above, *begins, *until)?
            }
        };
        let why = if last == *at {
            None
        } else {
            let (lines, more) = match hold {
                Hold::Free { above, .. } if above.is_empty() => self.named(*level, needle, *at, *until)?,
                Hold::Free { .. } | Hold::Behind | Hold::Fixed => (vec![*at + 1, last + 1], false),
            };
            Some(Why::Several { lines, more })
        };
        *until = begins;
        Ok(why)
    }

    /// The last place that fits behind the lines above, and where the first of those is.
    fn last_behind(
        &mut self,
        first: &First,
        above: &[Above],
        begins: usize,
        until: usize,
    ) -> Result<(usize, usize), TooMuch> {
        let mut before = until;
        while let Some(start) = self.lines.last(above[0].level, &[above[0].id], begins + 1, before)? {
            let ends = |at: usize| at + first.needle.len() <= until;
            if let Some(at) = self.behind(first, above, start)?.filter(|&at| ends(at)) {
                return Ok((at, start));
            }
            before = start;
        }
        Ok((first.at, begins))
    }

    /// The first place that fits where the first of the lines above is on the line `start`.
    fn behind(&mut self, first: &First, above: &[Above], start: usize) -> Result<Option<usize>, TooMuch> {
        let mut base = start + 1;
        for line in &above[1..] {
            let Some(at) = self.lines.first(line.level, &[line.id], base)? else { return Ok(None) };
            base = at + 1;
        }
        if first.needle.is_empty() { Ok(Some(base)) } else { self.lines.first(first.level, &first.needle, base) }
    }

    /// A second place in the block that the line directly above the hunk opens, if the first one is in it.
    fn second_in_block(&mut self, first: &First, above: &[Above], until: usize) -> Result<Option<usize>, TooMuch> {
        let (Some(nearest), false) = (above.last(), first.needle.is_empty()) else { return Ok(None) };
        let Some(opens) = self.lines.last(nearest.level, &[nearest.id], 0, first.at)? else { return Ok(None) };
        let end = self.lines.block_end(opens).min(until);
        if first.at + first.needle.len() > end {
            return Ok(None);
        }
        let second = self.lines.first(first.level, &first.needle, first.at + 1)?;
        Ok(second.filter(|at| at + first.needle.len() <= end))
    }

    /// The lines, from 1, on which the hunk may begin.
    fn named(
        &mut self,
        level: Looseness,
        needle: &[u32],
        from: usize,
        until: usize,
    ) -> Result<(Vec<usize>, bool), TooMuch> {
        let mut lines = Vec::new();
        let mut next = from;
        while let Some(at) = self.lines.first(level, needle, next)?.filter(|at| at + needle.len() <= until) {
            if lines.len() == MAX_NAMED {
                return Ok((lines, true));
            }
            lines.push(at + 1);
            next = at + 1;
        }
        Ok((lines, false))
    }

    /// The first place of a single line.
    fn line(&mut self, line: &str, from: usize) -> Result<Option<(Looseness, u32, usize)>, TooMuch> {
        for level in Looseness::ALL {
            if let Some(id) = self.lines.id(level, line)
                && let Some(at) = self.lines.first(level, &[id], from)?
            {
                return Ok(Some((level, id, at)));
            }
        }
        Ok(None)
    }

    /// What may be looked for: all rows first, then without the blank ones at the ends; each from strict to loose.
    fn needles(&mut self, hunk: &Hunk) -> Vec<(Range<usize>, Looseness, Vec<u32>)> {
        let mut needles = Vec::new();
        for rows in variants(&hunk.rows) {
            for level in Looseness::ALL {
                let old = hunk.rows[rows.clone()].iter().filter_map(Row::old);
                if let Some(needle) = old.map(|line| self.lines.id(level, line)).collect::<Option<Vec<u32>>>()
                    && !needle.is_empty()
                {
                    needles.push((rows.clone(), level, needle));
                }
            }
        }
        needles
    }

    fn no_above(&mut self, above: &str, from: usize) -> Why {
        let earlier = self.line(above, 0).ok().flatten().map(|(_, _, at)| at + 1).filter(|&line| line <= from);
        let near = if earlier.is_none() { nearest_line(self.lines.texts(), above) } else { None };
        Why::NoAbove { above: above.to_owned(), earlier, near }
    }

    fn no_lines(&mut self, hunk: &Hunk, from: usize, base: usize) -> Why {
        let found = self.needles(hunk).into_iter().find_map(|(_, level, needle)| {
            let at = self.lines.first(level, &needle, 0).ok().flatten()?;
            Some(at + 1)
        });
        match found {
            Some(line) => Why::Earlier { line, above: (base > from).then_some(base) },
            None => {
                let old: Vec<&str> = hunk.old().collect();
                Why::NoLines { nearest: nearest(self.lines.texts(), &old) }
            }
        }
    }
}

impl From<TooMuch> for Why {
    fn from(TooMuch: TooMuch) -> Self {
        Why::TooMuch
    }
}

/// All rows, then without one blank line more at the end, then without those at the beginning too.
fn variants(rows: &[Row]) -> Vec<Range<usize>> {
    let blank = |row: &Row| matches!(row, Row::Keep(line) if line.trim().is_empty());
    let trailing = rows.iter().rev().take_while(|row| blank(row)).count();
    let leading = rows.iter().take_while(|row| blank(row)).count();
    let mut variants: Vec<Range<usize>> = (0..=trailing).map(|less| 0..rows.len() - less).collect();
    if leading > 0 && leading + trailing < rows.len() {
        variants.push(leading..rows.len());
        variants.push(leading..rows.len() - trailing);
    }
    // Decoration is a line or two.
    variants.truncate(MAX_VARIANTS);
    variants
}

/// How many ways there are to leave blank lines out that are tried.
const MAX_VARIANTS: usize = 8;

#[cfg(test)]
mod tests;
