//! What is wanted of undoing, and what came of it.

use std::path::{Path, PathBuf};

use haft_protocol::{FileDiff, MessageId, PartId, Revert};

/// Where a session is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// Before the last prompt that still counts.
    Back,
    /// Behind the first prompt that was taken back.
    Forth,
    /// Before this message, or before a part of it. One that a model wrote stands for the prompt that it answers, unless
    /// something was said before the part.
    Before(MessageId, Option<PartId>),
    /// To its end: nothing is taken back any more.
    End,
}

/// Which files are changed though somebody else changed them since. What they hold is kept before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Force {
    /// None.
    #[default]
    Nothing,
    /// All.
    Everything,
    /// These; absolute.
    These(Vec<PathBuf>),
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewind {
    /// Where to.
    pub to: To,
    /// What is forced.
    pub force: Force,
    /// Nothing is changed: it is only said what would be.
    pub only_look: bool,
}

impl Rewind {
    /// To there, forcing nothing.
    pub fn to(to: To) -> Self {
        Self { to, force: Force::Nothing, only_look: false }
    }
}

/// What came of it, or would.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewound {
    /// The files, in the order in which they are changed.
    pub files: Vec<Fate>,
    /// The words of the prompts that are taken back now and were not before, oldest first; or of those that are brought
    /// again.
    pub prompts: Vec<String>,
    /// What is taken back from now on.
    pub revert: Option<Revert>,
    /// What was not kept any more, in sentences for people.
    pub notes: Vec<String>,
}

impl Rewound {
    /// Whether something was left that should have been changed.
    pub fn is_partial(&self) -> bool {
        self.files.iter().any(|fate| fate.left.is_some())
    }
}

/// What becomes of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// The file, absolute.
    pub path: PathBuf,
    /// The same as people see it: relative to the work tree, a folder with a `/` behind it.
    pub file: String,
    /// How it changes; `None` where it stays as it is.
    pub diff: Option<FileDiff>,
    /// Why not all of it is done, if so.
    pub left: Option<Why>,
    /// Whether it changes, and a change of it was found after a command: somebody else may have made it while that ran.
    pub found: bool,
}

/// Why a file was not, or not wholly, changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Somebody else changed it since. It can be forced.
    Theirs,
    /// Nobody knows whether it was changed for this, and why. It can be forced.
    Doubtful(String),
    /// What it was is not known, and why.
    Uncovered(String),
    /// It could not be done, and why.
    Failed(String),
}

impl Why {
    /// Whether it is done where that is forced.
    pub fn is_forcible(&self) -> bool {
        match self {
            Why::Theirs | Why::Doubtful(_) => true,
            Why::Uncovered(_) | Why::Failed(_) => false,
        }
    }
}

impl Force {
    pub(super) fn covers(&self, path: &Path) -> bool {
        match self {
            Force::Nothing => false,
            Force::Everything => true,
            Force::These(paths) => paths.iter().any(|forced| path.starts_with(forced)),
        }
    }
}
