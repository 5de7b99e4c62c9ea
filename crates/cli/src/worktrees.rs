//! Work trees in which tasks work apart.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use futures::future::BoxFuture;
use haft_config::Config;
use haft_project::{Place, Worktree};
use haft_session::{Apart, Worktrees};

use crate::agents;
use crate::folders::Folders;
use crate::wire::Ground;

/// Most projects whose forgotten work trees are looked for at once.
const MAX_PROJECTS: usize = 1_000;

/// Makes work trees in haft's own folder, with the settings that hold in the project.
pub(crate) struct Trees {
    pub folders: Folders,
    pub config: Config,
}

impl Worktrees for Trees {
    fn open<'a>(&'a self, place: &'a Place, name: &'a str) -> BoxFuture<'a, Result<Apart, String>> {
        Box::pin(async move {
            let (folders, from, name) = (self.folders.clone(), place.clone(), name.to_owned());
            let opened = tokio::task::spawn_blocking(move || opened(&folders, &from, &name)).await;
            let opened = opened.unwrap_or_else(|_| Err(anyhow!("making it crashed")));
            opened.and_then(|(tree, place)| self.apart(tree, place)).map_err(|error| format!("{error:#}"))
        })
    }

    fn name_of(&self, place: &Place, directory: &Path) -> Option<String> {
        let folder = self.folders.sandboxes(place.worktree.as_ref()?);
        let folder = folder.canonicalize().unwrap_or(folder);
        let name = directory.strip_prefix(folder).ok()?.components().next()?;
        name.as_os_str().to_str().map(str::to_owned)
    }

    fn stands(&self, place: &Place, name: &str) -> bool {
        place.worktree.as_ref().is_some_and(|top| self.folders.sandboxes(top).join(name).is_dir())
    }
}

impl Trees {
    fn apart(&self, tree: Worktree, place: Place) -> Result<Apart> {
        let mut config = self.config.clone();
        // What is undone is what is carried over, in the project.
        config.snapshot.enabled = false;
        let ground = Ground::with(self.folders.clone(), place.clone(), config)?;
        Ok(Apart { registry: ground.registry(), agents: agents::all(&ground)?, tree, place })
    }
}

/// The work tree `name` of the project of `from`, made where it does not stand, and the place in it that is `from` in the
/// project.
fn opened(folders: &Folders, from: &Place, name: &str) -> Result<(Worktree, Place)> {
    let top = from.worktree.as_ref().context("there is no repository")?;
    let folder = folders.sandboxes(top);
    let standing = Worktree::standing(top, &folder, name)?;
    let is_new = standing.is_none();
    let tree = match standing {
        Some(tree) => tree,
        None => {
            sweep(&folders.worktrees());
            Worktree::add(top, &folder, name)?
        }
    };
    let below: PathBuf = from.directory.strip_prefix(top).map(Path::to_path_buf).unwrap_or_default();
    let at = tree.path().join(below);
    let place = Place::find(&at).with_context(|| {
        format!("{} is not in the copy of the project: git ignores it, or it is empty", from.directory.display())
    });
    if place.is_err() && is_new {
        tree.remove()?;
    }
    Ok((tree, place?))
}

/// Removes what is old and forgotten of all projects.
fn sweep(worktrees: &Path) {
    let Ok(projects) = std::fs::read_dir(worktrees) else { return };
    for project in projects.filter_map(Result::ok).take(MAX_PROJECTS) {
        if project.file_type().is_ok_and(|kind| kind.is_dir()) {
            Worktree::sweep(&project.path());
            // One that holds anything stays.
            let _ = std::fs::remove_dir(project.path());
        }
    }
}
