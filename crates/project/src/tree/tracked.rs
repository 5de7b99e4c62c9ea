//! Which files git tracks although they are ignored: those are looked at like all others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::repository::{Names, Tracked, top_of};

/// Most repositories whose names are asked for in one look.
const MAX_REPOSITORIES: usize = 64;

/// The names that the repositories of a tree track, each read when one of them is asked for, for one look.
#[derive(Debug)]
pub(super) struct TrackedNames {
    root: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a folder is the top of a repository.
    tops: HashMap<PathBuf, bool>,
    /// By the top, how the index looked before it was read, and its names; `None` where it cannot be understood.
    names: HashMap<PathBuf, (Print, Option<Arc<Names>>)>,
}

/// How an index looked; `None` where there was none.
type Print = Option<(u64, SystemTime)>;

/// The indexes that were asked in any look, by the tops of their repositories.
#[derive(Debug, Default)]
pub(super) struct Asked {
    prints: HashMap<PathBuf, Print>,
}

impl Asked {
    /// Whether one of them is another by now.
    pub(super) fn is_other(&self) -> bool {
        self.prints.iter().any(|(top, print)| Tracked::seen(top) != *print)
    }

    /// Takes over those of a look. Where `all` was asked again that is left out, they are all.
    pub(super) fn add(&mut self, asked: HashMap<PathBuf, Print>, all: bool) {
        if all {
            self.prints.clear();
        }
        // What was left out earlier was left out by an earlier one.
        asked.into_iter().for_each(|(top, print)| {
            self.prints.entry(top).or_insert(print);
        });
    }
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
        let mut state = self.lock();
        let State { tops, names } = &mut *state;
        let top = top_of(path, &self.root, tops)?;
        if names.len() >= MAX_REPOSITORIES && !names.contains_key(&top) {
            return None;
        }
        let read = |top: &PathBuf| (Tracked::seen(top), Names::read(top).map(Arc::new));
        names.entry(top).or_insert_with_key(read).1.clone()
    }

    /// Those that were asked, and how they looked.
    pub(super) fn asked(&self) -> HashMap<PathBuf, Print> {
        self.lock().names.iter().map(|(top, (print, _))| (top.clone(), *print)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Whoever panics meanwhile leaves what was asked before.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
