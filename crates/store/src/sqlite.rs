//! Sessions in a SQLite file: the one connection that writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::{Id, Part, PartId, SessionId};
use sqlx::error::ErrorKind;
use sqlx::{Connection, SqliteConnection};

use crate::StoreError;
use crate::machine::Machine;
use crate::open::private;
use crate::reader::{parse, text};
use crate::rows::{Change, Shelf};

const PUT_SESSION: &str = "
    INSERT INTO session (id, parent_id, directory, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (id) DO UPDATE SET parent_id = ?2, directory = ?3, time_created = ?4, time_updated = ?5, data = ?6";
const PUT_MESSAGE: &str = "
    INSERT INTO message (session_id, id, seq, rev, time_created, data)
    VALUES (?1, ?2,
            (SELECT coalesce(max(seq), 0) + 1 FROM message WHERE session_id = ?1),
            (SELECT coalesce(max(rev), 0) + 1 FROM message WHERE session_id = ?1), ?3, ?4)
    ON CONFLICT (session_id, id) DO UPDATE SET data = ?4, rev = excluded.rev";
const PUT_PART: &str = "
    INSERT INTO part (session_id, message_id, id, seq, rev, time_created, data)
    VALUES (?1, ?2, ?3,
            (SELECT coalesce(max(seq), 0) + 1 FROM part WHERE session_id = ?1 AND message_id = ?2),
            (SELECT coalesce(max(rev), 0) + 1 FROM part WHERE session_id = ?1), ?4, ?5)
    ON CONFLICT (session_id, id) DO UPDATE SET data = ?5, rev = excluded.rev";
const GROW_PART: &str = "
    UPDATE part SET data = ?3, rev = (SELECT coalesce(max(rev), 0) + 1 FROM part WHERE session_id = ?1)
    WHERE session_id = ?1 AND id = ?2";
/// So that others notice what no row tells any more.
const COUNT_REMOVAL: &str = "UPDATE session SET removals = removals + 1 WHERE id = ?1";
const REMOVE_PART: &str = "DELETE FROM part WHERE session_id = ?1 AND id = ?2";
/// Its parts go with it.
const REMOVE_MESSAGE: &str = "DELETE FROM message WHERE session_id = ?1 AND id = ?2";
/// Its messages, parts and things to do go with it.
const REMOVE_SESSION: &str = "DELETE FROM session WHERE id = ?1";
const PUT_TODOS: &str = "
    INSERT INTO todo (session_id, data) VALUES (?1, ?2) ON CONFLICT (session_id) DO UPDATE SET data = ?2";
const GET_PART: &str = "SELECT data FROM part WHERE session_id = ?1 AND id = ?2";

/// The connection that writes.
pub(crate) struct Sqlite {
    connection: SqliteConnection,
    path: Arc<Path>,
    /// This machine's right to write, where it is needed.
    machine: Option<Machine>,
}

/// What became of a call to SQLite on the database at `path`. Damage is marked: the next opening looks closer.
pub(crate) fn failed(path: &Path, error: sqlx::Error) -> StoreError {
    let error = StoreError::sql(path, error);
    if matches!(error, StoreError::Damaged { row: None, .. }) {
        tracing::error!(%error, "a damaged database");
        // Where it cannot be written nothing could be mended either.
        let _ = private().create(true).truncate(false).open(suspect(path));
    }
    error
}

/// The file that says that the database at `path` was found damaged.
pub(crate) fn suspect(path: &Path) -> PathBuf {
    path.with_added_extension("suspect")
}

impl Shelf for Sqlite {
    async fn write(&mut self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        if let Some(host) = self.machine.as_ref().and_then(Machine::lost_to) {
            return Err(StoreError::Elsewhere { path: self.path.to_path_buf(), host });
        }
        if let [change] = changes
            && change.removed_from().is_none()
        {
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
        let query = sqlx::query_scalar::<_, Vec<u8>>(GET_PART).bind(session.to_string()).bind(part.to_string());
        let row = query.fetch_optional(&mut self.connection).await.map_err(|error| failed(&self.path, error))?;
        row.map(|data| parse(&self.path, "part", part.as_str(), &text(&data))).transpose()
    }

    async fn close(self) -> Result<(), StoreError> {
        self.connection.close().await.map_err(|error| failed(&self.path, error))
    }
}

impl Sqlite {
    pub(crate) fn new(connection: SqliteConnection, path: Arc<Path>, machine: Option<Machine>) -> Self {
        Self { connection, path, machine }
    }

    pub(crate) async fn run(&mut self, statement: &'static str) -> Result<(), StoreError> {
        let done = sqlx::query(statement).execute(&mut self.connection).await;
        done.map(drop).map_err(|error| failed(&self.path, error))
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
                error => failed(&self.path, error),
            })?;
            if let Some(session) = change.removed_from() {
                let counted = sqlx::query(COUNT_REMOVAL).bind(session.to_string()).execute(&mut self.connection).await;
                counted.map_err(|error| failed(&self.path, error))?;
            }
        }
        Ok(())
    }

    fn json(&self, record: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(record)
            .map_err(|error| StoreError::Other { path: self.path.to_path_buf(), source: Arc::new(error) })
    }
}

/// Milliseconds as SQLite counts: only to sort by, the record has the real ones.
fn stamp(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use haft_protocol::Session;
    use sqlx::ConnectOptions;
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;
    use crate::reader::Reader;
    use crate::samples;

    async fn open(path: &Path) -> Result<(Sqlite, Reader), StoreError> {
        let opened = crate::open::open(path).await?;
        Ok((opened.shelf?, opened.reader))
    }

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
        let first = samples::prompt(&session, "msg_first");
        let part = samples::text(&first, "prt_first", "");
        let begun = [Change::Session(&session), Change::Message(&first), Change::Part { part: &part, time: 1 }];
        shelf.write(&begun).await.unwrap();
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
        let mut read_only = Sqlite { connection, path: path.as_path().into(), machine: None };
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
