//! How much each plug-in does in one run: none goes on for ever.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::Failed;
use crate::render;

/// Most prompts of one plug-in that an agent answers, in one run.
const MAX_TURNS: u32 = 50;
/// Most messages of one that nobody answers.
const MAX_NOTES: u32 = 1_000;
/// Most sessions that one makes.
const MAX_SESSIONS: u32 = 100;
/// Most toasts, of all of them together.
const MAX_TOASTS: u32 = 50;

/// Something that a plug-in may do so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Deed {
    Turn,
    Note,
    Session,
}

impl Deed {
    fn most(self) -> (u32, &'static str) {
        match self {
            Deed::Turn => (MAX_TURNS, "prompts that an agent answers"),
            Deed::Note => (MAX_NOTES, "messages that nobody answers"),
            Deed::Session => (MAX_SESSIONS, "sessions"),
        }
    }
}

/// What was done so far.
#[derive(Default)]
pub(super) struct Tally {
    done: Mutex<HashMap<(String, Deed), u32>>,
    toasts: Mutex<u32>,
}

impl Tally {
    /// Counts that `plugin` does `deed`. The first time that it is too often, the person is told.
    pub(super) fn count(&self, plugin: &str, deed: Deed) -> Result<(), Failed> {
        let (most, what) = deed.most();
        let done = {
            let mut all = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            let done = all.entry((plugin.to_owned(), deed)).or_default();
            *done = done.saturating_add(1);
            *done
        };
        let why = format!("{most} {what} are the most of a plug-in in one run");
        if done == most.saturating_add(1) {
            render::complain(&render::spelled(&format!("warning: the plug-in {plugin} goes no further: {why}")));
        }
        if done > most { Err(Failed::refused(why)) } else { Ok(()) }
    }

    /// Whether one more toast is shown.
    pub(super) fn toast(&self) -> bool {
        let mut toasts = self.toasts.lock().unwrap_or_else(PoisonError::into_inner);
        *toasts = toasts.saturating_add(1);
        *toasts <= MAX_TOASTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plug_in_does_only_so_much() {
        let tally = Tally::default();
        for _ in 0..MAX_TURNS {
            assert!(tally.count("a", Deed::Turn).is_ok());
        }
        assert!(tally.count("a", Deed::Turn).is_err());
        assert!(tally.count("a", Deed::Note).is_ok() && tally.count("b", Deed::Turn).is_ok());
        assert_eq!((0..=MAX_TOASTS).filter(|_| tally.toast()).count(), MAX_TOASTS as usize);
    }
}
