//! Reading sessions out of the file. A long one is read block by block, so that it is never in memory twice.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::iter;
use std::path::Path;
use std::sync::Arc;

use futures::TryStreamExt;
use haft_protocol::{
    Failure, History, Id, Message, MessageId, MessageTime, Part, PartId, PartKind, Paths, Session, SessionId, Todo,
    Tokens, Turned,
};
use serde::Deserialize;
use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{Row, SqliteConnection};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::sqlite::failed;
use crate::{Filter, StoreError};

/// Connections that read at once.
const MAX_READERS: u32 = 2;
/// Most messages in a block without their parts.
const BLOCK: i64 = 256;
/// Messages in a block of parts. Such a block mostly stays below the 128 KiB from which on an allocator asks the system
/// for memory and gives it back each time, which costs more than to read it.
const WITH_PARTS: usize = 64;
/// Blocks that SQLite reads ahead, and others that are decoded or wait for it.
const HELD: usize = 4;

const GET_TODOS: &str = "SELECT data FROM todo WHERE session_id = ?1";
const GET_SESSION: &str = "SELECT data FROM session WHERE id = ?1";
const LIST_ALL: &str = "
    SELECT id, data FROM session WHERE (NOT ?1 OR parent_id IS NULL)
      AND (?2 OR NOT json_valid(data) OR json_extract(data, '$.time.archived') IS NULL)
      AND (?3 IS NULL OR (json_valid(data) AND instr(lower(json_extract(data, '$.title')), lower(?3)) > 0))
    ORDER BY time_updated DESC, time_created DESC, id LIMIT ?4";
const LIST_DIRECTORY: &str = "
    SELECT id, data FROM session WHERE directory = ?5 AND (NOT ?1 OR parent_id IS NULL)
      AND (?2 OR NOT json_valid(data) OR json_extract(data, '$.time.archived') IS NULL)
      AND (?3 IS NULL OR (json_valid(data) AND instr(lower(json_extract(data, '$.title')), lower(?3)) > 0))
    ORDER BY time_updated DESC, time_created DESC, id LIMIT ?4";
const LIST_CHILDREN: &str = "
    SELECT id, data FROM session WHERE parent_id = ?1 ORDER BY time_created DESC, id DESC LIMIT ?2";
/// The messages between two numbers, in blocks of so many numbers at most; a line each. The JSON that is stored holds no
/// line break.
const MESSAGES: &str = "
    WITH RECURSIVE block (after) AS (
        SELECT ?2 UNION ALL
        SELECT (SELECT min(seq) - 1 FROM message WHERE session_id = ?1 AND seq > after + ?4 AND seq <= ?3) FROM block
        WHERE after IS NOT NULL)
    SELECT (
        SELECT group_concat(line, char(10)) FROM (
            SELECT id || char(9) || data AS line FROM message
            WHERE session_id = ?1 AND seq > block.after AND seq <= min(block.after + ?4, ?3) ORDER BY seq)) FROM block
    WHERE after IS NOT NULL";
/// The parts of the messages from one id to another, for each pair of ids in a list: its place there, and its parts, a
/// line each, message by message.
const PARTS: &str = "
    SELECT pair.key, (
        SELECT group_concat(line, char(10)) FROM (
            SELECT message_id || char(9) || id || char(9) || data AS line FROM part
            WHERE session_id = ?1 AND message_id >= pair.value ->> 0 AND message_id <= pair.value ->> 1
            ORDER BY message_id, seq)) FROM json_each(?2) AS pair";
/// How many messages there are, the number before the first, and the last one's.
const ALL: &str = "
    SELECT count(*), coalesce(min(seq), 0) - 1, coalesce(max(seq), 0) FROM message WHERE session_id = ?1";
/// The same of the last ones before a number.
const PAGE: &str = "
    SELECT count(*), coalesce(min(seq), 0) - 1, coalesce(max(seq), 0) FROM (
        SELECT seq FROM message WHERE session_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3)";
const SEQ: &str = "SELECT seq FROM message WHERE session_id = ?1 AND id = ?2";

/// The connections that read. None is made before it is needed.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) pool: SqlitePool,
    pub(crate) path: Arc<Path>,
    pub(crate) options: SqliteConnectOptions,
}

impl Reader {
    pub(crate) fn new(path: Arc<Path>, options: SqliteConnectOptions) -> Self {
        let pool = SqlitePoolOptions::new()
            .max_connections(MAX_READERS)
            // Nothing that runs beside the program: connections are few, local and stay.
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_lazy_with(options.clone().row_buffer_size(HELD));
        Self { pool, path, options }
    }

    pub(crate) async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let query = sqlx::query_scalar::<_, Vec<u8>>(GET_SESSION).bind(id.to_string());
        let row = query.fetch_optional(&self.pool).await.map_err(|error| failed(&self.path, error))?;
        row.map(|data| parse(&self.path, "session", id.as_str(), &text(&data))).transpose()
    }

    pub(crate) async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let list = if filter.directory.is_some() { LIST_DIRECTORY } else { LIST_ALL };
        let query = sqlx::query_as::<_, (String, Vec<u8>)>(list);
        let query = query.bind(filter.roots).bind(filter.archived).bind(filter.title.clone()).bind(limit);
        let query = match &filter.directory {
            Some(directory) => query.bind(directory.clone()),
            None => query,
        };
        let rows = query.fetch_all(&self.pool).await.map_err(|error| failed(&self.path, error))?;
        Ok(self.readable(rows).collect())
    }

    pub(crate) async fn children(&self, id: &SessionId, limit: usize) -> Result<Vec<Session>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let query = sqlx::query_as::<_, (String, Vec<u8>)>(LIST_CHILDREN).bind(id.to_string()).bind(limit);
        let rows = query.fetch_all(&self.pool).await.map_err(|error| failed(&self.path, error))?;
        Ok(self.readable(rows).collect())
    }

    /// The sessions of `rows` without those that cannot be read.
    fn readable(&self, rows: Vec<(String, Vec<u8>)>) -> impl Iterator<Item = Session> {
        rows.into_iter().filter_map(|(id, data)| {
            parse(&self.path, "session", &id, &text(&data))
                .inspect_err(|error| tracing::warn!(%error, "left out of a list"))
                .ok()
        })
    }

    pub(crate) async fn todos(&self, id: &SessionId) -> Result<Vec<Todo>, StoreError> {
        let query = sqlx::query_scalar::<_, Vec<u8>>(GET_TODOS).bind(id.to_string());
        let row = query.fetch_optional(&self.pool).await.map_err(|error| failed(&self.path, error))?;
        row.map_or(Ok(Vec::new()), |data| parse(&self.path, "todo", id.as_str(), &text(&data)))
    }

    pub(crate) async fn history(&self, id: &SessionId) -> Result<History, StoreError> {
        // One snapshot for all blocks: without it a part could come whose message did not.
        let mut snapshot = self.pool.begin().await.map_err(|error| failed(&self.path, error))?;
        let history = history(&mut snapshot, &self.path, id).await;
        // Nothing was written; whatever this says, what was read is whole.
        let _ = snapshot.rollback().await;
        history
    }

    /// The last `limit` messages before `before`, oldest first.
    pub(crate) async fn messages(
        &self,
        id: &SessionId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> Result<Vec<Turned>, StoreError> {
        let failed = |error| failed(&self.path, error);
        let mut snapshot = self.pool.begin().await.map_err(failed)?;
        let end = match before {
            None => i64::MAX,
            Some(before) => {
                let seq = sqlx::query_scalar(SEQ).bind(id.to_string()).bind(before.to_string());
                let seq: Option<i64> = seq.fetch_optional(&mut *snapshot).await.map_err(failed)?;
                seq.ok_or_else(|| StoreError::Missing { row: format!("message {before}") })?
            }
        };
        let page = sqlx::query_as(PAGE).bind(id.to_string()).bind(end);
        let page = page.bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let page = page.fetch_one(&mut *snapshot).await.map_err(failed)?;
        // The ids between those of a page may be those of other messages.
        let messages = read(&mut snapshot, &self.path, id, page, 1).await;
        // As above.
        let _ = snapshot.rollback().await;
        messages
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// The whole history.
pub(crate) async fn history(
    connection: &mut SqliteConnection,
    path: &Arc<Path>,
    id: &SessionId,
) -> Result<History, StoreError> {
    let all = sqlx::query_as(ALL).bind(id.to_string()).fetch_one(&mut *connection).await;
    let all = all.map_err(|error| failed(path, error))?;
    read(connection, path, id, all, WITH_PARTS).await.map(History::from)
}

/// So many messages, between two numbers, with their parts, which are read for `together` messages at once.
async fn read(
    connection: &mut SqliteConnection,
    path: &Arc<Path>,
    id: &SessionId,
    (count, after, last): (i64, i64, i64),
    together: usize,
) -> Result<Vec<Turned>, StoreError> {
    let failed = |error| failed(path, error);
    let mut turned = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
    let mut decoding = Decoding::default();
    let rows = sqlx::query(MESSAGES).bind(id.to_string()).bind(after).bind(last).bind(BLOCK);
    let mut rows = rows.fetch(&mut *connection);
    while let Some(row) = rows.try_next().await.map_err(failed)? {
        let (path, id) = (path.clone(), id.clone());
        turned.extend(decoding.begin(move || messages(&path, &id, &lines(&row, 0))).await?);
    }
    drop(rows);
    while let Some(done) = decoding.oldest().await? {
        turned.extend(done);
    }

    // One walk along the index of the parts, in which they stand by the ids of their messages.
    let ids = turned.iter().map(|turned| turned.info.id().clone()).enumerate();
    let mut owners: Vec<(MessageId, usize)> = ids.map(|(place, id)| (id, place)).collect();
    owners.sort_unstable();
    let pairs = owners.chunks(together).filter_map(|owners| Some([&owners.first()?.0, &owners.last()?.0]));
    let pairs = Value::from_iter(pairs.map(|pair| pair.map(|id| id.as_str()).to_vec()));
    let mut decoding = Decoding::default();
    let rows = sqlx::query(PARTS).bind(id.to_string()).bind(pairs.to_string());
    let mut rows = rows.fetch(connection);
    while let Some(row) = rows.try_next().await.map_err(failed)? {
        let at = usize::try_from(row.try_get::<i64, _>(0).map_err(failed)?).unwrap_or_default();
        let Some(owners) = owners.chunks(together).nth(at).map(<[_]>::to_vec) else { continue };
        let (path, id) = (path.clone(), id.clone());
        give(&mut turned, decoding.begin(move || parts_of(&path, &id, &owners, &mut lines(&row, 1))).await?);
    }
    while let Some(done) = decoding.oldest().await? {
        give(&mut turned, done);
    }
    Ok(turned)
}

/// The lines in a column of a row.
fn lines(row: &SqliteRow, column: usize) -> Vec<u8> {
    row.try_get::<Option<_>, _>(column).ok().flatten().unwrap_or_default()
}

/// Gives messages their parts.
fn give(turned: &mut [Turned], parts: impl IntoIterator<Item = (usize, Vec<Part>)>) {
    for (place, parts) in parts {
        turned[place].parts = parts;
    }
}

/// Blocks that are decoded while others are read.
struct Decoding<T>(VecDeque<JoinHandle<T>>);

impl<T> Default for Decoding<T> {
    fn default() -> Self {
        Self(VecDeque::with_capacity(HELD))
    }
}

impl<T: Default + Send + 'static> Decoding<T> {
    /// Begins with another block. What is given back is the oldest one's, or nothing while few are held.
    async fn begin(&mut self, decode: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
        let oldest = if self.0.len() == HELD { self.oldest().await? } else { None };
        self.0.push_back(spawn_blocking(decode));
        Ok(oldest.unwrap_or_default())
    }

    /// Waits for the oldest; `None` when there is none.
    async fn oldest(&mut self) -> Result<Option<T>, StoreError> {
        let Some(oldest) = self.0.pop_front() else { return Ok(None) };
        oldest.await.map(Some).map_err(|_| StoreError::Closed)
    }
}

/// The messages of some lines, without their parts. What cannot be read is stood for by words that say so, to people
/// and not to models.
fn messages(path: &Path, session: &SessionId, lines: &[u8]) -> Vec<Turned> {
    // Whatever is not text in a damaged row is shown by signs that say so; the rest of the row is whole.
    let lines = text(lines);
    let rows = lines.split('\n').filter_map(|line| line.split_once('\t'));
    let messages = rows.filter_map(|(id, data)| {
        let message = message(path, session, id, data);
        if message.is_none() {
            tracing::warn!(row = id, "left out: it has no name");
        }
        message
    });
    messages.map(|info| Turned { info, parts: Vec::new() }).collect()
}

/// The parts of some lines, which come in the order of `owners`: each with the number that its owner carries.
fn parts_of(
    path: &Path,
    session: &SessionId,
    owners: &[(MessageId, usize)],
    lines: &mut [u8],
) -> Vec<(usize, Vec<Part>)> {
    let mut lines = Some(lines);
    let lines = iter::from_fn(|| {
        let (line, behind) = cut(lines.take()?, b'\n');
        lines = behind;
        Some(line)
    });
    let rows = lines.filter_map(|line| {
        let (message, line) = cut(line, b'\t');
        let (id, data) = cut(line?, b'\t');
        Some((&*message, &*id, data?))
    });
    let mut rows: Vec<(&[u8], &[u8], &mut [u8])> = rows.collect();
    let mut owners = owners;
    let mut found = Vec::with_capacity(owners.len());
    for rows in rows.chunk_by_mut(|(one, ..), (next, ..)| one == next) {
        let Some(owner) = rows.first().map(|(message, ..)| *message) else { continue };
        // A message that was left out is passed over with its parts.
        let Some(at) = owners.iter().position(|(message, _)| message.as_str().as_bytes() == owner) else { continue };
        owners = &owners[at..];
        let Some((message, place)) = owners.first() else { continue };
        let mut parts = Vec::with_capacity(rows.len());
        parts.extend(rows.iter_mut().filter_map(|(_, id, data)| part_of(path, session, message, &text(id), data)));
        found.push((*place, parts));
    }
    found
}

/// What stands before the first `sign`, and what behind it, if it is there.
fn cut(bytes: &mut [u8], sign: u8) -> (&mut [u8], Option<&mut [u8]>) {
    let Some(at) = memchr::memchr(sign, bytes) else { return (bytes, None) };
    let (before, behind) = bytes.split_at_mut(at);
    (before, behind.get_mut(1..))
}

pub(crate) fn message(path: &Path, session: &SessionId, id: &str, data: &str) -> Option<Message> {
    match parse::<Message>(path, "message", id, data) {
        Ok(message) if message.id().as_str() == id && message.session_id() == session => Some(message),
        read => {
            let why = read.err().map_or_else(|| "it says that it is another".to_owned(), |error| error.to_string());
            tracing::warn!(message = id, why, "a message cannot be read");
            lost_message(session, id, why)
        }
    }
}

/// A part out of its row.
pub(crate) fn part(path: &Path, session: &SessionId, message: &MessageId, id: &str, data: &str) -> Option<Part> {
    let read = parse::<Names<'_>>(path, "part", id, data).and_then(|names| {
        let is_it = names.id == id && names.message == message.as_str() && names.session == session.as_str();
        is_it.then(|| parse::<PartKind>(path, "part", id, data)).transpose()
    });
    named(session, message, id, read)
}

/// The same out of a row that may be written over.
fn part_of(path: &Path, session: &SessionId, message: &MessageId, id: &str, data: &mut [u8]) -> Option<Part> {
    match unnamed(session, message, id, data) {
        Some(kind) => named(session, message, id, parse::<PartKind>(path, "part", id, &text(kind)).map(Some)),
        None => part(path, session, message, id, &text(data)),
    }
}

/// The record of a part without its names, if it begins with them as it does when it is written here. `serde` would
/// have to hold them back until it has seen what kind of part it is.
fn unnamed<'a>(session: &SessionId, message: &MessageId, id: &str, data: &'a mut [u8]) -> Option<&'a [u8]> {
    // Ids hold nothing that JSON writes in another way.
    let names =
        ["{\"id\":\"", id, "\",\"sessionID\":\"", session.as_str(), "\",\"messageID\":\"", message.as_str(), "\","];
    let mut rest = &*data;
    for name in names {
        rest = rest.strip_prefix(name.as_bytes())?;
    }
    let comma = data.len() - rest.len() - 1;
    data[comma] = b'{';
    Some(&data[comma..])
}

/// A part, or what stands for one that cannot be read (`read` is `None` where the record is another's).
fn named(
    session: &SessionId,
    message: &MessageId,
    id: &str,
    read: Result<Option<PartKind>, StoreError>,
) -> Option<Part> {
    let name = PartId::parse(id).ok()?;
    let kind = match read {
        Ok(Some(kind)) => kind,
        read => {
            let why = read.err().map_or_else(|| "it says that it is another".to_owned(), |error| error.to_string());
            tracing::warn!(part = id, why, "a part cannot be read");
            let text = format!("[Something stood here that cannot be read any more: {why}]");
            PartKind::Text { text, synthetic: true, ignored: true, time: None, metadata: None }
        }
    };
    // All parts share the names of their session and their message: a long one has many.
    Some(Part { id: name, session_id: session.clone(), message_id: message.clone(), kind })
}

/// Stands for a message whose record is lost, so that its parts have a place. It counts as an answer that failed:
/// people see it, and models do not.
fn lost_message(session: &SessionId, id: &str, why: String) -> Option<Message> {
    let id = MessageId::parse(id).ok()?;
    Some(Message::Assistant(haft_protocol::Assistant {
        parent_id: id.clone(),
        id,
        session_id: session.clone(),
        time: MessageTime { created: 0, completed: Some(0) },
        model_id: String::new(),
        provider_id: String::new(),
        mode: String::new(),
        agent: String::new(),
        path: Paths { cwd: String::new(), root: String::new() },
        cost: 0.0,
        tokens: Tokens::default(),
        finish: None,
        error: Some(Box::new(Failure::new("UnknownError", format!("this message cannot be read any more: {why}")))),
        structured: None,
        summary: false,
        variant: None,
    }))
}

/// `bytes` as text. Nearly all are, and finding that out is quicker than looking for what is not.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The names in the record of a part.
#[derive(Deserialize)]
struct Names<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, rename = "sessionID")]
    session: Cow<'a, str>,
    #[serde(borrow, rename = "messageID")]
    message: Cow<'a, str>,
}

pub(crate) fn parse<'a, T: Deserialize<'a>>(
    path: &Path,
    table: &str,
    id: &str,
    data: &'a str,
) -> Result<T, StoreError> {
    serde_json::from_str(data).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        row: Some(format!("{table} {id}")),
        source: Arc::new(error),
    })
}
