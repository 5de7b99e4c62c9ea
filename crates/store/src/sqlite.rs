//! Sessions in a SQLite file: the one connection that writes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use haft_protocol::{Id, Part, PartId, SessionId};
use sqlx::error::ErrorKind;
use sqlx::{Connection, SqliteConnection};

use crate::StoreError;
use crate::machine::Machine;
use crate::open::private;
use crate::reader::{parse, text};
use crate::rows::{Change, Shelf};

// What is written often comes in numbers, so these name no value by its number: they can stand behind each other.
const PUT_SESSION: &str = "
    INSERT INTO session (id, parent_id, directory, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET parent_id = excluded.parent_id, directory = excluded.directory,
        time_created = excluded.time_created, time_updated = excluded.time_updated, data = excluded.data";
const PUT_MESSAGE: &str = "
    INSERT INTO message (session_id, id, seq, rev, time_created, data)
    VALUES (?, ?,
            (SELECT coalesce(max(seq), 0) + 1 FROM message WHERE session_id = ?),
            (SELECT coalesce(max(rev), 0) + 1 FROM message WHERE session_id = ?), ?, ?)
    ON CONFLICT (session_id, id) DO UPDATE SET data = excluded.data, rev = excluded.rev";
const PUT_PART: &str = "
    INSERT INTO part (session_id, message_id, id, seq, rev, time_created, data)
    VALUES (?, ?, ?,
            (SELECT coalesce(max(seq), 0) + 1 FROM part WHERE session_id = ? AND message_id = ?),
            (SELECT coalesce(max(rev), 0) + 1 FROM part WHERE session_id = ?), ?, ?)
    ON CONFLICT (session_id, id) DO UPDATE SET data = excluded.data, rev = excluded.rev";
const GROW_PART: &str = "
    UPDATE part SET data = ?, rev = (SELECT coalesce(max(rev), 0) + 1 FROM part WHERE session_id = ?)
    WHERE session_id = ? AND id = ?";
/// So that others notice what no row tells any more.
const COUNT_REMOVAL: &str = "UPDATE session SET removals = removals + 1 WHERE id = ?1";
const REMOVE_PART: &str = "DELETE FROM part WHERE session_id = ?1 AND id = ?2";
/// Its parts go with it.
const REMOVE_MESSAGE: &str = "DELETE FROM message WHERE session_id = ?1 AND id = ?2";
/// Its messages, parts and things to do go with it.
const REMOVE_SESSION: &str = "DELETE FROM session WHERE id = ?1";
const PUT_TODOS: &str = "
    INSERT INTO todo (session_id, data) VALUES (?, ?) ON CONFLICT (session_id) DO UPDATE SET data = excluded.data";
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
        let changes = in_kinds(changes);
        for alike in changes.chunk_by(|one, next| Kind::of(one) == Kind::of(next)) {
            let mut rest = alike;
            while let [first, ..] = rest {
                let (statements, count) = Kind::of(first).statements(rest.len());
                let (now, later) = rest.split_at(count);
                self.execute(statements, now).await?;
                rest = later;
            }
        }
        Ok(())
    }

    /// Makes changes of one kind by `statements`, one for each.
    async fn execute(&mut self, statements: &'static str, changes: &[Change<'_>]) -> Result<(), StoreError> {
        let mut query = sqlx::query(statements);
        for change in changes {
            query = match *change {
                Change::Session(info) => query
                    .bind(info.id.to_string())
                    .bind(info.parent_id.as_ref().map(ToString::to_string))
                    .bind(info.directory.clone())
                    .bind(stamp(info.time.created))
                    .bind(stamp(info.time.updated))
                    .bind(self.json(info)?),
                Change::Message(message) => {
                    let session = message.session_id().to_string();
                    query
                        .bind(session.clone())
                        .bind(message.id().to_string())
                        .bind(session.clone())
                        .bind(session)
                        .bind(stamp(message.created()))
                        .bind(self.json(message)?)
                }
                Change::Part { part, time } => {
                    let (session, message) = (part.session_id.to_string(), part.message_id.to_string());
                    query
                        .bind(session.clone())
                        .bind(message.clone())
                        .bind(part.id.to_string())
                        .bind(session.clone())
                        .bind(message)
                        .bind(session)
                        .bind(stamp(time))
                        .bind(self.json(part)?)
                }
                Change::Grown(part) => {
                    let session = part.session_id.to_string();
                    query.bind(self.json(part)?).bind(session.clone()).bind(session).bind(part.id.to_string())
                }
                Change::SessionRemoved(session) => query.bind(session.to_string()),
                Change::MessageRemoved { session, message } => {
                    query.bind(session.to_string()).bind(message.to_string())
                }
                Change::PartRemoved { session, part } => query.bind(session.to_string()).bind(part.to_string()),
                Change::Todos { session, todos } => query.bind(session.to_string()).bind(self.json(&todos)?),
            };
        }
        query.execute(&mut self.connection).await.map_err(|error| match error {
            // Of several it may be another one; whoever writes tries each alone then.
            sqlx::Error::Database(error) if error.kind() == ErrorKind::ForeignKeyViolation => {
                StoreError::Missing { row: changes.iter().find_map(Change::foundation).unwrap_or_default() }
            }
            error => failed(&self.path, error),
        })?;
        for session in changes.iter().filter_map(Change::removed_from) {
            let counted = sqlx::query(COUNT_REMOVAL).bind(session.to_string()).execute(&mut self.connection).await;
            counted.map_err(|error| failed(&self.path, error))?;
        }
        Ok(())
    }

    fn json(&self, record: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(record)
            .map_err(|error| StoreError::Other { path: self.path.to_path_buf(), source: Arc::new(error) })
    }
}

/// Which statement makes a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    // Rows, each behind what it rests on.
    Session,
    Message,
    Part,
    Todos,
    // What leaves the order as it is.
    Grown,
    SessionRemoved,
    MessageRemoved,
    PartRemoved,
}

/// How many statements are executed together. Each way to SQLite's thread and back costs as much as some statements do.
const TOGETHER: [usize; 3] = [16, 4, 1];

impl Kind {
    fn of(change: &Change<'_>) -> Self {
        match change {
            Change::Session(_) => Self::Session,
            Change::Message(_) => Self::Message,
            Change::Part { .. } => Self::Part,
            Change::Todos { .. } => Self::Todos,
            Change::Grown(_) => Self::Grown,
            Change::SessionRemoved(_) => Self::SessionRemoved,
            Change::MessageRemoved { .. } => Self::MessageRemoved,
            Change::PartRemoved { .. } => Self::PartRemoved,
        }
    }

    fn puts_a_row(self) -> bool {
        self <= Self::Todos
    }

    /// Statements for as many of `changes` changes as can be made together, and how many these are.
    fn statements(self, changes: usize) -> (&'static str, usize) {
        static SESSION: Repeated = Repeated::new(|| repeated(PUT_SESSION));
        static MESSAGE: Repeated = Repeated::new(|| repeated(PUT_MESSAGE));
        static PART: Repeated = Repeated::new(|| repeated(PUT_PART));
        static TODOS: Repeated = Repeated::new(|| repeated(PUT_TODOS));
        static GROWN: Repeated = Repeated::new(|| repeated(GROW_PART));
        let repeated = match self {
            Self::Session => &SESSION,
            Self::Message => &MESSAGE,
            Self::Part => &PART,
            Self::Todos => &TODOS,
            Self::Grown => &GROWN,
            Self::SessionRemoved => return (REMOVE_SESSION, 1),
            Self::MessageRemoved => return (REMOVE_MESSAGE, 1),
            Self::PartRemoved => return (REMOVE_PART, 1),
        };
        let fitting = TOGETHER.iter().zip(repeated.iter()).find(|(count, _)| **count <= changes);
        fitting.map_or((&repeated[TOGETHER.len() - 1], 1), |(count, statements)| (statements, *count))
    }
}

type Repeated = LazyLock<[String; TOGETHER.len()]>;

fn repeated(statement: &str) -> [String; TOGETHER.len()] {
    TOGETHER.map(|count| vec![statement; count].join(";"))
}

/// `changes` so that more of one kind stand together. Rows that are put come in the order of what they rest on, and those
/// of one kind in the order they had; nothing goes past a change of another sort.
fn in_kinds<'a>(changes: &[Change<'a>]) -> Vec<Change<'a>> {
    let mut changes = changes.to_vec();
    for puts in changes.chunk_by_mut(|one, next| Kind::of(one).puts_a_row() && Kind::of(next).puts_a_row()) {
        puts.sort_by_key(Kind::of);
    }
    changes
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

    #[test]
    fn alike_changes_come_together_and_none_goes_past_another_sort() {
        let session = samples::session("ses_1");
        let message = samples::prompt(&session, "msg_1");
        let part = samples::text(&message, "prt_1", "");
        let row = |given: &str, want: &str| {
            let change = |letter| match letter {
                's' => Change::Session(&session),
                'm' => Change::Message(&message),
                'p' => Change::Part { part: &part, time: 1 },
                't' => Change::Todos { session: &session.id, todos: &[] },
                'g' => Change::Grown(&part),
                _ => Change::PartRemoved { session: &session.id, part: &part.id },
            };
            let letter = |change: &Change<'_>| match Kind::of(change) {
                Kind::Session => 's',
                Kind::Message => 'm',
                Kind::Part => 'p',
                Kind::Todos => 't',
                Kind::Grown => 'g',
                _ => 'r',
            };
            let changes: Vec<_> = given.chars().map(change).collect();
            assert_eq!(in_kinds(&changes).iter().map(letter).collect::<String>(), want);
        };
        row("", "");
        row("smptmps", "ssmmppt");
        row("pmrpms", "mprsmp");
        row("pgmgrrsp", "pgmgrrsp");
        row("tsgs", "stgs");
    }

    #[tokio::test]
    async fn many_changes_at_once_make_what_each_alone_makes() {
        let folder = tempfile::tempdir().unwrap();
        let session = samples::session("ses_1");
        let messages: Vec<_> = (0..23).map(|n| samples::prompt(&session, &format!("msg_{n}"))).collect();
        let parts = |text: &str| -> Vec<_> {
            let put = |n: usize| samples::text(&messages[n % 23], &format!("prt_{n}"), &format!("{text} {n}"));
            (0..61).map(put).collect()
        };
        let (first, second) = (parts("one"), parts("two"));
        let mut changes = vec![Change::Session(&session)];
        for (n, part) in first.iter().enumerate() {
            changes.extend(messages.get(n).map(Change::Message));
            changes.push(Change::Part { part, time: 1 });
        }
        changes.push(Change::PartRemoved { session: &session.id, part: &first[7].id });
        changes.extend(second.iter().skip(20).map(Change::Grown));
        changes.extend(second.iter().take(10).map(|part| Change::Part { part, time: 2 }));

        let mut histories = Vec::new();
        for together in [1, changes.len()] {
            let (mut shelf, reader) = open(&folder.path().join(format!("{together}.db"))).await.unwrap();
            for changes in changes.chunks(together) {
                shelf.write(changes).await.unwrap();
            }
            histories.push(reader.history(&session.id).await.unwrap());
        }
        assert_eq!(histories[0].messages().len(), 23);
        assert_eq!(histories[0], histories[1]);
        assert_eq!(histories[1].part(&second[60].id), Some(&second[60]));
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
