//! What is written down: what was asked, granted and denied, and what was done with a grant.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::access::{Access, Effect};
use crate::gate::Asker;

/// Somebody who writes down what happens at a gate and behind it.
pub trait Witness: Send + Sync {
    /// Takes `note` down. It must neither wait nor fail: what cannot be kept is told to the user by the witness.
    fn note(&self, note: Note);

    /// Completes when all that was noted before is kept, or cannot be. A grant that opens more than reading is given
    /// only then, so that nothing happens that was not written down before.
    fn kept(&self) -> BoxFuture<'_, ()>;
}

/// One thing that happened.
#[derive(Debug, Clone)]
pub struct Note {
    /// In which session, for which call.
    pub asker: Asker,
    /// The plug-in that asked in its own name, where it was one.
    pub plugin: Option<String>,
    /// What.
    pub noted: Noted,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum Noted {
    /// A question was put to a person.
    Asked(Matter),
    /// It was allowed.
    Granted(Matter, By),
    /// It was not.
    Denied(Matter, By),
    /// A grant was used.
    Done(Done),
}

/// What a decision is about.
#[derive(Debug, Clone)]
pub struct Matter {
    /// The permission, for example `edit`.
    pub permission: String,
    /// What it is asked for.
    pub patterns: Vec<String>,
    /// What a grant opens.
    pub effects: Vec<Effect>,
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// These rules, as they are written; none where no rule is about it, or nothing was asked for.
    Rules(Vec<String>),
    /// What a person allowed for always, and the rules that would have asked.
    Approval,
    /// A person, for this once.
    Person,
    /// A person, who allowed these patterns of the permission for always.
    Always(Vec<String>),
    /// A person, who refused a call beside this one.
    Beside,
    /// A yes in advance.
    Advance,
    /// A hook: this one.
    Hook(String),
    /// Nobody: none was there to ask, or too many questions waited.
    Nobody,
    /// Nobody: the call was stopped while it waited.
    Stopped,
}

/// How a grant was used. Reading is not told: the grant for it is. The content of files and the values of variables
/// are never part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// A command began.
    Started {
        /// The command line.
        command: String,
        /// Its folder, absolute.
        dir: PathBuf,
        /// What holds its cage, as a word: `namespaces`, `landlock`, `none`.
        rung: String,
        /// What the cage lets it do, in a few words.
        cage: String,
    },
    /// A command ended.
    Ended {
        /// The command line.
        command: String,
        /// Its exit code; `None` where a signal ended it.
        exit: Option<i32>,
    },
    /// A file was made or changed. Absolute.
    Wrote(PathBuf),
    /// A file was removed. Absolute.
    Removed(PathBuf),
    /// A host was spoken to.
    Spoke(String),
}

/// Writes down what is done with one grant. Cheap to clone; outlives the grant, as a command does.
#[derive(Clone)]
pub struct Pen {
    witness: Option<Arc<dyn Witness>>,
    asker: Asker,
    plugin: Option<String>,
}

impl Pen {
    pub(crate) fn new(witness: Option<&Arc<dyn Witness>>, asker: &Asker, plugin: Option<String>) -> Self {
        Self { witness: witness.cloned(), asker: asker.clone(), plugin }
    }

    /// Who asked.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Writes down that this was done. Neither waits nor fails.
    pub fn note(&self, done: Done) {
        self.write(|| Noted::Done(done));
    }

    pub(crate) fn write(&self, noted: impl FnOnce() -> Noted) {
        if let Some(witness) = &self.witness {
            witness.note(Note { asker: self.asker.clone(), plugin: self.plugin.clone(), noted: noted() });
        }
    }

    /// Waits until it is kept, if anybody keeps it.
    pub(crate) async fn kept(&self) {
        if let Some(witness) = &self.witness {
            witness.kept().await;
        }
    }
}

impl fmt::Debug for Pen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pen").field("asker", &self.asker).field("writes", &self.witness.is_some()).finish()
    }
}

impl Matter {
    pub(crate) fn of(access: &Access) -> Self {
        Self {
            permission: access.permission.clone(),
            patterns: access.patterns.clone(),
            effects: access.effects.clone(),
        }
    }
}
