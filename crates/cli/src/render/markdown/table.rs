//! Tables that fit the screen. Pure.

use pulldown_cmark::Alignment;

use super::super::style::{Line, Span, Style, add, line_width};
use super::wrap::wrapped;

/// Narrowest column that is still a column.
const MIN_COLUMN: usize = 5;
/// What stands between two columns.
const BETWEEN: &str = " │ ";

/// A table: its head, then its rows, all with as many cells as there are columns.
pub(super) struct Table {
    pub alignments: Vec<Alignment>,
    pub head: Vec<Line>,
    pub rows: Vec<Vec<Line>>,
}

impl Table {
    /// The table in at most `columns`; where that is too narrow for columns, each row as a list of its cells.
    pub(super) fn lines(&self, columns: usize) -> Vec<Line> {
        let count = self.alignments.len();
        let between = 3 * count.saturating_sub(1);
        match fitted(&self.natural(), columns.saturating_sub(between)) {
            Some(widths) => self.grid(&widths),
            None => self.list(columns),
        }
    }

    /// How wide each column would like to be.
    fn natural(&self) -> Vec<usize> {
        let mut widths = vec![1; self.alignments.len()];
        for row in std::iter::once(&self.head).chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(line_width(cell));
            }
        }
        widths
    }

    fn grid(&self, widths: &[usize]) -> Vec<Line> {
        let bold: Vec<Line> = self.head.iter().map(|cell| bold(cell)).collect();
        let mut lines = self.row(&bold, widths);
        let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        lines.push(vec![Span::new(rules.join("─┼─"), Style::DIM)]);
        for row in &self.rows {
            lines.extend(self.row(row, widths));
        }
        lines
    }

    fn row(&self, cells: &[Line], widths: &[usize]) -> Vec<Line> {
        let cells: Vec<Vec<Line>> = cells.iter().zip(widths).map(|(cell, width)| wrapped(cell, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        (0..height)
            .map(|at| {
                let mut line = Line::new();
                for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                    if column > 0 {
                        add(&mut line, BETWEEN, Style::DIM);
                    }
                    let empty = Line::new();
                    let text = cell.get(at).unwrap_or(&empty);
                    let free = width.saturating_sub(line_width(text));
                    let (before, after) = match self.alignments.get(column) {
                        Some(Alignment::Right) => (free, 0),
                        Some(Alignment::Center) => (free / 2, free - free / 2),
                        Some(Alignment::Left | Alignment::None) | None => (0, free),
                    };
                    add(&mut line, &" ".repeat(before), Style::default());
                    text.iter().for_each(|span| add(&mut line, &span.text, span.style));
                    add(&mut line, &" ".repeat(after), Style::default());
                }
                line
            })
            .collect()
    }

    fn list(&self, columns: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            if number > 0 {
                lines.push(Line::new());
            }
            for (head, cell) in self.head.iter().zip(row) {
                let mut line = bold(head);
                add(&mut line, ": ", Style::DIM);
                cell.iter().for_each(|span| add(&mut line, &span.text, span.style));
                lines.extend(wrapped(&line, columns));
            }
        }
        lines
    }
}

fn bold(cell: &[Span]) -> Line {
    cell.iter().map(|span| Span::new(span.text.clone(), Style { bold: true, ..span.style })).collect()
}

/// The widths of columns that would like to be `natural`, in `room` columns: the widest give most. `None` where even
/// the narrowest do not fit.
fn fitted(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    if natural.iter().sum::<usize>() <= room {
        return Some(natural.to_vec());
    }
    let least: usize = natural.iter().map(|width| (*width).min(MIN_COLUMN)).sum();
    if least > room {
        return None;
    }
    // The widest width that all columns may have so that they fit together.
    let fits = |most: usize| natural.iter().map(|width| (*width).min(most)).sum::<usize>() <= room;
    let (mut low, mut high) = (MIN_COLUMN, room);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    let mut widths: Vec<usize> = natural.iter().map(|width| (*width).min(low)).collect();
    let mut free = room - widths.iter().sum::<usize>();
    for (width, natural) in widths.iter_mut().zip(natural) {
        if free > 0 && *width < *natural {
            *width += 1;
            free -= 1;
        }
    }
    Some(widths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_give_way_first() {
        let row = |natural: &[usize], room: usize, want: Option<&[usize]>| {
            assert_eq!(fitted(natural, room).as_deref(), want, "{natural:?} in {room}");
        };
        row(&[3, 4], 10, Some(&[3, 4]));
        row(&[3, 40], 20, Some(&[3, 17]));
        row(&[30, 40, 2], 22, Some(&[10, 10, 2]));
        row(&[30, 40, 2], 23, Some(&[11, 10, 2]));
        row(&[30, 40], 9, None);
        row(&[5, 5], 10, Some(&[5, 5]));
        row(&[], 0, Some(&[]));
    }
}
