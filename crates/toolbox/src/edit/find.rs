//! Finding what an old text means in a file: one way after the other, the strictest first. Pure.
//!
//! The first way that finds anything decides, so what is there exactly is never passed over for what is like it. To teach
//! it a new way to match, write a function that gives places and add it to [`find`], and rows to the tables of its tests.

use super::document::Change;
use super::drift::drifted;
use super::escape::{escaped, unescape};
use super::how::{How, Place};
use super::merge::Merge;
use super::sheet::{Lines, Sheet, pair};
use super::undo;
use super::walk::walk;
use super::windows::{Index, is_little};

/// Most places that are changed at once.
pub(super) const MAX_PLACES: usize = 100_000;
/// Most bytes that are put into all of them together.
pub(super) const MAX_PUT: usize = 64 * 1024 * 1024;

/// What an edit comes to.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) how: How,
    /// In how many places the old text is.
    pub(super) count: usize,
    /// For each of them, in order, where it begins and what is to be changed there. Fewer where all would be more than
    /// [`MAX_PLACES`], or come to more than [`MAX_PUT`].
    pub(super) places: Vec<Spot>,
    /// Whether what was found is much longer than the old text.
    pub(super) too_large: bool,
}

/// One place.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) changes: Vec<Change>,
}

/// Looks for `old` in `text`. All have line feeds alone. `None` where it is not there.
pub(super) fn find(text: &str, old: &str, new: &str) -> Option<Found> {
    if let Some(found) = exact(text, old, new, How::Exact) {
        return Some(found);
    }
    if old.trim().is_empty() {
        return None;
    }
    let file = Lines::of(text);
    let (old_sheet, new_sheet) = pair(old, new);
    let index = Index::new(&file, &old_sheet.lines);
    if let Some(found) = indexed(&index, &old_sheet, &new_sheet, old, new) {
        return Some(found);
    }
    for (how, undone) in [(How::LineNumbers, undo::line_numbers(old, new)), (How::Fence, undo::fence(old, new))] {
        let Some((old, new)) = undone.filter(|(old, _)| !old.trim().is_empty()) else { continue };
        let found = exact(text, &old, &new, how).or_else(|| loose(&file, &old, &new));
        return found.map(|found| Found { how, ..found });
    }
    if let Some(found) = unescaped(&file, old, new) {
        return Some(found);
    }
    drift(&index, &old_sheet, &new_sheet)
}

/// What is there byte for byte.
fn exact(text: &str, old: &str, new: &str, how: How) -> Option<Found> {
    let last = text.rfind(old)?;
    let apart = || text.match_indices(old).map(|(at, _)| at);
    // Where two places overlap they are still two; the last such pair is enough to see that.
    let overlapping = apart().last().filter(|at| *at != last).map(|_| last);
    let count = apart().count() + usize::from(overlapping.is_some());
    let (before, after) = shared(old, new);
    let put = &new[before..new.len() - after];
    let spot = |start: usize| {
        let range = start + before..start + old.len() - after;
        let change = Change { range, text: put.to_owned() };
        Spot { start, end: start + old.len(), changes: vec![change] }
    };
    let most = (MAX_PUT / put.len().max(1)).clamp(1, MAX_PLACES);
    let places = apart().chain(overlapping).take(most).map(spot).collect();
    Some(Found { how, count, places, too_large: false })
}

/// How many bytes both texts have in common at the beginning and at the end.
fn shared(old: &str, new: &str) -> (usize, usize) {
    let same = |(old, new): &(char, char)| old == new;
    let before: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let rest = old[before..].chars().rev().zip(new[before..].chars().rev());
    (before, rest.take_while(same).map(|(c, _)| c.len_utf8()).sum())
}

/// What is there but for white space and signs.
fn loose(file: &Lines<'_>, old: &str, new: &str) -> Option<Found> {
    let (old_sheet, new_sheet) = pair(old, new);
    indexed(&Index::new(file, &old_sheet.lines), &old_sheet, &new_sheet, old, new)
}

/// The same with the lines of `old` and `new`, and an index made for those of `old`.
fn indexed(index: &Index<'_>, old_sheet: &Sheet<'_>, new_sheet: &Sheet<'_>, old: &str, new: &str) -> Option<Found> {
    let (file, wanted) = (index.file, &old_sheet.lines);
    let whole = |found: (How, Vec<usize>), old: &Sheet<'_>, new: &Sheet<'_>| {
        let places = found.1.into_iter().map(|start| index.place(start, old.lines.len())).collect();
        merged(file, found.0, places, old, new)
    };
    if let Some(found) = index.find(wanted, 0, wanted.len()) {
        return whole(found, old_sheet, new_sheet);
    }
    let blank = |line: &&str| line.trim().is_empty();
    let (skip, drop) = (wanted.iter().take_while(|line| blank(line)).count(), trailing(wanted));
    if !has_edges(new_sheet, skip, drop) {
        return None;
    }
    if skip + drop > 0 {
        let take = wanted.len() - skip - drop;
        let (old_inner, new_inner) = (inner(old_sheet, skip, drop), inner(new_sheet, skip, drop));
        if let Some((_, starts)) = index.find(wanted, skip, take) {
            return whole((How::BlankEdges, starts), &old_inner, &new_inner);
        }
    }
    let places = index.find_apart(wanted);
    if !places.is_empty() {
        return merged(file, How::BlankLines, places, old_sheet, new_sheet);
    }
    within(file, old, new)
}

/// Whether the new text has the blank lines at its ends that the old one has, or nothing at all. Otherwise they are to go,
/// and they are not there.
fn has_edges(new: &Sheet<'_>, skip: usize, drop: usize) -> bool {
    let full = new.lines.iter().position(|line| !line.trim().is_empty());
    full.is_none_or(|first| first >= skip && trailing(&new.lines) >= drop)
}

/// How many blank lines there are at the end.
fn trailing(lines: &[&str]) -> usize {
    lines.iter().rev().take_while(|line| line.trim().is_empty()).count()
}

/// The lines of `sheet` without so many blank ones at its ends, as far as it has them.
fn inner<'a>(sheet: &Sheet<'a>, skip: usize, drop: usize) -> Sheet<'a> {
    let lines = &sheet.lines;
    let skip = lines.iter().take(skip).take_while(|line| line.trim().is_empty()).count();
    let drop = trailing(&lines[skip..]).min(drop);
    Sheet { lines: lines[skip..lines.len() - drop].to_vec(), ended: true }
}

/// What begins or ends within a line.
fn within(file: &Lines<'_>, old: &str, new: &str) -> Option<Found> {
    let (how, places) = walk(file, old)?;
    let head = &old[..old.len() - old.trim_start().len()];
    let tail = &old[old.trim_end().len()..];
    let new = new.strip_prefix(head).unwrap_or(new.trim_start());
    let new = new.strip_suffix(tail).unwrap_or(new.trim_end());
    let bare = old.trim();
    let (old_sheet, new_sheet) = (Sheet::of(bare), pair(bare, new).1);
    // A line that the model has whole, and the file has more of, may stay but not change: what becomes of the rest?
    let (first, last) =
        (old_sheet.lines.first() == new_sheet.lines.first(), old_sheet.lines.last() == new_sheet.lines.last());
    let fits = |place: &Place| {
        (!place.cut_first || head.is_empty() || first) && (!place.cut_last || !tail.contains('\n') || last)
    };
    if !places.iter().all(fits) {
        return None;
    }
    merged(file, how, places, &old_sheet, &new_sheet)
}

/// What is there when escapes are taken back.
fn unescaped(file: &Lines<'_>, old: &str, new: &str) -> Option<Found> {
    let changes = escaped(file.text, old, new);
    if !changes.is_empty() {
        let spot = |change: Change| Spot { start: change.range.start, end: change.range.end, changes: vec![change] };
        let places: Vec<Spot> = changes.into_iter().map(spot).collect();
        return Some(Found { how: How::Escapes, count: places.len(), places, too_large: false });
    }
    let bare = unescape(old)?;
    if is_little(&[old]) || bare.trim().is_empty() {
        return None;
    }
    let found = loose(file, &bare, &unescape(new).unwrap_or_else(|| new.to_owned()))?;
    Some(Found { how: How::Escapes, ..found })
}

/// What is there but for a word here and there.
fn drift(index: &Index<'_>, old_sheet: &Sheet<'_>, new_sheet: &Sheet<'_>) -> Option<Found> {
    let (skip, drop) =
        (old_sheet.lines.iter().take_while(|line| line.trim().is_empty()).count(), trailing(&old_sheet.lines));
    let (old, new) = (inner(old_sheet, skip, drop), inner(new_sheet, skip, drop));
    let starts = drifted(index, &old.lines, skip);
    let places: Vec<Place> = starts.into_iter().map(|start| index.place(start, old.lines.len())).collect();
    if places.is_empty() { None } else { merged(index.file, How::Words, places, &old, &new) }
}

fn merged(file: &Lines<'_>, how: How, places: Vec<Place>, old: &Sheet<'_>, new: &Sheet<'_>) -> Option<Found> {
    let merge = Merge::new(old, new);
    let too_large = places.iter().any(|place| is_much_larger(file.text, place, old));
    let (count, mut put) = (places.len(), 0);
    let mut spots = Vec::with_capacity(count.min(MAX_PLACES));
    for place in places.into_iter().take(MAX_PLACES) {
        if put > MAX_PUT {
            break;
        }
        let (range, changes) = (place.range(), merge.at(file.text, &place)?);
        put += changes.iter().map(|change| change.text.len()).sum::<usize>();
        spots.push(Spot { start: range.start, end: range.end, changes });
    }
    Some(Found { how, count, places: spots, too_large })
}

/// Lines that a place may have more than the old text, or as many as it has if those are more.
const MAX_MORE_LINES: usize = 3;
/// Bytes that a place may have more than the old text, or three times as many as it has if those are more.
const MAX_MORE_BYTES: usize = 500;

fn is_much_larger(text: &str, place: &Place, old: &Sheet<'_>) -> bool {
    let there = &text[place.range()];
    let lines = there.split('\n').count();
    let size: usize = old.lines.iter().map(|line| line.len() + 1).sum();
    lines >= (old.lines.len() + MAX_MORE_LINES).max(2 * old.lines.len())
        || there.trim().len() > (size + MAX_MORE_BYTES).max(4 * size)
}
