//! The git repositories of a tree, asked for what they know of files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use haft_project::{Blob, Blobs, Seen, Tracked, top_of};

use super::around::MAX_FILE;

/// Most repositories below one tree whose files are looked up. The files of others are kept themselves.
const MAX_REPOSITORIES: usize = 64;

/// The repositories of a tree, as far as they were needed.
#[derive(Debug)]
pub(super) struct Repositories {
    root: PathBuf,
    tops: HashMap<PathBuf, bool>,
    tracked: HashMap<PathBuf, Option<Tracked>>,
    blobs: HashMap<PathBuf, Option<Blobs>>,
}

impl Repositories {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, tops: HashMap::new(), tracked: HashMap::new(), blobs: HashMap::new() }
    }

    /// Each look reads what it needs anew: between looks indexes change, and large ones take memory.
    pub(super) fn refresh(&mut self) {
        self.tops.clear();
        self.tracked.clear();
        self.blobs.clear();
    }

    pub(super) fn blob(&mut self, path: &Path, seen: &Seen) -> Option<Blob> {
        self.tracked(path)?.blob(path, seen)
    }

    /// The repository that the file belongs to.
    pub(super) fn tracked(&mut self, path: &Path) -> Option<&Tracked> {
        let top = top_of(path, &self.root, &mut self.tops)?;
        if self.tracked.len() >= MAX_REPOSITORIES && !self.tracked.contains_key(&top) {
            return None;
        }
        self.tracked.entry(top).or_insert_with_key(|top| Tracked::read(top)).as_ref()
    }

    /// The repositories that were asked for so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &Tracked> {
        self.tracked.values().flatten()
    }

    pub(super) fn content(&mut self, path: &Path, blob: Blob, size: u64) -> Option<Vec<u8>> {
        if size > MAX_FILE {
            return None;
        }
        let top = top_of(path, &self.root, &mut self.tops)?;
        if self.blobs.len() >= MAX_REPOSITORIES && !self.blobs.contains_key(&top) {
            return None;
        }
        self.blobs.entry(top).or_insert_with_key(|top| Blobs::open(top)).as_mut()?.get(blob, size)
    }
}
