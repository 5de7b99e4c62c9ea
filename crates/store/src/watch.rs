//! Following a session that somebody else works on, by looking at the file.

use std::time::Duration;

use haft_protocol::{Event, History, Id, Message, Part, PartKind, Session, SessionId, Todo};
use sqlx::{ConnectOptions, SqliteConnection};

use crate::journal::Reader;
use crate::{Journal, StoreError};
use crate::{reader, sqlite};

/// How long to wait before looking again. With the 250 ms after which growing words are stored, this is how late
/// somebody who watches is.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

const VERSION: &str = "SELECT data_version FROM pragma_data_version";
const SESSION: &str = "SELECT data, removals FROM session WHERE id = ?1";
const MESSAGES: &str = "SELECT id, data, rev FROM message WHERE session_id = ?1 AND rev > ?2 ORDER BY rev";
const PARTS: &str = "SELECT message_id, id, data, rev FROM part WHERE session_id = ?1 AND rev > ?2 ORDER BY rev";
const REVISIONS: &str = "
    SELECT (SELECT coalesce(max(rev), 0) FROM message WHERE session_id = ?1),
           (SELECT coalesce(max(rev), 0) FROM part WHERE session_id = ?1)";

/// A session that is followed. It costs one small question to SQLite every 100 ms while nothing happens, and reads what
/// is new when something does.
#[derive(Debug)]
pub struct Watch {
    journal: Journal,
    session: SessionId,
    info: Session,
    history: History,
    todos: Vec<Todo>,
    file: Option<Seen>,
    /// What changed and was not given yet: the caller may drop the future that was to give it.
    pending: Vec<Event>,
    over: bool,
}

/// How far the file was read.
#[derive(Debug)]
struct Seen {
    connection: SqliteConnection,
    version: i64,
    removals: i64,
    message: i64,
    part: i64,
}

impl Watch {
    pub(crate) async fn begin(journal: Journal, session: SessionId) -> Result<Option<Self>, StoreError> {
        let file = match journal.reader()? {
            Reader::Memory(_) => None,
            Reader::File(file) => {
                let failed = |error| sqlite::failed(&file.path, error);
                let mut connection = file.options.connect().await.map_err(failed)?;
                let version = sqlx::query_scalar(VERSION).fetch_one(&mut connection).await.map_err(failed)?;
                // Looked at before the history is read: what comes between is read twice, and not missed.
                let found = sqlx::query_as(SESSION).bind(session.to_string()).fetch_optional(&mut connection).await;
                let found: Option<(Vec<u8>, i64)> = found.map_err(failed)?;
                let removals = found.map_or(0, |(_, removals)| removals);
                let revisions = sqlx::query_as(REVISIONS).bind(session.to_string());
                let (message, part) = revisions.fetch_one(&mut connection).await.map_err(failed)?;
                Some(Seen { connection, version, removals, message, part })
            }
        };
        let Some(info) = journal.session(&session).await? else { return Ok(None) };
        let history = journal.history(&session).await?;
        let todos = journal.todos(&session).await?;
        Ok(Some(Self { journal, session, info, history, todos, file, pending: Vec::new(), over: false }))
    }

    /// The record as it is known now.
    pub fn session(&self) -> &Session {
        &self.info
    }

    /// The messages as they are known now.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Waits until something changes, and gives the events that bring who applies them up to date; at least one.
    /// `None` after the session was removed. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// When the file cannot be read any more; [`StoreError::Closed`].
    pub async fn next(&mut self) -> Result<Option<Vec<Event>>, StoreError> {
        loop {
            if let Some(events) = self.look().await? {
                return Ok(Some(events));
            }
            if self.over {
                return Ok(None);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// What changed since the last look.
    ///
    /// # Errors
    ///
    /// As [`Watch::next`].
    pub async fn look(&mut self) -> Result<Option<Vec<Event>>, StoreError> {
        if !self.over {
            if self.file.is_some() {
                self.look_into_file().await?;
            } else {
                self.look_into_memory().await?;
            }
        }
        Ok((!self.pending.is_empty()).then(|| std::mem::take(&mut self.pending)))
    }

    async fn look_into_memory(&mut self) -> Result<(), StoreError> {
        let Some(info) = self.journal.session(&self.session).await? else {
            self.end();
            return Ok(());
        };
        let history = self.journal.history(&self.session).await?;
        let todos = self.journal.todos(&self.session).await?;
        self.compare(&history);
        self.put_info(info);
        self.put_todos(todos);
        Ok(())
    }

    async fn look_into_file(&mut self) -> Result<(), StoreError> {
        let journal = self.journal.clone();
        let Reader::File(file) = journal.reader()? else { return Ok(()) };
        let failed = |error| sqlite::failed(&file.path, error);
        let id = self.session.clone();
        let Some(seen) = &mut self.file else { return Ok(()) };
        let version = sqlx::query_scalar(VERSION).fetch_one(&mut seen.connection).await.map_err(failed)?;
        if version == seen.version {
            return Ok(());
        }
        let row = sqlx::query_as(SESSION).bind(id.to_string()).fetch_optional(&mut seen.connection).await;
        let row: Option<(Vec<u8>, i64)> = row.map_err(failed)?;
        let Some((data, removals)) = row else {
            self.end();
            return Ok(());
        };
        let todos = journal.todos(&id).await?;
        // Everything is read before anything is taken over, so that whoever stops waiting loses nothing.
        if removals == seen.removals {
            let rows = sqlx::query_as(MESSAGES).bind(id.to_string()).bind(seen.message);
            let messages: Vec<(String, Vec<u8>, i64)> = rows.fetch_all(&mut seen.connection).await.map_err(failed)?;
            let rows = sqlx::query_as(PARTS).bind(id.to_string()).bind(seen.part);
            let parts: Vec<(String, String, Vec<u8>, i64)> =
                rows.fetch_all(&mut seen.connection).await.map_err(failed)?;
            seen.version = version;
            seen.message = messages.iter().fold(seen.message, |last, (.., rev)| last.max(*rev));
            seen.part = parts.iter().fold(seen.part, |last, (.., rev)| last.max(*rev));
            for (name, data, _) in messages {
                let message = reader::message(&file.path, &id, &name, &reader::text(&data));
                self.put(message.and_then(|message| message_event(&self.history, &message)));
            }
            for (message, name, data, _) in parts {
                let message = Id::parse(&message).ok();
                let part =
                    message.and_then(|message| reader::part(&file.path, &id, &message, &name, &reader::text(&data)));
                self.put(part.and_then(|part| part_event(&self.history, &part)));
            }
        } else {
            let revisions = sqlx::query_as(REVISIONS).bind(id.to_string());
            let (message, part) = revisions.fetch_one(&mut seen.connection).await.map_err(failed)?;
            let history = reader::history(&mut seen.connection, &file.path, &id).await?;
            (seen.version, seen.removals, seen.message, seen.part) = (version, removals, message, part);
            self.compare(&history);
        }
        if let Ok(info) = reader::parse::<Session>(&file.path, "session", id.as_str(), &reader::text(&data)) {
            self.put_info(info);
        }
        self.put_todos(todos);
        Ok(())
    }

    /// Takes over another state of the whole history.
    fn compare(&mut self, now: &History) {
        for event in changes(&self.session, &self.history, now) {
            self.put(Some(event));
        }
    }

    fn put(&mut self, event: Option<Event>) {
        if let Some(event) = event {
            self.history.apply(&event);
            self.pending.push(event);
        }
    }

    fn put_info(&mut self, info: Session) {
        if info != self.info {
            self.info = info;
            let info = Box::new(self.info.clone());
            self.pending.push(Event::SessionUpdated { session_id: self.session.clone(), info });
        }
    }

    fn put_todos(&mut self, todos: Vec<Todo>) {
        if todos != self.todos {
            self.todos = todos;
            self.pending.push(Event::TodoUpdated { session_id: self.session.clone(), todos: self.todos.clone() });
        }
    }

    fn end(&mut self) {
        self.over = true;
        let info = Box::new(self.info.clone());
        self.pending.push(Event::SessionDeleted { session_id: self.session.clone(), info });
    }
}

/// The events that make `then` out of `now`. Pure.
fn changes(session: &SessionId, then: &History, now: &History) -> Vec<Event> {
    let mut events = Vec::new();
    for turned in then.messages() {
        let Some(kept) = now.message(turned.info.id()) else {
            let (session_id, message_id) = (session.clone(), turned.info.id().clone());
            events.push(Event::MessageRemoved { session_id, message_id });
            continue;
        };
        for part in &turned.parts {
            if !kept.parts.iter().any(|kept| kept.id == part.id) {
                events.push(Event::PartRemoved {
                    session_id: session.clone(),
                    message_id: turned.info.id().clone(),
                    part_id: part.id.clone(),
                });
            }
        }
    }
    for turned in now.messages() {
        events.extend(message_event(then, &turned.info));
        events.extend(turned.parts.iter().filter_map(|part| part_event(then, part)));
    }
    events
}

fn message_event(then: &History, message: &Message) -> Option<Event> {
    let same = then.message(message.id()).is_some_and(|turned| turned.info == *message);
    let session_id = message.session_id().clone();
    (!same).then(|| Event::MessageUpdated { session_id, info: Box::new(message.clone()) })
}

/// Words that only grew come as what was added, as they did to whoever heard them first.
fn part_event(then: &History, part: &Part) -> Option<Event> {
    let before = then.part(&part.id);
    if before == Some(part) {
        return None;
    }
    let session_id = part.session_id.clone();
    if let Some(before) = before
        && let (Some(old), Some(new)) = (words(before), words(part))
        && let Some(delta) = new.strip_prefix(old)
    {
        let mut grown = before.clone();
        grown.grow(delta);
        if grown == *part {
            let (message_id, part_id) = (part.message_id.clone(), part.id.clone());
            let (field, delta) = ("text".to_owned(), delta.to_owned());
            return Some(Event::PartDelta { session_id, message_id, part_id, field, delta });
        }
    }
    Some(Event::PartUpdated { session_id, part: Box::new(part.clone()), time: 0 })
}

fn words(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::Text { text, .. } | PartKind::Reasoning { text, .. } => Some(text),
        PartKind::File { .. }
        | PartKind::Tool { .. }
        | PartKind::Vendor { .. }
        | PartKind::Agent { .. }
        | PartKind::Subtask { .. }
        | PartKind::Patch { .. }
        | PartKind::Compaction { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    /// A history of one message with `parts`.
    fn history(parts: &[&Part]) -> History {
        let session = samples::session("ses_1");
        let mut history = History::default();
        history.apply(&samples::said(&samples::prompt(&session, "msg_1")));
        parts.iter().for_each(|part| history.apply(&samples::put(part)));
        history
    }

    #[test]
    fn applying_the_changes_gives_what_there_is_now() {
        let session = samples::session("ses_1");
        let message = samples::prompt(&session, "msg_1");
        let (one, two) = (samples::text(&message, "prt_1", "one"), samples::text(&message, "prt_2", "two"));
        let (grown, other) = (samples::text(&message, "prt_1", "one more"), samples::text(&message, "prt_1", "new"));
        let states = [
            History::default(),
            history(&[]),
            history(&[&one]),
            history(&[&two]),
            history(&[&one, &two]),
            history(&[&grown]),
            history(&[&other, &two]),
        ];
        for then in &states {
            for now in &states {
                let events = changes(&session.id, then, now);
                let mut made = then.clone();
                events.iter().for_each(|event| made.apply(event));
                assert_eq!(made.messages().len(), now.messages().len(), "{events:?}");
                for (made, now) in made.messages().iter().zip(now.messages()) {
                    let sorted = |parts: &[Part]| {
                        let mut parts = parts.to_vec();
                        parts.sort_by(|a, b| a.id.cmp(&b.id));
                        parts
                    };
                    assert_eq!(sorted(&made.parts), sorted(&now.parts), "{events:?}");
                }
                assert_eq!(events.is_empty(), then == now);
            }
        }
    }

    #[test]
    fn words_that_only_grew_come_as_what_was_added() {
        let message = samples::prompt(&samples::session("ses_1"), "msg_1");
        let then = history(&[&samples::text(&message, "prt_1", "one")]);
        let row = |text: &str, want: Option<&str>| {
            let event = part_event(&then, &samples::text(&message, "prt_1", text));
            let delta = event.as_ref().and_then(|event| match event {
                Event::PartDelta { delta, .. } => Some(delta.as_str()),
                _ => None,
            });
            assert_eq!(delta, want, "{event:?}");
        };
        row("one more", Some(" more"));
        row("on", None);
        row("another", None);
        row("one", None);
    }
}
