//! Hearing of changes of files, whoever makes them.
//!
//! What the system says is only a reason to look: what became of a path is decided from whether it was known before and what
//! stands there now ([`Known`]). So it does not matter how often or in which order it is said.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::passing::is_passing;

/// Most folders that are watched. Each takes about a kilobyte of the system's memory, and the user's other programs want some.
pub const MAX_WATCHED: usize = 10_000;
/// Most files that are known by name. Of others every word is a change.
const MAX_KNOWN: usize = 200_000;
/// Most words of the system that wait to be heard; what is more is lost.
const MAX_WAITING: usize = 4_096;
/// Most words that are taken together.
const MAX_TOGETHER: usize = 1_000;
/// How long it must be quiet before what was heard is looked at.
const QUIET: Duration = Duration::from_millis(50);

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// It was made.
    Added,
    /// It was written.
    Changed,
    /// It is gone.
    Removed,
}

/// Why nothing is watched.
#[derive(Debug, thiserror::Error)]
pub enum NotWatched {
    /// The folder is everything there is, or holds the user's home.
    #[error("{} is too much to be watched", .0.display())]
    TooMuch(PathBuf),
    /// The system cannot.
    #[error("changes of files cannot be watched here")]
    System(#[from] notify::Error),
    /// A pattern of what is not watched is none.
    #[error("{0:?} is no pattern of files")]
    Pattern(String),
    /// There is no thread to be had.
    #[error("no thread can be had to watch files")]
    Thread(#[from] std::io::Error),
}

/// Tells of changes of files below a folder until it is dropped.
///
/// Left out are `.git`, folders that the project ignores, and what the patterns say, which are those of `.gitignore`. At most
/// [`MAX_WATCHED`] folders are watched, those nearest to the top.
#[derive(Debug)]
pub struct Watcher {
    stopped: Arc<AtomicBool>,
    words: SyncSender<Word>,
}

#[derive(Debug)]
enum Word {
    Heard(Event),
    Stop,
}

impl Watcher {
    /// Begins to watch `root` on a thread of its own, on which `tell` is called too. `home` is the user's.
    ///
    /// # Errors
    ///
    /// [`NotWatched`].
    pub fn start(
        root: &Path,
        home: Option<&Path>,
        patterns: &[String],
        tell: impl Fn(&Path, Happened) + Send + 'static,
    ) -> Result<Self, NotWatched> {
        if root.parent().is_none() || home.is_some_and(|home| home.starts_with(root)) {
            return Err(NotWatched::TooMuch(root.to_owned()));
        }
        let mut ignored = GitignoreBuilder::new(root);
        for pattern in patterns {
            ignored.add_line(None, pattern).map_err(|_| NotWatched::Pattern(pattern.clone()))?;
        }
        let ignored = ignored.build().map_err(|error| NotWatched::Pattern(error.to_string()))?;
        let (words, heard) = sync_channel(MAX_WAITING);
        let stopped = Arc::new(AtomicBool::new(false));
        let said = words.clone();
        let watcher = notify::recommended_watcher(move |word: notify::Result<Event>| {
            if let Ok(event) = word {
                // Who is too slow hears less.
                let _ = said.try_send(Word::Heard(event));
            }
        })?;
        let ears = Ears {
            root: root.to_owned(),
            ignored,
            watcher,
            folders: HashSet::new(),
            known: Known::default(),
            stopped: Arc::clone(&stopped),
        };
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || ears.listen(&heard, tell))?;
        Ok(Self { stopped, words })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Where there is no room for it, there is something else to wake up for.
        let _ = self.words.try_send(Word::Stop);
    }
}

struct Ears {
    root: PathBuf,
    ignored: Gitignore,
    watcher: RecommendedWatcher,
    folders: HashSet<PathBuf>,
    known: Known,
    stopped: Arc<AtomicBool>,
}

impl Ears {
    fn listen(mut self, heard: &Receiver<Word>, tell: impl Fn(&Path, Happened)) {
        let root = self.root.clone();
        // What is there already is nobody's news.
        self.enter(&root, &mut |_| {});
        while let Ok(Word::Heard(first)) = heard.recv() {
            let mut paths = BTreeSet::new();
            let mut more = Some(first);
            for _ in 0..MAX_TOGETHER {
                let Some(event) = more.take() else { break };
                if is_of_content(event.kind) {
                    paths.extend(event.paths);
                }
                more = match heard.recv_timeout(QUIET) {
                    Ok(Word::Heard(event)) => Some(event),
                    Ok(Word::Stop) => return,
                    Err(_) => None,
                };
            }
            for path in paths {
                if self.stopped.load(Ordering::Relaxed) {
                    return;
                }
                self.look(&path, &tell);
            }
        }
    }

    /// Says what became of `path`.
    fn look(&mut self, path: &Path, tell: &impl Fn(&Path, Happened)) {
        let meta = path.symlink_metadata().ok();
        let is_folder = meta.as_ref().is_some_and(std::fs::Metadata::is_dir);
        if self.is_left_out(path, is_folder) {
            return;
        }
        if is_folder {
            let mut made = Vec::new();
            self.enter(path, &mut |file| made.push(file.to_owned()));
            made.iter().for_each(|file| tell(file, Happened::Added));
            return;
        }
        if meta.is_none() && self.folders.remove(path) {
            let _ = self.watcher.unwatch(path);
            return;
        }
        if let Some(happened) = self.known.now(path, meta.is_some_and(|meta| meta.is_file())) {
            tell(path, happened);
        }
    }

    /// Watches `folder` and those below it, and says which files in them were not known.
    fn enter(&mut self, folder: &Path, found: &mut dyn FnMut(&Path)) {
        let (ignored, stopped) = (self.ignored.clone(), Arc::clone(&self.stopped));
        let mut walk = WalkBuilder::new(folder);
        walk.hidden(false).follow_links(false).require_git(false).git_global(false).same_file_system(true);
        walk.filter_entry(move |entry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.file_name() != ".git" && !ignored.matched(entry.path(), is_folder).is_ignore()
        });
        for entry in walk.build().flatten() {
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            match entry.file_type() {
                Some(kind) if kind.is_dir() => self.watch(entry.path()),
                Some(kind) if kind.is_file() && !self.is_left_out(entry.path(), false) => {
                    if self.known.now(entry.path(), true) == Some(Happened::Added) {
                        found(entry.path());
                    }
                }
                Some(_) | None => {}
            }
        }
    }

    fn watch(&mut self, folder: &Path) {
        // Elsewhere one watch of the top is cheaper than one of each folder.
        let is_each = cfg!(target_os = "linux");
        if self.folders.len() >= MAX_WATCHED || self.folders.contains(folder) || (!is_each && folder != self.root) {
            return;
        }
        let mode = if is_each { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
        // What cannot be watched is gone by now, or one too many for the system.
        if self.watcher.watch(folder, mode).is_ok() {
            self.folders.insert(folder.to_owned());
        }
    }

    fn is_left_out(&self, path: &Path, is_folder: bool) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else { return true };
        let is_passing = path.file_name().is_some_and(|name| is_passing(name.as_bytes()));
        let in_git = below.components().any(|part| part.as_os_str() == ".git");
        let is_watched = is_folder || path.parent().is_some_and(|parent| self.folders.contains(parent));
        // Where the top alone is watched, what is heard says nothing of which folders are.
        let is_watched = is_watched || !cfg!(target_os = "linux");
        in_git || is_passing || !is_watched || self.ignored.matched_path_or_any_parents(path, is_folder).is_ignore()
    }
}

/// Whether files may have come, changed or gone.
fn is_of_content(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)))
}

/// The files that were there, by a hash of their paths.
#[derive(Debug, Default)]
struct Known {
    keys: RandomState,
    paths: HashSet<u64>,
}

impl Known {
    /// What happened to the file at `path`, of which something was heard and which is or is not there now.
    fn now(&mut self, path: &Path, is_there: bool) -> Option<Happened> {
        let key = self.keys.hash_one(path);
        match (is_there, self.paths.contains(&key)) {
            (true, true) => Some(Happened::Changed),
            (true, false) if self.paths.len() >= MAX_KNOWN => Some(Happened::Changed),
            (true, false) => {
                self.paths.insert(key);
                Some(Happened::Added)
            }
            (false, true) => {
                self.paths.remove(&key);
                Some(Happened::Removed)
            }
            // It came and went before anybody looked.
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests;
