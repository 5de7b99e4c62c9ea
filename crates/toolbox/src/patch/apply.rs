//! Changing a text as hunks say. Pure.

use super::grammar::{Hunk, Row};
use super::place::{Placed, place};
use super::refusal::Refusal;
use crate::matching::Indents;

/// A line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line<'a> {
    text: &'a str,
    /// `\n`, `\r\n`, or nothing behind the last one.
    end: &'a str,
}

/// `text` with the changes of `hunks`.
///
/// Lines that stay keep their bytes, whatever the patch has for them. New lines end as those beside them, and are
/// indented as the file where a hunk is shifted as a whole. A text without a line end at its end gets one only where its
/// last line changes.
///
/// # Errors
///
/// [`Refusal`] where a hunk is nowhere, or where it may be in more than one place.
pub fn apply(text: &str, hunks: &[Hunk]) -> Result<String, Refusal> {
    let lines = split(text);
    let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
    let mut places: Vec<(&Hunk, Placed)> = hunks.iter().zip(place(&texts, hunks)?).collect();
    // Those that add behind the file may stand anywhere in the patch.
    places.sort_by_key(|(_, placed)| placed.at);
    let mut new = Builder { text: String::with_capacity(text.len()), usual: usual_end(&lines), open: false };
    let mut next = 0;
    for (hunk, placed) in places {
        lines[next..placed.at].iter().for_each(|line| new.keep(line));
        next = change(&mut new, &lines, hunk, &placed);
    }
    lines[next..].iter().for_each(|line| new.keep(line));
    Ok(new.text)
}

/// Writes the lines of one hunk. Returns the first line of the file behind it.
fn change(new: &mut Builder<'_>, lines: &[Line<'_>], hunk: &Hunk, placed: &Placed) -> usize {
    let rows = &hunk.rows[placed.rows.clone()];
    let old = rows.iter().filter_map(Row::old).zip(&lines[placed.at..]).enumerate();
    let indents = Indents::learn(old.map(|(at, (old, line))| (at, old, line.text)), rows.iter().filter_map(Row::added));
    let mut next = placed.at;
    // How many old lines went whose successors may come now, and how many of those came.
    let (mut gone, mut came) = (0, 0);
    for row in rows {
        match row {
            Row::Keep(_) => {
                new.keep(&lines[next]);
                next += 1;
                (gone, came) = (0, 0);
            }
            Row::Remove(_) => {
                next += 1;
                gone += 1;
            }
            Row::Add(line) => {
                // The old line that it stands for, or else the one above it. Where that cannot say for certain how the
                // file indents, the line stays.
                let near = (next - placed.at + came).saturating_sub(gone.max(1));
                let line = if gone > 0 || indents.is_clear() { indents.apply(near, line) } else { line.into() };
                came += usize::from(came + 1 < gone);
                // Lines of different ends may be mixed: those beside this one decide.
                let above = next.checked_sub(1);
                let own = above.filter(|&above| above >= placed.at);
                let beside = [own, Some(next), above].into_iter().flatten().filter_map(|at| lines.get(at));
                let end = beside.map(|line| line.end).find(|end| !end.is_empty());
                new.add(&line, end);
            }
        }
    }
    next
}

/// A text that is put together from lines.
struct Builder<'a> {
    text: String,
    /// How lines end where nothing beside them says it.
    usual: &'a str,
    /// Whether the last line has no end.
    open: bool,
}

impl Builder<'_> {
    fn keep(&mut self, line: &Line<'_>) {
        self.push(line.text, line.end);
    }

    fn add(&mut self, line: &str, end: Option<&str>) {
        self.push(line, end.unwrap_or(self.usual));
    }

    fn push(&mut self, text: &str, end: &str) {
        if self.open {
            self.text.push_str(self.usual);
        }
        self.text.push_str(text);
        self.text.push_str(end);
        self.open = end.is_empty();
    }
}

fn split(text: &str) -> Vec<Line<'_>> {
    let cut = |whole| {
        let text = str::strip_suffix(whole, "\n").map_or(whole, |text| text.strip_suffix('\r').unwrap_or(text));
        Line { text, end: &whole[text.len()..] }
    };
    text.split_inclusive('\n').map(cut).collect()
}

/// How most lines end.
fn usual_end(lines: &[Line<'_>]) -> &'static str {
    let count = |end: &str| lines.iter().filter(|line| line.end == end).count();
    if count("\r\n") > count("\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests;
