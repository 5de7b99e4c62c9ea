//! Finding an old text as whole lines of a file, stricter ways first. Pure; takes time in proportion to the file.

use std::borrow::Cow;
use std::collections::HashMap;

use super::how::{How, Place};
use super::sheet::Lines;
use crate::matching::{plain, windows};

/// Which line of the old text each line of a file is, when most is overlooked; 0 for none of them.
///
/// It is made once and serves every way to look for whole lines.
pub(super) struct Index<'a> {
    pub(super) file: &'a Lines<'a>,
    pub(super) ids: Vec<u32>,
    pub(super) wanted: Vec<u32>,
    /// Whether the file has each of the wanted lines anywhere, by their numbers.
    present: Vec<bool>,
}

type Key = for<'b> fn(&'b str) -> Cow<'b, str>;

/// What may be overlooked within lines; each overlooks what those before it do.
const LEVELS: [(How, Key); 4] = [
    (How::LineEnds, |line| line.trim_end().into()),
    (How::Indentation, |line| line.trim().into()),
    (How::Spaces, spaced),
    (How::Signs, loosest),
];

/// The key of a line when all is overlooked that can be.
fn loosest(line: &str) -> Cow<'_, str> {
    match spaced(line) {
        Cow::Borrowed(line) => plain(line),
        Cow::Owned(line) => plain(&line).into_owned().into(),
    }
}

/// `line` with a single space for each run of white space, and none at the ends.
pub(super) fn spaced(line: &str) -> Cow<'_, str> {
    let line = line.trim();
    let odd = |pair: &[u8]| pair[0] == b' ' && pair[1] == b' ' || matches!(pair[1], b'\t' | 0x0b | 0x0c | b'\r');
    let plain = if line.is_ascii() {
        !line.as_bytes().windows(2).any(odd)
    } else {
        let mut blank = false;
        line.chars().all(|c| {
            let fine = !c.is_whitespace() || c == ' ' && !blank;
            blank = c.is_whitespace();
            fine
        })
    };
    if plain {
        return line.into();
    }
    let mut text = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    text.into()
}

impl<'a> Index<'a> {
    pub(super) fn new(file: &'a Lines<'a>, wanted: &[&str]) -> Self {
        let ends = Ends::of(wanted);
        let (wanted, ids) = number(wanted, file.iter(), loosest, |_, line| ends.may_be(line));
        let mut present = vec![false; wanted.len() + 1];
        for id in &ids {
            present[*id as usize] = true;
        }
        Self { file, ids, wanted, present }
    }

    /// The places of `wanted`, which is what the index is made for, `skip` of its lines left out at the beginning and
    /// all but `take` of the others at the end.
    pub(super) fn find(&self, wanted: &[&str], skip: usize, take: usize) -> Option<(How, Vec<usize>)> {
        let part = &self.wanted[skip..skip + take];
        if !part.iter().all(|id| self.present[*id as usize]) || windows(&self.ids, part).is_empty() {
            return None;
        }
        let lines = &wanted[skip..skip + take];
        LEVELS.into_iter().find_map(|(how, key)| {
            if how == How::Signs {
                return (!is_little(lines)).then(|| (how, windows(&self.ids, part)));
            }
            let (wanted, ids) = number(lines, self.file.iter(), key, |at, _| self.ids[at] != 0);
            let found = windows(&ids, &wanted);
            (!found.is_empty()).then_some((how, found))
        })
    }

    /// The places where the lines that are not blank follow each other, with whatever blank ones between them.
    pub(super) fn find_apart(&self, wanted: &[&str]) -> Vec<Place> {
        let blank = |line: &str| line.trim().is_empty();
        let full: Vec<usize> = (0..wanted.len()).filter(|&at| !blank(wanted[at])).collect();
        // With a single line there is nothing that could be between.
        if full.len() < 2 || is_little(wanted) {
            return Vec::new();
        }
        let ids: Vec<u32> = full.iter().map(|&at| self.wanted[at]).collect();
        if !ids.iter().all(|id| self.present[*id as usize]) {
            return Vec::new();
        }
        let lines: Vec<usize> = (0..self.file.len()).filter(|&at| !blank(self.file.get(at))).collect();
        let there: Vec<u32> = lines.iter().map(|&at| self.ids[at]).collect();
        let found = windows(&there, &ids);
        found.into_iter().map(|start| self.apart(wanted, &full, &lines[start..start + full.len()])).collect()
    }

    fn apart(&self, wanted: &[&str], full: &[usize], lines: &[usize]) -> Place {
        let mut rows = vec![None; wanted.len()];
        for (&at, &line) in full.iter().zip(lines) {
            rows[at] = Some(self.file.range(line));
        }
        // Blank lines between two others are those of the file, as many as there are.
        for (pair, there) in full.windows(2).zip(lines.windows(2)) {
            for (row, line) in (pair[0] + 1..pair[1]).zip(there[0] + 1..there[1]) {
                rows[row] = Some(self.file.range(line));
            }
        }
        Place { rows, cut_first: false, cut_last: false }
    }

    /// The place of so many lines from line `start` on.
    pub(super) fn place(&self, start: usize, count: usize) -> Place {
        let rows = (start..start + count).map(|at| Some(self.file.range(at))).collect();
        Place { rows, cut_first: false, cut_last: false }
    }
}

/// What wanted lines begin and end with, and how long the shortest is. Most lines of a file are none of them by that alone.
struct Ends {
    first: [bool; 256],
    last: [bool; 256],
    shortest: usize,
}

impl Ends {
    fn of(wanted: &[&str]) -> Self {
        let mut ends = Self { first: [false; 256], last: [false; 256], shortest: usize::MAX };
        for line in wanted {
            let key = loosest(line);
            ends.shortest = ends.shortest.min(key.len());
            if let (Some(first), Some(last)) = (key.bytes().next(), key.bytes().next_back()) {
                ends.first[usize::from(first)] = true;
                ends.last[usize::from(last)] = true;
            }
        }
        ends
    }

    fn may_be(&self, line: &str) -> bool {
        let bare = line.trim();
        let (Some(first), Some(last)) = (bare.bytes().next(), bare.bytes().next_back()) else {
            return self.shortest == 0;
        };
        // Other signs and accents may stand for the same.
        !bare.is_ascii()
            || bare.len() >= self.shortest && self.first[usize::from(first)] && self.last[usize::from(last)]
    }
}

/// Fewer letters and digits than these are no evidence that other signs mean the same.
const MIN_LETTERS: usize = 6;

/// Whether `lines` hold too little to overlook more than white space.
pub(super) fn is_little(lines: &[&str]) -> bool {
    lines.iter().flat_map(|line| line.chars()).filter(|c| c.is_alphanumeric()).take(MIN_LETTERS).count() < MIN_LETTERS
}

/// Numbers the `wanted` lines, equal ones with the same number from 1, and gives each line of the file its number, 0
/// where it is none of them.
fn number<'b>(
    wanted: &[&str],
    file: impl Iterator<Item = &'b str>,
    key: Key,
    look: impl Fn(usize, &str) -> bool,
) -> (Vec<u32>, Vec<u32>) {
    let mut numbers: HashMap<Cow<'_, str>, u32> = HashMap::new();
    let mut numbered = Vec::with_capacity(wanted.len());
    for line in wanted {
        let next = numbers.len() as u32 + 1;
        numbered.push(*numbers.entry(key(line)).or_insert(next));
    }
    let ids = file.enumerate().map(
        |(at, line)| {
            if look(at, line) { numbers.get(&key(line)).copied().unwrap_or(0) } else { 0 }
        },
    );
    (numbered, ids.collect())
}
