//! Files of the project: locating, reading, listing, writing, removing. Thin doors, each checks its grant.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use haft_permission::Grant;
use rustix::fs::{AtFlags, Dir, FileType, OFlags, fstat, statat};
use tokio::sync::OwnedMutexGuard;

use crate::door::{self, kind};
use crate::stamp::{ContentHash, Stamp};
use crate::target::Bounds;
use crate::write::{self, IfExists};
use crate::{FilesError, Found, Located, Target};

/// Most entries of one folder that are listed.
pub const MAX_ENTRIES: usize = 100_000;
/// Size of the pieces in which [`Reading`] hands out a file, in bytes.
const PIECE: usize = 64 * 1024;
/// Size of the pieces in which it pours one, in bytes: large enough that reading costs little more than the copy.
const POURED: usize = 256 * 1024;
/// Larger files, in bytes, are not hashed when they are read piece by piece.
const MAX_HASHED: u64 = 1024 * 1024;
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
        let bounds = Bounds::new(&root, worktree.as_deref());
        Self { inner: Arc::new(Inner { bounds, locks: Mutex::default() }) }
    }

    /// The working folder: absolute, without links.
    pub fn root(&self) -> &Path {
        &self.inner.bounds.root
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
        let bytes = bytes.into();
        blocking(move || write::write(&path, &bytes, &if_exists)).await
    }

    /// Removes a plain file.
    ///
    /// # Errors
    ///
    /// [`FilesError::Missing`], [`FilesError::Folder`], or the others that concern opening.
    pub async fn remove(&self, grant: &Grant, target: &Target) -> Result<(), FilesError> {
        let path = for_writing(grant, target.path())?;
        blocking(move || write::remove(&path)).await
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

/// A file that is read piece by piece, so that its size does not matter.
#[derive(Debug)]
pub struct Reading {
    file: Arc<File>,
    path: PathBuf,
    /// How it was when it was opened.
    opened: Stamp,
    /// Read and not handed out yet: a small file takes one visit beside the runtime, not three.
    ahead: Option<Vec<u8>>,
    ended: bool,
    /// Of what was handed out; `None` for files that are too large to be hashed.
    hash: Option<ContentHash>,
}

impl Reading {
    fn begin(file: File, opened: Stamp, path: PathBuf) -> Result<Self, FilesError> {
        let hash = (opened.size <= MAX_HASHED).then(ContentHash::new);
        let first = piece(&file, &path)?;
        Ok(Self { file: Arc::new(file), path, opened, ended: first.len() < PIECE, ahead: Some(first), hash })
    }

    /// Its size when it was opened, in bytes.
    pub fn len(&self) -> u64 {
        self.opened.size
    }

    /// Whether it was empty when it was opened.
    pub fn is_empty(&self) -> bool {
        self.opened.size == 0
    }

    /// The next bytes, never none; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`FilesError::Io`].
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, FilesError> {
        let piece = match self.ahead.take() {
            Some(piece) => piece,
            None if self.ended => Vec::new(),
            None => {
                let (file, path) = (Arc::clone(&self.file), self.path.clone());
                let piece = blocking(move || piece(&file, &path)).await?;
                self.ended = piece.len() < PIECE;
                piece
            }
        };
        if let Some(hash) = &mut self.hash {
            hash.add(&piece);
        }
        Ok((!piece.is_empty()).then_some(piece))
    }

    /// Hands what was not handed out yet to `take`, piece by piece, until the file ends or `take` has enough of it, and
    /// gives back what that made of it.
    ///
    /// All of it is one visit beside the runtime, however large the file. Dropping the future stops it after the piece
    /// at hand.
    ///
    /// # Errors
    ///
    /// [`FilesError::Io`].
    pub async fn pour<T: Send + 'static>(
        &mut self,
        mut made: T,
        mut take: impl FnMut(&mut T, &[u8]) -> ControlFlow<()> + Send + 'static,
    ) -> Result<T, FilesError> {
        if self.ahead.is_some()
            && let Some(piece) = self.next().await?
            && take(&mut made, &piece).is_break()
        {
            return Ok(made);
        }
        if self.ended {
            return Ok(made);
        }
        let (file, path, mut hash) = (Arc::clone(&self.file), self.path.clone(), self.hash.take());
        let stop = StopOnDrop::default();
        let stopped = Arc::clone(&stop.0);
        let (made, hash, ended) = blocking(move || {
            let mut buffer = vec![0; POURED];
            while !stopped.load(Ordering::Relaxed) {
                let piece = match (&*file).read(&mut buffer) {
                    Ok(0) => return Ok((made, hash, true)),
                    Ok(read) => &buffer[..read],
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(FilesError::io(&path, "read", error)),
                };
                if let Some(hash) = &mut hash {
                    hash.add(piece);
                }
                if take(&mut made, piece).is_break() {
                    break;
                }
            }
            Ok((made, hash, false))
        })
        .await?;
        (self.hash, self.ended) = (hash, ended);
        Ok(made)
    }

    /// Reads on to the end, for the hash of the content alone, and says how the file was. A file of more than 1 MiB is
    /// not hashed, and what is left of it not read.
    ///
    /// # Errors
    ///
    /// [`FilesError::Io`].
    pub async fn finish(mut self) -> Result<Stamp, FilesError> {
        let mut read = 0;
        while self.hash.is_some() {
            let Some(piece) = self.next().await? else { break };
            read += piece.len() as u64;
            // It has grown since it was opened, and may go on to.
            if read > MAX_HASHED {
                self.hash = None;
            }
        }
        Ok(Stamp { content: self.hash.map(|hash| hash.value()), ..self.opened })
    }
}

/// Tells the work that nobody waits for it any more.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The next bytes of `file`: as many as make a piece, fewer only at its end.
fn piece(file: &File, path: &Path) -> Result<Vec<u8>, FilesError> {
    let mut piece = Vec::new();
    file.take(PIECE as u64).read_to_end(&mut piece).map_err(|error| FilesError::io(path, "read", error))?;
    Ok(piece)
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
    let fd = door::open(path, READ).map_err(failed)?;
    let stat = fstat(&fd).map_err(failed)?;
    match kind(&stat) {
        found @ (FileType::RegularFile | FileType::Directory) => Ok((fd, found, Stamp::from_stat(&stat, None))),
        _ => Err(FilesError::Special { path: path.to_owned() }),
    }
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
mod tests;
