use proptest::prelude::*;

use super::*;
use crate::chat::editor::undo::{MAX_BYTES, MAX_EDITS};

/// `text` with its cursor at the `|`.
fn buffer(text: &str) -> Buffer {
    let cursor = text.find('|').unwrap();
    let mut buffer = Buffer::default();
    buffer.insert(&text.replace('|', ""));
    buffer.go(cursor);
    buffer
}

fn seen(buffer: &Buffer) -> String {
    let mut text = buffer.text().to_owned();
    text.insert(buffer.cursor(), '|');
    text
}

#[track_caller]
fn check(before: &str, change: impl FnOnce(&mut Buffer), want: &str) {
    let mut buffer = buffer(before);
    change(&mut buffer);
    assert_eq!(seen(&buffer), want, "from {before:?}");
}

#[test]
fn letters_come_and_go_at_the_cursor() {
    check("a|c", |b| b.insert("b"), "ab|c");
    check("ae\u{301}|", |b| _ = b.delete_left(), "a|");
    check("|ab", |b| _ = b.delete_left(), "|ab");
    check("|e\u{301}b", Buffer::delete_right, "|b");
    check("ab|", Buffer::delete_right, "ab|");
    check("one two|", |b| b.replace(4..7, "three"), "one three|");
    check("é|", |b| b.replace(1..9, "x"), "x|");
}

#[test]
fn the_cursor_goes_by_letters_words_and_lines() {
    check("one| two", |b| _ = b.step(Motion::WordRight), "one two|");
    check("one two|", |b| _ = b.step(Motion::WordLeft), "one |two");
    check("a\nbc|d\ne", |b| _ = b.step(Motion::LineStart), "a\n|bcd\ne");
    check("a\nbc|d\ne", |b| _ = b.step(Motion::LineEnd), "a\nbcd|\ne");
    check("a\nb|", |b| _ = b.step(Motion::Start), "|a\nb");
    assert!(!buffer("|a").step(Motion::Left), "there is nowhere to go");
}

#[test]
fn what_is_cut_can_be_put_back_and_exchanged() {
    check("one two|", |b| b.cut(Cut::WordLeft), "one |");
    check("a b.c|", |b| b.cut(Cut::BlankLeft), "a |");
    check("a\nb|c", |b| b.cut(Cut::LineStart), "a\n|c");
    check("a\n|c", |b| b.cut(Cut::LineStart), "a|c");
    check("a|b\nc", |b| b.cut(Cut::LineEnd), "a|\nc");
    check("a|\nc", |b| b.cut(Cut::LineEnd), "a|c");
    let cut_twice = |b: &mut Buffer| {
        b.cut(Cut::WordLeft);
        b.cut(Cut::WordLeft);
        b.insert("x");
        b.yank();
    };
    check("one two|", cut_twice, "xone two|");
    let exchange = |b: &mut Buffer| {
        b.cut(Cut::WordLeft);
        b.step(Motion::Start);
        b.cut(Cut::WordRight);
        b.yank();
        b.yank_other();
    };
    check("one two|", exchange, "two| ");
    check("one|", Buffer::yank_other, "one|");
}

#[test]
fn only_so_much_that_was_cut_is_kept() {
    let mut buffer = Buffer::default();
    let long = "x".repeat(MAX_CUT_BYTES / 2);
    for _ in 0..MAX_CUTS + 2 {
        buffer.insert(&long);
        buffer.cut(Cut::WordLeft);
        buffer.step(Motion::Start);
    }
    assert_eq!(buffer.cuts.len(), 2);
    buffer.insert(&"x".repeat(MAX_CUT_BYTES + 1));
    buffer.cut(Cut::WordLeft);
    assert_eq!((buffer.cuts.len(), buffer.last_cut().len()), (1, MAX_CUT_BYTES + 1));
}

#[test]
fn a_word_that_was_typed_is_taken_back_at_once() {
    let mut buffer = Buffer::default();
    "one two".chars().for_each(|c| buffer.insert(&c.to_string()));
    buffer.undo();
    assert_eq!(seen(&buffer), "one|");
    buffer.undo();
    assert_eq!(seen(&buffer), "|");
    buffer.undo();
    buffer.redo();
    buffer.redo();
    buffer.redo();
    assert_eq!(seen(&buffer), "one two|");
    buffer.cut(Cut::LineStart);
    buffer.undo();
    assert_eq!(seen(&buffer), "one two|");
}

#[test]
fn only_so_much_can_be_taken_back() {
    let mut buffer = Buffer::default();
    let long = "x".repeat(MAX_BYTES / 4);
    (0..9).for_each(|_| buffer.insert(&long));
    (0..20).for_each(|_| buffer.undo());
    assert_eq!(buffer.text().len(), 5 * long.len());
    let mut buffer = Buffer::default();
    (0..MAX_EDITS + 10).for_each(|_| buffer.insert("ab"));
    (0..MAX_EDITS + 10).for_each(|_| buffer.undo());
    assert_eq!(buffer.text(), "ab".repeat(10));
}

#[derive(Debug, Clone)]
enum Step {
    Insert(String),
    Back,
    Delete,
    Cut(u8),
    Go(u8),
    Yank,
    Other,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-c é漢\\n\u{301}\u{10fe00}]{1,3}".prop_map(Step::Insert),
        Just(Step::Back),
        Just(Step::Delete),
        (0_u8..5).prop_map(Step::Cut),
        (0_u8..8).prop_map(Step::Go),
        Just(Step::Yank),
        Just(Step::Other),
    ]
}

fn take(buffer: &mut Buffer, step: &Step) {
    const CUTS: [Cut; 5] = [Cut::WordLeft, Cut::WordRight, Cut::BlankLeft, Cut::LineStart, Cut::LineEnd];
    const MOTIONS: [Motion; 8] = [
        Motion::Left,
        Motion::Right,
        Motion::WordLeft,
        Motion::WordRight,
        Motion::LineStart,
        Motion::LineEnd,
        Motion::Start,
        Motion::End,
    ];
    match step {
        Step::Insert(text) => buffer.insert(text),
        Step::Back => _ = buffer.delete_left(),
        Step::Delete => buffer.delete_right(),
        Step::Cut(cut) => buffer.cut(CUTS[usize::from(*cut)]),
        Step::Go(motion) => _ = buffer.step(MOTIONS[usize::from(*motion)]),
        Step::Yank => buffer.yank(),
        Step::Other => buffer.yank_other(),
    }
}

proptest! {
    #[test]
    fn whatever_is_done_can_be_taken_back_and_done_again(steps in prop::collection::vec(step(), 0..40)) {
        let mut buffer = Buffer::default();
        for step in &steps {
            take(&mut buffer, step);
            prop_assert!(buffer.text().is_char_boundary(buffer.cursor()));
        }
        let after = buffer.text().to_owned();
        (0..100).for_each(|_| buffer.undo());
        prop_assert_eq!(buffer.text(), "");
        (0..100).for_each(|_| buffer.redo());
        prop_assert_eq!(buffer.text(), after);
    }
}
