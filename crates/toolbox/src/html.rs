//! Pages for reading: HTML in; Markdown or plain text out. Pure, and of use alone.
//!
//! Pages are hostile. Whatever one holds, reading it takes time and memory in proportion to its length, nothing is
//! recursive, and what comes out has a bound.
//!
//! **Never here:** the network, scripts, style sheets. What a page hides is left out where its own markup says so.

mod element;
mod escape;
mod head;
mod inline;
mod lines;
mod markdown;
mod parse;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod tree;

use haft_net::Url;

use head::Head;
use tree::{ROOT, Tree};

/// Most bytes that come out of a page. A little more where the last word ends behind that.
pub const MAX_OUTPUT: usize = 8 * 1024 * 1024;

/// A page that was read. It stays on its thread.
#[derive(Debug)]
pub struct Page {
    tree: Tree,
    head: Head,
}

/// The page `html` as Markdown. Links are made whole with `base`, the page's own address, where it is known.
pub fn markdown(html: &str, base: Option<&Url>) -> String {
    Page::read(html).markdown(base)
}

/// The page `html` as plain text.
pub fn text(html: &str) -> String {
    Page::read(html).text()
}

impl Page {
    /// Reads a page. Never fails: every text is one.
    pub fn read(html: &str) -> Self {
        let tree = parse::parse(html);
        let head = Head::of(&tree);
        Self { tree, head }
    }

    /// As Markdown, its title first unless it begins with a heading that says the same. Links are made whole with
    /// `base`, the page's own address, unless the page names another.
    pub fn markdown(&self, base: Option<&Url>) -> String {
        let named = base.and_then(|base| base.join(self.head.base.as_deref()?).ok());
        let grids = table::grids(&self.tree);
        let mut writer = markdown::Writer::new(named.as_ref().or(base), &grids);
        if let Some(title) = self.head.own_title() {
            writer.paragraph(title);
        }
        self.tree.walk(ROOT, &mut writer);
        writer.finish()
    }

    /// As plain text, its title first unless it begins with a heading that says the same.
    pub fn text(&self) -> String {
        let mut writer = text::Writer::new(false);
        if let Some(title) = self.head.own_title() {
            writer.paragraph(title);
        }
        self.tree.walk(ROOT, &mut writer);
        writer.finish()
    }

    /// Whether more was there than is read of a page.
    pub fn is_cut(&self) -> bool {
        self.tree.cut
    }

    /// Whether it shows its content by a script only: it has scripts, and next to no words or words that ask for them.
    pub fn needs_script(&self) -> bool {
        let mut writer = text::Writer::new(true);
        self.tree.walk(ROOT, &mut writer);
        self.head.is_shell(&writer.finish())
    }

    /// Where the page sends its readers on to by itself, as it says.
    pub fn refresh(&self) -> Option<&str> {
        self.head.refresh.as_deref()
    }
}
