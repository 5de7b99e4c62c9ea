//! The files of the project by their names, as they can be mentioned.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;

use super::fuzzy::ranked;

/// Most names that are kept.
const MAX_FILES: usize = 50_000;

/// How long they may be looked for; those found by then are offered.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long they count as the files that are there.
const FRESH: Duration = Duration::from_secs(5);

/// The files below a folder. Hidden ones are among them, `.git` and what is ignored are not.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    found: Mutex<Option<(Instant, Vec<String>)>>,
}

impl Files {
    pub(super) fn below(root: PathBuf) -> Self {
        Self { root, found: Mutex::new(None) }
    }

    /// The files and folders whose names are like `typed`, relative to the root, folders with a `/` at their end.
    pub(super) fn like(&self, typed: &str) -> Vec<String> {
        // Each use leaves it whole.
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.as_ref().is_none_or(|(at, _)| at.elapsed() > FRESH) {
            let names = names(&self.root);
            // A slow walk counts from its end.
            *found = Some((Instant::now(), names));
        }
        let names = found.as_ref().map_or(&[][..], |(_, names)| names);
        let places = ranked(typed, names.iter().map(String::as_str), true).into_iter();
        places.filter_map(|at| names.get(at).cloned()).collect()
    }
}

/// The names below `root`, those in the fewest folders first.
fn names(root: &Path) -> Vec<String> {
    let began = Instant::now();
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let mut names = Vec::new();
    for entry in walk.filter_map(Result::ok) {
        if names.len() == MAX_FILES || began.elapsed() > PATIENCE {
            break;
        }
        let Some(name) = entry.path().strip_prefix(root).ok().and_then(Path::to_str).filter(|name| !name.is_empty())
        else {
            continue;
        };
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        names.push(if folder { format!("{name}/") } else { name.to_owned() });
    }
    let depth = |name: &str| name.trim_end_matches('/').matches('/').count();
    names.sort_by(|one, other| depth(one).cmp(&depth(other)).then_with(|| one.cmp(other)));
    names
}
