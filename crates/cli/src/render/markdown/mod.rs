//! Markdown for a terminal, while it comes.
//!
//! What is certain leaves as lines and is never looked at again: blocks that another one follows, items of a list that
//! another one follows, lines of fenced code. Only the rest is taken apart anew, and only when somebody looks. So what a
//! long answer costs follows its length, and what is printed in the end does not depend on the pieces it came in.

mod code;
mod inline;
mod layout;
mod table;
mod wrap;

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use self::code::{Budget, Code};
use self::layout::{Events, Found, Kind, Layout, is_apart, is_blank_before, kind, line_start, parsed, skip};
use super::Paint;
use super::clean::tamed;
use super::style::{Line, painted};

pub(crate) use self::layout::Look;

/// Keeps the parser from taking a line for the definition of a link, which it would hide, and which would change words
/// that were printed before. It is taken out again before anything is shown.
const MARK: char = '\u{2060}';

/// A text that grows.
pub(crate) struct Markdown {
    look: Look,
    /// Whole lines, made safe, that were not shown yet.
    open: String,
    /// The line that grows, as it came.
    partial: String,
    within: Within,
    /// The kind of the last block that was shown.
    last: Option<Kind>,
    budget: Budget,
}

/// What `open` begins in.
enum Within {
    /// Nothing: a new block begins.
    Nothing {
        /// Whether a blank line was before it.
        blank: bool,
    },
    /// Fenced code.
    Code { fence: Fence, code: Code },
    /// A list: its next item begins.
    List {
        /// The item's number if it has one.
        number: Option<u64>,
        /// Whether a blank line was before it.
        blank: bool,
    },
}

/// What a block of code began with, and what therefore ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    sign: char,
    length: usize,
    indent: usize,
}

impl Markdown {
    pub(crate) fn new(look: Look) -> Self {
        let within = Within::Nothing { blank: false };
        Self { look, open: String::new(), partial: String::new(), within, last: None, budget: Budget::default() }
    }

    /// Lays out what was not shown yet in so many columns.
    pub(crate) fn fit(&mut self, columns: usize) {
        self.look.columns = columns;
    }

    /// Paints what was not shown yet so.
    pub(crate) fn paint(&mut self, paint: Paint) {
        self.look.paint = paint;
    }

    /// Adds a piece. Costs no more than the piece is long.
    pub(crate) fn push(&mut self, piece: &str) {
        let mut rest = piece;
        while let Some((line, behind)) = rest.split_once('\n') {
            self.partial.push_str(line);
            self.open.push_str(&safe(&self.partial));
            self.open.push('\n');
            self.partial.clear();
            rest = behind;
        }
        self.partial.push_str(rest);
    }

    /// The lines that have become certain since the last time.
    pub(crate) fn settle(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let before = self.open.len();
            match &self.within {
                Within::Code { .. } => self.settle_code(&mut lines),
                Within::Nothing { .. } | Within::List { .. } => self.settle_blocks(&mut lines),
            }
            if self.open.len() == before || self.open.is_empty() {
                break;
            }
        }
        lines.iter().map(|line| painted(line, self.look.paint)).collect()
    }

    /// What is not certain yet, as it would be shown if nothing more came; its last `most` lines.
    pub(crate) fn tail(&self, most: usize) -> Vec<String> {
        let lines = self.rest();
        let hidden = lines.len().saturating_sub(most);
        lines[hidden..].iter().map(|line| painted(line, self.look.paint)).collect()
    }

    /// Everything that was not shown yet: nothing more comes.
    pub(crate) fn end(mut self) -> Vec<String> {
        let mut lines = self.settle();
        lines.extend(self.rest().iter().map(|line| painted(line, self.look.paint)));
        lines
    }

    fn rest(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        // What is not certain costs nothing yet.
        let budget = self.budget.clone();
        match &self.within {
            Within::Code { fence, code } => {
                let mut code = code.clone();
                for line in self.open.lines().chain((!self.partial.is_empty()).then_some(&*safe(&self.partial))) {
                    if fence.is_ended_by(line) {
                        break;
                    }
                    code.line(&fence.stripped(line), &budget, &mut lines);
                }
            }
            Within::Nothing { .. } | Within::List { .. } => {
                let source = format!("{}{}", self.open, safe(&self.partial));
                let found = parsed(&source);
                let mut show =
                    Show { markdown: self, layout: Layout { source: &source, look: self.look, budget: &budget } };
                let mut last = self.last;
                let mut events: Events<'_, '_> = found.iter().peekable();
                let mut first = true;
                while events.peek().is_some() {
                    lines.extend(show.block(&mut events, &mut last, std::mem::take(&mut first)));
                }
            }
        }
        lines
    }

    /// Shows the lines of code that are whole, up to the end of the code.
    fn settle_code(&mut self, lines: &mut Vec<Line>) {
        let Within::Code { fence, code } = &mut self.within else { return };
        let mut used = 0;
        let mut ended = false;
        for line in self.open.split_inclusive('\n') {
            used += line.len();
            let line = line.trim_end_matches('\n');
            ended = fence.is_ended_by(line);
            if ended {
                break;
            }
            code.line(&fence.stripped(line), &self.budget, lines);
        }
        self.open.drain(..used);
        if ended {
            self.within = Within::Nothing { blank: false };
        }
    }

    /// Shows the blocks that others follow; of a list that is the last one, the items that others follow.
    fn settle_blocks(&mut self, lines: &mut Vec<Line>) {
        let open = std::mem::take(&mut self.open);
        let found = parsed(&open);
        let starts = outermost(&found);
        let Some(&last_at) = starts.last() else {
            self.open = open;
            return;
        };
        let mut last = self.last;
        let mut events: Events<'_, '_> = found.iter().peekable();
        let mut show = Show { markdown: self, layout: Layout { source: &open, look: self.look, budget: &self.budget } };
        for number in 0..starts.len() - 1 {
            lines.extend(show.block(&mut events, &mut last, number == 0));
        }
        let (event, range) = &found[last_at];
        let first = starts.len() == 1;
        let begin = line_start(&open, range.start);
        let blank = is_blank_before(&open, range.start);
        let gap = show.is_gap(last, kind(event), blank, first);
        let (used, within) = match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if Fence::of(&open[begin..]).is_some() => {
                lines.extend(gap.then(Line::new));
                last = Some(Kind::Other);
                let fence = Fence::of(&open[begin..]).unwrap_or(Fence { sign: '`', length: 3, indent: 0 });
                let code = Code::new(info, self.look.paint.is_on());
                let line = open[begin..].find('\n').map_or(open.len(), |end| begin + end + 1);
                (line, Some(Within::Code { fence, code }))
            }
            Event::Start(Tag::List(start)) => {
                let items = items(&found[last_at..]);
                if items.len() > 1 {
                    let mut number = show.first_number(*start, first);
                    lines.extend(show.is_list_gap(gap, first).then(Line::new));
                    events.next();
                    for (place, at) in items[..items.len() - 1].iter().enumerate() {
                        if place > 0 && is_blank_before(&open, *at) {
                            lines.push(Line::new());
                        }
                        lines.extend(show.layout.item(&mut events, number, self.look.columns, 0));
                        number = number.map(|number| number.saturating_add(1));
                    }
                    last = Some(Kind::List);
                    let at = items[items.len() - 1];
                    (line_start(&open, at), Some(Within::List { number, blank: is_blank_before(&open, at) }))
                } else if first {
                    (0, None)
                } else {
                    (begin, Some(Within::Nothing { blank }))
                }
            }
            _ if first => (0, None),
            _ => (begin, Some(Within::Nothing { blank })),
        };
        self.last = last;
        if let Some(within) = within {
            self.within = within;
        }
        self.open = match used {
            0 => open,
            used => open[used..].to_owned(),
        };
    }
}

/// Shows blocks where a text stands.
struct Show<'a> {
    markdown: &'a Markdown,
    layout: Layout<'a>,
}

impl Show<'_> {
    /// Lays out the next block of the outermost level, with the empty line before it. `first`: whether it is the first
    /// of the source.
    fn block(&mut self, events: &mut Events<'_, '_>, last: &mut Option<Kind>, first: bool) -> Vec<Line> {
        let Some((event, range)) = events.peek() else { return Vec::new() };
        let (kind, columns) = (kind(event), self.layout.look.columns);
        let gap = self.is_gap(*last, kind, is_blank_before(self.layout.source, range.start), first);
        let mut lines = Vec::new();
        match event {
            Event::Start(Tag::List(start)) => {
                lines.extend(self.is_list_gap(gap, first).then(Line::new));
                let mut number = self.first_number(*start, first);
                let mut list = events.clone();
                skip(events);
                list.next();
                let mut shown = false;
                while let Some((Event::Start(Tag::Item), range)) = list.peek() {
                    if std::mem::replace(&mut shown, true) && is_blank_before(self.layout.source, range.start) {
                        lines.push(Line::new());
                    }
                    lines.extend(self.layout.item(&mut list, number, columns, 0));
                    number = number.map(|number| number.saturating_add(1));
                }
            }
            _ => {
                lines.extend(gap.then(Line::new));
                lines.extend(self.layout.block(events, columns, 0));
            }
        }
        *last = Some(kind);
        lines
    }

    /// Whether an empty line stands before a block of this kind.
    fn is_gap(&self, last: Option<Kind>, kind: Kind, blank: bool, first: bool) -> bool {
        let carried = first && matches!(self.markdown.within, Within::Nothing { blank: true });
        last.is_some_and(|last| is_apart(last, kind, blank || carried))
    }

    /// The same for a list, which may go on where an earlier part of it ended.
    fn is_list_gap(&self, gap: bool, first: bool) -> bool {
        match self.markdown.within {
            Within::List { blank, .. } if first => blank,
            Within::List { .. } | Within::Nothing { .. } | Within::Code { .. } => gap,
        }
    }

    /// The number of the first item of a list that says it begins with `start`.
    fn first_number(&self, start: Option<u64>, first: bool) -> Option<u64> {
        match self.markdown.within {
            Within::List { number, .. } if first => number,
            Within::List { .. } | Within::Nothing { .. } | Within::Code { .. } => start,
        }
    }
}

impl Fence {
    /// The fence that `line` begins with, if it does.
    fn of(line: &str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let sign = text.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
        let length = text.chars().take_while(|c| *c == sign).count();
        (length >= 3 && indent < 4).then_some(Self { sign, length, indent })
    }

    fn is_ended_by(self, line: &str) -> bool {
        let same = Self::of(line).filter(|end| end.sign == self.sign && end.length >= self.length);
        same.is_some_and(|_| line.trim_matches([' ', '\t']).chars().all(|c| c == self.sign))
    }

    /// A line of the code without the blanks that the fence stood behind; a tab is as many as bring it to a column that
    /// 4 divides.
    fn stripped(self, line: &str) -> Cow<'_, str> {
        let (mut taken, mut used) = (0, 0);
        for c in line.chars() {
            match c {
                ' ' if taken < self.indent => taken += 1,
                '\t' if taken < self.indent => taken += 4 - taken % 4,
                _ => break,
            }
            used += 1;
        }
        match taken.saturating_sub(self.indent) {
            0 => Cow::Borrowed(&line[used..]),
            more => Cow::Owned(format!("{}{}", " ".repeat(more), &line[used..])),
        }
    }
}

/// Which of `found` begin the blocks of the outermost level.
fn outermost(found: &[Found<'_>]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut starts = Vec::new();
    for (at, (event, _)) in found.iter().enumerate() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    starts.push(at);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => starts.push(at),
            _ => {}
        }
    }
    starts
}

/// Where in the source the items of the list begin that `found` begins with.
fn items(found: &[Found<'_>]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut starts = Vec::new();
    for (event, range) in found {
        match event {
            Event::Start(_) => {
                if depth == 1 {
                    starts.push(range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    starts
}

/// A line without what a terminal would obey and what would define a link.
fn safe(line: &str) -> String {
    tamed(line).replace("]:", "]\u{2060}:")
}

/// `text` as it was before [`safe`] marked it. References to characters (`&#27;`) have become those by now, so it is made
/// safe once more.
fn unmarked(text: &str) -> Cow<'_, str> {
    let text = tamed(text);
    if text.contains(MARK) { Cow::Owned(text.replace(MARK, "")) } else { text }
}

#[cfg(test)]
mod tests;
