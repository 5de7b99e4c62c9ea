//! Tables: which of them hold data, and those as Markdown.

use std::collections::HashSet;

use super::element::{Kind, is_hidden};
use super::lines::Lines;
use super::tree::{Id, ROOT, Tree, Visitor, Walk};

/// Widest table, in columns. What is further to the right is left out of the table and its cells follow it as lines.
pub(super) const MAX_COLUMNS: usize = 100;

/// The tables whose cells belong beside each other. Those that hold tables, headings or code only arrange the page.
pub(super) fn grids(tree: &Tree) -> HashSet<Id> {
    let mut search = Search::default();
    tree.walk(ROOT, &mut search);
    search.found
}

#[derive(Default)]
struct Search {
    open: Vec<Shape>,
    found: HashSet<Id>,
}

/// What was seen of a table.
#[derive(Default)]
struct Shape {
    arranges: bool,
    named: bool,
    rows: usize,
    cells: usize,
    widest: usize,
}

impl Visitor for Search {
    fn enter(&mut self, tree: &Tree, id: Id) -> Walk {
        let Some(element) = tree.element(id) else { return Walk::Past };
        if is_hidden(element) {
            return Walk::Past;
        }
        let kind = Kind::of(element);
        if let Some(table) = self.open.last_mut() {
            match kind {
                Kind::Table | Kind::Heading(_) | Kind::Preformatted | Kind::Rule => table.arranges = true,
                Kind::Row => {
                    table.rows += 1;
                    table.cells = 0;
                }
                Kind::Cell => {
                    table.cells += 1;
                    table.widest = table.widest.max(table.cells);
                    table.named |= element.html() == Some("th");
                }
                _ => {}
            }
        }
        if kind == Kind::Gone {
            return Walk::Past;
        }
        if kind == Kind::Table {
            let role = element.get("role").unwrap_or_default();
            let arranges = matches!(role, "presentation" | "none");
            self.open.push(Shape { arranges, ..Shape::default() });
        }
        Walk::Into
    }

    fn leave(&mut self, tree: &Tree, id: Id) {
        let Some(element) = tree.element(id) else { return };
        if is_hidden(element) || Kind::of(element) != Kind::Table {
            return;
        }
        let Some(table) = self.open.pop() else { return };
        let is_grid = table.widest >= 2 || table.named && table.rows >= 2;
        if !table.arranges && is_grid && table.widest <= MAX_COLUMNS {
            self.found.insert(id);
        }
    }
}

/// A table as it is read.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Row>,
}

#[derive(Debug, Default)]
struct Row {
    cells: Vec<String>,
    /// Whether all of them name something.
    names: bool,
    /// Columns that the last cell takes beyond its own.
    more: usize,
}

impl Table {
    /// A row begins.
    pub(super) fn row(&mut self) {
        self.rows.push(Row { names: true, ..Row::default() });
    }

    /// A cell begins, `columns` wide.
    pub(super) fn cell(&mut self, names: bool, columns: u32) {
        if self.rows.is_empty() {
            self.row();
        }
        if let Some(row) = self.rows.last_mut() {
            row.names &= names;
            row.more = usize::try_from(columns).unwrap_or(1).clamp(1, MAX_COLUMNS) - 1;
        }
    }

    /// What the cell holds, in one line.
    pub(super) fn fill(&mut self, text: String) {
        if let Some(row) = self.rows.last_mut() {
            row.cells.push(text);
            let room = MAX_COLUMNS.saturating_sub(row.cells.len());
            row.cells.extend(std::iter::repeat_n(String::new(), row.more.min(room)));
        }
    }

    /// Writes the table. Its first row names the columns if it was made to; otherwise they have no names.
    pub(super) fn write(mut self, lines: &mut Lines) {
        self.rows.retain(|row| row.cells.iter().any(|cell| !cell.is_empty()));
        let columns = self.rows.iter().map(|row| row.cells.len()).max().unwrap_or_default();
        if columns == 0 {
            return;
        }
        let head = if self.rows[0].names { self.rows.remove(0).cells } else { Vec::new() };
        let head: Vec<String> = head.into_iter().chain(std::iter::repeat(String::new())).take(columns).collect();
        let mut text = line(&head);
        text.push_str(&format!("\n|{}", " --- |".repeat(columns)));
        for row in &self.rows {
            text.push('\n');
            text.push_str(&line(&row.cells));
        }
        lines.push_lines(&text);
    }
}

fn line(cells: &[String]) -> String {
    let mut text = "|".to_owned();
    for cell in cells {
        text.push(' ');
        text.push_str(cell);
        text.push_str(" |");
    }
    text
}
