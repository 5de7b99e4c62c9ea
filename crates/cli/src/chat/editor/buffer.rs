//! The text that is being typed, its cursor, what was cut from it and what can be taken back. Pure.

use std::collections::VecDeque;
use std::ops::Range;

use super::motion;
use super::undo::{Edit, Edits};

/// Most cut pieces that are kept.
pub(super) const MAX_CUTS: usize = 16;

/// Most bytes of them; the last one is kept however long it is.
pub(super) const MAX_CUT_BYTES: usize = 1024 * 1024;

/// A text with a cursor.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffer {
    text: String,
    // Invariant: a boundary between characters.
    cursor: usize,
    edits: Edits,
    cuts: VecDeque<String>,
    last: Last,
    changes: u64,
}

/// What was done last, where the next thing depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Other,
    /// A further cut belongs to the same piece.
    Cut,
    /// This was put back; another piece may take its place.
    Yank { range: Range<usize>, piece: usize },
}

/// Where a cursor can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Start,
    End,
}

/// How far something is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    WordLeft,
    WordRight,
    /// Back to a blank.
    BlankLeft,
    LineStart,
    LineEnd,
}

impl Buffer {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// How often the text was changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Goes to the byte `at`, or to the boundary before it.
    pub(super) fn go(&mut self, at: usize) {
        self.cursor = self.text.floor_char_boundary(at);
        self.edits.close();
        self.last = Last::Other;
    }

    /// Goes there; says whether that was somewhere else.
    pub(super) fn step(&mut self, motion: Motion) -> bool {
        let before = self.cursor;
        let (text, at) = (&self.text, self.cursor);
        self.go(match motion {
            Motion::Left => motion::left(text, at),
            Motion::Right => motion::right(text, at),
            Motion::WordLeft => motion::word_left(text, at),
            Motion::WordRight => motion::word_right(text, at),
            Motion::LineStart => motion::line_start(text, at),
            Motion::LineEnd => motion::line_end(text, at),
            Motion::Start => 0,
            Motion::End => text.len(),
        });
        self.cursor != before
    }

    /// Puts `text` in at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.replace(self.cursor..self.cursor, text);
    }

    /// Puts `text` in the place of `range`, which is cut down to what is there, and the cursor behind it.
    pub(super) fn replace(&mut self, range: Range<usize>, text: &str) {
        self.last = Last::Other;
        let end = self.text.floor_char_boundary(range.end);
        let start = self.text.floor_char_boundary(range.start).min(end);
        let removed = self.text[start..end].to_owned();
        if removed.is_empty() && text.is_empty() {
            return;
        }
        self.changes += 1;
        self.text.replace_range(start..end, text);
        self.edits.push(Edit { at: start, removed, inserted: text.to_owned(), cursor: self.cursor });
        self.cursor = start + text.len();
    }

    /// Puts `text` in the place of everything.
    pub(super) fn set(&mut self, text: &str) {
        if text != self.text {
            self.replace(0..self.text.len(), text);
        }
        self.edits.close();
    }

    /// Deletes the letter before the cursor; says whether there was one.
    pub(super) fn delete_left(&mut self) -> bool {
        let start = motion::left(&self.text, self.cursor);
        let there = start < self.cursor;
        self.replace(start..self.cursor, "");
        there
    }

    /// Deletes the letter behind the cursor.
    pub(super) fn delete_right(&mut self) {
        let (start, end) = (self.cursor, motion::right(&self.text, self.cursor));
        self.replace(start..end, "");
    }

    /// Cuts so far, and keeps what was cut. Cuts in a row make one piece.
    pub(super) fn cut(&mut self, cut: Cut) {
        let (text, at) = (&self.text, self.cursor);
        let to = match cut {
            Cut::WordLeft => motion::word_left(text, at),
            Cut::BlankLeft => motion::blank_left(text, at),
            Cut::WordRight => motion::word_right(text, at),
            Cut::LineStart => match motion::line_start(text, at) {
                // At the beginning of a line its break goes.
                start if start == at => motion::left(text, at),
                start => start,
            },
            Cut::LineEnd => match motion::line_end(text, at) {
                end if end == at => motion::right(text, at),
                end => end,
            },
        };
        if to == at {
            return;
        }
        let range = at.min(to)..at.max(to);
        let piece = text[range.clone()].to_owned();
        let follows = self.last == Last::Cut;
        self.replace(range, "");
        match self.cuts.front_mut().filter(|_| follows) {
            Some(last) if to < at => last.insert_str(0, &piece),
            Some(last) => last.push_str(&piece),
            None => self.cuts.push_front(piece),
        }
        self.cuts.truncate(MAX_CUTS);
        while self.cuts.len() > 1 && self.cuts.iter().map(String::len).sum::<usize>() > MAX_CUT_BYTES {
            self.cuts.pop_back();
        }
        self.last = Last::Cut;
    }

    /// What [`Buffer::yank`] would put in.
    pub(super) fn last_cut(&self) -> &str {
        self.cuts.front().map_or("", String::as_str)
    }

    /// Puts the last piece that was cut in at the cursor.
    pub(super) fn yank(&mut self) {
        let Some(piece) = self.cuts.front().cloned() else { return };
        let start = self.cursor;
        self.insert(&piece);
        self.last = Last::Yank { range: start..self.cursor, piece: 0 };
    }

    /// Puts the piece cut before it in the place of the one that was just put in.
    pub(super) fn yank_other(&mut self) {
        let Last::Yank { range, piece } = self.last.clone() else { return };
        let piece = (piece + 1) % self.cuts.len().max(1);
        let Some(text) = self.cuts.get(piece).cloned() else { return };
        let start = range.start;
        self.replace(range, &text);
        self.last = Last::Yank { range: start..self.cursor, piece };
    }

    /// Takes the last change back.
    pub(super) fn undo(&mut self) {
        if let Some(edit) = self.edits.undo() {
            self.changes += 1;
            self.text.replace_range(edit.at..edit.at + edit.inserted.len(), &edit.removed);
            self.cursor = edit.cursor;
        }
        self.last = Last::Other;
    }

    /// Makes the last change again that was taken back.
    pub(super) fn redo(&mut self) {
        if let Some(edit) = self.edits.redo() {
            self.changes += 1;
            self.text.replace_range(edit.at..edit.at + edit.removed.len(), &edit.inserted);
            self.cursor = edit.at + edit.inserted.len();
        }
        self.last = Last::Other;
    }

    /// Gives the text and begins anew; what was cut stays.
    pub(super) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        *self = Self { cuts: std::mem::take(&mut self.cuts), changes: self.changes + 1, ..Self::default() };
        text
    }
}

#[cfg(test)]
mod tests;
