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

/// Makes work trees in haft's own folder, with the settings that hold in the project.
pub(crate) struct Trees {
    pub folders: Folders,
    pub config: Config,
}

impl Worktrees for Trees {
    fn open<'a>(&'a self, place: &'a Place, name: &'a str) -> BoxFuture<'a, Result<Apart, String>> {
        Box::pin(async move {
            // Beside what is hidden from commands: they work there.
            let (folder, from, name) = (self.folders.state.join("worktrees"), place.clone(), name.to_owned());
            let made = tokio::task::spawn_blocking(move || made(&folder, &from, &name)).await;
            let made = made.unwrap_or_else(|_| Err(anyhow!("making it crashed")));
            made.and_then(|(tree, place)| self.apart(tree, place)).map_err(|error| format!("{error:#}"))
        })
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

/// A work tree below `folder`, and the place in it that is `from` in the project.
fn made(folder: &Path, from: &Place, name: &str) -> Result<(Worktree, Place)> {
    let top = from.worktree.as_ref().context("there is no repository")?;
    let tree = Worktree::add(top, folder, name)?;
    let below: PathBuf = from.directory.strip_prefix(top).map(Path::to_path_buf).unwrap_or_default();
    let at = tree.path().join(below);
    let place = Place::find(&at).with_context(|| {
        format!("{} is not in the copy of the project: git ignores it, or it is empty", from.directory.display())
    });
    if place.is_err() {
        tree.remove()?;
    }
    Ok((tree, place?))
}
