//! Searching the project: which files are there, and which lines match.
//!
//! Hidden files are searched, `.git` never, what the project ignores is not. Links are not followed. Each search is
//! bounded in what it looks at and holds. Dropping its future ends it: before the next file, and within a file before
//! the next piece of it.

mod asked;
mod bad;
mod best;
mod counted;
mod entries;
mod find;
mod grep;
mod ignored;
mod lines;
mod names;
mod pattern;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_permission::Grant;
use ignore::gitignore::Gitignore;
use rustix::fs::{AtFlags, FileType, fstat, statat};

pub use self::bad::BadPattern;
pub use self::counted::SomeFiles;
pub(crate) use self::entries::Entries;
use self::find::Finding;
use self::grep::Grepping;
pub(crate) use self::ignored::{Has, Ignored};
pub use self::lines::{Line, Role, Want};
pub use self::names::Names;
pub use self::pattern::LinePattern;
use self::walk::{MAX_ENTRIES, Visit, Walk, Walked};
use crate::door::{self, kind};
use crate::files::{READ, blocking, for_reading};
use crate::{Files, FilesError, Target};

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

/// What is searched for, and in which files.
#[derive(Clone)]
pub struct Grep {
    /// Lines that match this.
    pub pattern: LinePattern,
    /// In files with such names; in all where nothing is said. A single file is searched whatever it is called.
    pub names: Option<Names>,
    /// Whether the file with this title may be read. The others are counted, whatever is in them.
    pub may_read: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// What is wanted of the files with matches.
    pub want: Want,
    /// Most matches that are wanted, or files where these alone are.
    pub max: usize,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches {
    /// Files, those changed last first, then by path. They have the wanted number of matches together, or a few more.
    pub files: Vec<FileMatches>,
    /// How many matches there are in all; with [`Want::Names`] one for each file.
    pub total: usize,
    /// How many files they are in.
    pub in_files: usize,
    /// Files that may not be read.
    pub denied: SomeFiles,
    /// Files that were searched in part, because they or one of their lines are too large.
    pub cut: SomeFiles,
    /// What else was not looked at.
    pub gaps: Gaps,
}

/// A file with matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMatches {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// How many matches are in it, never none.
    pub count: usize,
    /// The first lines that match and those around them, in order; none unless they are wanted.
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
            must_be_folder(&path)?;
            let left_out = left_out(&path, &find.left_out)?;
            let visit = Finding::new(&path, &find);
            let walked = files.walk(&path, &left_out, stop, &visit);
            Ok(visit.found(walked))
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
                _ if door::is_of_a_process(&fd, &path) => return Err(FilesError::Special { path }),
                FileType::Directory => {
                    drop(fd);
                    files.walk(&path, &left_out(&path, &[])?, stop, &visit)
                }
                FileType::RegularFile => {
                    visit.one(fd, &stat, &path);
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
            for name in Has::NAMES {
                if statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    has.note(name.as_bytes());
                }
            }
            ignored.below(folder, &dir, has)
        })
    }
}

/// What a search of `root` leaves out: `patterns`, and what the system would ask its user about.
fn left_out(root: &Path, patterns: &[String]) -> Result<Gitignore, FilesError> {
    let home = std::env::home_dir();
    let asked = asked::about(root, home.as_deref(), cfg!(target_os = "macos"));
    let patterns: Vec<String> = asked.iter().map(|&name| name.to_owned()).chain(patterns.iter().cloned()).collect();
    Ok(names::left_out(root, &patterns)?)
}

/// Makes sure that there is a folder at `path`.
fn must_be_folder(path: &Path) -> Result<(), FilesError> {
    let failed = |errno| FilesError::at(path, "list", errno);
    let fd = door::open(path, READ).map_err(failed)?;
    match kind(&fstat(&fd).map_err(failed)?) {
        FileType::Directory => Ok(()),
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

fn takes(names: Option<&Names>, path: &Path) -> bool {
    names.is_none_or(|names| names.take(path))
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
