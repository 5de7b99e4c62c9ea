//! Searching the project: which files are there, and which lines match.
//!
//! Hidden files are searched, `.git` never, what the project ignores is not. Links are not followed. Each search is
//! bounded in what it looks at and holds; dropping its future ends it before the next file.

mod best;
mod ignored;
mod lines;
mod names;
mod walk;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_permission::Grant;
use ignore::gitignore::Gitignore;
use rustix::fs::{AtFlags, FileType, fstat, statat};

use self::best::Best;
use self::ignored::{Has, Ignored};
use self::lines::Lines;
pub use self::lines::{Line, LinePattern};
pub use self::names::{BadPattern, Names};
use self::walk::{MAX_ENTRIES, Visit, Walk, Walked};
use crate::door::{self, kind};
use crate::files::{READ, blocking, for_reading};
use crate::stamp::modified;
use crate::{Files, FilesError, Target};

/// How many files that were left out are named.
const MAX_NAMED: usize = 3;

/// Which files of a folder are wanted.
#[derive(Debug, Clone)]
pub struct Find {
    /// Those with such names; all where nothing is said.
    pub names: Option<Names>,
    /// None of these, patterns as in `.gitignore`.
    pub left_out: Vec<String>,
    /// Which come first.
    pub order: Order,
    /// Most that are wanted.
    pub max: usize,
}

/// Which files come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Those changed last, then by path.
    Newest,
    /// Those in the fewest folders, then by path.
    Shallowest,
}

/// Files that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundFiles {
    /// The first ones, in order, absolute.
    pub paths: Vec<PathBuf>,
    /// How many there are in all.
    pub total: usize,
    /// What was not looked at.
    pub gaps: Gaps,
}

/// What a search did not look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Folders that could not be read.
    pub folders: usize,
    /// There was more than a search looks at.
    pub entries: bool,
}

/// Which lines of which files are wanted.
#[derive(Clone)]
pub struct Grep {
    /// Lines that match this.
    pub pattern: LinePattern,
    /// In files with such names; in all where nothing is said. A single file is searched whatever it is called.
    pub names: Option<Names>,
    /// Whether the file with this title may be read. The others are counted, whatever is in them.
    pub may_read: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Most lines that are wanted.
    pub max: usize,
}

/// Lines that match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches {
    /// Files, those changed last first, then by path. They have the wanted number of lines together, or a few more.
    pub files: Vec<FileMatches>,
    /// How many lines match in all.
    pub total: usize,
    /// Files that may not be read.
    pub denied: SomeFiles,
    /// Files that were searched in part, because they or one of their lines are too large.
    pub cut: SomeFiles,
    /// What else was not looked at.
    pub gaps: Gaps,
}

/// Some files: how many, and the titles of a few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SomeFiles {
    /// How many.
    pub count: usize,
    /// The first ones by title.
    pub titles: Vec<String>,
}

/// A file with lines that match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// The first lines, in order; never none.
    pub lines: Vec<Line>,
}

impl Files {
    /// Looks for files in the folder `target`.
    ///
    /// # Errors
    ///
    /// [`FilesError::NotAFolder`], [`FilesError::Missing`], [`FilesError::Pattern`] for what is to be left out, or the
    /// others that concern reading.
    pub async fn find(&self, grant: &Grant, target: &Target, find: Find) -> Result<FoundFiles, FilesError> {
        let path = for_reading(grant, target.path())?;
        let files = self.clone();
        stoppable(move |stop| {
            open_folder(&path)?;
            let left_out = names::left_out(&path, &find.left_out)?;
            let visit =
                Finding { root: &path, find: &find, best: Mutex::new(Best::new(find.max)), total: AtomicUsize::new(0) };
            let walked = files.walk(&path, &left_out, stop, &visit);
            let paths = into_inner(visit.best).into_ordered().map(|((_, path), ())| path).collect();
            Ok(FoundFiles { paths, total: visit.total.into_inner(), gaps: walked.into() })
        })
        .await
    }

    /// Searches the file `target`, or all files in the folder `target`.
    ///
    /// # Errors
    ///
    /// [`FilesError::Missing`], or the others that concern reading.
    pub async fn grep(&self, grant: &Grant, target: &Target, grep: Grep) -> Result<Matches, FilesError> {
        let path = for_reading(grant, target.path())?;
        let files = self.clone();
        stoppable(move |stop| {
            let visit = Grepping::new(&files, &grep, stop);
            let fd = door::open(&path, READ).map_err(|errno| FilesError::at(&path, "read", errno))?;
            let stat = fstat(&fd).map_err(|errno| FilesError::at(&path, "read", errno))?;
            let walked = match kind(&stat) {
                FileType::Directory => {
                    drop(fd);
                    files.walk(&path, &Gitignore::empty(), stop, &visit)
                }
                FileType::RegularFile => {
                    if visit.may_read(&path) {
                        visit.search(&mut visit.worker(), fd, modified(&stat), &path);
                    }
                    Walked { unread: 0, complete: true }
                }
                _ => return Err(FilesError::Special { path }),
            };
            Ok(visit.matches(walked))
        })
        .await
    }

    fn walk(&self, root: &Path, left_out: &Gitignore, stop: &AtomicBool, visit: &impl Visit) -> Walked {
        let ignored = self.ignored_above(root);
        let left_out = Some(left_out).filter(|rules| !rules.is_empty());
        Walk { ignored, left_out, stop, max_entries: MAX_ENTRIES }.run(root, visit)
    }

    /// What the folders of the project above `root` leave alone below it.
    fn ignored_above(&self, root: &Path) -> Ignored {
        let Some(top) = self.bounds().top_above(root) else { return Ignored::everywhere(root) };
        let mut above: Vec<&Path> = root.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect();
        above.reverse();
        above.into_iter().fold(Ignored::everywhere(top), |ignored, folder| {
            let Ok(dir) = door::open(folder, door::FOLDER) else { return ignored };
            let mut has = Has::default();
            for name in [".ignore", ".gitignore", ".git"] {
                if statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    has.note(name.as_bytes());
                }
            }
            ignored.below(folder, &dir, has)
        })
    }
}

/// Makes sure that there is a folder at `path`.
fn open_folder(path: &Path) -> Result<OwnedFd, FilesError> {
    let failed = |errno| FilesError::at(path, "list", errno);
    let fd = door::open(path, READ).map_err(failed)?;
    match kind(&fstat(&fd).map_err(failed)?) {
        FileType::Directory => Ok(fd),
        _ => Err(FilesError::NotAFolder { path: path.to_owned() }),
    }
}

/// Searches beside the runtime. What is handed to `work` turns true when the future is dropped.
async fn stoppable<T: Send + 'static>(work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> T {
    let stop = StopOnDrop::default();
    let flag = Arc::clone(&stop.0);
    blocking(move || work(&flag)).await
}

#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// By what files are put in order: the smaller, the earlier.
type Key = (i128, PathBuf);

struct Finding<'a> {
    root: &'a Path,
    find: &'a Find,
    best: Mutex<Best<Key, ()>>,
    total: AtomicUsize,
}

impl Visit for Finding<'_> {
    type Worker = ();

    fn worker(&self) -> Self::Worker {}

    fn file(&self, _worker: &mut (), dir: &OwnedFd, name: &Path, path: &Path) {
        if !takes(self.find.names.as_ref(), path) {
            return;
        }
        let rank = match self.find.order {
            Order::Newest => match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => -modified(&stat),
                // It went away meanwhile.
                Err(_) => return,
            },
            Order::Shallowest => path.strip_prefix(self.root).map_or(0, |below| below.components().count() as i128),
        };
        self.total.fetch_add(1, Ordering::Relaxed);
        lock(&self.best).add((rank, path.to_owned()), 1, ());
    }
}

struct Grepping<'a> {
    files: &'a Files,
    grep: &'a Grep,
    stop: &'a AtomicBool,
    best: Mutex<Best<Key, Vec<Line>>>,
    total: AtomicUsize,
    denied: Counted,
    cut: Counted,
}

impl<'a> Grepping<'a> {
    fn new(files: &'a Files, grep: &'a Grep, stop: &'a AtomicBool) -> Self {
        let best = Mutex::new(Best::new(grep.max));
        Self { files, grep, stop, best, total: AtomicUsize::new(0), denied: Counted::new(), cut: Counted::new() }
    }

    /// Whether the file at `path` may be read. If not it is counted.
    fn may_read(&self, path: &Path) -> bool {
        let title = self.files.title(path);
        let may = (self.grep.may_read)(&title);
        if !may {
            self.denied.add(title);
        }
        may
    }

    /// Searches an open file that may be read.
    fn search(&self, lines: &mut Lines<'_>, fd: OwnedFd, modified: i128, path: &Path) {
        let found = lines.search(File::from(fd));
        if found.cut {
            self.cut.add(self.files.title(path));
        }
        self.total.fetch_add(found.count, Ordering::Relaxed);
        if found.count > 0 {
            lock(&self.best).add((-modified, path.to_owned()), found.lines.len(), found.lines);
        }
    }

    fn matches(self, walked: Walked) -> Matches {
        let files = into_inner(self.best).into_ordered().map(|((_, path), lines)| FileMatches { path, lines });
        Matches {
            files: files.collect(),
            total: self.total.into_inner(),
            denied: self.denied.into_files(),
            cut: self.cut.into_files(),
            gaps: walked.into(),
        }
    }
}

impl<'a> Visit for Grepping<'a> {
    type Worker = Lines<'a>;

    fn worker(&self) -> Lines<'a> {
        Lines::new(&self.grep.pattern, self.grep.max, self.stop)
    }

    fn file(&self, lines: &mut Lines<'a>, dir: &OwnedFd, name: &Path, path: &Path) {
        if !takes(self.grep.names.as_ref(), path) || !self.may_read(path) {
            return;
        }
        // It may have gone, or turned into something else, since its name was read.
        let Ok(fd) = door::step(dir, name, READ) else { return };
        match fstat(&fd) {
            Ok(stat) if kind(&stat) == FileType::RegularFile => self.search(lines, fd, modified(&stat), path),
            _ => {}
        }
    }
}

fn takes(names: Option<&Names>, path: &Path) -> bool {
    names.is_none_or(|names| names.take(path))
}

/// Counts files and remembers a few of their titles, always the same ones.
struct Counted {
    count: AtomicUsize,
    titles: Mutex<Best<String, ()>>,
}

impl Counted {
    fn new() -> Self {
        Self { count: AtomicUsize::new(0), titles: Mutex::new(Best::new(MAX_NAMED)) }
    }

    fn add(&self, title: String) {
        self.count.fetch_add(1, Ordering::Relaxed);
        lock(&self.titles).add(title, 1, ());
    }

    fn into_files(self) -> SomeFiles {
        let titles = into_inner(self.titles).into_ordered().map(|(title, ())| title).collect();
        SomeFiles { count: self.count.into_inner(), titles }
    }
}

impl From<Walked> for Gaps {
    fn from(walked: Walked) -> Self {
        Gaps { folders: walked.unread, entries: !walked.complete }
    }
}

// Each use leaves what is behind the lock whole, so a panic elsewhere does no harm to it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
