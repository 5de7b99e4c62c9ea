//! Going through a folder and all below it, by handles: no link is followed, and a folder that turns into one is not
//! entered.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ignore::gitignore::Gitignore;
use rustix::fs::{AtFlags, Dir, FileType, OFlags, statat};
use rustix::io::Errno;

use super::ignored::{Has, Ignored};
use crate::door::{self, kind, os_str};
use crate::files::READ;

/// Most files and folders that one search looks at.
pub(super) const MAX_ENTRIES: usize = 1_000_000;
/// How many of them one thread looks at before others help: threads cost more than a small project takes.
const ALONE: usize = 1000;
/// Most threads of one search.
const MAX_THREADS: usize = 4;
/// More files than this in one folder are shared out in parts of this size.
const PART: usize = 256;

/// What is done with each file. Files come in no order, from several threads.
pub(super) trait Visit: Sync {
    /// What each thread needs for itself.
    type Worker;

    fn worker(&self) -> Self::Worker;

    /// Looks at the plain file `name` in the open folder `dir`; `path` is the whole of it.
    fn file(&self, worker: &mut Self::Worker, dir: &OwnedFd, name: &Path, path: &Path);
}

/// A walk that is about to begin.
pub(super) struct Walk<'a> {
    /// What the folders above leave alone.
    pub(super) ignored: Ignored,
    /// What is left out beside that.
    pub(super) left_out: Option<&'a Gitignore>,
    /// Ends the walk before the next file.
    pub(super) stop: &'a AtomicBool,
    /// Most entries that are looked at.
    pub(super) max_entries: usize,
}

/// How far a walk came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Walked {
    /// Folders that could not be read.
    pub(super) unread: usize,
    /// Whether it went through everything: not stopped, and no more than the most entries.
    pub(super) complete: bool,
}

/// What is still to be done.
enum Item {
    Folder {
        path: PathBuf,
        ignored: Ignored,
    },
    /// Some of the files of a folder, none of which is ignored.
    Files {
        path: Arc<PathBuf>,
        dir: Arc<OwnedFd>,
        names: Vec<CString>,
    },
}

#[derive(Default)]
struct Queue {
    items: Vec<Item>,
    /// Threads that work on an item, and may add others.
    busy: usize,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
    entries: AtomicUsize,
    unread: AtomicUsize,
    full: AtomicBool,
}

impl Walk<'_> {
    /// Goes through the folder at the true path `root`.
    pub(super) fn run<V: Visit>(&self, root: &Path, visit: &V) -> Walked {
        let shared = Shared::default();
        shared.add(Item::Folder { path: root.to_owned(), ignored: self.ignored.clone() });
        let helpers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS) - 1;
        std::thread::scope(|scope| {
            let mut alone = true;
            let mut worker = visit.worker();
            while let Some(turn) = shared.next(self.stop) {
                self.item(turn, visit, &mut worker);
                if alone && shared.entries.load(Ordering::Relaxed) > ALONE {
                    alone = false;
                    for _ in 0..helpers {
                        scope.spawn(|| {
                            let mut worker = visit.worker();
                            while let Some(turn) = shared.next(self.stop) {
                                self.item(turn, visit, &mut worker);
                            }
                        });
                    }
                }
            }
        });
        let stopped = self.stop.load(Ordering::Relaxed);
        let complete = !stopped && !shared.full.into_inner();
        Walked { unread: shared.unread.into_inner(), complete }
    }

    fn item<V: Visit>(&self, mut turn: Turn<'_>, visit: &V, worker: &mut V::Worker) {
        match turn.item.take() {
            Some(Item::Folder { path, ignored }) => self.folder(turn.shared, path, &ignored, visit, worker),
            Some(Item::Files { path, dir, names }) => self.files(&path, &dir, &names, visit, worker),
            None => {}
        }
    }

    fn folder<V: Visit>(&self, shared: &Shared, path: PathBuf, ignored: &Ignored, visit: &V, worker: &mut V::Worker) {
        let (dir, entries) = match self.entries(shared, &path) {
            Ok(read) => read,
            // It went away meanwhile.
            Err(Errno::NOENT) => return,
            Err(_) => {
                shared.unread.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        let mut has = Has::default();
        entries.iter().for_each(|(name, _)| has.note(name.to_bytes()));
        let ignored = ignored.below(&path, &dir, has);
        let mut files = Vec::new();
        for (name, kind) in entries {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let folder = kind == FileType::Directory;
            if name.to_bytes() == b".git" || !(folder || kind == FileType::RegularFile) {
                continue;
            }
            let below = path.join(os_str(&name));
            let left_out = self.left_out.is_some_and(|rules| rules.matched(&below, folder).is_ignore());
            if left_out || ignored.holds(&below, folder) {
                continue;
            }
            if folder {
                shared.add(Item::Folder { path: below, ignored: ignored.clone() });
            } else {
                files.push(name);
            }
        }
        if files.len() <= PART {
            return self.files(&path, &dir, &files, visit, worker);
        }
        let (path, dir) = (Arc::new(path), Arc::new(dir));
        for names in files.chunks(PART) {
            let names = names.to_vec();
            shared.add(Item::Files { path: Arc::clone(&path), dir: Arc::clone(&dir), names });
        }
    }

    fn files<V: Visit>(&self, path: &Path, dir: &OwnedFd, names: &[CString], visit: &V, worker: &mut V::Worker) {
        for name in names {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let name = Path::new(os_str(name));
            visit.file(worker, dir, name, &path.join(name));
        }
    }

    /// Opens a folder and reads what is in it, as far as the most entries allow.
    fn entries(&self, shared: &Shared, path: &Path) -> Result<(OwnedFd, Vec<(CString, FileType)>), Errno> {
        let dir = door::open(path, READ | OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            if shared.entries.fetch_add(1, Ordering::Relaxed) >= self.max_entries {
                shared.full.store(true, Ordering::Relaxed);
                break;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).map_or(FileType::Unknown, |stat| kind(&stat))
                }
                known => known,
            };
            entries.push((name.to_owned(), kind));
        }
        Ok((dir, entries))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Each use leaves the queue whole, so a panic elsewhere does no harm to it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, item: Item) {
        self.lock().items.push(item);
        self.more.notify_one();
    }

    /// The next item; waits while others may still add one. `None` when all is done, or stopped.
    fn next(&self, stop: &AtomicBool) -> Option<Turn<'_>> {
        let mut queue = self.lock();
        loop {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(item) = queue.items.pop() {
                queue.busy += 1;
                return Some(Turn { shared: self, item: Some(item) });
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// An item that is worked on. When it ends, also by a panic, those who wait for the last one hear of it.
struct Turn<'a> {
    shared: &'a Shared,
    item: Option<Item>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.busy -= 1;
        if queue.busy == 0 {
            self.shared.more.notify_all();
        }
    }
}
