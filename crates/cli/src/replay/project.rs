//! A copy of the project as it was, and what tools run with in it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use haft_config::SandboxMode;
use haft_permission::Action;
use haft_project::Place;
use haft_protocol::MessageId;

use crate::folders::{self, Folders};
use crate::replay::copy::{self, Copied};
use crate::replay::files::Start;
use crate::replay::recorded::Recorded;
use crate::trust::Asking;
use crate::wire::Ground;

/// A copy of the project as it was, and what to say about it.
pub(crate) struct Project {
    pub place: Place,
    /// Its top, and that of the one it is a copy of.
    pub tops: (PathBuf, PathBuf),
    pub notes: Vec<String>,
}

impl Project {
    /// Copies the project that `here` is in below `root`, and puts back what the session changed from the message `from` on.
    pub(crate) fn copied(
        recorded: &Recorded,
        here: &Place,
        folders: &Folders,
        root: &Path,
        from: Option<&MessageId>,
    ) -> Result<Self> {
        let top = here.worktree.clone().unwrap_or_else(|| here.directory.clone());
        let copy = root.join("project");
        let Copied { without_repository, .. } = copy::copy(&top, &copy)?;
        let mut notes = Vec::new();
        if without_repository {
            notes.push("the copy has no repository: the project is a work tree of another one".to_owned());
        }
        let was = recorded.record.directory.clone();
        let start = match &recorded.start {
            Some(start) => Start::packed(start),
            None => Start::kept(folders, recorded.histories(), from),
        };
        // Recorded paths are those of the work tree that it ran in.
        let offset = here.directory.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        let old_top = ancestor(Path::new(&was), &offset);
        notes.extend(start.restore(&old_top, &copy)?);
        notes.push("files that the session did not change are as they are now".to_owned());
        let place = Place::find(&copy.join(&offset))?;
        Ok(Self { place, tops: (copy.canonicalize()?, old_top), notes })
    }

    /// What the folder of the project was called, and what it is called in the copy.
    pub(crate) fn names(&self) -> (String, String) {
        (self.tops.1.display().to_string(), self.tops.0.display().to_string())
    }
}

/// Whose tools a replay has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// Those of servers, too.
    Asked,
    /// None that somebody else would have to answer for.
    Silent,
}

/// What tools run with in the copy in `place`: the settings that hold `here`, a cage, no network, nothing outside. What is
/// kept is kept below `root`.
pub(crate) fn ground(here: &Place, place: Place, folders: &Folders, root: &Path, servers: Servers) -> Result<Ground> {
    let mut config = Ground::of(folders.clone(), here.clone(), Asking::Nobody)?.config;
    config.sandbox.mode = SandboxMode::WorkspaceWrite;
    config.sandbox.network = Some(Action::Deny);
    // Keys and sessions are elsewhere than where this copy keeps its own.
    config.sandbox.read_deny.extend([folders.data.clone(), folders.state.join("log")]);
    config.audit = Some(false);
    if servers == Servers::Silent {
        config.mcp.clear();
    }
    let mut folders = folders.clone();
    folders.data = root.join("data");
    // Work trees of tasks are made there, and go with the copy.
    folders.state = root.join("state");
    folders::make(&folders.data)?;
    folders::make(&folders.state)?;
    Ground::with(folders, place, config)
}

/// `folder` without the folders of `below` at its end.
fn ancestor(folder: &Path, below: &Path) -> PathBuf {
    folder.ancestors().nth(below.components().count()).unwrap_or(folder).to_owned()
}
