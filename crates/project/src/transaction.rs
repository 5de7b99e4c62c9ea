//! Changing several files together: all of them, or none.
//!
//! Everything that can fail is done first: each new content goes into a file of its own beside its target, and each
//! target is held against what the change was made for. Then the files take their names one after another. The old ones
//! stay under passing names until the last has worked; if one does not, they get their names back.
//!
//! **What a crash in the middle leaves.** There is no way to rename several files at once. A process that is killed
//! between the first and the last rename, which lie microseconds apart, leaves some files new and some old; each is
//! whole. The old content of those that are new then stays beside them as `.haft-….tmp`, and so do new contents that
//! had no name yet. Nothing is forced to the disk: after a power cut the same may hold for files changed shortly before.

use std::collections::HashMap;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use haft_permission::{Done, Grant};
use rustix::fs::{AtFlags, Stat, linkat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::door::{self, FOLDER};
use crate::files::{blocking, for_writing};
use crate::recorder::around;
use crate::stamp::{ContentHash, Stamp};
use crate::write::{
    IfExists, Temp, keep_owner_and_mode, make_folder, may_write, old_file, passing_names, rename_to_new, split,
    unchanged,
};
use crate::{EditLock, Files, FilesError, Target};

/// One change among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which file.
    pub target: Target,
    /// What becomes of it.
    pub what: Becomes,
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Becomes {
    /// It holds these bytes.
    Written {
        /// All of them.
        bytes: Vec<u8>,
        /// What to do about one that is there.
        if_exists: IfExists,
        /// The file whose mode and owner it takes over, for one that is moved; without it, those of the old file.
        like: Option<Target>,
    },
    /// It is gone.
    Removed {
        /// What it holds until then; otherwise it is [`FilesError::Changed`].
        only: Vec<u8>,
    },
}

impl Files {
    /// Makes all of `changes`, or none of them. No two of them may be for one path. Returns for each how the new file
    /// is, its content hashed; `None` for one that was removed.
    ///
    /// Dropping the future does not stop it half way. What a crash can leave is described in the module.
    ///
    /// # Errors
    ///
    /// Those of [`Files::write`] and [`Files::remove`]; then no file has changed. [`FilesError::Torn`] if a change
    /// failed and one made before it could not be taken back.
    pub async fn apply(&self, grant: &Grant, changes: Vec<Change>) -> Result<Vec<Option<Stamp>>, FilesError> {
        for change in &changes {
            for_writing(grant, change.target.path())?;
            if let Becomes::Written { like: Some(like), .. } = &change.what {
                for_writing(grant, like.path())?;
            }
        }
        let (pen, files) = (grant.pen(), self.clone());
        blocking(move || {
            let planned: Vec<_> = changes.iter().map(Change::planned).collect();
            let done = around(files.recorder(), pen.asker(), &planned, || apply(&changes));
            files.wrote(done.iter().flat_map(|_| &changes).map(|change| change.target.path()));
            let stamps = done?;
            changes.into_iter().for_each(|change| pen.note(change.done()));
            Ok(stamps)
        })
        .await
    }

    /// Waits for its turn to edit all of these files. Whoever takes several takes them in the same order, so no two
    /// wait for each other.
    pub async fn lock_all(&self, targets: &[Target]) -> Vec<EditLock> {
        let mut sorted: Vec<&Target> = targets.iter().collect();
        sorted.sort_unstable_by_key(|target| target.path());
        sorted.dedup_by_key(|target| target.path());
        let mut locks = Vec::with_capacity(sorted.len());
        for target in sorted {
            locks.push(self.lock(target).await);
        }
        locks
    }
}

impl Change {
    /// Which file, and what it will hold.
    fn planned(&self) -> (&Path, Option<&[u8]>) {
        let after = match &self.what {
            Becomes::Written { bytes, .. } => Some(bytes.as_slice()),
            Becomes::Removed { .. } => None,
        };
        (self.target.path(), after)
    }

    /// What it comes to, for who audits.
    fn done(self) -> Done {
        let path = self.target.path().to_owned();
        match self.what {
            Becomes::Written { .. } => Done::Wrote(path),
            Becomes::Removed { .. } => Done::Removed(path),
        }
    }
}

fn apply(changes: &[Change]) -> Result<Vec<Option<Stamp>>, FilesError> {
    let mut made = Folders::default();
    let done = prepare(changes, &mut made).and_then(commit);
    match done {
        Ok(stamps) => Ok(stamps),
        Err(error) => {
            made.remove();
            Err(error)
        }
    }
}

/// Folders that were made for new files, so that they can be taken back.
#[derive(Default)]
struct Folders(Vec<PathBuf>);

impl Folders {
    /// Opens the folder, made if it is missing.
    fn open(&mut self, folder: &Path) -> Result<OwnedFd, FilesError> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|path| path.symlink_metadata().is_err()).collect();
        // Noted before: the last of several may fail to be made.
        self.0.extend(missing.into_iter().rev().map(Path::to_path_buf));
        make_folder(folder)
    }

    /// Those that somebody has put something into meanwhile stay.
    fn remove(&self) {
        for path in self.0.iter().rev() {
            let Ok((above, name)) = split(path) else { continue };
            if let Ok(above) = door::open(above, FOLDER) {
                let _ = unlinkat(&above, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

/// A change with everything done that can be done without touching the file.
struct Ready<'a> {
    path: &'a Path,
    name: &'a Path,
    dir: Rc<OwnedFd>,
    /// Whether a file is there.
    replaces: bool,
    /// What it must be until the last moment.
    if_exists: IfExists,
    /// The new content; `None` where the file goes.
    new: Option<New>,
}

struct New {
    temp: PathBuf,
    stamp: Stamp,
}

/// No file stays open, and each folder is opened once: the system allows only so many, and a patch has many files.
fn prepare<'a>(changes: &'a [Change], made: &mut Folders) -> Result<Vec<Prepared<'a>>, FilesError> {
    let mut open = HashMap::new();
    changes.iter().map(|change| Ok(Prepared(Some(ready(change, made, &mut open)?)))).collect()
}

/// Takes its passing file away unless it is used.
struct Prepared<'a>(Option<Ready<'a>>);

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if let Some(Ready { dir, new: Some(new), .. }) = &self.0 {
            let _ = unlinkat(dir, &new.temp, AtFlags::empty());
        }
    }
}

fn ready<'a>(
    change: &'a Change,
    made: &mut Folders,
    open: &mut HashMap<&'a Path, Rc<OwnedFd>>,
) -> Result<Ready<'a>, FilesError> {
    let path = change.target.path();
    let (folder, name) = split(path)?;
    let dir = match (open.get(folder), &change.what) {
        (Some(dir), _) => Rc::clone(dir),
        (None, Becomes::Written { .. }) => Rc::new(made.open(folder)?),
        (None, Becomes::Removed { .. }) => {
            Rc::new(door::open(folder, FOLDER).map_err(|errno| FilesError::at(path, "remove", errno))?)
        }
    };
    open.insert(folder, Rc::clone(&dir));
    match &change.what {
        Becomes::Written { bytes, if_exists, like } => {
            let old = old_file(&dir, path, name)?;
            may_write(&dir, path, name, old.is_some(), if_exists)?;
            let model = match like {
                Some(like) => Some(stat_of(like)?),
                None => old,
            };
            let new = fill(&dir, path, bytes, model.as_ref())?;
            Ok(Ready { path, name, dir, replaces: old.is_some(), if_exists: if_exists.clone(), new: Some(new) })
        }
        Becomes::Removed { only } => {
            if old_file(&dir, path, name)?.is_none() {
                return Err(FilesError::Missing { path: path.to_owned() });
            }
            let if_exists = IfExists::ReplaceOnly(only.clone());
            may_write(&dir, path, name, true, &if_exists)?;
            Ok(Ready { path, name, dir, replaces: true, if_exists, new: None })
        }
    }
}

fn stat_of(target: &Target) -> Result<Stat, FilesError> {
    let path = target.path();
    let (folder, name) = split(path)?;
    let dir = door::open(folder, FOLDER).map_err(|errno| FilesError::at(path, "look at", errno))?;
    old_file(&dir, path, name)?.ok_or_else(|| FilesError::Changed { path: path.to_owned() })
}

/// Writes the new content under a passing name.
fn fill(dir: &OwnedFd, path: &Path, bytes: &[u8], model: Option<&Stat>) -> Result<New, FilesError> {
    let failed = |errno: Errno| FilesError::io(path, "write", errno.into());
    let mut temp = Temp::make(dir, model, passing_names()).map_err(failed)?;
    temp.file().write_all(bytes).map_err(|error| FilesError::io(path, "write", error))?;
    if let Some(model) = model {
        keep_owner_and_mode(temp.file().as_fd(), model)
            .map_err(|errno| FilesError::at(path, "keep the mode of", errno))?;
    }
    let content = Some(ContentHash::of(bytes));
    let stamp = Stamp::of(temp.file().as_fd(), content).map_err(|errno| FilesError::at(path, "look at", errno))?;
    Ok(New { temp: temp.keep(), stamp })
}

/// Gives the new files their names.
fn commit(prepared: Vec<Prepared<'_>>) -> Result<Vec<Option<Stamp>>, FilesError> {
    // Writing takes its time; what the changes were made for is held against what is there at the last moment.
    for ready in prepared.iter().filter_map(|prepared| prepared.0.as_ref()) {
        unchanged(&ready.dir, ready.path, ready.name, &ready.if_exists)?;
    }
    let mut done = Vec::with_capacity(prepared.len());
    for mut prepared in prepared {
        let Some(ready) = &prepared.0 else { continue };
        match step(ready) {
            Ok(backup) => done.extend(prepared.0.take().map(|ready| (ready, backup))),
            Err(error) => {
                let torn: Vec<PathBuf> =
                    done.iter().rev().filter_map(|(ready, backup)| take_back(ready, backup.as_deref()).err()).collect();
                if torn.is_empty() {
                    return Err(error);
                }
                return Err(FilesError::Torn { paths: torn, source: Box::new(error) });
            }
        }
    }
    let finish = |(ready, backup): (Ready<'_>, Option<PathBuf>)| {
        if let Some(backup) = backup {
            // The change is made; an old content that stays is no reason to say otherwise.
            let _ = unlinkat(&ready.dir, &backup, AtFlags::empty());
        }
        ready.new.map(|new| new.stamp)
    };
    Ok(done.into_iter().map(finish).collect())
}

/// Makes one change. Returns the passing name under which the old file stays.
fn step(ready: &Ready<'_>) -> Result<Option<PathBuf>, FilesError> {
    let (path, name, dir) = (ready.path, ready.name, &ready.dir);
    let failed = |doing| move |errno: Errno| FilesError::at(path, doing, errno);
    match (&ready.new, ready.replaces) {
        (Some(new), false) => match rename_to_new(dir, &new.temp, name) {
            Ok(()) => Ok(None),
            Err(Errno::EXIST) => Err(FilesError::Exists { path: path.to_owned() }),
            Err(errno) => Err(failed("write")(errno)),
        },
        (Some(new), true) => {
            // A second name for the old file, so that there is never a moment without one.
            let backup = aside(dir, |backup| linkat(dir, name, dir, backup, AtFlags::empty()))
                .or_else(|_| aside(dir, |backup| rename_to_new(dir, name, backup)))
                .map_err(failed("write"))?;
            if let Err(errno) = renameat(dir, &new.temp, dir, name) {
                let _ = renameat(dir, &backup, dir, name);
                // Two names of one file are not renamed but left alone.
                let _ = unlinkat(dir, &backup, AtFlags::empty());
                return Err(failed("write")(errno));
            }
            Ok(Some(backup))
        }
        (None, _) => aside(dir, |backup| rename_to_new(dir, name, backup)).map(Some).map_err(failed("remove")),
    }
}

/// Puts something under the first passing name that is free.
fn aside(dir: &OwnedFd, put: impl Fn(&Path) -> Result<(), Errno>) -> Result<PathBuf, Errno> {
    for name in passing_names() {
        // Not every way of putting it there refuses a name that is taken.
        if !matches!(statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT)) {
            continue;
        }
        match put(&name) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

/// Undoes [`step`].
fn take_back(ready: &Ready<'_>, backup: Option<&Path>) -> Result<(), PathBuf> {
    let (path, name, dir) = (ready.path, ready.name, &ready.dir);
    let undone = match (backup, &ready.new) {
        (Some(backup), Some(_)) => renameat(dir, backup, dir, name),
        (Some(backup), None) => rename_to_new(dir, backup, name),
        (None, Some(new)) if is_still(dir, name, &new.stamp) => unlinkat(dir, name, AtFlags::empty()),
        // Somebody has put another file there in this moment: it is theirs.
        (None, Some(_) | None) => Ok(()),
    };
    undone.map_err(|_| path.to_path_buf())
}

/// Whether `name` is the file that was written, and as it was then.
fn is_still(dir: &OwnedFd, name: &Path, written: &Stamp) -> bool {
    let named = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    named.is_ok_and(|stat| Stamp::from_stat(&stat, None).looks_like(written))
}

#[cfg(test)]
mod tests;
