//! Sessions in a SQLite file: one connection that writes, a few that only read.

use std::collections::HashMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_protocol::{History, Part, PartId, Session, SessionId, Todo, Turned};
use serde::de::DeserializeOwned;
use sqlx::error::ErrorKind;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::migrate::{self, MIGRATIONS};
use crate::rows::{Change, Shelf};
use crate::{Filter, StoreError};

/// How long a statement waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_READERS: u32 = 2;
const MAX_LOG_BYTES: &str = "16777216";

const PUT_SESSION: &str = "
    INSERT INTO session (id, parent_id, directory, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (id) DO UPDATE SET parent_id = ?2, directory = ?3, time_created = ?4, time_updated = ?5, data = ?6";
const PUT_MESSAGE: &str = "
    INSERT INTO message (session_id, id, seq, time_created, data)
    VALUES (?1, ?2, (SELECT coalesce(max(seq), 0) + 1 FROM message WHERE session_id = ?1), ?3, ?4)
    ON CONFLICT (session_id, id) DO UPDATE SET data = ?4";
const PUT_PART: &str = "
    INSERT INTO part (session_id, message_id, id, seq, time_created, data)
    VALUES (?1, ?2, ?3,
            (SELECT coalesce(max(seq), 0) + 1 FROM part WHERE session_id = ?1 AND message_id = ?2), ?4, ?5)
    ON CONFLICT (session_id, id) DO UPDATE SET data = ?5";
const GROW_PART: &str = "UPDATE part SET data = ?3 WHERE session_id = ?1 AND id = ?2";
const REMOVE_PART: &str = "DELETE FROM part WHERE session_id = ?1 AND id = ?2";
/// Its parts go with it.
const REMOVE_MESSAGE: &str = "DELETE FROM message WHERE session_id = ?1 AND id = ?2";
/// Its messages, parts and things to do go with it.
const REMOVE_SESSION: &str = "DELETE FROM session WHERE id = ?1";
const PUT_TODOS: &str = "
    INSERT INTO todo (session_id, data) VALUES (?1, ?2) ON CONFLICT (session_id) DO UPDATE SET data = ?2";
const GET_TODOS: &str = "SELECT data FROM todo WHERE session_id = ?1";
const GET_PART: &str = "SELECT data FROM part WHERE session_id = ?1 AND id = ?2";
const GET_SESSION: &str = "SELECT data FROM session WHERE id = ?1";
const LIST_ALL: &str = "
    SELECT id, data FROM session WHERE NOT ?1 OR parent_id IS NULL
    ORDER BY time_updated DESC, time_created DESC, id LIMIT ?2";
const LIST_DIRECTORY: &str = "
    SELECT id, data FROM session WHERE directory = ?3 AND (NOT ?1 OR parent_id IS NULL)
    ORDER BY time_updated DESC, time_created DESC, id LIMIT ?2";
const LIST_CHILDREN: &str = "
    SELECT id, data FROM session WHERE parent_id = ?1 ORDER BY time_created DESC, id DESC LIMIT ?2";
const MESSAGES: &str = "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY seq";
const PARTS: &str = "SELECT message_id, id, data FROM part WHERE session_id = ?1 ORDER BY message_id, seq";

/// The connection that writes.
pub(crate) struct Sqlite {
    connection: SqliteConnection,
    path: Arc<Path>,
}

/// The connections that read. None is made before it is needed.
#[derive(Debug)]
pub(crate) struct Reader {
    pool: SqlitePool,
    path: Arc<Path>,
}

/// Opens the database at `path`, an absolute path, and makes it when it is not there.
pub(crate) async fn open(path: &Path) -> Result<(Sqlite, Reader), StoreError> {
    make_place(path)?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        // In WAL mode a killed process loses nothing this way; after a power cut the file is consistent, and older.
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("journal_size_limit", MAX_LOG_BYTES)
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(|error| StoreError::sql(path, error))?;
    migrate::migrate(&mut connection, path, MIGRATIONS).await?;

    let pool = SqlitePoolOptions::new()
        .max_connections(MAX_READERS)
        // Nothing that runs beside the program: connections are few, local and stay.
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_lazy_with(options.read_only(true));
    let path: Arc<Path> = path.into();
    Ok((Sqlite { connection, path: path.clone() }, Reader { pool, path }))
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

impl Shelf for Sqlite {
    async fn write(&mut self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        if changes.len() == 1 {
            // One statement is a transaction already; this saves two ways to SQLite's thread and back.
            return self.make(changes).await;
        }
        // Not sqlx's own transaction: it counts how deep it is, and SQLite ends some by itself when the disk is full.
        self.run("BEGIN IMMEDIATE").await?;
        let written = match self.make(changes).await {
            Ok(()) => self.run("COMMIT").await,
            failed => failed,
        };
        if written.is_err() {
            // Fails when SQLite did it already.
            let _ = self.run("ROLLBACK").await;
        }
        written
    }

    async fn part(&mut self, session: &SessionId, part: &PartId) -> Result<Option<Part>, StoreError> {
        let query = sqlx::query_scalar::<_, String>(GET_PART).bind(session.to_string()).bind(part.to_string());
        let row =
            query.fetch_optional(&mut self.connection).await.map_err(|error| StoreError::sql(&self.path, error))?;
        row.map(|data| parse(&self.path, "part", part.to_string(), &data)).transpose()
    }

    async fn close(self) -> Result<(), StoreError> {
        self.connection.close().await.map_err(|error| StoreError::sql(&self.path, error))
    }
}

impl Sqlite {
    pub(crate) async fn run(&mut self, statement: &'static str) -> Result<(), StoreError> {
        let done = sqlx::query(statement).execute(&mut self.connection).await;
        done.map(drop).map_err(|error| StoreError::sql(&self.path, error))
    }

    async fn make(&mut self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        for change in changes {
            let query = match *change {
                Change::Session(info) => sqlx::query(PUT_SESSION)
                    .bind(info.id.to_string())
                    .bind(info.parent_id.as_ref().map(ToString::to_string))
                    .bind(info.directory.clone())
                    .bind(stamp(info.time.created))
                    .bind(stamp(info.time.updated))
                    .bind(self.json(info)?),
                Change::Message(message) => sqlx::query(PUT_MESSAGE)
                    .bind(message.session_id().to_string())
                    .bind(message.id().to_string())
                    .bind(stamp(message.created()))
                    .bind(self.json(message)?),
                Change::Part { part, time } => sqlx::query(PUT_PART)
                    .bind(part.session_id.to_string())
                    .bind(part.message_id.to_string())
                    .bind(part.id.to_string())
                    .bind(stamp(time))
                    .bind(self.json(part)?),
                Change::Grown(part) => sqlx::query(GROW_PART)
                    .bind(part.session_id.to_string())
                    .bind(part.id.to_string())
                    .bind(self.json(part)?),
                Change::SessionRemoved(session) => sqlx::query(REMOVE_SESSION).bind(session.to_string()),
                Change::MessageRemoved { session, message } => {
                    sqlx::query(REMOVE_MESSAGE).bind(session.to_string()).bind(message.to_string())
                }
                Change::PartRemoved { session, part } => {
                    sqlx::query(REMOVE_PART).bind(session.to_string()).bind(part.to_string())
                }
                Change::Todos { session, todos } => {
                    sqlx::query(PUT_TODOS).bind(session.to_string()).bind(self.json(&todos)?)
                }
            };
            query.execute(&mut self.connection).await.map_err(|error| match error {
                sqlx::Error::Database(error) if error.kind() == ErrorKind::ForeignKeyViolation => {
                    StoreError::Missing { row: change.foundation().unwrap_or_default() }
                }
                error => StoreError::sql(&self.path, error),
            })?;
        }
        Ok(())
    }

    fn json(&self, record: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(record)
            .map_err(|error| StoreError::Other { path: self.path.to_path_buf(), source: Arc::new(error) })
    }
}

impl Reader {
    pub(crate) async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let query = sqlx::query_scalar::<_, String>(GET_SESSION).bind(id.to_string());
        let row = query.fetch_optional(&self.pool).await.map_err(|error| StoreError::sql(&self.path, error))?;
        row.map(|data| parse(&self.path, "session", id.to_string(), &data)).transpose()
    }

    pub(crate) async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let query = sqlx::query_as::<_, (String, String)>(match filter.directory {
            Some(_) => LIST_DIRECTORY,
            None => LIST_ALL,
        });
        let query = query.bind(filter.roots).bind(limit);
        let query = match &filter.directory {
            Some(directory) => query.bind(directory.clone()),
            None => query,
        };
        let rows = query.fetch_all(&self.pool).await.map_err(|error| StoreError::sql(&self.path, error))?;
        Ok(self.readable(rows).collect())
    }

    pub(crate) async fn children(&self, id: &SessionId, limit: usize) -> Result<Vec<Session>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let query = sqlx::query_as::<_, (String, String)>(LIST_CHILDREN).bind(id.to_string()).bind(limit);
        let rows = query.fetch_all(&self.pool).await.map_err(|error| StoreError::sql(&self.path, error))?;
        Ok(self.readable(rows).collect())
    }

    /// The sessions of `rows` without those that cannot be read.
    fn readable(&self, rows: Vec<(String, String)>) -> impl Iterator<Item = Session> {
        rows.into_iter().filter_map(|(id, data)| {
            parse(&self.path, "session", id, &data)
                .inspect_err(|error| tracing::warn!(%error, "left out of a list"))
                .ok()
        })
    }

    pub(crate) async fn todos(&self, id: &SessionId) -> Result<Vec<Todo>, StoreError> {
        let query = sqlx::query_scalar::<_, String>(GET_TODOS).bind(id.to_string());
        let row = query.fetch_optional(&self.pool).await.map_err(|error| StoreError::sql(&self.path, error))?;
        row.map_or(Ok(Vec::new()), |data| parse(&self.path, "todo", id.to_string(), &data))
    }

    pub(crate) async fn history(&self, id: &SessionId) -> Result<History, StoreError> {
        let (messages, parts) = self.rows(id).await.map_err(|error| StoreError::sql(&self.path, error))?;
        let path = self.path.clone();
        // A long session is megabytes of JSON.
        let read = tokio::task::spawn_blocking(move || assemble(&path, messages, parts));
        read.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Both in one transaction: without it a part could come whose message did not.
    async fn rows(&self, id: &SessionId) -> Result<(Vec<MessageRow>, Vec<PartRow>), sqlx::Error> {
        let mut snapshot = self.pool.begin().await?;
        let messages = sqlx::query_as(MESSAGES).bind(id.to_string()).fetch_all(&mut *snapshot).await?;
        let parts = sqlx::query_as(PARTS).bind(id.to_string()).fetch_all(&mut *snapshot).await?;
        snapshot.rollback().await?;
        Ok((messages, parts))
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Id and record.
type MessageRow = (String, String);
/// Message, id and record.
type PartRow = (String, String, String);

fn assemble(path: &Path, messages: Vec<MessageRow>, parts: Vec<PartRow>) -> Result<History, StoreError> {
    let mut turned: Vec<Turned> = Vec::with_capacity(messages.len());
    let mut places = HashMap::with_capacity(messages.len());
    for (id, data) in messages {
        let info = parse(path, "message", id.clone(), &data)?;
        places.insert(id, turned.len());
        turned.push(Turned { info, parts: Vec::new() });
    }
    for (message, id, data) in parts {
        let part = parse(path, "part", id, &data)?;
        if let Some(&place) = places.get(&message) {
            turned[place].parts.push(part);
        }
    }
    Ok(turned.into_iter().collect())
}

fn parse<T: DeserializeOwned>(path: &Path, table: &str, id: String, data: &str) -> Result<T, StoreError> {
    serde_json::from_str(data).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        row: Some(format!("{table} {id}")),
        source: Arc::new(error),
    })
}

/// Milliseconds as SQLite counts: only to sort by, the record has the real ones.
fn stamp(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::samples;

    /// Steps of SQLite's own machine: what `change` costs, whatever the machine underneath.
    async fn cost(shelf: &mut Sqlite, change: Change<'_>) -> u64 {
        let steps = Arc::new(AtomicU64::new(0));
        let counter = steps.clone();
        let mut handle = shelf.connection.lock_handle().await.unwrap();
        handle.set_progress_handler(1, move || counter.fetch_add(1, Ordering::Relaxed) < u64::MAX);
        drop(handle);
        shelf.write(&[change]).await.unwrap();
        shelf.connection.lock_handle().await.unwrap().remove_progress_handler();
        steps.load(Ordering::Relaxed)
    }

    /// What each kind of change costs in `session` now, where message and part are new ones.
    async fn costs(shelf: &mut Sqlite, session: &Session, name: &str) -> Vec<u64> {
        let message = samples::prompt(session, &format!("msg_{name}"));
        let part = samples::text(&message, &format!("prt_{name}"), "more words");
        let mut costs = Vec::new();
        for change in [
            Change::Session(session),
            Change::Message(&message),
            Change::Part { part: &part, time: 1 },
            Change::Grown(&part),
            Change::PartRemoved { session: &session.id, part: &part.id },
            Change::Todos { session: &session.id, todos: &[] },
        ] {
            costs.push(cost(shelf, change).await);
        }
        costs
    }

    #[tokio::test]
    async fn one_more_event_costs_the_same_in_a_session_of_10_000_messages() {
        let folder = tempfile::tempdir().unwrap();
        let (mut shelf, _reader) = open(&folder.path().join("haft.db")).await.unwrap();
        let session = samples::session("ses_1");
        shelf.write(&[Change::Session(&session)]).await.unwrap();
        // Compiles the statements, as in a process that has run for a while.
        costs(&mut shelf, &session, "warm").await;
        let small = costs(&mut shelf, &session, "small").await;

        let messages: Vec<_> = (0..10_000).map(|n| samples::prompt(&session, &format!("msg_{n}"))).collect();
        let parts: Vec<_> =
            messages.iter().enumerate().map(|(n, message)| samples::text(message, &format!("prt_{n}"), "")).collect();
        let messages = messages.iter().map(Change::Message);
        let changes: Vec<_> = messages.chain(parts.iter().map(|part| Change::Part { part, time: 1 })).collect();
        shelf.write(&changes).await.unwrap();
        assert_eq!(costs(&mut shelf, &session, "large").await, small);
        assert!(small.iter().all(|&steps| steps > 0), "{small:?}");
    }

    #[tokio::test]
    async fn a_full_disk_fails_the_write_and_later_ones_work_again() {
        let folder = tempfile::tempdir().unwrap();
        let (mut shelf, reader) = open(&folder.path().join("haft.db")).await.unwrap();
        let session = samples::session("ses_1");
        let message = samples::prompt(&session, "msg_1");
        let large = samples::text(&message, "prt_1", &"x".repeat(1_000_000));
        let small = samples::text(&message, "prt_2", "fits");
        shelf.write(&[Change::Session(&session), Change::Message(&message)]).await.unwrap();

        shelf.run("PRAGMA max_page_count = 30").await.unwrap();
        let changes = [Change::Part { part: &small, time: 1 }, Change::Part { part: &large, time: 1 }];
        let full = shelf.write(&changes).await.unwrap_err();
        assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
        let full = shelf.write(&changes[1..]).await.unwrap_err();
        assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
        // All or nothing, and the connection is in no half-ended transaction.
        assert_eq!(reader.history(&session.id).await.unwrap().part(&small.id), None);
        shelf.write(&changes[..1]).await.unwrap();

        shelf.run("PRAGMA max_page_count = 100000").await.unwrap();
        shelf.write(&changes).await.unwrap();
        assert_eq!(reader.history(&session.id).await.unwrap().part(&large.id), Some(&large));
    }

    #[tokio::test]
    async fn a_database_that_cannot_be_written_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("haft.db");
        let (mut shelf, reader) = open(&path).await.unwrap();
        let session = samples::session("ses_1");
        shelf.write(&[Change::Session(&session)]).await.unwrap();

        // Also the superuser cannot write through this one.
        let connection = SqliteConnectOptions::new().filename(&path).read_only(true).connect().await.unwrap();
        let mut read_only = Sqlite { connection, path: path.as_path().into() };
        let refused = read_only.write(&[Change::Session(&session)]).await.unwrap_err();
        assert!(matches!(refused, StoreError::NotWritable { .. }), "{refused:?}");
        assert_eq!(reader.session(&session.id).await.unwrap(), Some(session));
    }

    #[tokio::test]
    async fn nothing_that_reads_can_write() {
        let folder = tempfile::tempdir().unwrap();
        let (_shelf, reader) = open(&folder.path().join("haft.db")).await.unwrap();
        let error = sqlx::query("DELETE FROM session").execute(&reader.pool).await.unwrap_err();
        let refused = StoreError::sql(&reader.path, error);
        assert!(matches!(refused, StoreError::NotWritable { .. }), "{refused:?}");
    }
}
