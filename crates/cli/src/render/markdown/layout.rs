//! Blocks of Markdown as lines for a screen. Pure.

use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::super::Paint;
use super::super::style::{Line, Span, Style, add, line_width};
use super::code::{Budget, Code};
use super::inline::inline;
use super::table::Table;
use super::unmarked;
use super::wrap::wrapped;

/// How deep quotes and lists may lie in each other. What lies deeper is shown as it is written: each level takes room on
/// the screen and on the stack.
const MAX_DEPTH: usize = 16;
/// How wide text is at least laid out, however little is left of the screen.
const MIN_WIDTH: usize = 10;
/// Widest line across the screen.
const MAX_RULE: usize = 40;

/// Where and how blocks are laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Columns there are.
    pub columns: usize,
    /// Whether styles are seen.
    pub paint: Paint,
}

/// What the parser found, and where.
pub(super) type Found<'a> = (Event<'a>, Range<usize>);

pub(super) type Events<'e, 'a> = Peekable<Iter<'e, Found<'a>>>;

/// Takes `source` apart.
pub(super) fn parsed(source: &str) -> Vec<Found<'_>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(source, options).into_offset_iter().collect()
}

/// What matters about a block for what stands around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Paragraph,
    List,
    Other,
}

pub(super) fn kind(event: &Event<'_>) -> Kind {
    match event {
        Event::Start(Tag::Paragraph) => Kind::Paragraph,
        Event::Start(Tag::List(_)) => Kind::List,
        _ => Kind::Other,
    }
}

/// Whether an empty line stands between two blocks of the outermost level: a list may follow its sentence closely.
pub(super) fn is_apart(before: Kind, after: Kind, blank: bool) -> bool {
    blank || (before, after) != (Kind::Paragraph, Kind::List)
}

/// Whether the line before place `at` of `source` is blank, the marks of quotes left out.
pub(super) fn is_blank_before(source: &str, at: usize) -> bool {
    let before = &source[..line_start(source, at)];
    let Some(before) = before.strip_suffix('\n') else { return false };
    let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
    line.trim_matches([' ', '\t', '>']).is_empty()
}

/// Where the line begins that place `at` of `source` is in.
pub(super) fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Lays out blocks of one source.
pub(super) struct Layout<'a> {
    pub source: &'a str,
    pub look: Look,
    pub budget: &'a Budget,
}

impl Layout<'_> {
    /// Lays out blocks up to the end of what they lie in.
    fn blocks(&self, events: &mut Events<'_, '_>, columns: usize, depth: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut first = true;
        while let Some((event, range)) = events.peek() {
            if matches!(event, Event::End(_)) {
                break;
            }
            if !std::mem::take(&mut first) && is_blank_before(self.source, range.start) {
                lines.push(Line::new());
            }
            lines.extend(self.block(events, columns, depth));
        }
        lines
    }

    /// Lays out the next block.
    pub(super) fn block(&self, events: &mut Events<'_, '_>, columns: usize, depth: usize) -> Vec<Line> {
        let columns = columns.max(MIN_WIDTH);
        let Some((event, range)) = events.peek() else { return Vec::new() };
        if depth > MAX_DEPTH && matches!(event, Event::Start(Tag::List(_) | Tag::BlockQuote(_))) {
            skip(events);
            return self.source[range.clone()].lines().map(|line| vec![Span::plain(unmarked(line))]).collect();
        }
        match event {
            Event::Start(Tag::Paragraph) => inside(events, |events| self.words(events, columns)),
            Event::Start(Tag::Heading { level, .. }) => {
                inside(events, |events| self.heading(*level, inline(events, self.look.paint.is_on()), columns))
            }
            Event::Start(Tag::BlockQuote(_)) => inside(events, |events| {
                let lines = self.blocks(events, columns - 2, depth + 1);
                lines.into_iter().map(|line| prefixed("│ ", Style::DIM, line)).collect()
            }),
            Event::Start(Tag::CodeBlock(kind)) => inside(events, |events| self.code(kind, events)),
            Event::Start(Tag::List(first)) => inside(events, |events| {
                let mut lines = Vec::new();
                let mut number = *first;
                while let Some((Event::Start(Tag::Item), range)) = events.peek() {
                    if !lines.is_empty() && is_blank_before(self.source, range.start) {
                        lines.push(Line::new());
                    }
                    lines.extend(self.item(events, number, columns, depth));
                    number = number.map(|number| number.saturating_add(1));
                }
                lines
            }),
            Event::Start(Tag::HtmlBlock) => inside(events, |events| {
                let mut text = String::new();
                while let Some((Event::Html(piece) | Event::Text(piece), _)) = events.peek() {
                    text.push_str(&unmarked(piece));
                    events.next();
                }
                let plain = |line: &str| wrapped(&[Span::new(line, Style::DIM)], columns);
                text.lines().flat_map(plain).collect()
            }),
            Event::Start(Tag::Table(alignments)) => inside(events, |events| {
                let mut rows = Vec::new();
                while let Some((Event::Start(Tag::TableHead | Tag::TableRow), _)) = events.peek() {
                    rows.push(inside(events, |events| self.cells(events)));
                }
                let head = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
                Table { alignments: alignments.clone(), head, rows }.lines(columns)
            }),
            Event::Rule => {
                events.next();
                vec![vec![Span::new("─".repeat(columns.min(MAX_RULE)), Style::DIM)]]
            }
            Event::Start(_) if is_block(event) => {
                skip(events);
                Vec::new()
            }
            _ => {
                let before = events.len();
                let lines = self.words(events, columns);
                // Whatever the parser comes up with, this ends.
                if events.len() == before {
                    events.next();
                }
                lines
            }
        }
    }

    /// Lays out the next item of a list; `number` is its number if it has one.
    pub(super) fn item(
        &self,
        events: &mut Events<'_, '_>,
        number: Option<u64>,
        columns: usize,
        depth: usize,
    ) -> Vec<Line> {
        let mark = match number {
            Some(number) => format!("{number}. "),
            // A box to tick is mark enough.
            None if is_task(events.clone()) => String::new(),
            None => "• ".to_owned(),
        };
        let indent = mark.chars().count().max(2);
        let lines = inside(events, |events| self.blocks(events, columns.saturating_sub(indent), depth + 1));
        let empty = if lines.is_empty() { vec![Line::new()] } else { lines };
        let dim = Style { dim: true, ..Style::default() };
        empty
            .into_iter()
            .enumerate()
            .map(|(number, line)| match number {
                0 => prefixed(&mark, dim, line),
                _ if line.is_empty() => line,
                _ => prefixed(&" ".repeat(indent), Style::default(), line),
            })
            .collect()
    }

    fn words(&self, events: &mut Events<'_, '_>, columns: usize) -> Vec<Line> {
        let lines = inline(events, self.look.paint.is_on());
        lines.iter().flat_map(|line| wrapped(line, columns)).collect()
    }

    fn heading(&self, level: HeadingLevel, lines: Vec<Line>, columns: usize) -> Vec<Line> {
        let marks = "#".repeat(level as usize) + " ";
        let look = |style: Style| match level {
            HeadingLevel::H1 => Style { bold: true, underlined: true, ..style },
            HeadingLevel::H2 => Style { bold: true, ..style },
            _ => Style { bold: true, italic: true, ..style },
        };
        let mut shown = Vec::new();
        for (number, line) in lines.into_iter().enumerate() {
            let mut whole = Line::new();
            if !self.look.paint.is_on() && number == 0 {
                add(&mut whole, &marks, Style::default());
            }
            line.iter().for_each(|span| add(&mut whole, &span.text, look(span.style)));
            shown.extend(wrapped(&whole, columns));
        }
        shown
    }

    fn code(&self, kind: &CodeBlockKind<'_>, events: &mut Events<'_, '_>) -> Vec<Line> {
        let mut text = String::new();
        while let Some((Event::Text(piece), _)) = events.peek() {
            text.push_str(piece);
            events.next();
        }
        let info = match kind {
            CodeBlockKind::Fenced(info) => info,
            CodeBlockKind::Indented => "",
        };
        let mut code = Code::new(info, self.look.paint.is_on());
        let mut lines = Vec::new();
        text.lines().for_each(|line| code.line(line, self.budget, &mut lines));
        lines
    }

    /// The cells of a row, each on one line.
    fn cells(&self, events: &mut Events<'_, '_>) -> Vec<Line> {
        let mut cells = Vec::new();
        while let Some((Event::Start(Tag::TableCell), _)) = events.peek() {
            let lines = inside(events, |events| inline(events, self.look.paint.is_on()));
            let mut cell = Line::new();
            for line in lines.into_iter().filter(|line| line_width(line) > 0) {
                if !cell.is_empty() {
                    add(&mut cell, " ", Style::default());
                }
                line.iter().for_each(|span| add(&mut cell, &span.text, span.style));
            }
            cells.push(cell);
        }
        cells
    }
}

/// Whether the next item of a list is something to do.
fn is_task(mut events: Events<'_, '_>) -> bool {
    events.next();
    events.next_if(|(event, _)| matches!(event, Event::Start(Tag::Paragraph)));
    matches!(events.next(), Some((Event::TaskListMarker(_), _)))
}

/// Steps into the next element, and behind its end afterwards, whatever was left of it.
fn inside<T>(events: &mut Events<'_, '_>, show: impl FnOnce(&mut Events<'_, '_>) -> T) -> T {
    events.next();
    let shown = show(events);
    let mut depth = 0_usize;
    for (event, _) in events.by_ref() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) if depth == 0 => break,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    shown
}

/// Steps behind the next element.
pub(super) fn skip(events: &mut Events<'_, '_>) {
    match events.peek() {
        Some((Event::Start(_), _)) => inside(events, |_| ()),
        Some(_) => drop(events.next()),
        None => {}
    }
}

fn is_block(event: &Event<'_>) -> bool {
    let Event::Start(tag) = event else { return false };
    let end = tag.to_end();
    !matches!(
        end,
        TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::Link
            | TagEnd::Image
    )
}

fn prefixed(text: &str, style: Style, line: Line) -> Line {
    let mut whole = vec![Span::new(text, style)];
    line.iter().for_each(|span| add(&mut whole, &span.text, span.style));
    whole
}
