//! Reading sessions out of the file. A long one is read block by block, so that it is never in memory twice.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use haft_protocol::{
    Failure, History, Id, Message, MessageId, MessageTime, Part, PartId, PartKind, Paths, Session, SessionId, Todo,
    Tokens, Turned,
};
use serde::Deserialize;
use sqlx::SqliteConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::sqlite::failed;
use crate::{Filter, StoreError};

/// Connections that read at once.
const MAX_READERS: u32 = 2;
/// Most messages in a block.
const MESSAGES: i64 = 256;

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
/// The messages between two numbers, a line each, and the first number behind them; then their parts, a line each. The
/// JSON that is stored holds no line break.
const BLOCK: &str = "
    SELECT group_concat(line, char(10)), (SELECT min(seq) FROM message WHERE session_id = ?1 AND seq > ?3) FROM (
        SELECT id || char(9) || data AS line FROM message
        WHERE session_id = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq)
    UNION ALL
    SELECT group_concat(line, char(10)), NULL FROM (
        SELECT part.message_id || char(9) || part.id || char(9) || part.data AS line FROM message
        JOIN part ON part.session_id = message.session_id AND part.message_id = message.id
        WHERE message.session_id = ?1 AND message.seq > ?2 AND message.seq <= ?3 ORDER BY message.seq, part.seq)";
const COUNT: &str = "SELECT count(*), coalesce(min(seq), 0) - 1 FROM message WHERE session_id = ?1";
const SEQ: &str = "SELECT seq FROM message WHERE session_id = ?1 AND id = ?2";
/// The number before the first of the last messages before another.
const PAGE: &str = "
    SELECT min(seq) - 1 FROM (
        SELECT seq FROM message WHERE session_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3)";

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
            .connect_lazy_with(options.clone());
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
        let page = sqlx::query_scalar(PAGE).bind(id.to_string()).bind(end);
        let page = page.bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let mut after: Option<i64> = page.fetch_one(&mut *snapshot).await.map_err(failed)?;
        let mut messages = Vec::new();
        while let Some(from) = after.filter(|after| *after < end - 1) {
            let block = block(&mut snapshot, &self.path, id, from, end - 1).await?;
            after = block.next;
            messages.extend(decode(&self.path, id, &block));
        }
        // As above.
        let _ = snapshot.rollback().await;
        Ok(messages)
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Blocks that are held at once: some are decoded, and others wait for it while SQLite gathers the rows of the next.
const HELD: usize = 3;

/// The whole history.
pub(crate) async fn history(
    connection: &mut SqliteConnection,
    path: &Arc<Path>,
    id: &SessionId,
) -> Result<History, StoreError> {
    let count = sqlx::query_as(COUNT).bind(id.to_string()).fetch_one(&mut *connection).await;
    let (count, first): (i64, i64) = count.map_err(|error| failed(path, error))?;
    let mut history = History::with_capacity(usize::try_from(count).unwrap_or_default());
    let mut decoding: VecDeque<JoinHandle<Vec<Turned>>> = VecDeque::with_capacity(HELD);
    let mut after = (count > 0).then_some(first);
    while let Some(from) = after {
        let next = block(connection, path, id, from, i64::MAX).await?;
        after = next.next;
        if decoding.len() == HELD
            && let Some(done) = decoding.pop_front()
        {
            history.extend(done.await.map_err(|_| StoreError::Closed)?);
        }
        let (path, id) = (path.clone(), id.clone());
        decoding.push_back(spawn_blocking(move || decode(&path, &id, &next)));
    }
    for done in decoding {
        history.extend(done.await.map_err(|_| StoreError::Closed)?);
    }
    Ok(history)
}

/// Some messages in a row and their parts, as stored.
struct Block {
    messages: Vec<u8>,
    parts: Vec<u8>,
    /// The number before the next message behind them; `None` behind the last.
    next: Option<i64>,
}

/// The messages behind the number `after`, as many as are read at once, but none behind `last`.
async fn block(
    connection: &mut SqliteConnection,
    path: &Path,
    id: &SessionId,
    after: i64,
    last: i64,
) -> Result<Block, StoreError> {
    let block = sqlx::query_as(BLOCK).bind(id.to_string()).bind(after).bind(last.min(after.saturating_add(MESSAGES)));
    let mut rows: Vec<(Option<Vec<u8>>, Option<i64>)> =
        block.fetch_all(connection).await.map_err(|error| failed(path, error))?;
    let parts = rows.pop().and_then(|(parts, _)| parts).unwrap_or_default();
    let (messages, next) = rows.pop().unwrap_or_default();
    Ok(Block { messages: messages.unwrap_or_default(), parts, next: next.map(|next| next - 1) })
}

/// The messages of a block. What cannot be read is stood for by words that say so, to people and not to models.
fn decode(path: &Path, session: &SessionId, block: &Block) -> Vec<Turned> {
    let mut turned: Vec<Turned> = Vec::new();
    // Whatever is not text in a damaged row is shown by signs that say so; the rest of the row is whole.
    let (messages, parts) = (text(&block.messages), text(&block.parts));
    for (id, data) in lines(&messages) {
        match message(path, session, id, data) {
            Some(info) => turned.push(Turned { info, parts: Vec::new() }),
            None => tracing::warn!(row = id, "left out: it has no name"),
        }
    }
    let rows = lines(&parts).filter_map(|(message, rest)| Some((message, rest.split_once('\t')?)));
    let rows: Vec<(&str, (&str, &str))> = rows.collect();
    let mut at = 0;
    for rows in rows.chunk_by(|(one, _), (next, _)| one == next) {
        let Some((message, _)) = rows.first() else { continue };
        // They come in the order of their messages.
        while turned.get(at).is_some_and(|turned| turned.info.id().as_str() != *message) {
            at += 1;
        }
        let Some(Turned { info, parts }) = turned.get_mut(at) else { break };
        parts.reserve_exact(rows.len());
        let rows = rows.iter().filter_map(|(_, (id, data))| part(path, session, info.id(), id, data));
        parts.extend(rows);
    }
    turned
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

pub(crate) fn part(path: &Path, session: &SessionId, message: &MessageId, id: &str, data: &str) -> Option<Part> {
    let read = is_named(path, session, message, id, data)
        .and_then(|is_it| is_it.then(|| parse::<PartKind>(path, "part", id, data)).transpose());
    match (read, PartId::parse(id)) {
        // All parts share the names of their session and their message: a long one has many.
        (Ok(Some(kind)), Ok(id)) => Some(Part { id, session_id: session.clone(), message_id: message.clone(), kind }),
        (read, _) => {
            let why = read.err().map_or_else(|| "it says that it is another".to_owned(), |error| error.to_string());
            tracing::warn!(part = id, why, "a part cannot be read");
            let text = format!("[Something stood here that cannot be read any more: {why}]");
            let kind = PartKind::Text { text, synthetic: true, ignored: true, time: None, metadata: None };
            let (session_id, message_id) = (session.clone(), message.clone());
            Some(Part { id: PartId::parse(id).ok()?, session_id, message_id, kind })
        }
    }
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
        error: Some(Failure::new("UnknownError", format!("this message cannot be read any more: {why}"))),
        structured: None,
        summary: false,
        variant: None,
    }))
}

/// `bytes` as text. Nearly all are, and finding that out is quicker than looking for what is not.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// What stands before the first tab of each line, and what behind it.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('\n').filter_map(|line| line.split_once('\t'))
}

/// Whether the record of a part is called so, and belongs there. Read apart from what it is, which `serde` would
/// otherwise have to hold back until it has seen these.
fn is_named(path: &Path, session: &SessionId, message: &MessageId, id: &str, data: &str) -> Result<bool, StoreError> {
    // As it is written here. Ids hold nothing that JSON writes in another way.
    let mut rest = data;
    let pieces =
        ["{\"id\":\"", id, "\",\"sessionID\":\"", session.as_str(), "\",\"messageID\":\"", message.as_str(), "\","];
    let is_plain = pieces.iter().all(|piece| {
        let tail = rest.strip_prefix(piece);
        rest = tail.unwrap_or_default();
        tail.is_some()
    });
    if is_plain {
        return Ok(true);
    }
    let names = parse::<Names<'_>>(path, "part", id, data)?;
    Ok(names.id == id && names.message == message.as_str() && names.session == session.as_str())
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
