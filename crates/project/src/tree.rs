//! A folder and all below it as it looked last, so that a look costs what one call for each file costs, and says what has
//! changed since.
//!
//! Names of a folder that did not change are not read again. What is ignored is no part of it, unless git tracks it, nor are
//! `.git`, the folders that are left out, files under the names that haft's own have while they are written, and file systems that hold no files. A file that changed within the clock's grain of the last look
//! cannot be told by its times; it is named as doubtful.

mod folder;
mod look;
mod seen;
mod tracked;
mod watch;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::folder::Folder;
pub use self::look::{Diff, Look, Was};
pub use self::seen::Seen;
use self::tracked::Asked;
use self::watch::Watch;

/// Most files and folders of a tree. A larger one is not looked at.
pub const MAX_TREE: usize = 2_000_000;

/// A tree as it looked last. `S` is what its owner knows of each file; a file that changed begins with the default again.
#[derive(Debug)]
pub struct Tree<S> {
    root: PathBuf,
    left_out: Vec<PathBuf>,
    max: usize,
    /// The first is the root; `None` is free.
    folders: Vec<Option<Folder<S>>>,
    watch: Option<Watch>,
    /// Whether every folder was watched when it was looked at last.
    watched: bool,
    /// How the indexes looked that were asked.
    asked: Asked,
}

/// A file of a tree, until the next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    folder: usize,
    file: usize,
}

/// Why a tree is not looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// All of the user's files are below it.
    #[error("{} holds everything of the user's, not one project", .0.display())]
    Home(PathBuf),
    /// More than [`MAX_TREE`] files and folders.
    #[error("{} holds more than {MAX_TREE} files and folders", .0.display())]
    TooLarge(PathBuf),
    /// It cannot be read.
    #[error("{} cannot be read", .0.display())]
    Unreadable(PathBuf),
}

impl<S: Clone + Default + Send + Sync> Tree<S> {
    /// The tree of the folder `root`, which is not looked at yet. Nothing below the folders `left_out` is part of it. All
    /// are absolute and without links.
    ///
    /// # Errors
    ///
    /// [`Refused::Home`] where `root` is `/`, the folder `home`, or one above that.
    pub fn new(root: PathBuf, home: Option<&Path>, left_out: Vec<PathBuf>) -> Result<Self, Refused> {
        let above_home = home.is_some_and(|home| home.starts_with(&root));
        if root.parent().is_none() || above_home {
            return Err(Refused::Home(root));
        }
        Ok(Self {
            root,
            left_out,
            max: MAX_TREE,
            folders: Vec::new(),
            watch: None,
            watched: false,
            asked: Asked::default(),
        })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether nothing has changed since the last look, for certain; then there is no need for another. What a program
    /// writes into memory that it shares with a file it has closed is not heard of.
    pub fn is_quiet(&mut self) -> bool {
        // What git tracks from now on was not listened to.
        self.watched && self.watch.as_mut().is_some_and(Watch::is_quiet) && !self.asked.is_other()
    }

    /// Takes over the folders that were listened to for the first time, by the numbers of their watches; `None` where some
    /// could not be. Whoever changed something in them before was not heard.
    fn listen(&mut self, new: Option<Vec<i32>>) {
        let (Some(mut watch), Some(new)) = (self.watch.take(), new) else {
            // Where some ears are none, nothing is heard any more.
            self.watched = false;
            return;
        };
        let were_all = new.is_empty();
        let are_all = watch.keep(new);
        self.watched = were_all && are_all;
        self.watch = are_all.then_some(watch);
    }

    /// What is known of a file.
    pub fn source_mut(&mut self, spot: Spot) -> Option<&mut S> {
        let folder = self.folders.get_mut(spot.folder)?.as_mut()?;
        folder.files.get_mut(spot.file).map(|file| &mut file.source)
    }

    /// How many files it had when it was looked at last.
    pub fn files(&self) -> usize {
        self.folders.iter().flatten().map(|folder| folder.files.len()).sum()
    }

    /// Its folders when it was looked at last.
    pub fn folder_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        (0..self.folders.len()).filter(|at| self.folders[*at].is_some()).map(|at| self.path(at))
    }

    /// Those in which no file is.
    pub fn bare_folders(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let is_bare = |at: &usize| self.folders[*at].as_ref().is_some_and(|folder| folder.files.is_empty());
        (0..self.folders.len()).filter(is_bare).map(|at| self.path(at))
    }

    /// How many places for folders it has.
    pub fn places(&self) -> usize {
        self.folders.len()
    }

    /// The files in the folder at the `place`, each as if nobody had known what it was: what the first look found, which is
    /// too much for one list. Empty where there is no folder.
    pub fn found_in(&self, place: usize) -> Vec<Diff<S>> {
        let Some(Some(folder)) = self.folders.get(place) else { return Vec::new() };
        let above = self.path(place);
        let found = folder.each().enumerate().map(|(number, (name, file))| Diff {
            path: above.join(OsStr::from_bytes(name)),
            was: Was::Unknown,
            now: Some(file.seen),
            spot: Some(Spot { folder: place, file: number }),
            doubtful: file.doubtful,
        });
        found.collect()
    }

    /// Each file that it had when it was looked at last.
    pub fn each(&self, mut visit: impl FnMut(&Path, &Seen, &S)) {
        for (at, folder) in self.folders.iter().enumerate() {
            let Some(folder) = folder else { continue };
            let path = self.path(at);
            for (name, file) in folder.each() {
                visit(&path.join(OsStr::from_bytes(name)), &file.seen, &file.source);
            }
        }
    }

    /// The path of a folder.
    fn path(&self, at: usize) -> PathBuf {
        let mut names = Vec::new();
        let mut at = at;
        while let Some(Some(folder)) = self.folders.get(at) {
            let Some(above) = folder.above else { break };
            names.push(folder.name.as_slice());
            at = above;
        }
        let mut path = self.root.clone();
        names.iter().rev().for_each(|name| path.push(OsStr::from_bytes(name)));
        path
    }
}

#[cfg(test)]
mod tests;
