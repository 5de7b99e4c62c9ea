//! A damaged database: what can be read goes into a new one in its place, and the damaged one is kept beside.

mod log;
mod pages;
mod rows;

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use haft_protocol::{Id, Message, Session, SessionId, SessionTime, Tokens, civil};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

pub(crate) use self::log::Log;
use self::pages::{Damage, Source};
use self::rows::Row;
use crate::StoreError;
use crate::migrate::{self, MIGRATIONS};
use crate::open::private;
use crate::reader;

/// Largest log that is read at once. Beyond, only the file itself is.
const MAX_LOG: u64 = 256 * 1024 * 1024;

const PUT_SESSION: &str = "
    INSERT INTO session (id, parent_id, directory, time_created, time_updated, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (id) DO UPDATE SET parent_id = ?2, directory = ?3, time_created = ?4, time_updated = ?5, data = ?6
    WHERE excluded.time_updated > time_updated";
const PUT_MESSAGE: &str = "
    INSERT INTO message (session_id, id, seq, time_created, data, rev) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (session_id, id) DO UPDATE SET data = ?5, rev = ?6 WHERE excluded.rev > rev";
const PUT_PART: &str = "
    INSERT INTO part (session_id, message_id, id, seq, time_created, data, rev) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (session_id, id) DO UPDATE SET data = ?6, rev = ?7 WHERE excluded.rev > rev";
const PUT_TODO: &str = "INSERT OR IGNORE INTO todo (session_id, data) VALUES (?1, ?2)";
/// Messages of which only parts are left stand where their parts were made.
const LOST_MESSAGES: &str = "
    INSERT INTO message (session_id, id, seq, time_created, data)
    SELECT session_id, message_id, -row_number() OVER (), made, '{}' FROM (
        SELECT session_id, message_id, min(time_created) AS made FROM part
        WHERE NOT EXISTS (
            SELECT 1 FROM message WHERE message.session_id = part.session_id AND message.id = part.message_id)
        GROUP BY session_id, message_id)";
const PLACE_THEM: &str = "
    CREATE TEMP TABLE place AS
        SELECT session_id, id, row_number() OVER (PARTITION BY session_id ORDER BY time_created, seq < 0, seq) AS seq
        FROM message WHERE session_id IN (SELECT session_id FROM message WHERE seq < 0);
    UPDATE message SET seq = -1000000000 - place.seq FROM place
        WHERE place.session_id = message.session_id AND place.id = message.id;
    UPDATE message SET seq = -1000000000 - seq WHERE seq < -1000000000;
    DROP TABLE place";
const LOST_SESSIONS: &str = "
    SELECT session_id, min(time_created), max(time_created) FROM message
    WHERE session_id NOT IN (SELECT id FROM session) GROUP BY session_id
    UNION SELECT session_id, 0, 0 FROM todo
    WHERE session_id NOT IN (SELECT id FROM session) AND session_id NOT IN (SELECT session_id FROM message)";
const COUNTS: &str =
    "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM message), (SELECT count(*) FROM part)";

/// What came out of a damaged database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// The database that was damaged, as it was.
    pub kept: PathBuf,
    /// Sessions that are there again.
    pub sessions: u64,
    /// Messages that are there again.
    pub messages: u64,
    /// Parts that are there again.
    pub parts: u64,
    /// Sessions of which only messages were left: their titles and costs are lost.
    pub headless: u64,
    /// Messages of which only parts were left.
    pub bare: u64,
    /// Rows that are cut off, broken or stand twice.
    pub lost_rows: u64,
    /// Pages of the file that are missing or hold nothing that can be read.
    pub lost_pages: u64,
}

impl fmt::Display for Salvaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, sessions, messages, parts, headless, bare, lost_rows, lost_pages } = self;
        write!(
            f,
            "the store of sessions was damaged. What could be read is there again: {sessions} sessions, {messages} \
             messages, {parts} parts. "
        )?;
        let lost = [
            (*lost_pages, "pages of the file"),
            (*lost_rows, "rows"),
            (*headless, "records of sessions"),
            (*bare, "records of messages"),
        ];
        let lost: Vec<String> =
            lost.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if !lost.is_empty() {
            write!(f, "Lost: {}. ", lost.join(", "))?;
        }
        write!(f, "The damaged one is kept as {}", kept.display())
    }
}

/// Puts what can be read of the database at `path` into a new one in its place. Nobody else may use it meanwhile.
/// `None` when there is nothing in it that haft ever wrote and `ours` is not said: then it is left alone.
pub(crate) async fn salvage(path: &Path, ours: bool) -> Result<Option<Salvaged>, StoreError> {
    let fresh = beside(path, "new");
    remove(&fresh)?;
    let put = fill(path, &fresh).await;
    let (counts, damage) = match put {
        Ok(found) => found,
        Err(error) => {
            let _ = remove(&fresh);
            return Err(error);
        }
    };
    if counts.sessions == 0 && !ours {
        remove(&fresh)?;
        return Ok(None);
    }
    let kept = free_name(&beside(path, &format!("damaged-{}", date())));
    swap(path, &fresh, &kept)?;
    let salvaged = Salvaged { kept, lost_rows: damage.rows + counts.lost_rows, lost_pages: damage.pages, ..counts };
    tracing::error!(?salvaged, "a damaged database was put aside");
    Ok(Some(salvaged))
}

/// Ends a swap that was cut off: the new database is whole, and the old one has its other name already.
pub(crate) fn finish(path: &Path) -> Result<(), StoreError> {
    let fresh = beside(path, "new");
    if path.exists() || !fresh.exists() {
        return Ok(());
    }
    put_aside_log(path, &free_name(&beside(path, &format!("damaged-{}", date()))))?;
    std::fs::rename(&fresh, path).map_err(|error| StoreError::io(path, error))
}

/// `haft.db` as `haft.db.WORD`.
pub(crate) fn beside(path: &Path, word: &str) -> PathBuf {
    path.with_added_extension(word)
}

/// The log of the database at `path`.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    with_end(path, "-wal")
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Keeps a copy of a damaged log, of which SQLite would leave nothing.
pub(crate) fn keep_log(path: &Path) -> Result<PathBuf, StoreError> {
    let log = log_of(path);
    let kept = free_name(&beside(&log, &format!("damaged-{}", date())));
    std::fs::copy(&log, &kept).map_err(|error| StoreError::io(&kept, error))?;
    Ok(kept)
}

/// Puts the new database in the place of the damaged one. Cut off anywhere, [`finish`] goes on; the old log must be gone
/// before the new file has its name, or SQLite would read it into that.
fn swap(path: &Path, fresh: &Path, kept: &Path) -> Result<(), StoreError> {
    std::fs::rename(path, kept).map_err(|error| StoreError::io(kept, error))?;
    put_aside_log(path, kept)?;
    std::fs::rename(fresh, path).map_err(|error| StoreError::io(path, error))
}

fn put_aside_log(path: &Path, kept: &Path) -> Result<(), StoreError> {
    let log = log_of(path);
    if log.exists() {
        std::fs::rename(&log, log_of(kept)).map_err(|error| StoreError::io(&log, error))?;
    }
    remove(&with_end(path, "-shm"))?;
    remove(&with_end(path, "-journal"))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io(path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn free_name(wanted: &Path) -> PathBuf {
    let mut name = wanted.to_owned();
    for number in 2..1000 {
        if !name.exists() {
            break;
        }
        name = beside(wanted, &number.to_string());
    }
    name
}

/// The time as part of a file name, in UTC.
fn date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}{month:02}{day:02}-{:02}{:02}{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The database file with its log laid over it.
struct Files {
    file: File,
    pages: u32,
    size: usize,
    log: Log,
    log_bytes: Vec<u8>,
}

impl Files {
    fn open(path: &Path) -> std::io::Result<Self> {
        let mut file = File::open(path)?;
        let mut head = [0; 100];
        let read = read_some(&mut file, &mut head)?;
        let mut log_bytes = Vec::new();
        if let Ok(log) = File::open(log_of(path)) {
            log.take(MAX_LOG).read_to_end(&mut log_bytes)?;
        }
        let log = Log::read(&log_bytes);
        let told = pages::page_size(head.get(..read).unwrap_or_default());
        let size = told.or(log.page_size).unwrap_or_else(pages::usual_size);
        let in_file = file.metadata()?.len().div_ceil(u64::try_from(size).unwrap_or(1));
        let in_log = log.pages.keys().copied().max().unwrap_or(0);
        let pages = u32::try_from(in_file).unwrap_or(u32::MAX).max(in_log);
        Ok(Self { file, pages, size, log, log_bytes })
    }
}

impl Source for Files {
    fn count(&self) -> u32 {
        self.pages
    }

    fn size(&self) -> usize {
        self.size
    }

    fn page(&self, number: u32) -> Option<Vec<u8>> {
        if let Some(&at) = self.log.pages.get(&number) {
            return self.log_bytes.get(at..at + self.size).map(<[u8]>::to_vec);
        }
        let mut file = &self.file;
        file.seek(SeekFrom::Start(u64::from(number.checked_sub(1)?) * u64::try_from(self.size).ok()?)).ok()?;
        let mut page = vec![0; self.size];
        // The last one may be cut off: what is left of it is looked at.
        let read = read_some(&mut file, &mut page).ok()?;
        (read > 0).then_some(page)
    }
}

fn read_some(file: &mut impl Read, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// Makes the database `fresh` out of what can be read of the one at `path`.
async fn fill(path: &Path, fresh: &Path) -> Result<(Salvaged, Damage), StoreError> {
    let files = Files::open(path).map_err(|error| StoreError::io(path, error))?;
    private().create_new(true).open(fresh).map_err(|error| StoreError::io(fresh, error))?;
    let options = SqliteConnectOptions::new().filename(fresh).disable_statement_logging();
    let mut connection = options.connect().await.map_err(|error| StoreError::sql(fresh, error))?;
    let filled = fill_in(&mut connection, fresh, files).await;
    connection.close().await.map_err(|error| StoreError::sql(fresh, error))?;
    let filled = filled?;
    // Nobody may find it half written after a power cut.
    File::open(fresh).and_then(|file| file.sync_all()).map_err(|error| StoreError::io(fresh, error))?;
    Ok(filled)
}

async fn fill_in(
    connection: &mut SqliteConnection,
    fresh: &Path,
    files: Files,
) -> Result<(Salvaged, Damage), StoreError> {
    migrate::migrate(connection, fresh, MIGRATIONS, "WAL").await?;
    let failed = |error| StoreError::sql(fresh, error);
    run(connection, "PRAGMA foreign_keys = OFF").await.map_err(failed)?;
    // It is thrown away when anything goes wrong.
    run(connection, "PRAGMA synchronous = OFF; BEGIN").await.map_err(failed)?;
    // Reading blocks, and a slow disk is likely where one breaks; few rows are on their way at once.
    let (sender, mut rows) = tokio::sync::mpsc::channel::<Row>(64);
    let reading = tokio::task::spawn_blocking(move || {
        pages::rows(&files, |values| match Row::of(&values) {
            Some(row) => sender.blocking_send(row),
            None => Ok(()),
        })
    });
    let mut twice = 0;
    while let Some(row) = rows.recv().await {
        match put(connection, row).await {
            Ok(()) => {}
            // A version of a row that was left over somewhere.
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => twice += 1,
            Err(error) => return Err(failed(error)),
        }
    }
    let damage = reading.await.ok().and_then(Result::ok).unwrap_or_default();
    let bare = sqlx::query(LOST_MESSAGES).execute(&mut *connection).await.map_err(failed)?.rows_affected();
    if bare > 0 {
        run(connection, PLACE_THEM).await.map_err(failed)?;
    }
    let lost: Vec<(String, i64, i64)> =
        sqlx::query_as(LOST_SESSIONS).fetch_all(&mut *connection).await.map_err(failed)?;
    let headless = u64::try_from(lost.len()).unwrap_or(u64::MAX);
    for (id, created, updated) in lost {
        if let Some(row) = stand_in(connection, fresh, &id, created, updated).await {
            put(connection, row).await.map_err(failed)?;
        }
    }
    let (sessions, messages, parts): (i64, i64, i64) =
        sqlx::query_as(COUNTS).fetch_one(&mut *connection).await.map_err(failed)?;
    run(connection, "COMMIT; PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)").await.map_err(failed)?;
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let salvaged = Salvaged {
        kept: PathBuf::new(),
        sessions: count(sessions),
        messages: count(messages),
        parts: count(parts),
        headless,
        bare,
        lost_rows: twice,
        lost_pages: 0,
    };
    Ok((salvaged, damage))
}

async fn put(connection: &mut SqliteConnection, row: Row) -> Result<(), sqlx::Error> {
    let query = match row {
        Row::Session { id, parent, directory, created, updated, data } => {
            sqlx::query(PUT_SESSION).bind(id).bind(parent).bind(directory).bind(created).bind(updated).bind(data)
        }
        Row::Message { session, id, seq, created, data, rev } => {
            sqlx::query(PUT_MESSAGE).bind(session).bind(id).bind(seq).bind(created).bind(data).bind(rev)
        }
        Row::Part { session, message, id, seq, created, data, rev } => {
            sqlx::query(PUT_PART).bind(session).bind(message).bind(id).bind(seq).bind(created).bind(data).bind(rev)
        }
        Row::Todo { session, data } => sqlx::query(PUT_TODO).bind(session).bind(data),
    };
    query.execute(connection).await.map(drop)
}

/// The record of a session of which only messages are left, from what they say.
async fn stand_in(connection: &mut SqliteConnection, path: &Path, id: &str, created: i64, updated: i64) -> Option<Row> {
    let id = SessionId::parse(id).ok()?;
    let path: Arc<Path> = path.into();
    let history = reader::history(connection, &path, &id).await.unwrap_or_default();
    let directory = history.messages().iter().find_map(|turned| match &turned.info {
        Message::Assistant(answer) if !answer.path.cwd.is_empty() => Some(answer.path.cwd.clone()),
        Message::Assistant(_) | Message::User(_) => None,
    });
    let directory = directory.unwrap_or_else(|| "/".to_owned());
    let ms = |time: i64| u64::try_from(time).unwrap_or(0);
    let record = Session {
        id: id.clone(),
        slug: "found-again".to_owned(),
        project_id: "global".to_owned(),
        directory: directory.clone(),
        path: String::new(),
        parent_id: None,
        title: "(found again: its title is lost)".to_owned(),
        agent: None,
        model: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cost: 0.0,
        tokens: Tokens::default(),
        permission: None,
        metadata: None,
        summary: None,
        share: None,
        revert: None,
        time: SessionTime { created: ms(created), updated: ms(updated), ..SessionTime::default() },
    };
    let data = serde_json::to_string(&record).ok()?;
    Some(Row::Session { id: id.to_string(), parent: None, directory, created, updated, data })
}

async fn run(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(sql).execute(connection).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar() {
        let rows = [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (11_016, (2000, 2, 29)), (20_779, (2026, 11, 22))];
        for (days, want) in rows {
            assert_eq!(civil(days), want, "{days}");
        }
    }
}
