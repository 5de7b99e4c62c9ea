//! What each element of a page begins and ends in its Markdown.

use super::super::element::{Kind, is_hidden, language};
use super::super::escape::is_invisible;
use super::super::inline::Style;
use super::super::lines::Gap;
use super::super::table::Table;
use super::super::tree::{Element, Id, Tree, Visitor, Walk};
use super::{Block, List, Writer, number};

impl Visitor for Writer<'_> {
    fn enter(&mut self, tree: &Tree, id: Id) -> Walk {
        if self.lines.is_full() {
            return Walk::Stop;
        }
        if let Some(text) = tree.text(id) {
            match (&mut self.block, &mut self.code) {
                (Some(block), _) => block.add(text),
                (None, Some(code)) => code.text.extend(text.chars().filter(|&c| !is_invisible(c))),
                (None, None) => self.words(text),
            }
            return Walk::Past;
        }
        let Some(element) = tree.element(id) else { return Walk::Past };
        if is_hidden(element) {
            return Walk::Past;
        }
        let kind = Kind::of(element);
        if self.block.is_some() {
            self.enter_in_block(kind, element)
        } else {
            self.enter_element(tree, id, element, kind)
        }
    }

    fn leave(&mut self, tree: &Tree, id: Id) {
        let Some(element) = tree.element(id) else { return };
        if is_hidden(element) {
            return;
        }
        let kind = Kind::of(element);
        if self.block.is_none() {
            self.leave_element(id, kind);
        } else if kind == Kind::Preformatted {
            self.leave_block();
        } else if let Some(block) = &mut self.block {
            block.ended |= kind.is_block();
        }
    }
}

impl Writer<'_> {
    fn enter_element(&mut self, tree: &Tree, id: Id, element: &Element, kind: Kind) -> Walk {
        match kind {
            Kind::Gone => return Walk::Past,
            Kind::Heading(level) => {
                self.boundary(Gap::Blank);
                if !self.lines.is_cell() {
                    (self.heading, self.in_heading) = (Some(level), true);
                }
            }
            Kind::Paragraph | Kind::Block | Kind::Terms => self.boundary(Gap::Blank),
            Kind::RowGroup => self.boundary(Gap::Line),
            Kind::List | Kind::NumberedList => {
                self.boundary(self.list_gap());
                let numbered = kind == Kind::NumberedList;
                let next = element.get("start").and_then(number).unwrap_or(1);
                self.lists.push(List { numbered, next, begun: false });
            }
            Kind::Item => self.item(element),
            Kind::Quote => {
                self.boundary(Gap::Blank);
                self.lines.open_quote();
            }
            Kind::Preformatted => {
                self.boundary(Gap::Blank);
                self.block = Some(Block { text: String::new(), language: language(tree, id), depth: 1, ended: false });
            }
            Kind::Code => self.code.get_or_insert_default().depth += 1,
            Kind::Strong => self.enter_inline(Style::Strong),
            Kind::Emphasis => self.enter_inline(Style::Emphasis),
            Kind::Struck => self.enter_inline(Style::Struck),
            Kind::Raised => self.enter_inline(Style::Raised),
            Kind::Link => self.link(element),
            Kind::Image => self.image(element),
            Kind::Break => self.line_break(),
            Kind::Rule => {
                self.boundary(Gap::Blank);
                if !self.lines.is_cell() {
                    self.lines.push_lines("---");
                }
                self.lines.gap(Gap::Blank);
            }
            Kind::Table => {
                self.boundary(Gap::Blank);
                if self.grids.contains(&id) {
                    self.table = Some(Table::default());
                }
            }
            Kind::Row => {
                self.boundary(Gap::Blank);
                if let Some(table) = &mut self.table {
                    table.row();
                }
            }
            Kind::Cell if self.table.is_some() => self.start_cell(element),
            Kind::Cell => self.boundary(Gap::Blank),
            Kind::Term => self.boundary(Gap::Line),
            Kind::Definition => {
                self.boundary(Gap::Line);
                self.lines.next_item();
                self.lines.open_item(": ".to_owned());
            }
            Kind::Input => self.input(element),
            Kind::Choice => self.boundary(Gap::Line),
            Kind::Quoted => self.words("\""),
            Kind::Reading => self.words("("),
            Kind::Media => {
                self.media(tree, id, element);
                return Walk::Past;
            }
            Kind::Math => return self.math(tree, id, element),
            Kind::Fallback | Kind::Plain => {}
        }
        Walk::Into
    }

    fn leave_element(&mut self, id: Id, kind: Kind) {
        match kind {
            Kind::Heading(_) => {
                self.boundary(Gap::Blank);
                (self.heading, self.in_heading) = (None, false);
            }
            Kind::Paragraph | Kind::Block | Kind::Terms => self.boundary(Gap::Blank),
            Kind::RowGroup | Kind::Row => self.boundary(Gap::Line),
            Kind::List | Kind::NumberedList => {
                self.lists.pop();
                self.boundary(self.list_gap());
                self.lines.list_ended();
            }
            Kind::Item => {
                self.boundary(Gap::None);
                self.lines.close();
                self.lines.gap(Gap::Line);
            }
            Kind::Quote | Kind::Definition => {
                self.boundary(Gap::None);
                self.lines.close();
                self.lines.gap(Gap::Blank);
            }
            Kind::Code => self.leave_code(),
            Kind::Strong | Kind::Emphasis | Kind::Struck | Kind::Raised | Kind::Link => self.leave_inline(),
            Kind::Table => {
                self.boundary(Gap::Blank);
                if self.grids.contains(&id)
                    && let Some(table) = self.table.take()
                {
                    table.write(&mut self.lines);
                    self.lines.gap(Gap::Blank);
                }
            }
            Kind::Cell if self.outside.is_some() => self.end_cell(),
            Kind::Cell => self.boundary(Gap::Blank),
            Kind::Term | Kind::Choice => self.boundary(Gap::Line),
            Kind::Quoted => self.words("\""),
            Kind::Reading => self.words(")"),
            Kind::Preformatted
            | Kind::Image
            | Kind::Break
            | Kind::Rule
            | Kind::Input
            | Kind::Media
            | Kind::Fallback
            | Kind::Math
            | Kind::Plain
            | Kind::Gone => {}
        }
    }
}
