//! Goes through the folders that a command may change, and finds what is protected or hidden in them.
//!
//! Nothing is left out: what a project ignores can hide a repository as well as any other folder. So that it can be done
//! around each command, what was in a folder is remembered: the next time a folder that did not change is looked at, and
//! not into. A folder changes when something in it is made, renamed or removed, and the system notes the time, which
//! nobody can set back.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, OFlags, Stat, fstat, statat};
use rustix::io::Errno;

use super::Secrets;
use super::names::{self, Ground, Kind, Marks, Verdict};
use crate::door::{self, kind};
use crate::files::READ;
use crate::search::Entries;

/// How much one survey looks at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Folders; those that lie deepest are left out.
    pub(super) folders: usize,
    /// Files that are hidden.
    pub(super) hidden: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { folders: 200_000, hidden: 500 }
    }
}

/// After a change this long before it was looked at, in nanoseconds, a folder may change again without another time: the
/// clocks of file systems tick, some only every two seconds.
const TICK: i128 = 2_000_000_000;
/// How many folders one thread looks at before others help: threads cost more than a small project takes.
const ALONE: usize = 1000;
/// Most threads of one survey; there are no more than cores.
const MAX_THREADS: usize = 8;
/// Most folders that a thread takes at once.
const SHARE: usize = 32;

/// What was found.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    /// What is protected, by its path. What is in a protected folder is not listed.
    pub(super) found: BTreeMap<PathBuf, Kind>,
    /// Folders in which git keeps a repository, or what belongs to one work tree.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// Files that are not to be read.
    pub(super) hidden: Vec<PathBuf>,
    /// Whether there were more folders than are looked at.
    pub(super) cut: bool,
    /// Whether there were more hidden files than are listed.
    pub(super) hidden_cut: bool,
    /// Folders that could not be read.
    pub(super) unread: usize,
}

/// What is remembered of earlier surveys.
#[derive(Debug, Default)]
pub(super) struct Memory {
    nodes: HashMap<PathBuf, Node>,
    secrets: Option<u64>,
}

/// A folder as it was.
#[derive(Debug)]
struct Node {
    id: Id,
    /// Whether a later change must show in `id`.
    settled: bool,
    /// As what it was looked into.
    ground: Ground,
    repository: bool,
    found: Vec<(OsString, Kind)>,
    hidden: Vec<OsString>,
    below: Vec<(OsString, Ground)>,
}

/// By what a folder is known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id {
    device: u64,
    inode: u64,
    modified: i128,
    changed: i128,
}

impl Id {
    pub(super) fn of(stat: &Stat) -> Self {
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "they are narrower on some systems")]
        Self {
            device: crate::door::device(stat),
            inode: u64::from(stat.st_ino),
            modified: crate::stamp::modified(stat),
            changed: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
        }
    }

    /// Whether what changes after `now` must change this too.
    pub(super) fn settled(self, now: i128) -> bool {
        self.changed.max(self.modified) + TICK < now
    }

    /// Whether it was made, renamed or changed after `moment`, or so shortly before that the clock cannot tell.
    pub(super) fn changed_since(self, moment: i128) -> bool {
        self.changed + TICK >= moment
    }
}

/// The time in nanoseconds since the Unix epoch.
pub(super) fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

impl Memory {
    /// Goes through the folders `roots`. One that lies in another is gone through once.
    pub(super) fn survey(&mut self, roots: &[PathBuf], secrets: Option<&Secrets>, limits: Limits) -> Seen {
        let id = secrets.map(|secrets| secrets.id);
        if self.secrets != id {
            self.nodes.clear();
            self.secrets = id;
        }
        let tops = roots.iter().filter(|root| !roots.iter().any(|top| top != *root && root.starts_with(top)));
        let jobs = tops.filter_map(|top| match names::at(top) {
            Verdict::Into(ground) => Some(Job { path: top.clone(), ground }),
            // Leave was given for exactly that.
            Verdict::Protected(_) | Verdict::Passed => None,
        });
        let shared = Shared::new(jobs.collect());
        let walk = Walk { memory: &self.nodes, secrets, limits, shared: &shared, now: now() };
        let done = walk.run();
        let mut seen = Seen { cut: shared.lock().cut, ..Seen::default() };
        for mut part in done {
            for (path, node) in part.looked {
                match node {
                    Some(node) => _ = self.nodes.insert(path, node),
                    None => _ = self.nodes.remove(&path),
                }
            }
            seen.found.extend(part.found);
            seen.repositories.extend(part.repositories);
            seen.hidden.append(&mut part.hidden);
            seen.unread += part.unread;
        }
        // Folders that are gone.
        if self.nodes.len() > 2 * shared.lock().taken.max(ALONE) {
            self.nodes.clear();
        }
        seen.hidden.sort_unstable();
        seen.hidden_cut = seen.hidden.len() > limits.hidden;
        seen.hidden.truncate(limits.hidden);
        seen
    }
}

/// A folder that is to be looked at.
struct Job {
    path: PathBuf,
    ground: Ground,
}

/// What one thread found.
#[derive(Default)]
struct Part {
    found: Vec<(PathBuf, Kind)>,
    repositories: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    unread: usize,
    /// Folders that were looked into, and those that are gone.
    looked: Vec<(PathBuf, Option<Node>)>,
}

struct Walk<'a> {
    memory: &'a HashMap<PathBuf, Node>,
    secrets: Option<&'a Secrets>,
    limits: Limits,
    shared: &'a Shared,
    now: i128,
}

impl Walk<'_> {
    fn run(&self) -> Vec<Part> {
        let parts = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let mut alone = true;
            let part = self.work(&mut |taken| {
                if alone && taken > ALONE {
                    alone = false;
                    let helpers = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS) - 1;
                    for _ in 0..helpers {
                        scope.spawn(|| {
                            let part = self.work(&mut |_| {});
                            parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
                        });
                    }
                }
            });
            parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
        });
        parts.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, taken: &mut dyn FnMut(usize)) -> Part {
        let (mut part, mut entries) = (Part::default(), Entries::default());
        let mut jobs = Vec::new();
        while let Some(turn) = self.shared.take(&mut jobs, self.limits.folders) {
            taken(turn.taken);
            let mut below = Vec::new();
            for job in jobs.drain(..) {
                self.folder(job, &mut part, &mut entries, &mut below);
            }
            self.shared.add(below);
        }
        part
    }

    fn folder(&self, job: Job, part: &mut Part, entries: &mut Entries, below: &mut Vec<Job>) {
        let Job { path, ground } = job;
        let id = match statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) == FileType::Directory => Id::of(&stat),
            Ok(_) | Err(_) => return part.looked.push((path, None)),
        };
        if let Some(node) = self.memory.get(&path)
            && node.settled
            && node.id == id
            && node.ground == ground
        {
            return note(&path, node, part, below);
        }
        match self.look(&path, ground, entries) {
            Ok(node) => {
                note(&path, &node, part, below);
                part.looked.push((path, Some(node)));
            }
            Err(error) => {
                // What is gone, or no folder any more, has nothing in it.
                part.unread += usize::from(!matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP));
                part.looked.push((path, None));
            }
        }
    }

    /// Looks into a folder.
    fn look(&self, path: &Path, ground: Ground, entries: &mut Entries) -> Result<Node, Errno> {
        let dir = door::open(path, READ | OFlags::DIRECTORY)?;
        // Before: what changes while we look is to be found the next time.
        let id = Id::of(&fstat(&dir)?);
        entries.read(&dir, || true)?;
        let mut marks = Marks::default();
        entries.iter().for_each(|(name, _)| marks.note(name.as_os_str().as_bytes()));
        let repository = ground == Ground::Git
            || (matches!(ground, Ground::Plain | Ground::Modules | Ground::Packages) && marks.is_repository());
        let inner = if repository { Ground::Git } else { ground };
        let settled = id.settled(self.now);
        let mut node =
            Node { id, settled, ground, repository, found: Vec::new(), hidden: Vec::new(), below: Vec::new() };
        // One path for all files: there are many.
        let mut whole = path.join("-");
        for (name, what) in entries.iter() {
            let own = || name.as_os_str().to_owned();
            match names::judge(inner, name.as_os_str().as_bytes(), what == FileType::Directory) {
                Verdict::Protected(kind) => node.found.push((own(), kind)),
                Verdict::Into(ground) => node.below.push((own(), ground)),
                Verdict::Passed
                    if matches!(inner, Ground::Plain | Ground::Packages) && what == FileType::RegularFile =>
                {
                    whole.set_file_name(name);
                    if self.secrets.is_some_and(|secrets| (secrets.hides)(&whole)) {
                        node.hidden.push(own());
                    }
                }
                Verdict::Passed => {}
            }
        }
        Ok(node)
    }
}

/// Takes over what is known of a folder.
fn note(path: &Path, node: &Node, part: &mut Part, below: &mut Vec<Job>) {
    if node.repository {
        part.repositories.push(path.to_owned());
    }
    part.found.extend(node.found.iter().map(|(name, kind)| (path.join(name), *kind)));
    part.hidden.extend(node.hidden.iter().map(|name| path.join(name)));
    below.extend(node.below.iter().map(|(name, ground)| Job { path: joined(path, name), ground: *ground }));
}

fn joined(path: &Path, name: &OsStr) -> PathBuf {
    let mut joined = PathBuf::with_capacity(path.as_os_str().len() + name.len() + 1);
    joined.push(path);
    joined.push(name);
    joined
}

struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads that look at something, and may find more.
    busy: usize,
    /// Threads that wait for work.
    waiting: usize,
    /// Folders so far.
    taken: usize,
    cut: bool,
}

/// Folders that a thread works on. When it ends, also by a panic, those who wait for the last ones hear of it.
struct Turn<'a> {
    shared: &'a Shared,
    taken: usize,
}

impl Shared {
    fn new(jobs: VecDeque<Job>) -> Self {
        Self { queue: Mutex::new(Queue { jobs, ..Queue::default() }), more: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Each use leaves the queue whole, so a panic elsewhere does no harm to it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts some of the waiting folders into `jobs`; waits while others may still find one. `None` when all is done.
    fn take(&self, jobs: &mut Vec<Job>, max: usize) -> Option<Turn<'_>> {
        let mut queue = self.lock();
        loop {
            let left = max.saturating_sub(queue.taken);
            if left == 0 && !queue.jobs.is_empty() {
                // The ones that were found first lie highest.
                queue.cut = true;
                queue.jobs.clear();
            }
            if !queue.jobs.is_empty() {
                let share = (queue.jobs.len() / 4).clamp(1, SHARE).min(left);
                jobs.extend(queue.jobs.drain(..share));
                queue.busy += 1;
                queue.taken += share;
                return Some(Turn { shared: self, taken: queue.taken });
            }
            if queue.busy == 0 {
                return None;
            }
            queue.waiting += 1;
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.waiting -= 1;
        }
    }

    fn add(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut queue = self.lock();
        queue.jobs.extend(jobs);
        if queue.waiting > 0 {
            self.more.notify_all();
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.busy -= 1;
        if queue.busy == 0 && queue.waiting > 0 {
            self.shared.more.notify_all();
        }
    }
}
