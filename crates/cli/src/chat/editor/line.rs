//! The line that is being typed, and what each key makes of it. Pure.

use super::blocks::{self, Blocks};
use super::buffer::{Buffer, Motion};
use super::history::{Entry, History};
use super::keys::Act;
use super::layout::Layout;
use super::menu::{Menu, common};
use super::{Candidate, Completion, Cycle, Draft, Input, Kind, MAX_INPUT, Mode, Then};
use crate::render::clean;

/// A line that is being typed.
#[derive(Debug)]
pub(super) struct Line {
    pub kind: Kind,
    pub mode: Mode,
    pub buffer: Buffer,
    pub blocks: Blocks,
    pub menu: Option<Menu>,
    pub search: Option<Search>,
    /// Said once, below the line.
    pub notice: Option<String>,
    walk: Option<Walk>,
    /// The column that rows are gone up and down in.
    column: Option<usize>,
    wish: Option<Wish>,
    /// Whether Ctrl-X was pressed.
    prefixed: bool,
}

/// What is searched for in the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Search {
    pub words: String,
    /// The entry that is shown.
    at: Option<usize>,
    before: String,
}

/// A walk through the history.
#[derive(Debug, Clone)]
struct Walk {
    at: usize,
    /// What was typed before.
    before: String,
}

/// That ways to go on are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    /// How often the text was changed by then: what was asked about an earlier text is not taken for another one.
    pub version: u64,
    /// Whether the person pressed Tab for it.
    pub explicit: bool,
}

/// What is so around the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    pub busy: bool,
    /// How many columns a row of the text has.
    pub columns: usize,
    /// Whether long pastes are shown as labels.
    pub summary: bool,
    pub history: &'a History,
}

/// What a key leads to, beyond a changed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Typed,
    Input(Input),
    Suspend,
    ClearScreen,
    External,
}

impl Line {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            mode: Mode::Prompt,
            buffer: Buffer::default(),
            blocks: Blocks::default(),
            menu: None,
            search: None,
            notice: None,
            walk: None,
            column: None,
            wish: None,
            prefixed: false,
        }
    }

    pub(super) fn is_prefixed(&self) -> bool {
        self.prefixed
    }

    /// What is typed, as it would be sent.
    pub(super) fn draft(&self) -> Draft {
        let text = self.buffer.text();
        Draft {
            mode: self.mode,
            text: self.blocks.expanded(text),
            shown: self.blocks.shown(text),
            files: self.blocks.files(text),
            later: false,
        }
    }

    /// Does what a key asks for.
    pub(super) fn act(&mut self, act: Act, around: Around<'_>) -> Outcome {
        self.notice = None;
        self.prefixed = act == Act::Prefix;
        if !matches!(act, Act::Up | Act::Down) {
            self.column = None;
        }
        if self.search.is_some() && self.searching(act, around) {
            return Outcome::Typed;
        }
        if self.menu.is_some() && self.choosing(act) {
            return Outcome::Typed;
        }
        let before = self.buffer.changes();
        let outcome = self.edit(act, around);
        if outcome == Outcome::Typed {
            self.follow(self.buffer.changes() != before, act);
        }
        outcome
    }

    fn edit(&mut self, act: Act, around: Around<'_>) -> Outcome {
        match act {
            Act::Type('!') if self.kind == Kind::Chat && self.mode == Mode::Prompt && self.buffer.is_empty() => {
                self.mode = Mode::Shell;
            }
            Act::Type(c) => self.put(&c.to_string()),
            Act::Newline if self.kind == Kind::Chat => self.put("\n"),
            Act::Enter | Act::Newline => return self.enter(false),
            Act::Later if self.kind == Kind::Chat => return self.enter(self.mode == Mode::Prompt),
            Act::DeleteLeft => {
                let there = self.buffer.delete_left();
                if !there {
                    self.mode = Mode::Prompt;
                }
            }
            Act::DeleteRight => self.buffer.delete_right(),
            Act::DeleteOrEnd if self.buffer.is_empty() => return Outcome::Input(Input::Eof),
            Act::DeleteOrEnd => self.buffer.delete_right(),
            Act::Cut(cut) => self.buffer.cut(cut),
            Act::Yank if self.blocks.fits(self.buffer.text(), self.blocks.length(self.buffer.last_cut())) => {
                self.buffer.yank();
            }
            Act::Yank => self.refuse(),
            Act::YankOther => self.buffer.yank_other(),
            Act::Undo => self.buffer.undo(),
            Act::Redo => self.buffer.redo(),
            Act::Go(motion) => _ = self.buffer.step(motion),
            Act::Up => self.row(-1, around),
            Act::Down => self.row(1, around),
            Act::Older => self.older(around.history),
            Act::Newer => self.newer(around.history),
            Act::Tab | Act::BackTab if self.kind == Kind::Chat && self.nothing_is_typed() => {
                let next = if act == Act::Tab { Cycle::Agent } else { Cycle::AgentBack };
                return Outcome::Input(Input::Cycle(next));
            }
            Act::Variant if self.kind == Kind::Chat => return Outcome::Input(Input::Cycle(Cycle::Variant)),
            Act::Tab if self.kind == Kind::Chat => {
                self.wish = Some(Wish { version: self.buffer.changes(), explicit: true });
            }
            Act::Escape if self.mode == Mode::Shell => self.mode = Mode::Prompt,
            Act::Escape => return Outcome::Input(Input::Escape),
            Act::Interrupt if around.busy || self.nothing_is_typed() => {
                return Outcome::Input(Input::Interrupt);
            }
            Act::Interrupt => {
                // Ctrl-_ brings it back.
                self.buffer.set("");
                self.mode = Mode::Prompt;
                self.walk = None;
            }
            Act::Search if self.kind == Kind::Chat => {
                let before = self.buffer.text().to_owned();
                self.search = Some(Search { before, ..Search::default() });
            }
            Act::ClearScreen => return Outcome::ClearScreen,
            Act::Suspend => return Outcome::Suspend,
            Act::External if self.kind == Kind::Chat => return Outcome::External,
            Act::Tab
            | Act::BackTab
            | Act::Later
            | Act::Variant
            | Act::Search
            | Act::External
            | Act::Prefix
            | Act::Nothing => {}
        }
        Outcome::Typed
    }

    /// What was pasted, or dropped on the terminal. `there`: whether a file exists.
    pub(super) fn paste(&mut self, pasted: &str, around: Around<'_>, there: impl Fn(&std::path::Path) -> bool) {
        self.notice = None;
        self.search = None;
        if pasted.len() > MAX_INPUT || !self.blocks.fits(self.buffer.text(), pasted.len()) {
            return self.refuse();
        }
        let text = pasted.replace("\r\n", "\n").replace('\r', "\n");
        let file = blocks::dropped(&text).filter(|path| self.kind == Kind::Chat && there(path));
        let block = match file {
            Some(path) => Some(self.blocks.add_file(&path)),
            None if self.kind == Kind::Chat && blocks::is_long(&text, around.summary) => {
                Some(self.blocks.add_text(text.clone()))
            }
            None => None,
        };
        match block {
            Some(Some(block)) => self.buffer.insert(&block.to_string()),
            Some(None) => {
                self.notice = Some(format!("no more than {} blocks fit into one prompt", blocks::MAX_BLOCKS));
            }
            None if text.len() > blocks::MAX_INLINE => self.refuse(),
            None if self.kind == Kind::Answer => self.put(&text.trim_end_matches('\n').replace('\n', " ")),
            None => self.put(&text),
        }
        self.follow(true, Act::Nothing);
    }

    fn refuse(&mut self) {
        let most = MAX_INPUT >> 20;
        self.notice = Some(format!("more than {most} MiB is not taken; put it into a file and name it as @FILE"));
    }

    /// Puts text in that came from outside.
    fn put(&mut self, text: &str) {
        let safe = clean(text);
        // What stands for blocks is ours alone.
        let safe: String = safe.chars().map(|c| if blocks::is_block(c) { '\u{fffd}' } else { c }).collect();
        if self.blocks.fits(self.buffer.text(), safe.len()) {
            self.buffer.insert(&safe);
        } else {
            self.refuse();
        }
    }

    /// Puts `text` in the place of what is typed.
    pub(super) fn fill(&mut self, text: &str) {
        self.buffer.set("");
        self.mode = Mode::Prompt;
        self.walk = None;
        self.menu = None;
        self.search = None;
        if text.len() > blocks::MAX_INLINE {
            match self.blocks.add_text(text.to_owned()) {
                Some(block) => self.buffer.insert(&block.to_string()),
                None => self.refuse(),
            }
        } else {
            self.put(text);
        }
    }

    fn nothing_is_typed(&self) -> bool {
        self.buffer.is_empty() && self.mode == Mode::Prompt
    }

    fn enter(&mut self, later: bool) -> Outcome {
        let text = self.buffer.text();
        if self.kind == Kind::Chat && text.ends_with('\\') && self.buffer.cursor() == text.len() {
            let end = text.len();
            self.buffer.replace(end - 1..end, "\n");
            return Outcome::Typed;
        }
        let draft = Draft { later, ..self.draft() };
        if self.kind == Kind::Chat && draft.text.trim().is_empty() {
            return Outcome::Typed;
        }
        Outcome::Input(Input::Submit(draft))
    }

    /// Begins anew after a submission; gives what the history keeps.
    pub(super) fn sent(&mut self) -> Entry {
        let entry = Entry::new(self.mode, self.buffer.text(), &self.blocks);
        self.buffer.take();
        let buffer = std::mem::take(&mut self.buffer);
        *self = Self { buffer, ..Self::new(self.kind) };
        entry
    }

    /// Goes a row up or down, or where there is none through the history.
    fn row(&mut self, by: isize, around: Around<'_>) {
        let layout = Layout::new(self.buffer.text(), &self.blocks, around.columns);
        let (row, column) = layout.place(self.buffer.cursor());
        let column = *self.column.get_or_insert(column);
        match row.checked_add_signed(by).filter(|row| *row < layout.rows.len()) {
            Some(row) => self.buffer.go(layout.at(row, column)),
            None if by < 0 => self.older(around.history),
            None => self.newer(around.history),
        }
    }

    fn older(&mut self, history: &History) {
        if self.kind == Kind::Answer {
            return;
        }
        let from = self.walk.as_ref().map_or(history.len(), |walk| walk.at);
        let Some((at, entry)) = history.older(from, self.mode, "").and_then(|at| Some((at, history.get(at)?))) else {
            return;
        };
        let before = match self.walk.take() {
            Some(walk) => walk.before,
            None => self.buffer.text().to_owned(),
        };
        self.walk = Some(Walk { at, before });
        self.show(entry);
    }

    fn newer(&mut self, history: &History) {
        let Some(walk) = self.walk.take() else { return };
        let next = history.newer(walk.at, self.mode, "");
        match next.and_then(|at| Some((at, history.get(at)?))) {
            Some((at, entry)) => {
                self.walk = Some(Walk { at, ..walk });
                self.show(entry);
            }
            None => {
                self.buffer.set(&walk.before);
                self.buffer.step(Motion::End);
            }
        }
    }

    fn show(&mut self, entry: &Entry) {
        let typed = entry.typed(&mut self.blocks);
        self.buffer.set(&typed);
        self.buffer.step(Motion::End);
    }

    /// Handles a key while the history is searched; says whether that was all.
    fn searching(&mut self, act: Act, around: Around<'_>) -> bool {
        let Some(mut search) = self.search.take() else { return false };
        let from = match act {
            Act::Type(c) if !c.is_control() => {
                search.words.extend(c.to_lowercase());
                search.at.map_or(around.history.len(), |at| at + 1)
            }
            Act::DeleteLeft => {
                search.words.pop();
                around.history.len()
            }
            Act::Search => search.at.unwrap_or(around.history.len()),
            Act::Escape | Act::Interrupt => {
                self.buffer.set(&search.before);
                self.buffer.step(Motion::End);
                return true;
            }
            Act::Enter => return true,
            // What was found is edited from here on.
            _ => return false,
        };
        if !search.words.is_empty() || act == Act::Search {
            match around.history.older(from, self.mode, &search.words) {
                Some(at) => {
                    search.at = Some(at);
                    if let Some(entry) = around.history.get(at) {
                        self.show(entry);
                    }
                }
                None => self.notice = Some("nothing older holds that".to_owned()),
            }
        }
        self.search = Some(search);
        true
    }

    /// Handles a key while a list is open; says whether that was all.
    fn choosing(&mut self, act: Act) -> bool {
        let version = self.buffer.changes();
        // The list of an earlier text stays on the screen until the next one comes, but nothing in it can be chosen.
        let Some(menu) = self.menu.as_mut().filter(|menu| menu.is_of(version)) else { return false };
        match act {
            Act::Down | Act::Newer => menu.next(),
            Act::Up | Act::Older | Act::BackTab => menu.previous(),
            Act::Escape => self.menu = None,
            Act::Tab => {
                self.choose();
            }
            Act::Enter => {
                let typed = self.buffer.text().get(menu.completion().range.clone());
                let chosen = menu.chosen().map(|candidate| (candidate.insert.as_str(), candidate.then));
                let is_typed = chosen.map(|(insert, _)| insert) == typed;
                let sends = chosen.is_some_and(|(_, then)| then == Then::Submit);
                if is_typed {
                    self.menu = None;
                    return false;
                }
                self.choose();
                return !sends;
            }
            _ => return false,
        }
        true
    }

    /// Puts the chosen candidate in.
    fn choose(&mut self) {
        let Some(menu) = self.menu.take() else { return };
        if let Some(candidate) = menu.chosen() {
            self.complete(menu.completion(), &candidate.clone());
        }
    }

    fn complete(&mut self, completion: &Completion, candidate: &Candidate) {
        let behind = self.buffer.text().get(completion.range.end..).unwrap_or_default();
        let blank = candidate.then == Then::Space && !behind.starts_with(char::is_whitespace);
        let insert = format!("{}{}", clean(&candidate.insert), if blank { " " } else { "" });
        self.buffer.replace(completion.range.clone(), &insert);
        if candidate.then == Then::More || blank && self.buffer.text().starts_with('/') {
            self.wish = Some(Wish { version: self.buffer.changes(), explicit: false });
        }
    }

    /// What follows from a change: the list is another one.
    fn follow(&mut self, changed: bool, act: Act) {
        if changed && !matches!(act, Act::Up | Act::Down | Act::Older | Act::Newer) {
            self.walk = None;
        }
        let typing = matches!(act, Act::Type(_) | Act::DeleteLeft | Act::DeleteRight | Act::Cut(_));
        if changed && typing && self.may_go_on() {
            self.wish = Some(Wish { version: self.buffer.changes(), explicit: false });
        } else if act != Act::Tab {
            self.menu = None;
        }
    }

    /// Whether a list is opened without being asked for: behind a `/` that begins the line, and behind an `@`.
    fn may_go_on(&self) -> bool {
        if self.kind == Kind::Answer || self.mode == Mode::Shell {
            return false;
        }
        let typed = self.buffer.text().get(..self.buffer.cursor()).unwrap_or_default();
        let word = typed.rsplit(char::is_whitespace).next().unwrap_or_default();
        typed.starts_with('/') && !typed.contains('\n') || word.contains('@')
    }

    /// Takes the wish for ways to go on, if there is one.
    pub(super) fn take_wish(&mut self) -> Option<Wish> {
        self.wish.take()
    }

    /// Takes the ways to go on that were wished for, unless the text has changed since.
    pub(super) fn offer(&mut self, wish: &Wish, completion: Completion) {
        if wish.version != self.buffer.changes() {
            return;
        }
        let typed = self.buffer.text().get(completion.range.clone()).unwrap_or_default().to_owned();
        match completion.candidates.as_slice() {
            [only] if wish.explicit => {
                let only = only.clone();
                self.complete(&completion, &only);
                self.menu = None;
            }
            candidates => {
                let longer = common(&completion, &typed).filter(|_| wish.explicit && candidates.len() > 1);
                let mut completion = completion;
                if let Some(longer) = longer {
                    let start = completion.range.start;
                    self.buffer.replace(completion.range.clone(), &clean(&longer));
                    completion.range = start..self.buffer.cursor();
                }
                self.menu = Menu::new(completion, self.buffer.changes());
            }
        }
    }
}

#[cfg(test)]
mod tests;
