//! What haft is doing when it is killed.

use std::time::Duration;

use super::blow::{Dice, Reach};

/// Something that haft is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// A prompt.
    Run,
    /// A command of the user's instead of a prompt.
    Command(&'static str),
    /// A chat: prompts that wait for each other, and a command line by hand.
    Chat,
    /// Everything is summed up.
    Compact,
    Undo,
    Redo,
}

/// What is typed at a chat, at once.
const TYPED: &str = "!echo by hand >> log.txt; seq 1 50\ngo on\nlook there too\nand then go on\n";

impl Deed {
    /// One of `deeds`.
    pub(crate) fn choose(deeds: &[Deed], dice: &mut Dice) -> Deed {
        deeds[usize::try_from(dice.below(deeds.len() as u64)).unwrap()]
    }

    /// The arguments with which haft does it.
    pub(crate) fn args<'a>(&self, model: &'a str) -> Vec<&'a str> {
        let run = ["run", "go on", "--continue", "--auto", "--format", "json", "--model", model];
        match self {
            Deed::Run => run.to_vec(),
            Deed::Command(name) => run.into_iter().chain(["--command", name]).collect(),
            Deed::Chat => vec!["--plain", "--continue", "--auto", "--model", model],
            Deed::Compact => vec!["session", "compact", "--model", model],
            Deed::Undo => vec!["session", "undo", "--yes"],
            Deed::Redo => vec!["session", "redo", "--yes", "--all"],
        }
    }

    /// What is typed, where somebody sits there.
    pub(crate) fn typed(self) -> Option<&'static str> {
        (self == Deed::Chat).then_some(TYPED)
    }

    /// Whether a prompt is asked.
    pub(crate) fn asks(self) -> bool {
        matches!(self, Deed::Run | Deed::Command(_) | Deed::Chat)
    }

    /// Whether what was done is taken back, or brought again.
    pub(crate) fn rewinds(self) -> bool {
        matches!(self, Deed::Undo | Deed::Redo)
    }

    /// How far it gets.
    pub(crate) fn reach(self) -> Reach {
        match self {
            Deed::Run | Deed::Command(_) => Reach { bytes: 5_000, then: Duration::from_millis(20), calls: 1 },
            Deed::Chat => Reach { bytes: 900, then: Duration::from_millis(400), calls: 1 },
            // Nothing is said until all of it is done.
            Deed::Compact | Deed::Undo | Deed::Redo => Reach { bytes: 1, then: Duration::from_millis(60), calls: 8 },
        }
    }
}
