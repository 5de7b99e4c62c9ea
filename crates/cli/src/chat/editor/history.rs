//! What was sent before, to be sent again. Pure; `history_file` keeps it.

use std::collections::VecDeque;

use super::Mode;
use super::blocks::{Blocks, Content, MAX_INLINE};

/// Most entries.
pub(super) const MAX_ENTRIES: usize = 1000;

/// Most bytes of them; the oldest are forgotten first.
pub(super) const MAX_BYTES: usize = 2 * 1024 * 1024;

/// One submission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub mode: Mode,
    /// As it was shown, with labels for blocks.
    pub text: String,
    /// What the labels in it stand for, in their order.
    pub pasted: Vec<Pasted>,
}

/// A label and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pasted {
    pub label: String,
    pub text: String,
}

/// The submissions so far, the oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Entry {
    /// The entry of a line that was typed. Files are not kept with it, only their labels.
    pub(super) fn new(mode: Mode, text: &str, blocks: &Blocks) -> Self {
        let pasted = blocks.within(text).filter_map(|block| match &block.content {
            Content::Text(text) => Some(Pasted { label: block.label.clone(), text: text.clone() }),
            Content::File(_) => None,
        });
        Self { mode, text: blocks.shown(text), pasted: pasted.collect() }
    }

    /// The entry of what was said before, as a whole: a command line behind `!`, or a prompt.
    pub(super) fn of(said: &str) -> Self {
        let (mode, text) = match said.strip_prefix('!') {
            Some(line) => (Mode::Shell, line),
            None => (Mode::Prompt, said),
        };
        let mut blocks = Blocks::default();
        let long = text.len() > MAX_INLINE;
        match blocks.add_text(text.to_owned()).filter(|_| long) {
            Some(block) => Self::new(mode, &block.to_string(), &blocks),
            None => Self { mode, text: text.to_owned(), pasted: Vec::new() },
        }
    }

    /// The text with characters for its blocks, which go into `blocks`.
    pub(super) fn typed(&self, blocks: &mut Blocks) -> String {
        let mut typed = String::new();
        let mut rest = self.text.as_str();
        for pasted in &self.pasted {
            let Some((before, after)) = rest.split_once(&pasted.label) else { continue };
            typed.push_str(before);
            match blocks.add_text(pasted.text.clone()) {
                Some(block) => typed.push(block),
                None => typed.push_str(&pasted.label),
            }
            rest = after;
        }
        typed + rest
    }

    /// How much room it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.pasted.iter().map(|pasted| pasted.label.len() + pasted.text.len()).sum::<usize>()
    }
}

impl History {
    /// Adds a submission, unless it is the last one again.
    pub(super) fn add(&mut self, entry: Entry) {
        if self.entries.back() == Some(&entry) {
            return;
        }
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        while self.entries.len() > MAX_ENTRIES || self.bytes > MAX_BYTES && self.entries.len() > 1 {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    /// The next older entry before `at` of `mode` that holds `part`, whatever its case.
    pub(super) fn older(&self, at: usize, mode: Mode, part: &str) -> Option<usize> {
        (0..at.min(self.entries.len())).rev().find(|&at| self.fits(at, mode, part))
    }

    /// The next newer one behind `at`.
    pub(super) fn newer(&self, at: usize, mode: Mode, part: &str) -> Option<usize> {
        (at + 1..self.entries.len()).find(|&at| self.fits(at, mode, part))
    }

    fn fits(&self, at: usize, mode: Mode, part: &str) -> bool {
        let fits = |entry: &Entry| entry.mode == mode && entry.text.to_lowercase().contains(part);
        self.entries.get(at).is_some_and(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(mode: Mode, text: &str) -> Entry {
        Entry { mode, text: text.to_owned(), pasted: Vec::new() }
    }

    #[test]
    fn entries_are_found_by_mode_and_by_what_they_hold() {
        let mut history = History::default();
        for (mode, text) in
            [(Mode::Prompt, "Fix it"), (Mode::Shell, "ls"), (Mode::Prompt, "go on"), (Mode::Prompt, "go on")]
        {
            history.add(entry(mode, text));
        }
        assert_eq!(history.len(), 3, "the same twice in a row is one");
        assert_eq!(history.older(9, Mode::Prompt, ""), Some(2));
        assert_eq!(history.older(2, Mode::Prompt, ""), Some(0));
        assert_eq!(history.older(9, Mode::Prompt, "fix"), Some(0));
        assert_eq!(history.older(9, Mode::Shell, ""), Some(1));
        assert_eq!(history.newer(0, Mode::Prompt, ""), Some(2));
        assert_eq!(history.newer(2, Mode::Prompt, ""), None);
    }

    #[test]
    fn only_so_much_is_kept() {
        let mut history = History::default();
        (0..MAX_ENTRIES + 5).for_each(|n| history.add(entry(Mode::Prompt, &n.to_string())));
        assert_eq!((history.len(), history.get(0).unwrap().text.as_str()), (MAX_ENTRIES, "5"));
        history.add(entry(Mode::Prompt, &"x".repeat(MAX_BYTES)));
        assert_eq!(history.len(), 1);
    }

    #[test]
    fn what_was_said_is_an_entry_of_its_kind() {
        assert_eq!(Entry::of("fix\nit"), entry(Mode::Prompt, "fix\nit"));
        assert_eq!(Entry::of("!ls -l"), entry(Mode::Shell, "ls -l"));
        let long = "x".repeat(MAX_INLINE + 1);
        let (kept, mut blocks) = (Entry::of(&long), Blocks::default());
        assert_eq!(kept.text, format!("[Pasted ~{} characters]", long.len()));
        let typed = kept.typed(&mut blocks);
        assert_eq!(blocks.expanded(&typed), long);
    }

    #[test]
    fn blocks_come_back_from_an_entry() {
        let mut blocks = Blocks::default();
        let text = format!("a {} b", blocks.add_text("1\n2\n3".to_owned()).unwrap());
        let entry = Entry::new(Mode::Prompt, &text, &blocks);
        assert_eq!(entry.text, "a [Pasted ~3 lines] b");
        let mut others = Blocks::default();
        let typed = entry.typed(&mut others);
        assert_eq!((others.expanded(&typed), others.shown(&typed)), ("a 1\n2\n3 b".to_owned(), entry.text.clone()));
        let damaged = Entry { text: "nothing".to_owned(), ..entry };
        assert_eq!(damaged.typed(&mut others), "nothing");
    }
}
