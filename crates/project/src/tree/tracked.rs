//! Which files git tracks although they are ignored: those are looked at like all others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::repository::{Names, top_of};

/// Most repositories whose names are asked for in one look.
const MAX_REPOSITORIES: usize = 64;

/// The names that the repositories of a tree track, each read when one of them is asked for, for one look.
#[derive(Debug)]
pub(super) struct TrackedNames {
    root: PathBuf,
    state: Mutex<Asked>,
}

#[derive(Debug, Default)]
struct Asked {
    /// Whether a folder is the top of a repository.
    tops: HashMap<PathBuf, bool>,
    /// By the top; `None` where there is no index that can be understood.
    names: HashMap<PathBuf, Option<Arc<Names>>>,
}

impl TrackedNames {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, state: Mutex::default() }
    }

    /// Whether the file at the absolute `path` is tracked, or something in the folder there.
    pub(super) fn has(&self, path: &Path, is_folder: bool) -> bool {
        self.of(path).is_some_and(|names| names.has(path, is_folder))
    }

    fn of(&self, path: &Path) -> Option<Arc<Names>> {
        // Whoever panics meanwhile leaves what was asked before.
        let mut asked = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Asked { tops, names } = &mut *asked;
        let top = top_of(path, &self.root, tops)?;
        if names.len() >= MAX_REPOSITORIES && !names.contains_key(&top) {
            return None;
        }
        names.entry(top).or_insert_with_key(|top| Names::read(top).map(Arc::new)).clone()
    }
}
