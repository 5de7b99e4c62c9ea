//! Where the hidden is: the kernel knows only what may be read, so that is all that lies beside the way to what may not.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// A place without reading it, and never what a link there points to.
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A folder whose names are read.
const LIST: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Hidden,
    Shown,
}

/// Paths that are hidden and shown, by folder.
#[derive(Debug, Default)]
pub(super) struct Places {
    mark: Option<Mark>,
    below: BTreeMap<OsString, Places>,
}

impl Places {
    /// Marks `path`, which is absolute, as hidden: whatever else was said of the same path.
    pub(super) fn hide(&mut self, path: &Path) {
        self.at(path).mark = Some(Mark::Hidden);
    }

    /// Marks `path`, which is absolute, as shown.
    pub(super) fn show(&mut self, path: &Path) {
        self.at(path).mark.get_or_insert(Mark::Shown);
    }

    fn at(&mut self, path: &Path) -> &mut Self {
        let names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        });
        names.fold(self, |here, name| here.below.entry(name.to_owned()).or_default())
    }

    /// Hands every place that may be read to `allow`: files, and folders with all that is below them.
    pub(super) fn visit<F>(&self, allow: &mut F) -> Result<(), String>
    where
        F: FnMut(BorrowedFd<'_>) -> Result<(), String>,
    {
        let root = rustix::fs::openat(CWD, "/", PLACE, Mode::empty()).map_err(|errno| format!("/: {errno}"))?;
        self.walk(root, true, allow)
    }

    fn walk<F>(&self, here: OwnedFd, visible: bool, allow: &mut F) -> Result<(), String>
    where
        F: FnMut(BorrowedFd<'_>) -> Result<(), String>,
    {
        let visible = self.mark.map_or(visible, |mark| mark == Mark::Shown);
        if visible && !self.has(Mark::Hidden) {
            return allow(here.as_fd());
        }
        if visible {
            self.siblings(&here, allow)?;
        } else if !self.has(Mark::Shown) {
            return Ok(());
        }
        for (name, below) in &self.below {
            if let Some(place) = open(&here, name)? {
                below.walk(place, visible, allow)?;
            }
        }
        Ok(())
    }

    /// What is in the folder `here` and not on the way to anything that is marked.
    fn siblings<F>(&self, here: &OwnedFd, allow: &mut F) -> Result<(), String>
    where
        F: FnMut(BorrowedFd<'_>) -> Result<(), String>,
    {
        let names = match rustix::fs::openat(here, c".", LIST, Mode::empty()) {
            Ok(names) => names,
            // A file has nothing in it, and what cannot be listed is not shown in parts.
            Err(Errno::NOTDIR | Errno::ACCESS | Errno::PERM | Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(format!("a folder beside something hidden cannot be listed: {errno}")),
        };
        let names = Dir::new(names).map_err(|errno| format!("a folder cannot be listed: {errno}"))?;
        for entry in names {
            let entry = entry.map_err(|errno| format!("a folder cannot be listed: {errno}"))?;
            // What a link points to is allowed, or not, where that is.
            if is_dots(entry.file_name()) || entry.file_type() == FileType::Symlink {
                continue;
            }
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if self.below.contains_key(name) {
                continue;
            }
            if let Some(place) = open(here, name)? {
                allow(place.as_fd())?;
            }
        }
        Ok(())
    }

    /// Whether anything below is marked with `mark`.
    fn has(&self, mark: Mark) -> bool {
        self.below.values().any(|below| below.mark == Some(mark) || below.has(mark))
    }
}

/// The place `name` in the folder `here`, unless it has gone or nobody may look.
fn open(here: &OwnedFd, name: &OsStr) -> Result<Option<OwnedFd>, String> {
    match rustix::fs::openat(here, name, PLACE, Mode::empty()) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::PERM | Errno::STALE) => Ok(None),
        Err(errno) => Err(format!("{} cannot be looked at: {errno}", name.display())),
    }
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

#[cfg(test)]
mod tests;
