//! Pasted blocks: long text that stands in what is typed as one character, and on the screen as a label. Pure.

use std::path::{Path, PathBuf};

use super::MAX_INPUT;

/// Most blocks of one submission.
pub(super) const MAX_BLOCKS: usize = 256;

/// The characters that stand for blocks: the end of a range that no font and no script uses.
const FIRST: u32 = 0x10_fe00;

/// A paste of so many lines, or of more than so many characters, becomes a block.
const BLOCK_LINES: usize = 3;
const BLOCK_CHARS: usize = 150;

/// Longest paste that is put into the line itself where the user wants no blocks, in bytes: all of a line is laid out
/// again at each key.
pub(super) const MAX_INLINE: usize = 64 * 1024;

/// What was pasted as blocks, in the order of their characters. Grows only; a block that was deleted may come back.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks(Vec<Block>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub label: String,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    File(PathBuf),
}

/// Whether `text` is better shown as a label. `summary`: whether the user wants that.
pub(super) fn is_long(text: &str, summary: bool) -> bool {
    let lines = || text.trim_end_matches('\n').split('\n').count() >= BLOCK_LINES;
    text.len() > MAX_INLINE || summary && (lines() || text.chars().nth(BLOCK_CHARS).is_some())
}

/// Whether `c` stands for a block.
pub(super) fn is_block(c: char) -> bool {
    number(c).is_some()
}

fn number(c: char) -> Option<usize> {
    let number = u32::from(c).checked_sub(FIRST).and_then(|number| usize::try_from(number).ok());
    number.filter(|&number| number < MAX_BLOCKS)
}

impl Blocks {
    /// Keeps a pasted text; gives the character that stands for it, or `None` where there are too many.
    pub(super) fn add_text(&mut self, text: String) -> Option<char> {
        let lines = text.trim_end_matches('\n').split('\n').count();
        let label = match lines {
            1 => format!("[Pasted ~{} characters]", text.chars().count()),
            lines => format!("[Pasted ~{lines} lines]"),
        };
        self.add(Block { label, content: Content::Text(text) })
    }

    /// Keeps a file that was dropped on the terminal.
    pub(super) fn add_file(&mut self, path: &Path) -> Option<char> {
        let pdf = is_pdf(path);
        let same = |block: &&Block| matches!(&block.content, Content::File(other) if is_pdf(other) == pdf);
        let number = self.0.iter().filter(same).count() + 1;
        let label = format!("[{} {number}]", if pdf { "PDF" } else { "Image" });
        self.add(Block { label, content: Content::File(path.to_owned()) })
    }

    fn add(&mut self, block: Block) -> Option<char> {
        if self.0.len() == MAX_BLOCKS {
            return None;
        }
        self.0.push(block);
        u32::try_from(self.0.len() - 1).ok().and_then(|number| char::from_u32(FIRST + number))
    }

    pub(super) fn get(&self, c: char) -> Option<&Block> {
        self.0.get(number(c)?)
    }

    /// The blocks that stand in `text`, in their order.
    pub(super) fn within<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Block> {
        text.chars().filter_map(|c| self.get(c))
    }

    /// How long `text` is with what its blocks hold, in bytes.
    pub(super) fn length(&self, text: &str) -> usize {
        let inner = self.within(text).map(|block| match &block.content {
            Content::Text(text) => text.len(),
            Content::File(_) => block.label.len(),
        });
        text.len() + inner.sum::<usize>()
    }

    /// Whether `more` bytes still fit into `text`.
    pub(super) fn fits(&self, text: &str, more: usize) -> bool {
        self.length(text).saturating_add(more) <= MAX_INPUT
    }

    /// `text` with what the blocks hold.
    pub(super) fn expanded(&self, text: &str) -> String {
        self.replaced(text, |block| match &block.content {
            Content::Text(text) => text,
            Content::File(_) => &block.label,
        })
    }

    /// `text` as it is shown.
    pub(super) fn shown(&self, text: &str) -> String {
        self.replaced(text, |block| &block.label)
    }

    /// The files that stand in `text`.
    pub(super) fn files(&self, text: &str) -> Vec<PathBuf> {
        let file = |block: &Block| match &block.content {
            Content::File(path) => Some(path.clone()),
            Content::Text(_) => None,
        };
        self.within(text).filter_map(file).collect()
    }

    fn replaced<'a>(&'a self, text: &str, by: impl Fn(&'a Block) -> &'a str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match self.get(c) {
                Some(block) => out.push_str(by(block)),
                None => out.push(c),
            }
        }
        out
    }
}

/// The picture or PDF that `pasted` is the path of, as terminals write a file that is dropped on them: quoted, or with
/// blanks behind backslashes, or as a `file://` address. Whether it exists is for the caller to find out.
pub(super) fn dropped(pasted: &str) -> Option<PathBuf> {
    const KINDS: [&str; 6] = ["png", "jpg", "jpeg", "gif", "webp", "pdf"];
    let pasted = pasted.trim();
    let plain = match pasted.chars().next()? {
        quote @ ('\'' | '"') => pasted.strip_prefix(quote)?.strip_suffix(quote)?.to_owned(),
        _ => unescaped(pasted.strip_prefix("file://").unwrap_or(pasted))?,
    };
    let path = PathBuf::from(plain);
    let kind = path.extension()?.to_str()?.to_ascii_lowercase();
    (path.is_absolute() && KINDS.contains(&kind.as_str())).then_some(path)
}

/// `text` without the backslashes; `None` where a blank stands without one: that is more than a path.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(chars.next()?),
            c if c.is_whitespace() => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

fn is_pdf(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("pdf"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_is_what_has_many_lines_or_many_characters() {
        let check = |text: &str, want: bool| assert_eq!(is_long(text, true), want, "{}", text.len());
        check("a\nb", false);
        check("a\nb\n", false);
        check("a\nb\nc", true);
        check(&"é".repeat(150), false);
        check(&"é".repeat(151), true);
        assert!(!is_long("a\nb\nc", false));
        assert!(is_long(&"x".repeat(MAX_INLINE + 1), false), "whatever the user wants, a line stays quick");
    }

    #[test]
    fn a_block_stands_for_what_it_holds() {
        let mut blocks = Blocks::default();
        let lines = blocks.add_text("a\nb\nc\n".to_owned()).unwrap();
        let word = blocks.add_text("xyz".to_owned()).unwrap();
        let text = format!("see {lines} and {word}!");
        assert_eq!(blocks.shown(&text), "see [Pasted ~3 lines] and [Pasted ~3 characters]!");
        assert_eq!(blocks.expanded(&text), "see a\nb\nc\n and xyz!");
        assert!(blocks.fits(&text, MAX_INPUT - blocks.length(&text)));
        assert!(!blocks.fits(&text, MAX_INPUT - blocks.length(&text) + 1));
    }

    #[test]
    fn files_are_numbered_by_kind() {
        let mut blocks = Blocks::default();
        let all: String =
            ["/a.png", "/b.pdf", "/c.jpg"].iter().filter_map(|path| blocks.add_file(Path::new(path))).collect();
        assert_eq!(blocks.shown(&all), "[Image 1][PDF 1][Image 2]");
        assert_eq!(blocks.files(&all), [Path::new("/a.png"), Path::new("/b.pdf"), Path::new("/c.jpg")]);
    }

    #[test]
    fn there_are_only_so_many_blocks() {
        let mut blocks = Blocks::default();
        let added = (0..MAX_BLOCKS + 1).filter_map(|_| blocks.add_text("x".to_owned())).count();
        assert_eq!(added, MAX_BLOCKS);
    }

    #[test]
    fn a_dropped_file_is_one_path_of_a_picture() {
        let check = |pasted: &str, want: Option<&str>| assert_eq!(dropped(pasted), want.map(PathBuf::from), "{pasted}");
        check("/a/b.png", Some("/a/b.png"));
        check("'/a/b c.JPG' ", Some("/a/b c.JPG"));
        check(r"/a/b\ c.pdf", Some("/a/b c.pdf"));
        check("file:///a/b.webp", Some("/a/b.webp"));
        for other in ["b.png", "/a/b.rs", "/a.png /b.png", "look at /a.png", "'/a.png", "", "\\"] {
            check(other, None);
        }
    }
}
