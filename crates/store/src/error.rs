//! What can go wrong with the store, told apart by what the caller does about it.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::SessionId;

/// Why, in the words of whoever failed first. Shared, because one failure may answer many calls.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Why something was not stored or not read. Unless a variant says otherwise, what was stored before is untouched and
/// later calls work again when the cause is gone.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Somebody else owns the session: watch it, or wait until they are done.
    #[error("session {session} is in use{}; `haft session show {session} --follow` watches it, or wait until that ends", by(*.holder))]
    Busy {
        /// The session.
        session: SessionId,
        /// The process that owns it, if it said.
        holder: Option<u32>,
    },
    /// Somebody on another machine, which shares the disk, owns the session.
    #[error(
        "session {session} is in use on the machine {host:?}; wait until that ends. Should it be gone, the session is free a minute later"
    )]
    BusyElsewhere {
        /// The session.
        session: SessionId,
        /// The machine.
        host: String,
    },
    /// Another machine works with the store, on a disk that carries no lock from there to here. It can be read.
    #[error(
        "the machine {host:?} works with {path}, and that disk carries no lock from there to here; end every haft there (one that is gone is forgotten a minute later), or keep the sessions of this machine elsewhere with HAFT_DB=FILE"
    )]
    Elsewhere {
        /// The file.
        path: PathBuf,
        /// The machine.
        host: String,
    },
    /// The place does not take writes; another one must be chosen.
    #[error(
        "cannot write {path}; make it writable, or choose another place with HAFT_DB (a file) or XDG_DATA_HOME (a folder)"
    )]
    NotWritable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: Cause,
    },
    /// The disk is full; the same call works when it no longer is.
    #[error("no space is left for {path}; free some space and run the same command again, nothing stored was lost")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file is from a later version. It was not touched.
    #[error(
        "{path} has format {found} of a newer haft and this one knows formats up to {known}; upgrade haft, or set HAFT_DB to another file (this one was not changed)"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest format that this version knows.
        known: u32,
    },
    /// Something in the file cannot be read.
    #[error("{}", damage(.path, .row.as_deref()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The one row that cannot be read, such as `part prt_1`; the file as a whole when `None`.
        row: Option<String>,
        /// Why.
        source: Cause,
    },
    /// Another process kept the file to itself for too long; the same call may work later.
    #[error("another program has kept {path} locked; wait until it is done and run the same command again")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// An event came before the one it builds on: a bug of the caller, or another process took that away.
    #[error("{row} is not stored; record it first")]
    Missing {
        /// What is not there, such as `message msg_1`.
        row: String,
    },
    /// The journal was closed.
    #[error("the store was closed; open it again")]
    Closed,
    /// Anything else.
    #[error("{path} cannot be used; run the same command again, and report it if that does not help")]
    Other {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Cause,
    },
}

impl StoreError {
    /// Whether every other change would have failed in the same way, so that trying them one by one is of no use.
    pub(crate) fn concerns_all(&self) -> bool {
        match self {
            StoreError::NotWritable { .. }
            | StoreError::Elsewhere { .. }
            | StoreError::Locked { .. }
            | StoreError::Closed => true,
            // A smaller change may still fit.
            StoreError::Full { .. }
            | StoreError::Missing { .. }
            | StoreError::Damaged { .. }
            | StoreError::Other { .. }
            | StoreError::Busy { .. }
            | StoreError::BusyElsewhere { .. }
            | StoreError::Newer { .. } => false,
        }
    }

    /// `path` could not be made or written.
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path: path.to_owned() },
            _ => StoreError::NotWritable { path: path.to_owned(), source: Arc::new(error) },
        }
    }

    /// SQLite, or the way to it, failed on the database at `path`.
    pub(crate) fn sql(path: &Path, error: sqlx::Error) -> Self {
        let path = path.to_owned();
        let code = match &error {
            sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => return StoreError::Closed,
            sqlx::Error::PoolTimedOut => return StoreError::Locked { path },
            sqlx::Error::Database(error) => error.code().and_then(|code| code.parse().ok()),
            _ => None,
        };
        let source: Cause = Arc::new(error);
        match code.map(Failed::from_code) {
            Some(Failed::Full) => StoreError::Full { path },
            Some(Failed::NotWritable) => StoreError::NotWritable { path, source },
            Some(Failed::Locked) => StoreError::Locked { path },
            Some(Failed::Damaged) => StoreError::Damaged { path, row: None, source },
            Some(Failed::Otherwise) | None => StoreError::Other { path, source },
        }
    }
}

/// SQLite's result codes, as far as they differ for us.
#[derive(Debug, PartialEq)]
enum Failed {
    Full,
    NotWritable,
    Locked,
    Damaged,
    Otherwise,
}

impl Failed {
    fn from_code(extended: u32) -> Self {
        const NO_ROOM_FOR_SHARED_MEMORY: u32 = 4874;
        // The same where its file is new: not even three bytes.
        const NO_BEGINNING_OF_SHARED_MEMORY: u32 = 4618;
        // A quota, or a limit on the size of files: SQLite knows only the full disk by name.
        const NOT_WRITTEN: u32 = 778;
        match (extended, extended & 0xff) {
            (NO_ROOM_FOR_SHARED_MEMORY | NO_BEGINNING_OF_SHARED_MEMORY | NOT_WRITTEN, _) | (_, 13) => Failed::Full,
            // No permission, read-only, cannot be opened.
            (_, 3 | 8 | 14) => Failed::NotWritable,
            (_, 5 | 6) => Failed::Locked,
            // Malformed, not a database.
            (_, 11 | 26) => Failed::Damaged,
            _ => Failed::Otherwise,
        }
    }
}

fn by(holder: Option<u32>) -> String {
    holder.map(|pid| format!(" by process {pid}")).unwrap_or_default()
}

fn damage(path: &Path, row: Option<&str>) -> String {
    let path = path.display();
    match row {
        Some(row) => format!("{row} in {path} cannot be read; other sessions are not affected"),
        None => format!(
            "{path} is damaged, or no database of haft's; end every haft that is open and run the same command again: what can be read of one of haft's is taken over then, and the damaged one is kept beside it. If that does not help, set HAFT_DB to another file"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: u32, want: Failed) {
        assert_eq!(Failed::from_code(code), want, "code {code}");
    }

    #[test]
    fn extended_codes_are_sorted_by_their_kind() {
        check(13, Failed::Full);
        check(4618, Failed::Full);
        check(4874, Failed::Full);
        check(778, Failed::Full);
        check(8, Failed::NotWritable);
        check(1032, Failed::NotWritable);
        check(14, Failed::NotWritable);
        check(5, Failed::Locked);
        check(517, Failed::Locked);
        check(11, Failed::Damaged);
        check(26, Failed::Damaged);
        check(10, Failed::Otherwise);
        check(787, Failed::Otherwise);
    }

    #[test]
    fn messages_name_the_thing_and_the_next_step() {
        let path = PathBuf::from("/d/haft.db");
        let source: Cause = Arc::new(io::Error::other("why"));
        let session = haft_protocol::Id::parse("ses_1").unwrap();
        let errors = [
            StoreError::Busy { session, holder: Some(7) },
            StoreError::NotWritable { path: path.clone(), source: source.clone() },
            StoreError::Full { path: path.clone() },
            StoreError::Newer { path: path.clone(), found: 9, known: 1 },
            StoreError::Damaged { path: path.clone(), row: None, source: source.clone() },
            StoreError::Damaged { path: path.clone(), row: Some("part prt_1".to_owned()), source: source.clone() },
            StoreError::Locked { path: path.clone() },
            StoreError::Missing { row: "message msg_1".to_owned() },
            StoreError::Closed,
            StoreError::Other { path, source },
        ];
        let text: String = errors.iter().map(|error| format!("{error}\n")).collect();
        expect_test::expect![[r#"
            session ses_1 is in use by process 7; `haft session show ses_1 --follow` watches it, or wait until that ends
            cannot write /d/haft.db; make it writable, or choose another place with HAFT_DB (a file) or XDG_DATA_HOME (a folder)
            no space is left for /d/haft.db; free some space and run the same command again, nothing stored was lost
            /d/haft.db has format 9 of a newer haft and this one knows formats up to 1; upgrade haft, or set HAFT_DB to another file (this one was not changed)
            /d/haft.db is damaged, or no database of haft's; end every haft that is open and run the same command again: what can be read of one of haft's is taken over then, and the damaged one is kept beside it. If that does not help, set HAFT_DB to another file
            part prt_1 in /d/haft.db cannot be read; other sessions are not affected
            another program has kept /d/haft.db locked; wait until it is done and run the same command again
            message msg_1 is not stored; record it first
            the store was closed; open it again
            /d/haft.db cannot be used; run the same command again, and report it if that does not help
        "#]]
        .assert_eq(&text);
    }
}
