//! Words with emphasis, links and code. Pure.

use pulldown_cmark::{Event, Tag, TagEnd};

use super::super::spelled;
use super::super::style::{Colour, Line, Style, add};
use super::layout::Events;
use super::unmarked;

/// Collects the words that come next, as lines that were meant as lines. Ends before what is no word. `painted`: whether
/// styles will be seen; else the marks of emphasis are left where they were.
pub(super) fn inline(events: &mut Events<'_, '_>, painted: bool) -> Vec<Line> {
    let mut words = Words { lines: vec![Line::new()], looks: vec![Style::default()], links: Vec::new(), painted };
    while let Some((event, _)) = events.peek() {
        match event {
            Event::Text(text) => words.add(&unmarked(text)),
            Event::Code(text) => words.code(&unmarked(text)),
            Event::InlineHtml(text) | Event::Html(text) => words.add(&unmarked(text)),
            Event::SoftBreak | Event::HardBreak => words.lines.push(Line::new()),
            Event::TaskListMarker(done) => words.add(if *done { "[✓] " } else { "[ ] " }),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                words.add(&unmarked(text));
            }
            Event::Start(tag) => match tag {
                Tag::Emphasis => words.begin("*", |style| Style { italic: true, ..style }),
                Tag::Strong => words.begin("**", |style| Style { bold: true, ..style }),
                Tag::Strikethrough => words.begin("~~", |style| Style { struck: true, ..style }),
                Tag::Superscript | Tag::Subscript => words.begin("", |style| style),
                Tag::Link { dest_url, .. } => words.link(dest_url),
                Tag::Image { dest_url, .. } => {
                    words.link(dest_url);
                    words.add("picture: ");
                }
                _ => break,
            },
            Event::End(tag) => match tag {
                TagEnd::Emphasis => words.end("*"),
                TagEnd::Strong => words.end("**"),
                TagEnd::Strikethrough => words.end("~~"),
                TagEnd::Superscript | TagEnd::Subscript => words.end(""),
                TagEnd::Link | TagEnd::Image => words.end_link(),
                _ => break,
            },
            Event::Rule => break,
        }
        events.next();
    }
    words.lines
}

struct Words {
    lines: Vec<Line>,
    /// The style that holds, on top of those that it lies in.
    looks: Vec<Style>,
    /// The links that are open: where each leads, and what it says so far.
    links: Vec<(String, String)>,
    painted: bool,
}

impl Words {
    fn look(&self) -> Style {
        self.looks.last().copied().unwrap_or_default()
    }

    fn add(&mut self, text: &str) {
        self.put(text, self.look());
        if let Some((_, said)) = self.links.last_mut() {
            said.push_str(text);
        }
    }

    fn put(&mut self, text: &str, style: Style) {
        // Raw HTML keeps the line ends of its source.
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.lines.push(Line::new());
            }
            if let Some(last) = self.lines.last_mut() {
                add(last, line, style);
            }
        }
    }

    fn code(&mut self, text: &str) {
        let style = Style { colour: Some(Colour::CYAN), ..self.look() };
        self.put(&if self.painted { text.to_owned() } else { format!("`{text}`") }, style);
        if let Some((_, said)) = self.links.last_mut() {
            said.push_str(text);
        }
    }

    fn begin(&mut self, mark: &str, look: impl Fn(Style) -> Style) {
        self.mark(mark);
        self.looks.push(look(self.look()));
    }

    fn end(&mut self, mark: &str) {
        if self.looks.len() > 1 {
            self.looks.pop();
        }
        self.mark(mark);
    }

    fn mark(&mut self, mark: &str) {
        if !self.painted {
            self.put(mark, self.look());
        }
    }

    fn link(&mut self, address: &str) {
        self.links.push((unmarked(address).into_owned(), String::new()));
        self.looks.push(Style { underlined: true, ..self.look() });
    }

    /// Says where a link leads, unless that is what it says itself.
    fn end_link(&mut self) {
        if self.looks.len() > 1 {
            self.looks.pop();
        }
        let Some((address, said)) = self.links.pop() else { return };
        let same = address == said || address.strip_prefix("mailto:") == Some(said.as_str());
        if !same && !address.is_empty() {
            let space = if said.is_empty() { "" } else { " " };
            // A person decides by it where to go.
            self.put(&format!("{space}({})", spelled(&address)), Style::DIM);
        }
        if let Some((_, around)) = self.links.last_mut() {
            around.push_str(&said);
        }
    }
}
