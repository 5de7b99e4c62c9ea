//! Which machine works with a store on a network file system whose locks do not reach from one machine to another: SQLite
//! relies on them, so only the processes of one machine may write at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::StoreError;
use crate::beacon::{self, Beacon, Dark};
use crate::lease::lock_folder;
use crate::open::{make_folder, private};

/// The right of this process to write, beside others of this machine. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Machine {
    // Shared by all of this machine: whoever can have it alone is the last one.
    guard: File,
    beacon: Option<Beacon>,
}

impl Machine {
    /// For the store at `path`. Waits a second where one that another machine left is taken over.
    ///
    /// # Errors
    /// [`StoreError::Elsewhere`] when another machine works with it; [`StoreError::NotWritable`], [`StoreError::Full`].
    pub(crate) fn claim(path: &Path) -> Result<Self, StoreError> {
        Self::claim_for(path, &beacon::machine())
    }

    fn claim_for(path: &Path, host: &str) -> Result<Self, StoreError> {
        let folder = lock_folder(path);
        make_folder(&folder)?;
        let lock = folder.join(".machine");
        let guard = private().read(true).create(true).truncate(false).open(&lock);
        let shared = guard.and_then(|file| file.lock_shared().map(|()| file));
        let guard = shared.map_err(|error| StoreError::io(&lock, error))?;
        let at = folder.join(".machine.host");
        match Beacon::light_together(&at, host) {
            Ok(beacon) => Ok(Self { guard, beacon: Some(beacon) }),
            Err(Dark::Held(host)) => Err(StoreError::Elsewhere { path: path.to_owned(), host: name(&host) }),
            Err(Dark::Io(error)) => Err(StoreError::io(&at, error)),
        }
    }

    /// The machine that took it over, as may happen to one that slept.
    pub(crate) fn lost_to(&self) -> Option<String> {
        self.beacon.as_ref().filter(|beacon| !beacon.shines()).map(|beacon| name(&beacon.owner()))
    }
}

/// What people call the machine that is `host`.
pub(crate) fn name(host: &str) -> String {
    host.split(' ').next().filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned()
}

impl Drop for Machine {
    fn drop(&mut self) {
        let Some(beacon) = self.beacon.take() else { return };
        match self.guard.try_lock() {
            Err(TryLockError::WouldBlock) => beacon.leave(),
            // Whoever comes now waits until it is out.
            Ok(()) | Err(TryLockError::Error(_)) => drop(beacon),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elsewhere(claimed: Result<Machine, StoreError>) -> String {
        match claimed {
            Err(StoreError::Elsewhere { host, .. }) => host,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_of_one_machine_and_nobody_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let first = Machine::claim_for(&path, "here 1").unwrap();
        let second = Machine::claim_for(&path, "here 1").unwrap();
        assert_eq!(elsewhere(Machine::claim_for(&path, "there 2")), "here");
        drop(first);
        assert_eq!(elsewhere(Machine::claim_for(&path, "there 2")), "here", "one is left");
        assert_eq!(second.lost_to(), None);
        drop(second);
        let _there = Machine::claim_for(&path, "there 2").unwrap();
        assert_eq!(elsewhere(Machine::claim_for(&path, "here 1")), "there");
    }

    #[test]
    fn what_has_a_name_alone_is_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let _first = Machine::claim_for(&path, "here ").unwrap();
        let _second = Machine::claim_for(&path, "here ").unwrap();
        assert_eq!(beacon::machine(), beacon::machine());
    }

    #[test]
    fn one_that_slept_too_long_writes_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let mut slept = Machine::claim_for(&path, "here 1").unwrap();
        let at = lock_folder(&path).join(".machine.host");
        std::fs::write(&at, "there 2\n").unwrap();
        assert_eq!(slept.lost_to(), None, "it was renewed just now");
        slept.beacon.as_mut().unwrap().forget_renewal();
        assert_eq!(slept.lost_to().as_deref(), Some("there"));
        drop(slept);
        assert!(at.exists(), "it is theirs");
    }
}
