//! How much is kept: a number in a file, so that nobody has to look at every content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

/// A process tells the others after so many bytes: what is kept may be above its quota by this for each process.
const TELL: u64 = 1024 * 1024;
/// The name of the file.
pub(crate) const NAME: &str = "used";

/// The bytes that are kept.
#[derive(Debug)]
pub(crate) struct Usage {
    path: PathBuf,
    state: Mutex<Option<State>>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// What the file said when it was last read.
    told: u64,
    /// What this process added since.
    own: u64,
}

impl Usage {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { path: folder.join(NAME), state: Mutex::default() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.with(|state| state.told.saturating_add(state.own))
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.with(|state| {
            state.own = state.own.saturating_add(bytes);
            if state.own >= TELL {
                self.tell(state);
            }
        });
    }

    /// The sweep found that there are `bytes`.
    pub(crate) fn found(&self, bytes: u64) {
        self.with(|state| {
            *state = State { told: bytes, own: 0 };
            // The next sweep counts again.
            let _ = self.open().and_then(|mut file| write(&mut file, bytes));
        });
    }

    /// Adds what this process kept to what the file says. Where that fails it is tried again with the next content.
    fn tell(&self, state: &mut State) {
        let told = self.open().and_then(|mut file| {
            let bytes = read(&mut file).saturating_add(state.own);
            write(&mut file, bytes).map(|()| bytes)
        });
        if let Ok(told) = told {
            *state = State { told, own: 0 };
        }
    }

    /// Opens the file, for this process alone until it is closed.
    fn open(&self) -> io::Result<File> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&self.path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        // The numbers are whole after each use, so a panic elsewhere does no harm to them.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let told = || fs::File::open(&self.path).map_or(0, |mut file| read(&mut file));
        work(state.get_or_insert_with(|| State { told: told(), own: 0 }))
    }
}

impl Drop for Usage {
    fn drop(&mut self) {
        self.with(|state| {
            if state.own > 0 {
                self.tell(state);
            }
        });
    }
}

/// What is no number counts as nothing; the next sweep counts.
fn read(file: &mut File) -> u64 {
    let mut text = String::new();
    match file.take(32).read_to_string(&mut text) {
        Ok(_) => text.trim().parse().unwrap_or(0),
        Err(_) => 0,
    }
}

fn write(file: &mut File, bytes: u64) -> io::Result<()> {
    file.rewind()?;
    // As wide as any number, so that nothing of a longer one stays.
    file.write_all(format!("{bytes:>20}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_tell_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (Usage::new(folder.path()), Usage::new(folder.path()));
        one.add(10);
        other.add(5);
        assert_eq!((one.bytes(), other.bytes()), (10, 5));
        other.add(TELL);
        one.add(TELL);
        assert_eq!(one.bytes(), 2 * TELL + 15);
        drop(other);
        one.found(7);
        drop(one);
        assert_eq!(Usage::new(folder.path()).bytes(), 7);
        fs::write(folder.path().join(NAME), "much\n").unwrap();
        assert_eq!(Usage::new(folder.path()).bytes(), 0);
    }
}
