//! What was changed in a text, so that it can be taken back. Pure.

/// Most changes that can be taken back.
pub(super) const MAX_EDITS: usize = 500;

/// Most bytes of them; the oldest are forgotten first.
pub(super) const MAX_BYTES: usize = 4 * 1024 * 1024;

/// One change: at a byte, this stood there, and now that does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub at: usize,
    pub removed: String,
    pub inserted: String,
    /// Where the cursor was before.
    pub cursor: usize,
}

/// The changes so far, and those that were taken back.
#[derive(Debug, Clone, Default)]
pub(super) struct Edits {
    done: std::collections::VecDeque<Edit>,
    undone: Vec<Edit>,
    bytes: usize,
    /// Whether the next letter that is typed belongs to the last change.
    open: bool,
}

impl Edit {
    fn bytes(&self) -> usize {
        self.removed.len() + self.inserted.len()
    }
}

impl Edits {
    /// Keeps a change. What was taken back before is forgotten.
    pub(super) fn push(&mut self, edit: Edit) {
        let typed = edit.removed.is_empty() && edit.inserted.chars().count() == 1;
        self.undone.clear();
        let last = self.done.back_mut().filter(|_| self.open && typed);
        self.bytes += edit.bytes();
        match last {
            // A word, with the blank before it, is taken back at once.
            Some(last) if last.at + last.inserted.len() == edit.at && !begins(&last.inserted, &edit.inserted) => {
                last.inserted.push_str(&edit.inserted);
            }
            _ => self.done.push_back(edit),
        }
        self.open = typed;
        while self.done.len() > MAX_EDITS || self.bytes > MAX_BYTES && self.done.len() > 1 {
            let Some(oldest) = self.done.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// The next letter that is typed begins a change of its own.
    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// Takes the last change back.
    pub(super) fn undo(&mut self) -> Option<Edit> {
        self.open = false;
        let edit = self.done.pop_back()?;
        self.bytes -= edit.bytes();
        self.undone.push(edit.clone());
        Some(edit)
    }

    /// Makes the last change again that was taken back.
    pub(super) fn redo(&mut self) -> Option<Edit> {
        let edit = self.undone.pop()?;
        self.bytes += edit.bytes();
        self.done.push_back(edit.clone());
        Some(edit)
    }
}

/// Whether `typed` begins a word behind `before`.
fn begins(before: &str, typed: &str) -> bool {
    let blank = |text: &str| text.ends_with(char::is_whitespace);
    blank(typed) && !blank(before) || typed.ends_with('\n')
}
