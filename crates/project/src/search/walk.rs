//! Going through a folder and all below it, by handles: no link is followed, and a folder that turns into one is not
//! entered.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ignore::gitignore::Gitignore;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::entries::Entries;
use super::ignored::{Has, Ignored};
use crate::door;
use crate::files::READ;

/// Most files and folders that one search looks at.
pub(super) const MAX_ENTRIES: usize = 1_000_000;
/// How many of them one thread looks at before others help: threads cost more than a small project takes.
const ALONE: usize = 1000;
/// Most threads of one search; there are no more than cores.
const MAX_THREADS: usize = 12;
/// Folders that lie deeper are opened by their whole path. What lies in the others is reached from the open folder it is
/// in, which costs less; no more than this many of them are held for each thread.
const MAX_HELD: usize = 16;
/// More files than this in one folder are shared out in parts of this size.
const PART: usize = 256;

/// What is done with each file. Files come in no order, from several threads.
pub(super) trait Visit: Sync {
    /// What each thread needs for itself.
    type Worker;

    fn worker(&self) -> Self::Worker;

    /// Whether the file at `path` is wanted at all, by its name: asked first, because it costs the least.
    fn wants(&self, path: &Path) -> bool;

    /// Looks at the plain file `name` in the open folder `dir`; `path` is the whole of it.
    fn file(&self, worker: &mut Self::Worker, dir: &OwnedFd, name: &Path, path: &Path);

    /// Takes what a thread has found.
    fn end(&self, worker: Self::Worker);
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
        /// The open folder it is in, where that is held.
        above: Option<Arc<OwnedFd>>,
        /// How many folders it is in, from the first one on.
        depth: usize,
        ignored: Ignored,
    },
    /// Some of the files of a folder, none of which is ignored.
    Files { path: Arc<PathBuf>, dir: Arc<OwnedFd>, names: Vec<PathBuf> },
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
        shared.add(vec![Item::Folder { path: root.to_owned(), above: None, depth: 0, ignored: self.ignored.clone() }]);
        let helpers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS) - 1;
        let work = |alone: &mut dyn FnMut()| {
            let mut thread =
                Thread { walk: self, visit, shared: &shared, worker: visit.worker(), scratch: <_>::default() };
            while let Some(turn) = shared.next(self.stop) {
                thread.item(turn);
                alone();
            }
            visit.end(thread.worker);
        };
        std::thread::scope(|scope| {
            let mut alone = true;
            work(&mut || {
                if alone && shared.entries.load(Ordering::Relaxed) > ALONE {
                    alone = false;
                    for _ in 0..helpers {
                        scope.spawn(|| work(&mut || {}));
                    }
                }
            });
        });
        let stopped = self.stop.load(Ordering::Relaxed);
        let complete = !stopped && !shared.full.into_inner();
        Walked { unread: shared.unread.into_inner(), complete }
    }
}

/// One of the threads of a walk.
struct Thread<'a, V: Visit> {
    walk: &'a Walk<'a>,
    visit: &'a V,
    shared: &'a Shared,
    worker: V::Worker,
    scratch: Scratch,
}

/// Memory that is used again for each folder.
#[derive(Default)]
struct Scratch {
    entries: Entries,
    /// The path of the entry that is looked at.
    path: Vec<u8>,
}

impl<V: Visit> Thread<'_, V> {
    fn item(&mut self, mut turn: Turn<'_>) {
        match turn.item.take() {
            Some(Item::Folder { path, above, depth, ignored }) => self.folder(path, above, depth, &ignored),
            Some(Item::Files { path, dir, names }) => self.files(&path, &dir, names.iter().map(PathBuf::as_path)),
            None => {}
        }
    }

    fn folder(&mut self, path: PathBuf, above: Option<Arc<OwnedFd>>, depth: usize, ignored: &Ignored) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let shared = self.shared;
        let read = self.entries(&mut scratch.entries, &path, above.as_deref());
        drop(above);
        match read {
            Ok(dir) => self.sort(path, Arc::new(dir), depth, ignored, &mut scratch),
            // It went away meanwhile.
            Err(Errno::NOENT) => {}
            Err(_) => {
                shared.unread.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.scratch = scratch;
    }

    /// Puts the folders of a folder with the work to be done, and looks at its files.
    fn sort(&mut self, path: PathBuf, dir: Arc<OwnedFd>, depth: usize, ignored: &Ignored, scratch: &mut Scratch) {
        let Scratch { entries, path: below } = scratch;
        let mut has = Has::default();
        entries.iter().for_each(|(name, _)| has.note(name.as_os_str().as_bytes()));
        let ignored = ignored.below(&path, &dir, has);
        let base = begin(below, &path);
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        for (name, kind) in entries.iter() {
            if self.walk.stop.load(Ordering::Relaxed) {
                return;
            }
            let folder = kind == FileType::Directory;
            if name == Path::new(".git") || !(folder || kind == FileType::RegularFile) {
                continue;
            }
            let below = join(below, base, name);
            if !folder && !self.visit.wants(below) {
                continue;
            }
            let left_out = self.walk.left_out.is_some_and(|rules| rules.matched(below, folder).is_ignore());
            if left_out || ignored.holds(below, folder) {
                continue;
            }
            if folder {
                let above = (depth < MAX_HELD).then(|| Arc::clone(&dir));
                folders.push(Item::Folder {
                    path: below.to_owned(),
                    above,
                    depth: depth + 1,
                    ignored: ignored.clone(),
                });
            } else {
                files.push(name);
            }
        }
        // First what others can begin with.
        self.shared.add(folders);
        if files.len() <= PART {
            return self.files_at(below, &path, &dir, files.into_iter());
        }
        let path = Arc::new(path);
        let parts = files.chunks(PART).map(|names| Item::Files {
            path: Arc::clone(&path),
            dir: Arc::clone(&dir),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        });
        self.shared.add(parts.collect());
    }

    fn files<'n>(&mut self, path: &Path, dir: &OwnedFd, names: impl Iterator<Item = &'n Path>) {
        let mut below = std::mem::take(&mut self.scratch.path);
        self.files_at(&mut below, path, dir, names);
        self.scratch.path = below;
    }

    fn files_at<'n>(&mut self, below: &mut Vec<u8>, path: &Path, dir: &OwnedFd, names: impl Iterator<Item = &'n Path>) {
        let base = begin(below, path);
        for name in names {
            if self.walk.stop.load(Ordering::Relaxed) {
                return;
            }
            self.visit.file(&mut self.worker, dir, name, join(below, base, name));
        }
    }

    /// Opens a folder and reads what is in it, as far as the most entries allow.
    fn entries(&self, entries: &mut Entries, path: &Path, above: Option<&OwnedFd>) -> Result<OwnedFd, Errno> {
        let flags = READ | OFlags::DIRECTORY;
        let dir = match (above, path.file_name()) {
            (Some(above), Some(name)) => door::step(above, Path::new(name), flags)?,
            (None, _) | (_, None) => door::open(path, flags)?,
        };
        // A search of the whole disk would go through the variables of all processes.
        if path.as_os_str().as_bytes().starts_with(b"/proc/") && door::is_of_a_process(&dir, path) {
            return Err(Errno::ACCESS);
        }
        entries.read(&dir, || {
            if self.walk.stop.load(Ordering::Relaxed) {
                return false;
            }
            let over = self.shared.entries.fetch_add(1, Ordering::Relaxed) >= self.walk.max_entries;
            if over {
                self.shared.full.store(true, Ordering::Relaxed);
            }
            !over
        })?;
        Ok(dir)
    }
}

/// Makes `buffer` the beginning of all paths in the folder `path`, and says how long that is.
fn begin(buffer: &mut Vec<u8>, path: &Path) -> usize {
    buffer.clear();
    buffer.extend_from_slice(path.as_os_str().as_bytes());
    if buffer.last() != Some(&b'/') {
        buffer.push(b'/');
    }
    buffer.len()
}

/// The path of `name` behind the first `base` bytes of `buffer`.
fn join<'b>(buffer: &'b mut Vec<u8>, base: usize, name: &Path) -> &'b Path {
    buffer.truncate(base);
    buffer.extend_from_slice(name.as_os_str().as_bytes());
    Path::new(OsStr::from_bytes(buffer))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Each use leaves the queue whole, so a panic elsewhere does no harm to it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, items: Vec<Item>) {
        if items.is_empty() {
            return;
        }
        let several = items.len() > 1;
        self.lock().items.extend(items);
        if several {
            self.more.notify_all();
        } else {
            self.more.notify_one();
        }
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
