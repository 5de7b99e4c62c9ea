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
    /// The folder of the file that was asked for last, and the top of its repository: files come folder by folder.
    last: (PathBuf, Option<PathBuf>),
    tracked: HashMap<PathBuf, Option<Tracked>>,
    blobs: HashMap<PathBuf, Option<Blobs>>,
}

impl Repositories {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, tops: HashMap::new(), last: Default::default(), tracked: HashMap::new(), blobs: HashMap::new() }
    }

    /// Each look reads what it needs anew: between looks indexes change, and large ones take memory.
    pub(super) fn refresh(&mut self) {
        self.tops.clear();
        self.last = Default::default();
        self.tracked.clear();
        self.blobs.clear();
    }

    pub(super) fn blob(&mut self, path: &Path, seen: &Seen) -> Option<Blob> {
        self.tracked(path)?.blob(path, seen)
    }

    /// The repository that the file belongs to.
    pub(super) fn tracked(&mut self, path: &Path) -> Option<&Tracked> {
        self.find_top(path);
        let top = self.last.1.as_ref()?;
        if !self.tracked.contains_key(top) {
            if self.tracked.len() >= MAX_REPOSITORIES {
                return None;
            }
            self.tracked.insert(top.clone(), Tracked::read(top));
        }
        self.tracked.get(top)?.as_ref()
    }

    /// Sees to it that `last` is about the folder of `path`.
    fn find_top(&mut self, path: &Path) {
        let folder = path.parent().unwrap_or(path);
        if self.last.0.as_os_str() != folder.as_os_str() {
            self.last = (folder.to_owned(), top_of(path, &self.root, &mut self.tops));
        }
    }

    /// The repositories that were asked for so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &Tracked> {
        self.tracked.values().flatten()
    }

    pub(super) fn content(&mut self, path: &Path, blob: Blob, size: u64) -> Option<Vec<u8>> {
        if size > MAX_FILE {
            return None;
        }
        self.find_top(path);
        let top = self.last.1.as_ref()?;
        if self.blobs.len() >= MAX_REPOSITORIES && !self.blobs.contains_key(top) {
            return None;
        }
        self.blobs.entry(top.clone()).or_insert_with_key(|top| Blobs::open(top)).as_mut()?.get(blob, size)
    }
}
