//! A page as Markdown: what is written of each part. Which part comes when is in [`walk`].

mod walk;

use std::collections::HashSet;

use haft_net::Url;

use super::element::{Kind, named_language};
use super::escape::{MAX_FENCE, Place, address, code_span, is_invisible, label, longest_run, must_escape, title};
use super::inline::{Inline, Style};
use super::lines::{Gap, Lines};
use super::table::Table;
use super::tree::{Element, Id, Tree, Walk};

/// Highest number of a list item; Markdown knows none with more than nine digits.
const MAX_NUMBER: u32 = 999_999_999;

/// Writes Markdown while it walks a page.
pub(super) struct Writer<'a> {
    base: Option<&'a Url>,
    /// Tables whose cells are shown beside each other; the others only arrange the page.
    grids: &'a HashSet<Id>,
    lines: Lines,
    /// Emphasis and links that are open, the outermost first.
    inline: Vec<Inline>,
    /// How many of them were written, or need not be.
    written: usize,
    lists: Vec<List>,
    code: Option<Code>,
    block: Option<Block>,
    table: Option<Table>,
    /// The lines around the cell that is being written.
    outside: Option<Lines>,
    in_heading: bool,
    /// The level of a heading that has no words yet.
    heading: Option<u8>,
}

struct List {
    numbered: bool,
    next: u32,
    begun: bool,
}

/// A span of code that is being read.
#[derive(Default)]
struct Code {
    text: String,
    depth: usize,
}

/// A block of code that is being read.
struct Block {
    text: String,
    language: Option<String>,
    depth: usize,
    /// A block in it ended, and what comes now stands on another line.
    ended: bool,
}

impl Block {
    fn add(&mut self, text: &str) {
        if std::mem::take(&mut self.ended) && !text.starts_with('\n') {
            self.end_line();
        }
        self.text.extend(text.chars().filter(|&c| !is_invisible(c)).map(plain_blank));
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(base: Option<&'a Url>, grids: &'a HashSet<Id>) -> Self {
        Self {
            base,
            grids,
            lines: Lines::default(),
            inline: Vec::new(),
            written: 0,
            lists: Vec::new(),
            code: None,
            block: None,
            table: None,
            outside: None,
            in_heading: false,
            heading: None,
        }
    }

    /// A paragraph of its own, before or after the page.
    pub(super) fn paragraph(&mut self, text: &str) {
        self.boundary(Gap::Blank);
        self.words(text);
        self.boundary(Gap::Blank);
    }

    /// All of it.
    pub(super) fn finish(mut self) -> String {
        self.boundary(Gap::None);
        self.lines.finish()
    }

    /// A block begins or ends here: what is open in the line is closed, to be opened again with the next words.
    fn boundary(&mut self, gap: Gap) {
        self.flush_code();
        for inline in self.inline[..self.written].iter_mut().rev() {
            inline.close(&mut self.lines);
        }
        self.written = 0;
        self.lines.gap(gap);
    }

    /// Makes the place for words, and opens what they stand in.
    fn begin(&mut self) {
        self.lines.begin();
        if let Some(level) = self.heading.take() {
            self.lines.push(&format!("{} ", "#".repeat(usize::from(level))));
        }
        while let Some(inline) = self.inline.get_mut(self.written) {
            inline.open(&mut self.lines);
            self.written += 1;
        }
    }

    /// Words of the page. White space between them is one blank.
    fn words(&mut self, text: &str) {
        let place = Place { in_link: self.inline.iter().any(Inline::is_link), in_heading: self.in_heading };
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            rest = &rest[sign.len_utf8()..];
            if is_invisible(sign) {
                continue;
            }
            if sign.is_whitespace() {
                self.lines.space();
                continue;
            }
            // Before the place is made, as that may write a blank.
            let escaped = must_escape(sign, rest, &self.lines, place);
            self.begin();
            if escaped {
                self.lines.push_char('\\');
            }
            self.lines.push_char(sign);
        }
    }

    /// Markdown of our own in the line.
    fn put(&mut self, text: &str) {
        self.begin();
        self.lines.push(text);
    }

    fn enter_inline(&mut self, style: Style) {
        let same = self.inline.iter().any(|inline| inline.style.is_like(&style));
        self.inline.push(Inline::new(style, same));
    }

    fn leave_inline(&mut self) {
        if self.code.is_none()
            && let Some(label) = self.inline.last().and_then(Inline::label_if_empty)
        {
            self.words(&label);
        }
        if let Some(mut inline) = self.inline.pop()
            && self.written > self.inline.len()
        {
            inline.close(&mut self.lines);
        }
        self.written = self.written.min(self.inline.len());
    }

    /// The address that `url` comes to on this page; `None` where it leads to no other page.
    fn resolved(&self, url: &str) -> Option<String> {
        let url = url.trim();
        let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        if url.is_empty() || matches!(scheme.as_deref(), Some("javascript" | "data" | "blob" | "vbscript")) {
            return None;
        }
        // A place on this page is nowhere else.
        let joined = self.base.filter(|_| !url.starts_with('#')).and_then(|base| base.join(url).ok());
        Some(address(joined.as_ref().map_or(url, Url::as_str)))
    }

    fn link(&mut self, element: &Element) {
        let url = element.get("href").and_then(|url| self.resolved(url));
        let style = url.map_or(Style::Plain, |url| Style::Link {
            to_here: url.starts_with('#'),
            url,
            title: title(element.get("title")),
            label: element.get("aria-label").or_else(|| element.get("title")).unwrap_or_default().trim().to_owned(),
        });
        self.enter_inline(style);
    }

    fn image(&mut self, element: &Element) {
        let dot = |side: &str| element.get(side).is_some_and(|value| matches!(value.trim(), "0" | "1"));
        if dot("width") && dot("height") {
            return;
        }
        let alt = element.get("alt").unwrap_or_default();
        if let Some(code) = &mut self.code {
            code.text.push_str(alt);
            return;
        }
        let url =
            [element.get("src"), element.get("data-src")].into_iter().flatten().find_map(|url| self.resolved(url));
        if url.is_none() && alt.trim().is_empty() {
            return;
        }
        let title = title(element.get("title"));
        self.put(&format!("![{}]({}{title})", label(alt), url.unwrap_or_default()));
    }

    /// A link to what plays or is shown in a frame.
    fn media(&mut self, tree: &Tree, id: Id, element: &Element) {
        let source = element.get("src").or_else(|| tree.first_source(id));
        let Some(url) = source.and_then(|url| self.resolved(url)).filter(|url| url != "about:blank") else { return };
        let name = element.get("title").or_else(|| element.get("aria-label")).unwrap_or(element.local());
        self.enter_inline(Style::Link { url, title: String::new(), label: name.to_owned(), to_here: false });
        self.leave_inline();
    }

    fn line_break(&mut self) {
        if let Some(code) = &mut self.code {
            code.text.push(' ');
        } else if self.in_heading {
            self.lines.space();
        } else if self.lines.line_break() {
            self.boundary(Gap::Blank);
        }
    }

    fn item(&mut self, element: &Element) {
        self.boundary(Gap::Line);
        let value = element.get("value").and_then(number);
        let marker = match self.lists.last_mut() {
            Some(list) => {
                if list.begun {
                    self.lines.next_item();
                }
                list.begun = true;
                let number = value.unwrap_or(list.next);
                list.next = number.saturating_add(1).min(MAX_NUMBER);
                if list.numbered { format!("{number}. ") } else { "- ".to_owned() }
            }
            None => "- ".to_owned(),
        };
        self.lines.open_item(marker);
    }

    /// In an item a list follows its words at once.
    fn list_gap(&self) -> Gap {
        if self.lists.is_empty() { Gap::Blank } else { Gap::Line }
    }

    fn flush_code(&mut self) {
        let Some(code) = &mut self.code else { return };
        let text = std::mem::take(&mut code.text);
        let words: Vec<&str> = text.split_whitespace().collect();
        if text.starts_with(char::is_whitespace) {
            self.lines.space();
        }
        if !words.is_empty() {
            let span = code_span(&words.join(" "));
            let span = if self.lines.is_cell() { span.replace('|', "\\|") } else { span };
            self.put(&span);
        }
        if text.ends_with(char::is_whitespace) {
            self.lines.space();
        }
    }

    fn leave_code(&mut self) {
        let Some(code) = &mut self.code else { return };
        code.depth -= 1;
        if code.depth == 0 {
            self.flush_code();
            self.code = None;
        }
    }

    fn leave_block(&mut self) {
        let Some(block) = &mut self.block else { return };
        block.depth -= 1;
        if block.depth > 0 {
            return;
        }
        let Some(Block { text, language, .. }) = self.block.take() else { return };
        let text = text.trim_end_matches(['\n', ' ', '\t']).trim_start_matches('\n');
        if !text.is_empty() {
            let fence = "`".repeat(longest_run(text, '`').clamp(2, MAX_FENCE - 1) + 1);
            let language = language.unwrap_or_default();
            // The block stands by itself: emphasis and links around it are not for it.
            self.lines.push_lines(&format!("{fence}{language}\n{text}\n{fence}"));
        }
        self.lines.gap(Gap::Blank);
    }

    /// What stands in a block of code is taken as it is.
    fn enter_in_block(&mut self, kind: Kind, element: &Element) -> Walk {
        let Some(block) = &mut self.block else { return Walk::Into };
        match kind {
            Kind::Gone => return Walk::Past,
            Kind::Break => block.text.push('\n'),
            Kind::Preformatted => block.depth += 1,
            Kind::Code if block.language.is_none() => block.language = named_language(element),
            kind if kind.is_block() => block.end_line(),
            _ => {}
        }
        Walk::Into
    }

    fn start_cell(&mut self, element: &Element) {
        self.boundary(Gap::Line);
        if let Some(table) = &mut self.table {
            table.cell(element.html() == Some("th"), element.get("colspan").and_then(number).unwrap_or(1));
            self.outside = Some(std::mem::replace(&mut self.lines, Lines::cell()));
        }
    }

    fn end_cell(&mut self) {
        self.boundary(Gap::None);
        if let (Some(table), Some(outside)) = (&mut self.table, self.outside.take()) {
            let cell = std::mem::replace(&mut self.lines, outside).finish();
            table.fill(cell);
        }
    }

    fn input(&mut self, element: &Element) {
        let kind = element.get("type").unwrap_or_default().to_ascii_lowercase();
        if matches!(kind.as_str(), "checkbox" | "radio") {
            self.put(if element.get("checked").is_some() { "[x]" } else { "[ ]" });
            self.lines.space();
        }
    }

    /// A formula, in TeX where the page has it.
    fn math(&mut self, tree: &Tree, id: Id, element: &Element) -> Walk {
        let Some(tex) = tree.tex(id).or_else(|| element.get("alttext").map(str::to_owned)) else { return Walk::Into };
        let words: Vec<&str> = tex.split_whitespace().collect();
        if !words.is_empty() {
            self.put(&format!("${}$", words.join(" ")));
        }
        Walk::Past
    }
}

/// A blank that does not break is a blank in code.
fn plain_blank(sign: char) -> char {
    if sign == '\u{a0}' { ' ' } else { sign }
}

/// A whole number of an attribute, from 0 on.
fn number(text: &str) -> Option<u32> {
    text.trim().parse::<u32>().ok().map(|number| number.min(MAX_NUMBER))
}
