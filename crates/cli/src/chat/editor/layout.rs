//! What is typed, broken into the rows of a screen. Pure.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::blocks::{Blocks, is_block};
use crate::render::{char_width, width};

/// How wide the places of a tab are.
const TAB: usize = 4;

/// The rows of a text. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// The bytes of the text that stand in it, without the line break.
    pub range: Range<usize>,
    pub cells: Vec<Cell>,
}

/// One letter on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    /// Where it stands in the text, in bytes.
    pub at: usize,
    /// The first column it takes.
    pub column: usize,
    pub shown: String,
    /// Whether it stands for a pasted block.
    pub block: bool,
}

impl Layout {
    /// Breaks `text` into rows of at most `columns`, at least 2. Behind a row that is full the cursor has the column after
    /// the last one.
    pub(super) fn new(text: &str, blocks: &Blocks, columns: usize) -> Self {
        // A wide letter must fit.
        let columns = columns.max(2);
        let mut rows = vec![Row::default()];
        let mut column = 0;
        for (at, letter) in letters(text) {
            if letter == "\n" {
                rows.push(Row { range: at + 1..at + 1, cells: Vec::new() });
                column = 0;
                continue;
            }
            let label = letter.chars().next().and_then(|c| blocks.get(c));
            let block = label.is_some();
            let mut shown = match label {
                Some(block) => block.label.clone(),
                None if letter == "\t" => " ".repeat(TAB - column % TAB),
                None => letter.to_owned(),
            };
            let mut wide = width(&shown);
            if column + wide > columns && column > 0 {
                rows.push(Row { range: at..at, cells: Vec::new() });
                column = 0;
            }
            if wide > columns {
                // A label in a terminal narrower than that, or a tab.
                shown = cut(&shown, columns);
                wide = width(&shown);
            }
            if let Some(row) = rows.last_mut() {
                row.range.end = at + letter.len();
                row.cells.push(Cell { at, column, shown, block });
            }
            column += wide;
        }
        Self { rows }
    }

    /// The row and the column of the byte `at`.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.range.start <= at).saturating_sub(1);
        let cells = self.rows.get(row).map_or(&[][..], |row| &row.cells);
        let column = match cells.iter().find(|cell| cell.at >= at) {
            Some(cell) => cell.column,
            None => cells.last().map_or(0, |cell| cell.column + width(&cell.shown)),
        };
        (row, column)
    }

    /// The byte at `column` of `row`, or at its end.
    pub(super) fn at(&self, row: usize, column: usize) -> usize {
        let Some(row) = self.rows.get(row) else { return 0 };
        let cell = row.cells.iter().find(|cell| cell.column + width(&cell.shown).max(1) > column);
        cell.map_or(row.range.end, |cell| cell.at)
    }
}

/// The letters of `text` with their places; a block is one of its own.
fn letters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.grapheme_indices(true).flat_map(|(at, letter)| {
        let mut pieces = Vec::with_capacity(1);
        let mut from = 0;
        if letter.chars().nth(1).is_some() {
            for (block, c) in letter.char_indices().filter(|(_, c)| is_block(*c)) {
                let end = block + c.len_utf8();
                pieces.extend((from < block).then(|| (at + from, &letter[from..block])));
                pieces.push((at + block, &letter[block..end]));
                from = end;
            }
        }
        pieces.extend((from < letter.len()).then(|| (at + from, &letter[from..])));
        pieces
    })
}

/// The beginning of `text` that fits into `columns`.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut taken = 0;
    for c in text.chars() {
        taken += char_width(c);
        if taken > columns {
            break;
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(layout: &Layout) -> Vec<String> {
        layout.rows.iter().map(|row| row.cells.iter().map(|cell| cell.shown.as_str()).collect()).collect()
    }

    #[track_caller]
    fn check(text: &str, columns: usize, want: &[&str], cursor: (usize, usize)) {
        let layout = Layout::new(text, &Blocks::default(), columns);
        assert_eq!(shown(&layout), want, "{text:?} in {columns}");
        assert_eq!(layout.place(text.len()), cursor, "{text:?} in {columns}");
    }

    #[test]
    fn rows_break_where_the_screen_ends() {
        check("", 5, &[""], (0, 0));
        check("abc", 5, &["abc"], (0, 3));
        check("abcdefg", 5, &["abcde", "fg"], (1, 2));
        check("abcde", 5, &["abcde"], (0, 5));
        check("a\nb\n", 5, &["a", "b", ""], (2, 0));
        check("漢字漢", 5, &["漢字", "漢"], (1, 2));
        check("e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}"], (0, 2));
        check("a\tb", 10, &["a   b"], (0, 5));
        check("漢", 1, &["漢"], (0, 2));
        check("👩\u{200d}💻", 3, &["👩\u{200d}"], (0, 2));
    }

    #[test]
    fn a_block_is_its_label_and_one_place() {
        let mut blocks = Blocks::default();
        let block = blocks.add_text("a\nb\nc".to_owned()).unwrap();
        let text = format!("x{block}y");
        let layout = Layout::new(&text, &blocks, 80);
        assert_eq!(shown(&layout), ["x[Pasted ~3 lines]y"]);
        assert_eq!((layout.place(1), layout.place(1 + block.len_utf8())), ((0, 1), (0, 18)));
        assert_eq!((layout.at(0, 5), layout.at(0, 18), layout.at(0, 70)), (1, text.len() - 1, text.len()));
        assert_eq!(shown(&Layout::new(&text, &blocks, 10)), ["x", "[Pasted ~3", "y"]);
    }

    proptest! {
        #[test]
        fn every_place_of_a_text_has_one_on_the_screen(
            text in "[a-c \\t\\n漢é\u{301}👩\u{200d}]{0,60}",
            columns in 1_usize..12,
        ) {
            let layout = Layout::new(&text, &Blocks::default(), columns);
            let mut before = None;
            for (at, _) in letters(&text).chain([(text.len(), "")]) {
                let place = layout.place(at);
                prop_assert!(place.0 < layout.rows.len() && place.1 <= columns.max(2), "{at} at {place:?}");
                prop_assert!(before.is_none_or(|before| before <= place), "{at} at {place:?} behind {before:?}");
                before = Some(place);
            }
            let all: String = layout.rows.iter().map(|row| &text[row.range.clone()]).collect();
            prop_assert_eq!(all, text.replace('\n', ""));
        }
    }
}
