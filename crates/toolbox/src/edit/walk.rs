//! Finding an old text that begins or ends within a line of the file, with other white space or other signs. Pure.
//!
//! It looks for the longest piece that has only one spelling, and compares token by token from there in both directions.

use std::ops::Range;

use super::how::{How, Place};
use super::sheet::Lines;
use super::token::{Alike, alike, all, feeds, first, last};
use super::windows::is_little;
use crate::matching::plain_sign;

/// Most bytes of the file that are compared for one old text: what takes more is not found.
pub(super) const MAX_COMPARED: usize = 1_000_000;

/// The places of `old`, and what was overlooked.
pub(super) fn walk(file: &Lines<'_>, old: &str) -> Option<(How, Vec<Place>)> {
    let bare = old.trim();
    let tokens: Vec<&str> = all(bare).collect();
    let (anchor, at) = anchor(bare, &tokens)?;
    let text = file.text;
    let mut left = MAX_COMPARED;
    let (mut how, mut places) = (How::Indentation, Vec::new());
    for (hit, _) in text.match_indices(anchor) {
        let before = go_back(&text[..hit], &tokens[..at], &mut left);
        let after = go_on(&text[hit..], &tokens[at..], &mut left);
        if left == 0 {
            return None;
        }
        let (Some(before), Some(after)) = (before, after) else { continue };
        let range = hit - before.0..hit + after.0;
        if splits_word(text, &range) {
            continue;
        }
        how = how.max(if before.1.max(after.1) == Alike::Signs { How::Signs } else { How::Spaces });
        places.push(place(file, range, bare));
    }
    // A text of one sign can stand on itself.
    places.dedup();
    let in_doubt = how == How::Signs && is_little(&[old]);
    (!places.is_empty() && !in_doubt).then_some((how, places))
}

/// The longest run of tokens that have only one spelling, and the number of the first of them.
fn anchor<'a>(text: &'a str, tokens: &[&str]) -> Option<(&'a str, usize)> {
    let single = |token: &str| token.is_ascii() && !token.starts_with(char::is_whitespace) && !is_plain(token);
    let (mut best, mut best_at) = (0..0, 0);
    let (mut run, mut run_at, mut pos) = (0..0, 0, 0);
    for (at, token) in tokens.iter().enumerate() {
        if !single(token) {
            run = pos + token.len()..pos + token.len();
            run_at = at + 1;
        } else {
            run.end = pos + token.len();
        }
        pos += token.len();
        if run.len() > best.len() {
            (best, best_at) = (run.clone(), run_at);
        }
    }
    (!best.is_empty()).then(|| (&text[best], best_at))
}

/// Whether other signs may stand for this one.
fn is_plain(token: &str) -> bool {
    token.starts_with(['\'', '"', '-']) || token.chars().any(|c| plain_sign(c) != c)
}

fn go_on(text: &str, tokens: &[&str], left: &mut usize) -> Option<(usize, Alike)> {
    let (mut done, mut worst) = (0, Alike::Same);
    for token in tokens {
        let there = first(&text[done..]);
        *left = left.saturating_sub(there.len().max(1));
        if *left == 0 {
            return None;
        }
        match alike(token, there) {
            Alike::No => return None,
            one => worst = worst.max(one),
        }
        done += there.len();
    }
    Some((done, worst))
}

fn go_back(text: &str, tokens: &[&str], left: &mut usize) -> Option<(usize, Alike)> {
    let (mut done, mut worst) = (0, Alike::Same);
    for token in tokens.iter().rev() {
        let there = last(&text[..text.len() - done]);
        *left = left.saturating_sub(there.len().max(1));
        if *left == 0 {
            return None;
        }
        match alike(token, there) {
            Alike::No => return None,
            one => worst = worst.max(one),
        }
        done += there.len();
    }
    Some((done, worst))
}

/// Whether the piece begins or ends within a word. Byte for byte that may be meant, otherwise it is chance.
fn splits_word(text: &str, range: &Range<usize>) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let joins = |at: usize| text[..at].ends_with(is_word) && text[at..].starts_with(is_word);
    joins(range.start) || joins(range.end)
}

fn place(file: &Lines<'_>, range: Range<usize>, old: &str) -> Place {
    let (first, last) = (file.at(range.start), file.at(range.end.saturating_sub(1)));
    debug_assert_eq!(last - first, feeds(old));
    let mut rows: Vec<Option<Range<usize>>> = (first..=last).map(|at| Some(file.range(at))).collect();
    let (start, end) = (file.range(first).start, file.range(last).end);
    let cut_first = !file.text[start..range.start].trim().is_empty();
    let cut_last = !file.text[range.end..end].trim().is_empty();
    if let Some(Some(row)) = rows.first_mut().filter(|_| cut_first) {
        row.start = range.start;
    }
    if let Some(Some(row)) = rows.last_mut().filter(|_| cut_last) {
        row.end = range.end;
    }
    Place { rows, cut_first, cut_last }
}
