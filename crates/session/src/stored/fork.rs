//! Copies a session, so that a conversation can go two ways.

use std::collections::HashMap;

use haft_protocol::{
    Clock, Event, Failure, History, Message, MessageId, Part, PartKind, Session, SessionId, SessionTime, Tokens,
    ToolState,
};
use haft_store::{Filter, Journal};

use crate::error::SessionError;
use crate::session::new_id;
use crate::stored::recover::close_all;
use crate::stored::slug::slug;
use crate::undo::Point;

/// Events that are stored in one go.
const AT_ONCE: usize = 512;

/// Most sessions with a title of the kind that are looked at for the next number.
const MAX_ALIKE: usize = 1_000;

/// What a message keeps that was still being written.
const COPIED: &str = "the session was copied while this was written";

/// See [`Session::fork`](crate::Session::fork).
pub(crate) async fn fork(
    journal: &Journal,
    clock: &Clock,
    id: &SessionId,
    before: Option<&MessageId>,
) -> Result<SessionId, SessionError> {
    let from = journal.session(id).await?.ok_or_else(|| SessionError::Unknown(id.clone()))?;
    let history = journal.history(id).await?;
    let reverted = from.revert.as_ref().and_then(|revert| Point::of(revert, &history));
    let point = match before {
        // What is taken back does not go along.
        None => reverted,
        Some(before) => {
            let no_message = || SessionError::NoMessage { session: id.clone(), message: before.clone() };
            Some(Point::whole(&history, before).ok_or_else(no_message)?)
        }
    };
    let taken = point.as_ref().map_or(history.messages().len(), Point::first_whole);
    let copy = new_id(journal, clock).await?;
    let now = clock.now_ms();
    let record = Session {
        id: copy.clone(),
        slug: slug(&copy),
        parent_id: None,
        title: title(&from.title, &alike(journal, &from).await?),
        cost: 0.0,
        tokens: Tokens::default(),
        summary: None,
        share: None,
        revert: None,
        time: SessionTime { created: now, updated: now, ..SessionTime::default() },
        ..from.clone()
    };
    let mut history = history;
    // What still runs in the first one ends there, and never in the copy.
    for event in close_all(&from, &history.messages()[..taken], now, &Failure::aborted(COPIED)) {
        history.apply(&event);
    }
    let mut events = vec![Event::SessionCreated { session_id: copy.clone(), info: Box::new(record) }];
    events.extend(copied(&history, taken, point.as_ref(), &copy, clock));
    let todos = journal.todos(id).await?;
    if !todos.is_empty() {
        events.push(Event::TodoUpdated { session_id: copy.clone(), todos });
    }
    while !events.is_empty() {
        let rest = events.split_off(events.len().min(AT_ONCE));
        journal.record_all(std::mem::replace(&mut events, rest)).await?;
    }
    Ok(copy)
}

/// The events that write the first `taken` messages of `history`, as far as they stand before `point`, into the session
/// `copy`, with new ids.
fn copied(history: &History, taken: usize, point: Option<&Point>, copy: &SessionId, clock: &Clock) -> Vec<Event> {
    let mut ids: HashMap<&MessageId, MessageId> = HashMap::new();
    let mut events = Vec::new();
    for (at, turned) in history.messages().iter().take(taken).enumerate() {
        let id: MessageId = clock.mint();
        ids.insert(turned.info.id(), id.clone());
        let mut info = turned.info.clone();
        match &mut info {
            Message::User(user) => (user.id, user.session_id) = (id.clone(), copy.clone()),
            Message::Assistant(answer) => {
                (answer.id, answer.session_id) = (id.clone(), copy.clone());
                if let Some(parent) = ids.get(&answer.parent_id) {
                    answer.parent_id = parent.clone();
                }
            }
        }
        events.push(Event::MessageUpdated { session_id: copy.clone(), info: Box::new(info) });
        for (within, part) in turned.parts.iter().enumerate() {
            if point.is_some_and(|point| point.covers(at, turned, within)) {
                continue;
            }
            let mut part = Box::new(moved(part, copy, &id, clock));
            if let PartKind::Compaction { tail_start_id: Some(tail), .. } = &mut part.kind
                && let Some(copied) = ids.get(tail)
            {
                *tail = copied.clone();
            }
            events.push(Event::PartUpdated { session_id: copy.clone(), part, time: clock.now_ms() });
        }
    }
    events
}

/// A part as a part of another message, with the files that hang on it.
fn moved(part: &Part, session: &SessionId, message: &MessageId, clock: &Clock) -> Part {
    let mut kind = part.kind.clone();
    if let Some(ToolState::Completed { attachments, .. }) = kind.state_mut() {
        attachments.iter_mut().for_each(|file| *file = moved(file, session, message, clock));
    }
    Part { id: clock.mint(), session_id: session.clone(), message_id: message.clone(), kind }
}

/// The titles of sessions that may be copies of what `from` is one of, or its first.
async fn alike(journal: &Journal, from: &Session) -> Result<Vec<String>, SessionError> {
    let head = numbered(&from.title).map_or(from.title.as_str(), |(head, _)| head);
    if head.is_empty() {
        return Ok(Vec::new());
    }
    let title = Some(head.to_owned());
    let filter = Filter { title, archived: true, limit: MAX_ALIKE, ..Filter::default() };
    Ok(journal.sessions(&filter).await?.into_iter().map(|record| record.title).collect())
}

/// `Mend it` becomes `Mend it (fork #1)`, and that `Mend it (fork #2)`: the number behind the highest that one of `others`
/// has.
fn title(title: &str, others: &[String]) -> String {
    // It is named after its first prompt, which is still to come.
    if title.is_empty() {
        return String::new();
    }
    let (head, own) = numbered(title).unwrap_or((title, 0));
    let taken = others.iter().filter_map(|other| numbered(other)).filter(|(other, _)| *other == head);
    let highest = taken.map(|(_, number)| number).max().unwrap_or(0).max(own);
    format!("{head} (fork #{})", highest.saturating_add(1))
}

/// What a copy is one of, and its number.
fn numbered(title: &str) -> Option<(&str, u32)> {
    let (head, number) = title.strip_suffix(')')?.rsplit_once(" (fork #")?;
    Some((head, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_numbered() {
        let row = |from: &str, others: &[&str], want: &str| {
            let others: Vec<String> = others.iter().map(|other| (*other).to_owned()).collect();
            assert_eq!(title(from, &others), want);
        };
        row("Mend it", &["Mend it"], "Mend it (fork #1)");
        row("Mend it", &["Mend it (fork #1)", "Mend it (fork #3)", "Mend (fork #7)"], "Mend it (fork #4)");
        row("Mend it (fork #1)", &["Mend it (fork #1)", "Mend it (fork #2)"], "Mend it (fork #3)");
        row("Mend it (fork #9)", &[], "Mend it (fork #10)");
        row("Mend (fork #x)", &[], "Mend (fork #x) (fork #1)");
        row("", &["(fork #1)"], "");
    }
}
