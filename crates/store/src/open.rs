//! The ways to open the file: as it should be, after it was damaged, where nothing can be written, and on another
//! machine's disk.

use std::fmt;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::StoreError;
use crate::disk;
use crate::lease::{Leases, lock_folder};
use crate::machine::Machine;
use crate::migrate::{self, MIGRATING, MIGRATIONS};
use crate::reader::Reader;
use crate::salvage::{self, Log, Salvaged, log_of};
use crate::sqlite::{Sqlite, failed, suspect};

/// How long a statement waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_LOG_BYTES: &str = "16777216";
/// Largest log that is looked through when opening. SQLite keeps it far smaller unless somebody reads for hours.
const MAX_LOOKED_THROUGH: u64 = 64 * 1024 * 1024;

/// Something that the person should know about the store, and be told once.
#[derive(Debug, Clone)]
pub enum Remark {
    /// It was damaged, and what could be read is there again.
    Salvaged(Salvaged),
    /// The latest changes were lost with the log; the log as it was is kept.
    LogLost {
        /// The copy of the log.
        kept: PathBuf,
    },
    /// It was there without anything in it, though haft had been at work here before.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It can be read and not written.
    ReadOnly(StoreError),
    /// It is on another machine's disk.
    Network {
        /// The file.
        path: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remark::Salvaged(salvaged) => salvaged.fmt(f),
            Remark::LogLost { kept } => write!(
                f,
                "the latest changes to the store of sessions could not be read, and it was opened as it was before \
                 them. They are kept as {}",
                kept.display()
            ),
            Remark::Empty { path } => write!(
                f,
                "the store of sessions, {}, was empty, so there is none from before; put a copy of it back if there \
                 is one",
                path.display()
            ),
            Remark::ReadOnly(why) => write!(f, "sessions can be looked at and not changed: {why}"),
            Remark::Network { path, kind } => write!(
                f,
                "{} is on a network file system ({kind}): haft works there more slowly and more carefully, and a \
                 session that another machine works on is left to it. HAFT_DB=FILE keeps sessions on a disk of this machine",
                path.display()
            ),
        }
    }
}

/// A database that was opened.
pub(crate) struct Opened {
    /// Who writes, or why nobody can.
    pub(crate) shelf: Result<Sqlite, StoreError>,
    pub(crate) reader: Reader,
    pub(crate) leases: Leases,
    pub(crate) remarks: Vec<Remark>,
}

/// Opens the database at `path`, an absolute path, and makes it when it is not there.
pub(crate) async fn open(path: &Path) -> Result<Opened, StoreError> {
    open_on(path, disk::network_of(path)).await
}

/// The same on a file system that is said to be a network's or not.
pub(crate) async fn open_on(path: &Path, network: Option<&'static str>) -> Result<Opened, StoreError> {
    let mut remarks = Vec::new();
    let machine = network.filter(|kind| !disk::locks_reach(kind)).map(|_| Machine::claim(path)).transpose();
    let opened = match machine {
        Ok(machine) => match writable(path, network, &mut remarks).await {
            Err(error) if broken(&error) => mended(path, network, &mut remarks).await,
            opened => opened,
        }
        .map(|(connection, options)| (connection, options, machine)),
        Err(elsewhere) => Err(elsewhere),
    };
    let path: Arc<Path> = path.into();
    match opened {
        Ok((connection, options, machine)) => {
            let leases = if network.is_some() { Leases::shared(&path) } else { Leases::beside(&path) };
            leases.sweep();
            remarks.extend(first_time(&path, network));
            let reader = Reader::new(path.clone(), options.read_only(true));
            Ok(Opened { shelf: Ok(Sqlite::new(connection, path, machine)), reader, leases, remarks })
        }
        // Reading needs neither space nor rights.
        Err(why @ (StoreError::NotWritable { .. } | StoreError::Full { .. } | StoreError::Elsewhere { .. })) => {
            let Some(reader) = readable(&path).await else { return Err(why) };
            tracing::warn!(error = %why, "opened for reading alone");
            remarks.push(Remark::ReadOnly(why.clone()));
            Ok(Opened { leases: Leases::beside(&path), shelf: Err(why), reader, remarks })
        }
        Err(error) => Err(error),
    }
}

/// Whether the file as a whole cannot be read.
fn broken(error: &StoreError) -> bool {
    matches!(error, StoreError::Damaged { row: None, .. })
}

async fn writable(
    path: &Path,
    network: Option<&'static str>,
    remarks: &mut Vec<Remark>,
) -> Result<(SqliteConnection, SqliteConnectOptions), StoreError> {
    salvage::finish(path)?;
    // One that haft made is never empty, but a process that is killed while it makes the first one leaves such.
    let was_there = path.exists() && lock_folder(path).join(MIGRATING).exists();
    make_place(path)?;
    if log_is_lost(path) {
        remarks.push(Remark::LogLost { kept: salvage::keep_log(path)? });
    }
    let (mode, synchronous) = match network {
        // In WAL mode a killed process loses nothing this way; after a power cut the file is consistent, and older.
        None => ("WAL", SqliteSynchronous::Normal),
        // The log needs memory that all processes share.
        Some(_) => ("TRUNCATE", SqliteSynchronous::Full),
    };
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .synchronous(synchronous)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("journal_size_limit", MAX_LOG_BYTES)
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(|error| StoreError::sql(path, error))?;
    let made = migrate::migrate(&mut connection, path, MIGRATIONS, mode).await?;
    if made && was_there {
        remarks.push(Remark::Empty { path: path.to_owned() });
    }
    if network.is_some() {
        // One that was made elsewhere may have a log.
        let mode = sqlx::query("PRAGMA journal_mode = TRUNCATE").execute(&mut connection).await;
        mode.map_err(|error| failed(path, error))?;
    }
    whole(&mut connection, path).await?;
    Ok((connection, options))
}

/// Fails when the file is shorter than it says, or when it was found damaged before and is.
async fn whole(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let pages = sqlx::query_as("SELECT page_count, page_size FROM pragma_page_count, pragma_page_size");
    let (pages, size): (i64, i64) = pages.fetch_one(&mut *connection).await.map_err(|error| failed(path, error))?;
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
    let short = bytes(&log_of(path)) == 0 && i128::from(pages) * i128::from(size) > i128::from(bytes(path));
    let mark = suspect(path);
    if !short && !mark.exists() {
        return Ok(());
    }
    let check: String = sqlx::query_scalar("PRAGMA integrity_check(1)")
        .fetch_one(&mut *connection)
        .await
        .unwrap_or_else(|error| error.to_string());
    if check == "ok" && !short {
        // It was another trouble, which is over.
        let _ = std::fs::remove_file(mark);
        return Ok(());
    }
    let source = Arc::new(io::Error::other(check));
    Err(StoreError::Damaged { path: path.to_owned(), row: None, source })
}

/// Puts a damaged database aside, what can be read into a new one, and opens that.
async fn mended(
    path: &Path,
    network: Option<&'static str>,
    remarks: &mut Vec<Remark>,
) -> Result<(SqliteConnection, SqliteConnectOptions), StoreError> {
    let ours = lock_folder(path).join(MIGRATING).exists();
    let _alone = migrate::alone(path, ".salvage").await?;
    // Somebody may have been faster.
    let damaged = match writable(path, network, remarks).await {
        Err(error) if broken(&error) => error,
        opened => return opened,
    };
    // Whoever works on a session would go on writing into the file that is put aside.
    if let Some(holder) = Leases::beside(path).any_held() {
        tracing::warn!(holder, "a damaged database waits until nobody uses it");
        return Err(damaged);
    }
    let Some(salvaged) = salvage::salvage(path, ours).await? else { return Err(damaged) };
    let _ = std::fs::remove_file(suspect(path));
    remarks.push(Remark::Salvaged(salvaged));
    writable(path, network, remarks).await
}

/// Whether there is a log that was damaged, so that SQLite would silently leave out what it held.
fn log_is_lost(path: &Path) -> bool {
    let log = log_of(path);
    let read = || match std::fs::metadata(&log) {
        Ok(meta) if meta.len() > 0 && meta.len() <= MAX_LOOKED_THROUGH => {
            std::fs::read(&log).is_ok_and(|bytes| Log::read(&bytes).damaged)
        }
        _ => false,
    };
    // Another process may have been writing it just then; that is over in a moment.
    (0..3).all(|_| read())
}

/// A reader where nothing can be written.
async fn readable(path: &Arc<Path>) -> Option<Reader> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    // Where not even the memory beside the log can be made, the file is taken as it is, without its log.
    for options in [options.clone(), options.immutable(true)] {
        let Ok(mut connection) = options.connect().await else { continue };
        let works = migrate::is_known(&mut connection, path, MIGRATIONS).await;
        let _ = connection.close().await;
        if works {
            return Some(Reader::new(path.clone(), options));
        }
    }
    None
}

/// The remark about a network file system, once for each store.
fn first_time(path: &Path, network: Option<&'static str>) -> Option<Remark> {
    let kind = network?;
    let mark = lock_folder(path).join(".network");
    make_folder(&lock_folder(path)).ok()?;
    private().create_new(true).open(mark).ok()?;
    Some(Remark::Network { path: path.to_owned(), kind })
}

/// Makes the folder and an empty file that only the user can read, as far as they are not there.
fn make_place(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    // A file that exists is not even opened: closing it again would drop the locks that SQLite holds on it elsewhere
    // in this process.
    match private().create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(StoreError::io(path, error)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Makes a folder that only the user can enter, and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder).map_err(|error| StoreError::io(folder, error))
}

/// Opens files for writing that, when new, only the user can read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn where_locks_do_not_reach_one_machine_writes_and_others_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let first = open_on(&path, Some("FUSE")).await.unwrap();
        assert!(first.shelf.is_ok());
        drop(first);
        let host = lock_folder(&path).join(".machine.host");
        std::fs::write(&host, "elsewhere 7\n").unwrap();
        let second = open_on(&path, Some("FUSE")).await.unwrap();
        let Err(StoreError::Elsewhere { host: name, .. }) = &second.shelf else { panic!("it could write") };
        assert_eq!(name, "elsewhere");
        assert!(matches!(&second.remarks[..], [Remark::ReadOnly(StoreError::Elsewhere { .. })]));
        // The locks of this one do reach.
        assert!(open_on(&path, Some("NFS")).await.unwrap().shelf.is_ok());
    }
}
