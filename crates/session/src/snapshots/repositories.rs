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
    /// Whether a folder is the top of a repository.
    tops: HashMap<PathBuf, bool>,
    found: Vec<Repository>,
    /// The folder of the file that was asked for last, and which repository that is in: files come folder by folder.
    last: (PathBuf, Option<usize>),
}

/// One of them. What is read of it is `None` where it cannot be read.
#[derive(Debug)]
struct Repository {
    top: PathBuf,
    tracked: Option<Option<Tracked>>,
    blobs: Option<Option<Blobs>>,
}

impl Repositories {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, tops: HashMap::new(), found: Vec::new(), last: Default::default() }
    }

    /// Each look reads what it needs anew: between looks indexes change, and large ones take memory.
    pub(super) fn refresh(&mut self) {
        *self = Self::new(std::mem::take(&mut self.root));
    }

    pub(super) fn blob(&mut self, path: &Path, seen: &Seen) -> Option<Blob> {
        self.tracked(path)?.blob(path, seen)
    }

    /// What is tracked in the repository that the file belongs to.
    pub(super) fn tracked(&mut self, path: &Path) -> Option<&Tracked> {
        let Repository { top, tracked, .. } = self.of(path)?;
        tracked.get_or_insert_with(|| Tracked::read(top)).as_ref()
    }

    /// What is tracked in the repositories that were asked so far, and those that `folders` belong to.
    pub(super) fn all(&mut self, folders: impl IntoIterator<Item = PathBuf>) -> impl Iterator<Item = &Tracked> {
        for folder in folders {
            // Whichever file it is.
            self.tracked(&folder.join("file"));
        }
        self.found.iter().filter_map(|repository| repository.tracked.as_ref()?.as_ref())
    }

    pub(super) fn content(&mut self, path: &Path, blob: Blob, size: u64) -> Option<Vec<u8>> {
        if size > MAX_FILE {
            return None;
        }
        let Repository { top, blobs, .. } = self.of(path)?;
        blobs.get_or_insert_with(|| Blobs::open(top)).as_mut()?.get(blob, size)
    }

    /// The repository that the file belongs to.
    fn of(&mut self, path: &Path) -> Option<&mut Repository> {
        let folder = path.parent()?;
        if self.last.0.as_os_str() != folder.as_os_str() {
            let top = top_of(path, &self.root, &mut self.tops);
            self.last = (folder.to_owned(), top.and_then(|top| self.find(top)));
        }
        self.found.get_mut(self.last.1?)
    }

    /// Where the repository stands whose work tree is `top`; `None` where there are too many.
    fn find(&mut self, top: PathBuf) -> Option<usize> {
        let known = self.found.iter().position(|repository| repository.top == top);
        known.or_else(|| {
            let at = (self.found.len() < MAX_REPOSITORIES).then_some(self.found.len())?;
            self.found.push(Repository { top, tracked: None, blobs: None });
            Some(at)
        })
    }
}
