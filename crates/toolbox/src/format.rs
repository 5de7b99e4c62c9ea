//! Formatters: programs that tidy a file in place after a tool wrote it.
//!
//! Which there are is data (`catalogue.json`) with the user's settings laid over it; which of them are for a file is decided
//! from what stands in the project (`choose.rs`). They run in the cage of all commands, without network, and whatever becomes
//! of them the edit stays: what a failed one left is put back (`settle.rs`).

mod after;
mod catalogue;
mod choose;
mod disk;
mod run;
mod settle;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_project::Files;

pub(crate) use self::after::{After, Written};
pub use self::after::{AfterEdit, Tell};
use self::catalogue::Formatter;
pub use self::catalogue::{MAX_FORMATTERS, Wish};
pub use self::choose::Why;
use self::disk::Disk;

/// How long a formatter may take for one file.
pub const MAX_TIME: Duration = Duration::from_secs(20);
/// How often a formatter may take too long before it is left out until the program is started again.
const MAX_HANGS: u32 = 2;
/// Most formatters that work on one file, one after the other.
const MAX_OF_FILE: usize = 8;

/// What tidies files. Cheap to clone; by default nothing does.
#[derive(Clone, Default)]
pub struct Formatters {
    inner: Option<Arc<Inner>>,
}

struct Inner {
    all: Vec<Formatter>,
    trusted: bool,
    experimental: bool,
    /// How long each may take for one file.
    time: Duration,
    /// How often each took too long.
    hangs: Mutex<HashMap<String, u32>>,
    /// Whether programs showed that they are what they are taken for.
    proven: Mutex<HashMap<PathBuf, bool>>,
    /// Held while the files of one call are tidied, so that what is found then is that call's doing.
    turn: tokio::sync::Mutex<()>,
}

/// A formatter, and whether it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// What it is called.
    pub name: String,
    /// The ends of the names of files that it is for.
    pub extensions: Vec<String>,
    /// Its program, or why it is not used.
    pub program: Result<PathBuf, Why>,
}

impl fmt::Debug for Formatters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.inner.iter().flat_map(|inner| &inner.all).map(|one| &one.name);
        f.debug_list().entries(names).finish()
    }
}

/// One that is for a file.
#[derive(Debug, Clone)]
struct Chosen {
    formatter: Formatter,
    program: PathBuf,
}

impl Formatters {
    /// Those that are known, with `wishes` laid over them. What runs programs or code of the project counts only where that
    /// is `trusted`, what may still change only with `experimental`. Also says what is wrong with wishes.
    pub fn new(wishes: Vec<Wish>, trusted: bool, experimental: bool) -> (Self, Vec<String>) {
        let (all, problems) = catalogue::with(catalogue::known(), wishes);
        let (hangs, proven, turn) = (Mutex::default(), Mutex::default(), tokio::sync::Mutex::default());
        let inner = Inner { all, trusted, experimental, time: MAX_TIME, hangs, proven, turn };
        (Self { inner: Some(Arc::new(inner)) }, problems)
    }

    /// All of them, and whether they are used for `file`; without one, whether they are for files in the working folder
    /// whose names have the right end. Looks at the disk.
    pub fn status(&self, files: &Files, file: Option<&Path>) -> Vec<Status> {
        let Some(inner) = &self.inner else { return Vec::new() };
        let below = file.and_then(Path::parent).unwrap_or(files.root());
        let judged = inner.judge(files, below);
        let one = |(formatter, program): (&Formatter, Result<PathBuf, Why>)| {
            let is_for = file.and_then(Path::file_name).and_then(|name| name.to_str());
            let program = match is_for.is_none_or(|name| choose::fits(formatter, name)) {
                true => program,
                false => Err(Why::OtherFiles),
            };
            Status { name: formatter.name.clone(), extensions: formatter.extensions.clone(), program }
        };
        inner.all.iter().zip(judged).map(one).collect()
    }

    /// The same where each may take `time` for one file.
    #[cfg(test)]
    fn within(self, time: Duration) -> Self {
        let inner = self.inner.and_then(Arc::into_inner).map(|inner| Arc::new(Inner { time, ..inner }));
        Self { inner }
    }

    /// Whether any may be for a file called `name`.
    fn may_be_for(&self, name: &str) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.all.iter().any(|one| !one.disabled && choose::fits(one, name)))
    }
}

impl Inner {
    /// Those for the file at `path`, in their order. Looks at the disk.
    fn choose(&self, files: &Files, path: &Path) -> Vec<Chosen> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Vec::new();
        };
        let eyes = Disk::new(files, folder);
        let used = self.all.iter().zip(choose::choose(&self.all, self.trusted, self.experimental, &eyes));
        let used = used.filter(|(one, _)| choose::fits(one, name) && !self.is_out(&one.name));
        let chosen = |(formatter, program): (&Formatter, Result<PathBuf, Why>)| {
            let program = program.ok()?;
            let command = choose::filled(formatter, &eyes);
            Some(Chosen { formatter: Formatter { command, ..formatter.clone() }, program })
        };
        used.filter_map(chosen).take(MAX_OF_FILE).collect()
    }

    fn judge(&self, files: &Files, folder: &Path) -> Vec<Result<PathBuf, Why>> {
        choose::choose(&self.all, self.trusted, self.experimental, &Disk::new(files, folder))
    }

    /// Whether it took too long too often.
    fn is_out(&self, name: &str) -> bool {
        lock(&self.hangs).get(name).is_some_and(|count| *count >= MAX_HANGS)
    }

    /// It took too long.
    fn hung(&self, name: &str) {
        let mut hangs = lock(&self.hangs);
        let count = hangs.entry(name.to_owned()).or_default();
        *count = count.saturating_add(1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each is whole after every use.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
