//! One look at a tree: two threads go through its folders, each by the open folder that it is in.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, OFlags, Stat, fstat, statat};
use rustix::io::Errno;

use super::folder::{File, Folder};
use super::tracked::TrackedNames;
use super::watch::Watch;
use super::{Refused, Seen, Spot, Tree};
use crate::door;
use crate::files::READ;
use crate::passing::is_passing;
use crate::search::{Entries, Has, Ignored};

/// How many threads look. More would wait for the same disk.
const THREADS: usize = 2;
/// A tree of no more folders than this is looked at by one: starting another thread would take longer than it saves.
const ALONE: usize = 32;
/// Folders that lie deeper are opened by their whole path: of the others the folder above is held open.
const MAX_HELD: usize = 64;

/// What a look found.
#[derive(Debug)]
pub struct Look<S> {
    /// What has changed since the look before, in the order of the paths. Nothing at the first look.
    pub diffs: Vec<Diff<S>>,
    /// Whether it was the first look: everything was found, and [`Tree::found_in`] has it.
    pub is_first: bool,
    /// When it began, in nanoseconds since the Unix epoch.
    pub at: i64,
    /// Folders that can be read no more. What is in them counts as it was.
    pub unread: Vec<PathBuf>,
}

/// A file, a link or a folder that looks other than before, or that may have changed all the same.
#[derive(Debug, Clone)]
pub struct Diff<S> {
    /// Absolute.
    pub path: PathBuf,
    /// What it was.
    pub was: Was<S>,
    /// How it looks now; `None` where it is gone.
    pub now: Option<Seen>,
    /// Where what is known of it now is kept; `None` for what is gone or is ignored from now on, and for folders.
    pub spot: Option<Spot>,
    /// It may change without looking other, because it has changed just now.
    pub doubtful: bool,
}

impl<S: Clone> File<S> {
    /// What became of a file that is looked at for the last time; `None` where that is nothing.
    fn last(&self, path: PathBuf, now: Option<Seen>) -> Option<Diff<S>> {
        let was = match now {
            Some(now) if now == self.seen && !self.doubtful => return None,
            Some(now) if now == self.seen => Was::Doubtful(self.seen, self.source.clone()),
            _ => Was::Seen(self.seen, self.source.clone()),
        };
        Some(Diff { path, was, now, spot: None, doubtful: false })
    }
}

impl<S> Diff<S> {
    /// How the file looked that stood there and does so no more.
    pub fn left(&self) -> Option<&Seen> {
        match &self.was {
            Was::Seen(seen, _) => Some(seen).filter(|seen| self.now.is_none_or(|now| now.inode != seen.inode)),
            Was::Absent | Was::Unknown | Was::Doubtful(..) => None,
        }
    }
}

/// What a path was at the look before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Was<S> {
    /// Nothing.
    Absent,
    /// Nobody knows, because it was ignored or there was no look before.
    Unknown,
    /// It looked so.
    Seen(Seen, S),
    /// It looked as it does now, and may have changed within the clock's grain.
    Doubtful(Seen, S),
}

/// A folder that is to be looked at.
struct Task {
    path: PathBuf,
    name: CString,
    above: Option<Arc<OwnedFd>>,
    depth: usize,
    /// Where it is kept; new ones have a place behind the others.
    at: usize,
    parent: Option<usize>,
    /// What is ignored around it, where that is not as it was.
    fresh: Option<Ignored>,
    /// Whether what was not seen in it before is new; else it may have been ignored.
    is_new: bool,
    /// Whether it is ignored itself, and holds what git tracks.
    within: bool,
}

/// Why a folder is no part of the tree any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Out {
    /// It is gone, or cannot be looked at.
    Gone,
    /// The one above went: what is found under its name is another one, behind a link.
    Above,
    /// It is ignored from now on, if it is there.
    Ignored,
}

/// What a thread found out of a folder.
enum Found<S> {
    /// The same names; these files look other than before, or are in doubt.
    Files(usize, Vec<(usize, Seen)>),
    /// It was read.
    Read(usize, Box<Folder<S>>, Vec<Diff<S>>),
    /// It is gone.
    Gone(usize),
    /// It can be read no more.
    Unread(usize),
}

struct Shared {
    queue: Mutex<(Vec<Task>, usize)>,
    more: Condvar,
    /// The next free place for a folder.
    next: AtomicUsize,
    entries: AtomicUsize,
    full: AtomicBool,
    /// Whether nothing is known of the tree: then what is found is no change.
    is_first: bool,
    /// Whether a folder could not be listened to.
    deaf: AtomicBool,
    /// Whether a file has another name, under which it may be changed without a word.
    linked: AtomicBool,
    /// How many folders were begun to be listened to.
    watched: AtomicUsize,
    /// Whether folders that were listened to may be so no more.
    lost: bool,
    /// The disk that the root is on.
    device: u64,
    tracked: TrackedNames,
    /// Whether an index that was asked is another one by now.
    reindexed: bool,
}

impl<S: Clone + Default + Send + Sync> Tree<S> {
    /// Looks at everything once. Blocks for as long as that takes.
    ///
    /// # Errors
    ///
    /// [`Refused`]; then nothing is known of the tree any more.
    pub fn look(&mut self) -> Result<Look<S>, Refused> {
        // What was heard until now is looked for; what is heard from now on may not be found.
        let mut lost = false;
        match &mut self.watch {
            Some(watch) => {
                let _ = watch.is_quiet();
                lost = watch.lost();
            }
            None if self.folders.is_empty() => self.watch = Watch::new(&self.root),
            // It was tried.
            None => {}
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let shared = Shared {
            queue: Mutex::new((vec![self.top()], 0)),
            more: Condvar::new(),
            next: AtomicUsize::new(self.folders.len().max(1)),
            entries: AtomicUsize::new(0),
            full: AtomicBool::new(false),
            is_first: self.folders.is_empty(),
            deaf: AtomicBool::new(false),
            linked: AtomicBool::new(false),
            watched: AtomicUsize::new(0),
            lost,
            device: self.root.metadata().map_or(0, |meta| meta.dev()),
            tracked: TrackedNames::new(self.root.clone()),
            reindexed: self.asked.is_other(),
        };
        let this = &*self;
        let (found, watches) = std::thread::scope(|scope| {
            let work = || {
                let (found, watches, entries) = (Vec::new(), Vec::new(), Entries::default());
                Thread { tree: this, shared: &shared, now, found, watches, entries }.run()
            };
            // Nobody knows how large it is before the first look.
            let threads = if (1..=ALONE).contains(&this.folders.len()) { 1 } else { THREADS };
            let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let (mut found, mut watches) = work();
            for helper in helpers {
                match helper.join() {
                    Ok((more, others)) => {
                        found.extend(more);
                        watches.extend(others);
                    }
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            (found, watches)
        });
        let watches = (!shared.deaf.into_inner()).then_some(watches);
        if shared.full.into_inner() {
            self.folders.clear();
            self.watched = false;
            return Err(Refused::TooLarge(self.root.clone()));
        }
        self.asked.add(shared.tracked.asked(), shared.reindexed);
        self.folders.resize_with(shared.next.into_inner(), || None);
        let (diffs, unread) = self.settle(found, now);
        if self.folders.first().is_none_or(Option::is_none) {
            self.folders.clear();
            self.watched = false;
            return Err(Refused::Unreadable(self.root.clone()));
        }
        self.listen(watches);
        self.watched &= !shared.linked.into_inner();
        Ok(Look { diffs, is_first: shared.is_first, at: now, unread })
    }

    fn top(&self) -> Task {
        let known = self.folders.first().is_some_and(Option::is_some);
        let fresh = (!known).then(|| Ignored::around(&self.root));
        let name = CString::default();
        Task {
            path: self.root.clone(),
            name,
            above: None,
            depth: 0,
            at: 0,
            parent: None,
            fresh,
            is_new: false,
            within: false,
        }
    }

    /// Takes over what was found.
    fn settle(&mut self, found: Vec<Found<S>>, now: i64) -> (Vec<Diff<S>>, Vec<PathBuf>) {
        let (mut diffs, mut gone, mut unread) = (Vec::new(), Vec::new(), Vec::new());
        for found in found {
            match found {
                Found::Files(at, files) => {
                    let path = self.path(at);
                    let Some(Some(folder)) = self.folders.get_mut(at) else { continue };
                    for (file, seen) in files {
                        let Some(old) = folder.files.get(file) else { continue };
                        let path = path.join(OsStr::from_bytes(folder.c_name(old).to_bytes()));
                        let spot = Some(Spot { folder: at, file });
                        let Some(old) = folder.files.get_mut(file) else { continue };
                        let was = if old.seen == seen {
                            Was::Doubtful(old.seen, old.source.clone())
                        } else {
                            Was::Seen(old.seen, std::mem::take(&mut old.source))
                        };
                        (old.seen, old.doubtful) = (seen, seen.is_doubtful(now));
                        diffs.push(Diff { path, was, now: Some(seen), spot, doubtful: seen.is_doubtful(now) });
                    }
                }
                Found::Read(at, folder, mut more) => {
                    diffs.append(&mut more);
                    let Some(place) = self.folders.get_mut(at) else { continue };
                    let stay: HashSet<usize> = folder.below.iter().copied().collect();
                    let old = place.replace(*folder);
                    let below = old.into_iter().flat_map(|old| old.below).filter(|below| !stay.contains(below));
                    gone.extend(below.map(|below| (below, Out::Ignored)));
                }
                Found::Gone(at) => gone.push((at, Out::Gone)),
                Found::Unread(at) => {
                    if let Some(Some(folder)) = self.folders.get_mut(at) {
                        folder.unread = true;
                    }
                    unread.push(self.path(at));
                }
            }
        }
        gone.into_iter().for_each(|(at, out)| self.remove(at, out, &mut diffs));
        (joined(diffs), unread)
    }

    /// Takes a folder out with all below it. That it is ignored from now on is no change; what changed in it until then is.
    fn remove(&mut self, at: usize, out: Out, diffs: &mut Vec<Diff<S>>) {
        let path = self.path(at);
        let no_folder = path.symlink_metadata().map(|meta| !meta.is_dir());
        let is_gone = out == Out::Above
            || no_folder.unwrap_or_else(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory));
        let Some(folder) = self.folders.get_mut(at).and_then(Option::take) else { return };
        // Else the one above goes too, or was read and names it no more.
        if let (Out::Gone, Some(Some(above))) = (out, folder.above.and_then(|above| self.folders.get_mut(above))) {
            above.below.retain(|below| *below != at);
        }
        for (name, file) in folder.each().filter(|_| is_gone || out == Out::Ignored) {
            let path = path.join(OsStr::from_bytes(name));
            let now = if is_gone { None } else { statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW).ok() };
            let now = now.map(|stat| Seen::of(&stat)).filter(|now| !now.is_folder());
            diffs.extend(file.last(path, now));
        }
        // While its path can still be told.
        let below = folder.below.clone();
        let seen = folder.seen;
        if let Some(place) = self.folders.get_mut(at) {
            *place = Some(folder);
        }
        let out = if is_gone { Out::Above } else { out };
        below.into_iter().for_each(|below| self.remove(below, out, diffs));
        if let Some(place) = self.folders.get_mut(at) {
            *place = None;
        }
        if is_gone {
            diffs.push(Diff { path, was: Was::Seen(seen, S::default()), now: None, spot: None, doubtful: false });
        }
    }
}

/// In the order of their paths' bytes, and where a folder stands now for a file or a file for a folder, both ends as one.
fn joined<S>(mut diffs: Vec<Diff<S>>) -> Vec<Diff<S>> {
    // What is gone stands before what came for it.
    fn key<S>(diff: &Diff<S>) -> (&[u8], bool) {
        (diff.path.as_os_str().as_bytes(), diff.now.is_some())
    }
    diffs.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
    let mut joined: Vec<Diff<S>> = Vec::with_capacity(diffs.len());
    for diff in diffs {
        match joined.last_mut() {
            Some(last) if last.now.is_none() && diff.now.is_some() && last.path == diff.path => {
                (last.now, last.spot, last.doubtful) = (diff.now, diff.spot, diff.doubtful);
            }
            _ => joined.push(diff),
        }
    }
    joined
}

/// One of the threads of a look.
struct Thread<'a, S> {
    tree: &'a Tree<S>,
    shared: &'a Shared,
    now: i64,
    found: Vec<Found<S>>,
    /// The folders that are listened to now, by the numbers of their watches.
    watches: Vec<i32>,
    entries: Entries,
}

impl<S: Clone + Default + Send + Sync> Thread<'_, S> {
    fn run(mut self) -> (Vec<Found<S>>, Vec<i32>) {
        while let Some(task) = self.shared.next() {
            // Also where the folder panics, those who wait hear of it.
            let _turn = Turn(self.shared);
            self.folder(task);
        }
        (self.found, self.watches)
    }

    /// Listens to a folder that is read now, where nobody does yet.
    fn listen(&mut self, folder: &Path, seen: &Seen, known: Option<&Folder<S>>) {
        let Some(watch) = &self.tree.watch else { return };
        let is_new = known.is_none_or(|known| known.unread || known.seen.inode != seen.inode);
        if !(is_new || self.shared.lost) || self.shared.deaf.load(Ordering::Relaxed) {
            return;
        }
        let fits = self.shared.watched.fetch_add(1, Ordering::Relaxed) < watch.max();
        match fits.then(|| watch.add(folder)).flatten() {
            Some(number) => self.watches.push(number),
            None => self.shared.deaf.store(true, Ordering::Relaxed),
        }
    }

    fn folder(&mut self, task: Task) {
        let flags = READ | OFlags::DIRECTORY;
        let opened = match &task.above {
            Some(above) => door::step(above, Path::new(OsStr::from_bytes(task.name.to_bytes())), flags),
            None => door::open(&task.path, flags),
        };
        let opened = opened.and_then(|dir| Ok((fstat(&dir)?, dir)));
        match opened {
            // Not all that is mounted holds files.
            Ok((stat, dir)) if task.at != 0 && door::device(&stat) != self.shared.device && is_pseudo(&dir) => {
                self.found.push(Found::Gone(task.at));
            }
            Ok((stat, dir)) => {
                // Who changes files there is not known.
                let is_own = door::device(&stat) == self.shared.device;
                self.shared.deaf.fetch_or(!is_own, Ordering::Relaxed);
                self.opened(task, Arc::new(dir), Seen::of(&stat));
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => self.found.push(Found::Gone(task.at)),
            Err(_) => self.unread(&task),
        }
    }

    /// A folder that cannot be read: what was in it counts as it was, and what is found in it later is not new.
    fn unread(&mut self, task: &Task) {
        if let Some(known) = self.tree.folders.get(task.at).and_then(Option::as_ref) {
            if !known.unread {
                self.found.push(Found::Unread(task.at));
            }
            return;
        }
        let ignored = task.fresh.clone().unwrap_or_else(|| Ignored::around(&self.tree.root));
        let mut folder = Folder::new(task.name.to_bytes().to_vec(), task.parent, Seen::default(), ignored);
        folder.unread = true;
        self.listen(&task.path, &folder.seen, None);
        self.found.push(Found::Read(task.at, Box::new(folder), Vec::new()));
    }

    fn opened(&mut self, task: Task, dir: Arc<OwnedFd>, seen: Seen) {
        let known = self.tree.folders.get(task.at).and_then(Option::as_ref);
        if let (Some(known), None) = (known, &task.fresh)
            && known.seen == seen
            && !known.doubtful
            && !known.unread
            && !(known.leaves_out && self.shared.reindexed)
            && let Some(files) = self.files(known, &dir)
        {
            self.below(&task, &dir, known.below.iter().map(|at| (*at, None)));
            if !files.is_empty() {
                self.found.push(Found::Files(task.at, files));
            }
            return;
        }
        self.read(task, &dir, seen, known);
    }

    /// Looks at the files of a folder that has the same names. `None` where it has to be read after all.
    fn files(&self, known: &Folder<S>, dir: &OwnedFd) -> Option<Vec<(usize, Seen)>> {
        self.count(known.files.len() + known.below.len());
        let mut changed = Vec::new();
        for (at, file) in known.files.iter().enumerate() {
            let name = known.c_name(file);
            // What is gone all the same went just now.
            let seen = self.seen(&statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?);
            if seen != file.seen || file.doubtful {
                if is_rules(name.to_bytes()) {
                    return None;
                }
                changed.push((at, seen));
            }
        }
        Some(changed)
    }

    fn read(&mut self, task: Task, dir: &Arc<OwnedFd>, seen: Seen, known: Option<&Folder<S>>) {
        self.listen(&task.path, &seen, known);
        let mut entries = std::mem::take(&mut self.entries);
        if entries.read(dir, || true).is_err() {
            self.unread(&task);
            self.entries = entries;
            return;
        }
        let mut has = Has::default();
        let mut names: Vec<(&[u8], FileType)> = entries
            .iter()
            .map(|(name, kind)| (name.as_os_str().as_bytes(), kind))
            // What is being written beside its place is no file of anybody's, and gone at the next look.
            .filter(|(name, kind)| *kind == FileType::Directory || !is_passing(name))
            .inspect(|(name, _)| has.note(name))
            .collect();
        names.sort_unstable_by_key(|(name, _)| *name);
        self.count(names.len());
        let (ignored, rules, is_fresh) = self.rules(&task, dir, has, known);
        let name = task.name.to_bytes().to_vec();
        let mut folder = Folder::new(name, task.parent, seen, ignored);
        folder.doubtful = seen.is_doubtful(self.now);
        (folder.rules, folder.within) = (rules, task.within);
        // Whether what was not there before is new: it may only not have been looked at, because it was ignored.
        let is_new = |path: &Path, is_folder: bool| {
            let was_left_out =
                |known: &Folder<S>| known.unread || known.within || (is_fresh && known.ignored.holds(path, is_folder));
            task.is_new || known.is_some_and(|known| !was_left_out(known))
        };
        let below_known = known.map(|known| self.names_below(known)).unwrap_or_default();
        let (mut diffs, mut below) = (Vec::new(), Vec::new());
        // One path after the other, in the same memory.
        let mut path = task.path.as_os_str().as_bytes().to_vec();
        path.push(b'/');
        let above = path.len();
        for (name, kind) in &names {
            path.truncate(above);
            path.extend_from_slice(name);
            let path = Path::new(OsStr::from_bytes(&path));
            match kind {
                FileType::Directory => {
                    let left_out = || self.tree.left_out.iter().any(|left_out| left_out == path);
                    if *name == b".git" || left_out() {
                        continue;
                    }
                    let is_ignored = task.within || folder.ignored.holds(path, true);
                    if is_ignored && !self.shared.tracked.has(path, true) {
                        folder.leaves_out = true;
                        continue;
                    }
                    let old = below_known.get(name).copied();
                    let at = old.unwrap_or_else(|| self.shared.next.fetch_add(1, Ordering::Relaxed));
                    folder.below.push(at);
                    let fresh = (is_fresh || old.is_none()).then(|| folder.ignored.clone());
                    let is_new = old.is_none() && is_new(path, true) && (task.is_new || !is_ignored);
                    if is_new && let Ok(stat) = statat(dir.as_ref(), OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)
                    {
                        let now = Some(Seen::of(&stat));
                        diffs.push(Diff { path: path.to_owned(), was: Was::Absent, now, spot: None, doubtful: false });
                    }
                    let name = CString::new(*name).unwrap_or_default();
                    below.push((at, Some((path.to_owned(), name, fresh, is_new, is_ignored))));
                }
                FileType::RegularFile | FileType::Symlink => {
                    let old = known.and_then(|known| known.files.get(known.find(name)?));
                    if *name == b".git" {
                        continue;
                    }
                    let is_ignored = task.within || folder.ignored.holds(path, false);
                    let is_last = is_ignored && !self.shared.tracked.has(path, false);
                    folder.leaves_out |= is_last;
                    if is_last && old.is_none() {
                        continue;
                    }
                    let Ok(stat) = statat(dir.as_ref(), OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) else {
                        continue;
                    };
                    let now = self.seen(&stat);
                    if is_last {
                        diffs.extend(old.and_then(|old| old.last(path.to_owned(), Some(now))));
                        continue;
                    }
                    let spot = Some(Spot { folder: task.at, file: folder.files.len() });
                    let (was, source) = match old {
                        Some(old) if old.seen == now && !old.doubtful => (None, old.source.clone()),
                        Some(old) if old.seen == now => {
                            (Some(Was::Doubtful(now, old.source.clone())), old.source.clone())
                        }
                        Some(old) => (Some(Was::Seen(old.seen, old.source.clone())), S::default()),
                        None if is_new(path, false) && (task.is_new || !is_ignored) => {
                            (Some(Was::Absent), S::default())
                        }
                        None => (Some(Was::Unknown), S::default()),
                    };
                    folder.push(name, now, now.is_doubtful(self.now), source);
                    if let Some(was) = was.filter(|_| !self.shared.is_first) {
                        let (path, doubtful) = (path.to_owned(), now.is_doubtful(self.now));
                        diffs.push(Diff { path, was, now: Some(now), spot, doubtful });
                    }
                }
                _ => {}
            }
        }
        for (name, file) in known.into_iter().flat_map(Folder::each) {
            let there = names.binary_search_by_key(&name, |(name, _)| name);
            let is_there = there.is_ok_and(|at| matches!(names[at].1, FileType::RegularFile | FileType::Symlink));
            if !is_there {
                let path = task.path.join(OsStr::from_bytes(name));
                diffs.push(Diff {
                    path,
                    was: Was::Seen(file.seen, file.source.clone()),
                    now: None,
                    spot: None,
                    doubtful: false,
                });
            }
        }
        drop(names);
        self.entries = entries;
        self.below(&task, dir, below.into_iter());
        self.found.push(Found::Read(task.at, Box::new(folder), diffs));
    }

    /// What is ignored in a folder, a print of the files that say so, and whether that is other than it was.
    fn rules(&self, task: &Task, dir: &OwnedFd, has: Has, known: Option<&Folder<S>>) -> (Ignored, u64, bool) {
        let print = has.print(dir);
        match (known, &task.fresh) {
            (Some(known), None) if known.rules == print => (known.ignored.clone(), print, false),
            (Some(known), None) => {
                // Those of the folder above, which have not changed.
                let above = known.above.and_then(|above| self.tree.folders.get(above)?.as_ref());
                let above = above.map_or_else(|| Ignored::around(&self.tree.root), |above| above.ignored.clone());
                (above.below(&task.path, dir, has), print, true)
            }
            (_, fresh) => {
                let around = fresh.clone().unwrap_or_else(|| Ignored::around(&self.tree.root));
                (around.below(&task.path, dir, has), print, true)
            }
        }
    }

    /// The folders in one, by their names.
    fn names_below(&self, known: &Folder<S>) -> HashMap<&[u8], usize> {
        let named = |at: &usize| Some((self.tree.folders.get(*at)?.as_ref()?.name.as_slice(), *at));
        known.below.iter().filter_map(named).collect()
    }

    #[allow(
        clippy::type_complexity,
        reason = "path, name, rules, whether it is new and whether ignored, of a folder that was read"
    )]
    fn below(
        &self,
        task: &Task,
        dir: &Arc<OwnedFd>,
        folders: impl Iterator<Item = (usize, Option<(PathBuf, CString, Option<Ignored>, bool, bool)>)>,
    ) {
        let (depth, parent) = (task.depth + 1, Some(task.at));
        let above = || (depth < MAX_HELD).then(|| Arc::clone(dir));
        let tasks = folders.filter_map(|(at, read)| match read {
            Some((path, name, fresh, is_new, within)) => {
                Some(Task { path, name, above: above(), depth, at, parent, fresh, is_new, within })
            }
            None => {
                let known = self.tree.folders.get(at)?.as_ref()?;
                let path = task.path.join(OsStr::from_bytes(&known.name));
                let name = CString::new(known.name.clone()).ok()?;
                let within = known.within;
                Some(Task { path, name, above: above(), depth, at, parent, fresh: None, is_new: false, within })
            }
        });
        self.shared.add(tasks.collect());
    }

    /// How a file looks.
    fn seen(&self, stat: &Stat) -> Seen {
        if stat.st_nlink > 1 {
            self.shared.linked.store(true, Ordering::Relaxed);
        }
        Seen::of(stat)
    }

    fn count(&self, entries: usize) {
        if self.shared.entries.fetch_add(entries, Ordering::Relaxed) + entries > self.tree.max {
            self.shared.full.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether an open folder shows what is in the system, and no files.
fn is_pseudo(dir: &OwnedFd) -> bool {
    #[cfg(target_os = "linux")]
    {
        // proc, sysfs, cgroup, cgroup2, devpts, debugfs, tracefs, securityfs, configfs, bpf.
        const PSEUDO: [i64; 10] = [
            0x9fa0,
            0x6265_6572,
            0x0027_e0eb,
            0x6367_7270,
            0x1cd1,
            0x6462_6720,
            0x7472_6163,
            0x7363_6673,
            0x6265_6570,
            0xcafe_4a11,
        ];
        #[allow(clippy::unnecessary_cast, reason = "its width is the system's own")]
        rustix::fs::fstatfs(dir).is_ok_and(|system| PSEUDO.contains(&(system.f_type as i64)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = dir;
        false
    }
}

/// Whether a file of that name says what is ignored.
fn is_rules(name: &[u8]) -> bool {
    Has::NAMES.iter().any(|rules| rules.as_bytes() == name)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, (Vec<Task>, usize)> {
        // Each use leaves the queue whole, so a panic elsewhere does no harm to it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, tasks: Vec<Task>) {
        if !tasks.is_empty() {
            self.lock().0.extend(tasks);
            self.more.notify_all();
        }
    }

    /// The next folder; waits while others may still add one. `None` when all is done, or it is too much.
    fn next(&self) -> Option<Task> {
        let mut queue = self.lock();
        loop {
            if self.full.load(Ordering::Relaxed) {
                self.more.notify_all();
                return None;
            }
            if let Some(task) = queue.0.pop() {
                queue.1 += 1;
                return Some(task);
            }
            if queue.1 == 0 {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A folder that is worked on.
struct Turn<'a>(&'a Shared);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.1 -= 1;
        if queue.1 == 0 || self.0.full.load(Ordering::Relaxed) {
            self.0.more.notify_all();
        }
    }
}
