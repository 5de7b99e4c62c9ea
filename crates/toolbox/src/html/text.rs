//! A page as plain text: the words as a reader sees them, blocks on lines of their own, cells apart by tabs.

use super::MAX_OUTPUT;
use super::element::{Kind, is_hidden};
use super::escape::is_invisible;
use super::tree::{Id, Tree, Visitor, Walk};

/// Writes text while it walks a page.
#[derive(Default)]
pub(super) struct Writer {
    text: String,
    /// Line ends that must come before the next words.
    ends: usize,
    space: bool,
    /// The next words are those of another cell of the row.
    tab: bool,
    /// How many blocks of preformatted text are open.
    kept: usize,
    /// Whether words for readers that run no scripts are taken too.
    fallback: bool,
}

impl Writer {
    /// With `fallback` also the words for readers that run no scripts.
    pub(super) fn new(fallback: bool) -> Self {
        Self { fallback, ..Self::default() }
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.gap(2);
        self.words(text);
        self.gap(2);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    fn gap(&mut self, ends: usize) {
        // What stands in a line keeps the blank before it.
        self.space &= ends == 0;
        self.ends = self.ends.max(ends);
    }

    fn begin(&mut self) {
        if !self.text.is_empty() {
            match (self.ends, self.tab, self.space) {
                (0, true, _) => self.text.push('\t'),
                (0, false, true) => self.text.push(' '),
                (0, false, false) => {}
                (ends, _, _) => self.text.extend(std::iter::repeat_n('\n', ends)),
            }
        }
        (self.ends, self.tab, self.space) = (0, false, false);
    }

    fn words(&mut self, text: &str) {
        for sign in text.chars().filter(|&sign| !is_invisible(sign)) {
            if sign.is_whitespace() {
                self.space = true;
            } else {
                self.begin();
                self.text.push(sign);
            }
        }
    }

    /// Text whose blanks count.
    fn keep(&mut self, text: &str) {
        if !text.is_empty() {
            if text.starts_with('\n') {
                self.ends = self.ends.saturating_sub(1);
            }
            self.begin();
            self.text.extend(text.chars().filter(|&sign| !is_invisible(sign)));
        }
    }

    /// How many line ends a block has around it.
    fn around(kind: Kind) -> usize {
        match kind {
            Kind::Heading(_) | Kind::Paragraph | Kind::Quote | Kind::Preformatted | Kind::Table | Kind::Rule => 2,
            Kind::Cell => 0,
            kind => usize::from(kind.is_block()),
        }
    }
}

impl Visitor for Writer {
    fn enter(&mut self, tree: &Tree, id: Id) -> Walk {
        if self.text.len() >= MAX_OUTPUT {
            return Walk::Stop;
        }
        if let Some(text) = tree.text(id) {
            if self.kept > 0 {
                self.keep(text)
            } else {
                self.words(text)
            }
            return Walk::Past;
        }
        let Some(element) = tree.element(id) else { return Walk::Past };
        let kind = Kind::of(element);
        let passed = matches!(kind, Kind::Gone | Kind::Media) || kind == Kind::Fallback && !self.fallback;
        if passed || is_hidden(element) {
            return Walk::Past;
        }
        match kind {
            Kind::Break if self.kept > 0 => self.keep("\n"),
            Kind::Break => self.ends = (self.ends + 1).min(2),
            Kind::Preformatted => {
                self.gap(2);
                self.kept += 1;
            }
            Kind::Quoted => self.words("\""),
            Kind::Reading => self.words("("),
            Kind::Math => {
                if let Some(tex) = tree.tex(id) {
                    self.words(&tex);
                    return Walk::Past;
                }
            }
            // Lines of code in blocks or items end by themselves.
            kind if self.kept > 0 && kind.is_block() && self.text.ends_with('\n') => {}
            kind => self.gap(Self::around(kind).min(if self.kept > 0 { 1 } else { 2 })),
        }
        if self.ends > 0 {
            self.space = false;
        }
        Walk::Into
    }

    fn leave(&mut self, tree: &Tree, id: Id) {
        let Some(element) = tree.element(id) else { return };
        if is_hidden(element) {
            return;
        }
        match Kind::of(element) {
            Kind::Preformatted => {
                self.kept -= 1;
                let bare = self.text.trim_end_matches('\n').len();
                self.text.truncate(bare);
                self.gap(2);
            }
            Kind::Cell => self.tab = true,
            Kind::Row => {
                self.tab = false;
                self.gap(1);
            }
            Kind::Quoted => self.words("\""),
            Kind::Reading => self.words(")"),
            kind if kind.is_block() => self.gap(Self::around(kind).min(if self.kept > 0 { 1 } else { 2 })),
            _ => {}
        }
    }
}
