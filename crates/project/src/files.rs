//! Files of the project: locating, reading, listing, writing, removing. Thin doors, each checks its grant.

mod reading;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use haft_permission::{Done, Grant};
use rustix::fs::{AtFlags, CWD, Dir, FileType, OFlags, fstat, statat};
use tokio::sync::OwnedMutexGuard;

pub use self::reading::Reading;
use crate::door::{self, kind};
use crate::recorder::around;
use crate::stamp::{ContentHash, Stamp};
use crate::target::Bounds;
use crate::write::{self, IfExists};
use crate::{FilesError, Found, Located, Protection, Recorder, Standing, Target};

/// Most entries of one folder that are listed.
pub const MAX_ENTRIES: usize = 100_000;
/// Without `NONBLOCK` opening a pipe would wait for a writer.
pub(crate) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The files of one project. A handle, cheap to clone.
#[derive(Debug, Clone)]
pub struct Files {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    bounds: Bounds,
    /// One lock for each file that is being edited; those nobody holds are swept out whenever one is taken.
    locks: Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>,
    protection: OnceLock<Protection>,
    recorder: OnceLock<Arc<dyn Recorder>>,
}

/// What a path turned out to be when it was opened.
#[derive(Debug)]
pub enum Opened {
    /// A plain file.
    File(Reading),
    /// A folder, with what is in it.
    Folder(Listing),
}

/// What is in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// In no order.
    pub entries: Vec<Entry>,
    /// Whether that is all: no more than [`MAX_ENTRIES`] are taken.
    pub complete: bool,
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name; what is no UTF-8 in it is replaced.
    pub name: String,
    /// Whether it is a folder, or a link that leads to one.
    pub folder: bool,
}

/// Holds back every other edit of one file while it lives.
#[derive(Debug)]
pub struct EditLock {
    _held: OwnedMutexGuard<()>,
}

impl Files {
    /// The files of the project whose working folder is `root` and whose version control begins at `worktree`.
    ///
    /// A worktree of `/` is none.
    pub fn new(root: PathBuf, worktree: Option<PathBuf>) -> Self {
        Self::within(Bounds::new(&root, worktree.as_deref()))
    }

    /// The same, where what is below `sandboxes` counts as inside, too: the folder of the work trees in which the
    /// project's tasks work apart. It need not be there yet.
    pub fn with_sandboxes(root: &Path, worktree: Option<&Path>, sandboxes: &Path) -> Self {
        Self::within(Bounds::new(root, worktree).with_sandboxes(sandboxes))
    }

    fn within(bounds: Bounds) -> Self {
        let inner = Inner { bounds, locks: Mutex::default(), protection: OnceLock::new(), recorder: OnceLock::new() };
        Self { inner: Arc::new(inner) }
    }

    /// From now on `protection` hears of what is written here, so that it is not taken for a command's doing. A second one
    /// is not taken.
    pub fn tell(&self, protection: &Protection) {
        let _ = self.inner.protection.set(protection.clone());
    }

    /// From now on `recorder` keeps what files were before they are changed here. A second one is not taken.
    pub fn record(&self, recorder: Arc<dyn Recorder>) {
        let _ = self.inner.recorder.set(recorder);
    }

    pub(crate) fn recorder(&self) -> Option<&dyn Recorder> {
        self.inner.recorder.get().map(Arc::as_ref)
    }

    /// Says that these files were written or removed.
    pub(crate) fn wrote<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) {
        if let Some(protection) = self.inner.protection.get() {
            paths.into_iter().for_each(|path| protection.wrote(path));
        }
    }

    /// The working folder: absolute, without links.
    pub fn root(&self) -> &Path {
        &self.inner.bounds.root
    }

    /// The folder under version control; the working folder where there is none.
    pub fn worktree(&self) -> &Path {
        self.inner.bounds.worktree()
    }

    /// The true path `path` as people and rules see it, as [`Target::title`].
    pub fn title(&self, path: &Path) -> String {
        self.inner.bounds.title(path)
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.inner.bounds
    }

    /// The first of `names` that is a file in each folder from the one `target` is in up to the working folder, which
    /// itself is left out; nearest first. Nothing where `target` is elsewhere, or where the name leads out of the
    /// project.
    pub fn on_the_way(&self, target: &Target, names: &[String]) -> Vec<Target> {
        let root = self.root();
        let folders = target.home().ancestors().take_while(|folder| *folder != root && folder.starts_with(root));
        let first = |folder: &Path| {
            let there = names.iter().map(|name| folder.join(name)).find(|path| path.symlink_metadata().is_ok())?;
            match self.locate(there.to_str()?) {
                Ok(Located::Inside(found)) if found.found() == Found::File => Some(found),
                Ok(_) | Err(_) => None,
            }
        };
        folders.filter_map(first).collect()
    }

    /// Finds out where `name` leads. Relative names begin at the working folder; nothing in them is expanded.
    ///
    /// # Errors
    ///
    /// [`FilesError::BadName`] for links in a circle and zero bytes, [`FilesError::Io`] where a folder on the way
    /// may not be entered. That nothing is there is no error.
    pub fn locate(&self, name: &str) -> Result<Located, FilesError> {
        self.inner.bounds.locate(name)
    }

    /// Opens a file to read it piece by piece, or lists a folder.
    ///
    /// # Errors
    ///
    /// Those of [`FilesError`] that concern reading.
    pub async fn open(&self, grant: &Grant, target: &Target) -> Result<Opened, FilesError> {
        let path = for_reading(grant, target.path())?;
        blocking(move || match open_any(&path)? {
            (fd, FileType::Directory, _) => Ok(Opened::Folder(list(&path, &fd, MAX_ENTRIES)?)),
            (fd, _, stamp) => Ok(Opened::File(Reading::begin(File::from(fd), stamp, path)?)),
        })
        .await
    }

    /// Reads a whole file of at most `max` bytes.
    ///
    /// # Errors
    ///
    /// [`FilesError::TooBig`], or the others that concern reading.
    pub async fn read(&self, grant: &Grant, target: &Target, max: u64) -> Result<Vec<u8>, FilesError> {
        Ok(self.read_stamped(grant, target, max).await?.0)
    }

    /// The same, and how the file was when it was opened, its content hashed.
    ///
    /// # Errors
    ///
    /// [`FilesError::TooBig`], or the others that concern reading.
    pub async fn read_stamped(&self, grant: &Grant, target: &Target, max: u64) -> Result<(Vec<u8>, Stamp), FilesError> {
        let path = for_reading(grant, target.path())?;
        blocking(move || {
            let (fd, kind, stamp) = open_any(&path)?;
            if kind == FileType::Directory {
                return Err(FilesError::Folder { path });
            }
            let size = stamp.size;
            if size > max {
                return Err(FilesError::TooBig { path, size, max });
            }
            let mut bytes = Vec::new();
            // It may grow while it is read.
            File::from(fd)
                .take(max.saturating_add(1))
                .read_to_end(&mut bytes)
                .map_err(|error| FilesError::io(&path, "read", error))?;
            let size = bytes.len() as u64;
            if size > max {
                return Err(FilesError::TooBig { path, size, max });
            }
            let content = Some(ContentHash::of(&bytes));
            Ok((bytes, Stamp { content, ..stamp }))
        })
        .await
    }

    /// How the file is now, without a look into it.
    ///
    /// # Errors
    ///
    /// Those of [`FilesError`] that concern reading.
    pub async fn stamp(&self, grant: &Grant, target: &Target) -> Result<Stamp, FilesError> {
        let path = for_reading(grant, target.path())?;
        blocking(move || Ok(open_any(&path)?.2)).await
    }

    /// Lists the folder that `target` is in, its [`Target::home`], which the grant must cover.
    ///
    /// # Errors
    ///
    /// Those of [`FilesError`] that concern reading.
    pub async fn list_home(&self, grant: &Grant, target: &Target) -> Result<Listing, FilesError> {
        let path = for_reading(grant, target.home())?;
        blocking(move || match open_any(&path)? {
            (fd, FileType::Directory, _) => list(&path, &fd, MAX_ENTRIES),
            _ => Err(FilesError::NotAFolder { path }),
        })
        .await
    }

    /// Writes a file, whole or not at all, and makes the folders above it. Its mode stays as it was. Returns how the
    /// new file is, its content hashed.
    ///
    /// Dropping the future does not stop it half way: the file is then the old or the new one.
    ///
    /// # Errors
    ///
    /// [`FilesError::Exists`] and [`FilesError::Changed`] as `if_exists` says, [`FilesError::Io`] for a file or
    /// folder that may not be written, or the others that concern opening.
    pub async fn write(
        &self,
        grant: &Grant,
        target: &Target,
        bytes: impl Into<Vec<u8>>,
        if_exists: IfExists,
    ) -> Result<Stamp, FilesError> {
        let path = for_writing(grant, target.path())?;
        let (bytes, pen, files) = (bytes.into(), grant.pen(), self.clone());
        blocking(move || {
            let planned = [(path.as_path(), Some(bytes.as_slice()))];
            let write = || write::write(&path, &bytes, &if_exists);
            let done = around(files.recorder(), pen.asker(), &planned, write);
            files.wrote(done.is_ok().then_some(path.as_path()));
            let stamp = done?;
            // In here, because it is done also where nobody waits for it any more.
            pen.note(Done::Wrote(path));
            Ok(stamp)
        })
        .await
    }

    /// Says that a program has worked on a file that was written with the same grant: what stands there now is a part of
    /// what the call changed. Nothing comes of it where the file may not be written.
    pub async fn reworked(&self, grant: &Grant, target: &Target) {
        let Ok(path) = for_writing(grant, target.path()) else { return };
        let (pen, files) = (grant.pen(), self.clone());
        blocking(move || {
            if let Some(recorder) = files.recorder() {
                recorder.reworked(pen.asker(), &path, Standing::at(&path));
            }
            files.wrote([path.as_path()]);
        })
        .await;
    }

    /// Makes the folder and those above it. It is none where it was there already.
    ///
    /// # Errors
    ///
    /// [`FilesError::NotAFolder`] where a file is in the way, or the others that concern opening.
    pub async fn make_folder(&self, grant: &Grant, target: &Target) -> Result<(), FilesError> {
        let path = for_writing(grant, target.path())?;
        blocking(move || write::make_folder(&path).map(|_| ())).await
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// [`FilesError::Missing`], [`FilesError::NotAFolder`], [`FilesError::Io`] where it is not empty, or the others that
    /// concern opening.
    pub async fn remove_folder(&self, grant: &Grant, target: &Target) -> Result<(), FilesError> {
        let path = for_writing(grant, target.path())?;
        blocking(move || write::remove_folder(&path)).await
    }

    /// Removes a plain file.
    ///
    /// # Errors
    ///
    /// [`FilesError::Missing`], [`FilesError::Folder`], or the others that concern opening.
    pub async fn remove(&self, grant: &Grant, target: &Target) -> Result<(), FilesError> {
        let (path, pen, files) = (for_writing(grant, target.path())?, grant.pen(), self.clone());
        blocking(move || {
            let done = around(files.recorder(), pen.asker(), &[(&path, None)], || write::remove(&path));
            files.wrote(done.is_ok().then_some(path.as_path()));
            done?;
            pen.note(Done::Removed(path));
            Ok(())
        })
        .await
    }

    /// Waits for its turn to edit the file: edits of one file queue.
    pub async fn lock(&self, target: &Target) -> EditLock {
        let lock = {
            // The map is whole after each line, so a panic elsewhere does no harm to it.
            let mut locks = self.inner.locks.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| lock.strong_count() > 0);
            let known = locks.get(target.path()).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let lock = Arc::default();
                locks.insert(target.path().to_owned(), Arc::downgrade(&lock));
                lock
            })
        };
        EditLock { _held: lock.lock_owned().await }
    }
}

pub(crate) fn for_reading(grant: &Grant, path: &Path) -> Result<PathBuf, FilesError> {
    let path = path.to_owned();
    if grant.covers_read(&path) { Ok(path) } else { Err(FilesError::NotGranted { path }) }
}

pub(crate) fn for_writing(grant: &Grant, path: &Path) -> Result<PathBuf, FilesError> {
    let path = path.to_owned();
    if grant.covers_write(&path) { Ok(path) } else { Err(FilesError::NotGranted { path }) }
}

/// Opens a plain file or a folder, and says which and how it is.
fn open_any(path: &Path) -> Result<(OwnedFd, FileType, Stamp), FilesError> {
    let failed = |errno| FilesError::at(path, "read", errno);
    let special = || Err(FilesError::Special { path: path.to_owned() });
    // Some devices do something when they are opened.
    if statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| is_special(kind(&stat))) {
        return special();
    }
    let fd = door::open(path, READ).map_err(failed)?;
    let stat = fstat(&fd).map_err(failed)?;
    match kind(&stat) {
        found if is_special(found) || door::is_of_a_process(&fd, path) => special(),
        found => Ok((fd, found, Stamp::from_stat(&stat, None))),
    }
}

fn is_special(found: FileType) -> bool {
    // A link is told by the door.
    !matches!(found, FileType::RegularFile | FileType::Directory | FileType::Symlink)
}

/// Lists the folder `fd`, at most `max` entries of it.
fn list(path: &Path, fd: &OwnedFd, max: usize) -> Result<Listing, FilesError> {
    let failed = |errno| FilesError::at(path, "list", errno);
    let mut entries = Vec::new();
    for entry in Dir::read_from(fd).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if entries.len() == max {
            return Ok(Listing { entries, complete: false });
        }
        let folder = match entry.file_type() {
            FileType::Directory => true,
            FileType::Symlink | FileType::Unknown => {
                statat(fd, name, AtFlags::empty()).is_ok_and(|stat| kind(&stat) == FileType::Directory)
            }
            _ => false,
        };
        entries.push(Entry { name: name.to_string_lossy().into_owned(), folder });
    }
    Ok(Listing { entries, complete: true })
}

/// Does slow work beside the runtime.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is ending, and this future with it.
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
