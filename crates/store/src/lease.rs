//! Who owns a session: a lock of the operating system, which no crash leaves behind.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::{Id, SessionId};

use crate::StoreError;
use crate::beacon::{Beacon, Dark, host};
use crate::machine;
use crate::open::{make_folder, private};

/// Most files of ended owners that one opening looks at.
const MAX_SWEPT: usize = 64;

/// The right to change a session. Ends when it is dropped, and with the process, however that ends.
#[must_use = "the session is free again as soon as this is dropped"]
#[derive(Debug)]
pub struct Lease {
    _held: Held,
}

/// Who works on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The process.
    pub pid: u32,
    /// Since when, in Unix milliseconds.
    pub since: u64,
}

#[derive(Debug)]
enum Held {
    // Closing it frees the lock. The file stays: only `Leases::sweep` may take one away.
    File {
        lock: File,
        /// Where the lock may be this machine's alone.
        _beacon: Option<Beacon>,
    },
    InProcess {
        set: Set,
        id: SessionId,
    },
}

type Set = Arc<Mutex<HashSet<SessionId>>>;

/// All leases of one store.
#[derive(Debug)]
pub(crate) enum Leases {
    Folder(PathBuf),
    /// One that several machines share.
    Shared(PathBuf),
    InProcess(Set),
}

/// The folder of the locks of the database at `path`.
pub(crate) fn lock_folder(path: &Path) -> PathBuf {
    path.with_file_name("locks")
}

impl Leases {
    pub(crate) fn beside(database: &Path) -> Self {
        Leases::Folder(lock_folder(database))
    }

    /// The same where several machines may use the database.
    pub(crate) fn shared(database: &Path) -> Self {
        Leases::Shared(lock_folder(database))
    }

    /// The folder of the locks, if there are any.
    fn folder(&self) -> Option<&Path> {
        match self {
            Leases::Folder(folder) | Leases::Shared(folder) => Some(folder),
            Leases::InProcess(_) => None,
        }
    }

    pub(crate) fn in_process() -> Self {
        Leases::InProcess(Set::default())
    }

    pub(crate) fn claim(&self, id: &SessionId) -> Result<Lease, StoreError> {
        let held = match self {
            Leases::Folder(folder) => Held::File { lock: claim_file(folder, id)?, _beacon: None },
            Leases::Shared(folder) => {
                let lock = claim_file(folder, id)?;
                let path = folder.join(format!("{id}.host"));
                let beacon = Beacon::light(&path, &host()).map_err(|dark| match dark {
                    Dark::Held(host) => StoreError::BusyElsewhere { session: id.clone(), host: machine::name(&host) },
                    Dark::Io(error) => StoreError::io(&path, error),
                })?;
                Held::File { lock, _beacon: Some(beacon) }
            }
            Leases::InProcess(set) => {
                if !lock(set).insert(id.clone()) {
                    return Err(StoreError::Busy { session: id.clone(), holder: Some(std::process::id()) });
                }
                Held::InProcess { set: set.clone(), id: id.clone() }
            }
        };
        Ok(Lease { _held: held })
    }

    /// Who works on a session, as far as they said and live on this machine. Takes no lock, so it is in nobody's way.
    pub(crate) fn owner(&self, id: &SessionId) -> Option<Owner> {
        match self {
            Leases::Folder(folder) | Leases::Shared(folder) => {
                let mut file = File::open(folder.join(id.as_str())).ok()?;
                let since = file.metadata().and_then(|meta| meta.modified()).ok()?;
                let since = since.duration_since(std::time::UNIX_EPOCH).ok()?.as_millis();
                let pid = holder(&mut file).filter(|&pid| lives(pid))?;
                Some(Owner { pid, since: u64::try_from(since).ok()? })
            }
            Leases::InProcess(set) => {
                let held = lock(set).contains(id);
                held.then(|| Owner { pid: std::process::id(), since: 0 })
            }
        }
    }

    /// The process that works on any session here, if one does.
    pub(crate) fn any_held(&self) -> Option<u32> {
        let folder = self.folder()?;
        let files = folder.read_dir().ok()?.flatten().map(|file| file.path()).filter(|path| is_lease(path));
        files.filter_map(|path| File::open(path).ok()).find_map(|mut file| {
            matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then(|| holder(&mut file).unwrap_or(0))
        })
    }

    /// Takes away files that ended owners left. Nothing hangs on it, so whatever fails is left to the next time.
    pub(crate) fn sweep(&self) {
        let Some(folder) = self.folder() else { return };
        let Ok(files) = folder.read_dir() else { return };
        let Ok(guard) = open(&folder.join(".sweep")) else { return };
        // Somebody claims or sweeps right now. Without this one could lock a file that is about to lose its name, and
        // the next one a new file of that name: two owners.
        if guard.try_lock().is_err() {
            return;
        }
        let left = files.flatten().map(|file| file.path()).filter(|path| is_lease(path));
        for path in left.take(MAX_SWEPT) {
            if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        match self {
            // Nobody is there any more, though the process may live on.
            Held::File { lock, _beacon } => drop(lock.set_len(0)),
            Held::InProcess { set, id } => {
                lock(set).remove(id);
            }
        }
    }
}

fn claim_file(folder: &Path, id: &SessionId) -> Result<File, StoreError> {
    make_folder(folder)?;
    let guard = folder.join(".sweep");
    let swept = open(&guard).and_then(|file| file.lock_shared().map(|()| file));
    // Waits for a sweep, which is short; other claims hold it at the same time.
    let _not_swept = swept.map_err(|error| StoreError::io(&guard, error))?;

    let path = folder.join(id.as_str());
    let mut file = open(&path).map_err(|error| StoreError::io(&path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::Busy { session: id.clone(), holder: holder(&mut file) });
        }
        Err(TryLockError::Error(error)) => return Err(StoreError::io(&path, error)),
    }
    let signed = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    signed.map_err(|error| StoreError::io(&path, error))?;
    Ok(file)
}

fn open(path: &Path) -> std::io::Result<File> {
    private().read(true).create(true).truncate(false).open(path)
}

/// Who wrote the file, if they got that far.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

/// Whether there is such a process.
#[cfg(unix)]
fn lives(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // Somebody else's process is one as well.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn lives(_: u32) -> bool {
    true
}

fn is_lease(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| SessionId::parse(name).is_ok())
}

fn lock(set: &Set) -> MutexGuard<'_, HashSet<SessionId>> {
    // Each use leaves the set whole, so a panic elsewhere does no harm to it.
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> SessionId {
        Id::parse(text).unwrap()
    }

    #[test]
    fn the_owner_is_named_while_it_lives() {
        let folder = tempfile::tempdir().unwrap();
        let leases = Leases::beside(&folder.path().join("haft.db"));
        let lease = leases.claim(&id("ses_1")).unwrap();
        let busy = leases.claim(&id("ses_1")).unwrap_err();
        let me = std::process::id();
        assert!(matches!(busy, StoreError::Busy { holder: Some(pid), .. } if pid == me), "{busy}");
        assert_eq!(leases.owner(&id("ses_1")).map(|owner| owner.pid), Some(me));
        assert_eq!(leases.any_held(), Some(me));
        drop(lease);
        assert_eq!((leases.owner(&id("ses_1")), leases.any_held()), (None, None));
        let _again = leases.claim(&id("ses_1")).unwrap();
    }

    #[test]
    fn where_machines_share_a_folder_one_owns_a_session() {
        let folder = tempfile::tempdir().unwrap();
        let leases = Leases::shared(&folder.path().join("haft.db"));
        let lease = leases.claim(&id("ses_1")).unwrap();
        assert!(matches!(leases.claim(&id("ses_1")), Err(StoreError::Busy { .. })), "on this machine the lock says so");
        drop(lease);
        drop(leases.claim(&id("ses_1")).unwrap());
        std::fs::write(folder.path().join("locks/ses_1.host"), "elsewhere\n7\n0\n").unwrap();
        let busy = leases.claim(&id("ses_1")).unwrap_err();
        assert!(matches!(&busy, StoreError::BusyElsewhere { host, .. } if host == "elsewhere"), "{busy}");
        // The sweep takes locks alone.
        leases.sweep();
        assert!(folder.path().join("locks/ses_1.host").exists());
        drop(leases.claim(&id("ses_2")).unwrap());
    }

    #[test]
    fn a_sweep_takes_only_what_nobody_holds() {
        let folder = tempfile::tempdir().unwrap();
        let leases = Leases::beside(&folder.path().join("haft.db"));
        leases.sweep();
        let _lease = leases.claim(&id("ses_live")).unwrap();
        drop(leases.claim(&id("ses_left")).unwrap());
        std::fs::write(folder.path().join("locks/notes.txt"), "not ours").unwrap();
        leases.sweep();
        assert_eq!(names(&folder.path().join("locks")), [".sweep", "notes.txt", "ses_live"]);
        leases.claim(&id("ses_live")).unwrap_err();
    }

    #[test]
    fn a_sweep_looks_at_no_more_files_than_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let leases = Leases::beside(&folder.path().join("haft.db"));
        for n in 0..MAX_SWEPT + 3 {
            drop(leases.claim(&id(&format!("ses_{n}"))).unwrap());
        }
        leases.sweep();
        assert_eq!(names(&folder.path().join("locks")).len(), 1 + 3);
        leases.sweep();
        assert_eq!(names(&folder.path().join("locks")), [".sweep"]);
    }

    #[test]
    fn no_sweep_while_somebody_claims() {
        let folder = tempfile::tempdir().unwrap();
        let leases = Leases::beside(&folder.path().join("haft.db"));
        drop(leases.claim(&id("ses_left")).unwrap());
        let claiming = open(&folder.path().join("locks/.sweep")).unwrap();
        claiming.lock_shared().unwrap();
        leases.sweep();
        assert_eq!(names(&folder.path().join("locks")), [".sweep", "ses_left"]);
        // Other claims go on.
        let _lease = leases.claim(&id("ses_left")).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
