//! The twin of the database that keeps everything in memory.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::{Event, History, Message, MessageId, Part, PartId, Session, SessionId, Todo, Turned};

use crate::rows::{Change, Shelf};
use crate::{Filter, StoreError};

/// Sessions in memory, both sides. As large as the sessions are: nothing is ever dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    kept: Arc<Mutex<HashMap<SessionId, Kept>>>,
}

#[derive(Debug)]
struct Kept {
    info: Session,
    history: History,
    todos: Vec<Todo>,
}

impl Memory {
    pub(crate) fn session(&self, id: &SessionId) -> Option<Session> {
        self.lock().get(id).map(|kept| kept.info.clone())
    }

    pub(crate) fn sessions(&self, filter: &Filter) -> Vec<Session> {
        let kept = self.lock();
        let mut found: Vec<&Session> = kept
            .values()
            .map(|kept| &kept.info)
            .filter(|info| filter.directory.as_ref().is_none_or(|directory| info.directory == *directory))
            .filter(|info| !filter.roots || info.parent_id.is_none())
            .filter(|info| filter.archived || info.time.archived.is_none())
            .filter(|info| {
                let wanted = filter.title.as_ref().map(|title| title.to_ascii_lowercase());
                wanted.is_none_or(|wanted| info.title.to_ascii_lowercase().contains(&wanted))
            })
            .collect();
        found.sort_by_key(|info| (Reverse(info.time.updated), Reverse(info.time.created), &info.id));
        found.into_iter().take(filter.limit).cloned().collect()
    }

    pub(crate) fn children(&self, id: &SessionId, limit: usize) -> Vec<Session> {
        let kept = self.lock();
        let all = kept.values().map(|kept| &kept.info);
        let mut found: Vec<&Session> = all.filter(|info| info.parent_id.as_ref() == Some(id)).collect();
        found.sort_by_key(|info| (Reverse(info.time.created), Reverse(&info.id)));
        found.into_iter().take(limit).cloned().collect()
    }

    pub(crate) fn history(&self, id: &SessionId) -> History {
        self.lock().get(id).map(|kept| kept.history.clone()).unwrap_or_default()
    }

    pub(crate) fn messages(
        &self,
        id: &SessionId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> Result<Vec<Turned>, StoreError> {
        let history = self.history(id);
        let all = history.messages();
        let end = match before {
            None => all.len(),
            Some(before) => all
                .iter()
                .position(|turned| turned.info.id() == before)
                .ok_or_else(|| StoreError::Missing { row: format!("message {before}") })?,
        };
        let all = all.get(..end).unwrap_or_default();
        Ok(all.get(end.saturating_sub(limit)..).unwrap_or_default().to_vec())
    }

    pub(crate) fn todos(&self, id: &SessionId) -> Vec<Todo> {
        self.lock().get(id).map(|kept| kept.todos.clone()).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Kept>> {
        // Each change leaves the map whole, so a panic elsewhere does no harm to it.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf for Memory {
    async fn write(&mut self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        let mut kept = self.lock();
        changes.iter().try_for_each(|change| {
            make(&mut kept, change).ok_or_else(|| StoreError::Missing { row: change.foundation().unwrap_or_default() })
        })
    }

    async fn part(&mut self, session: &SessionId, part: &PartId) -> Result<Option<Part>, StoreError> {
        Ok(self.lock().get(session).and_then(|kept| kept.history.part(part).cloned()))
    }

    async fn close(self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Makes one change, or none when what it builds on is not there.
fn make(sessions: &mut HashMap<SessionId, Kept>, change: &Change<'_>) -> Option<()> {
    match *change {
        Change::Session(info) => {
            sessions.entry(info.id.clone()).and_modify(|kept| kept.info = info.clone()).or_insert_with(|| Kept {
                info: info.clone(),
                history: History::default(),
                todos: Vec::new(),
            });
        }
        Change::Message(message) => sessions.get_mut(message.session_id())?.history.apply(&message_updated(message)),
        Change::Part { part, .. } => {
            let history = &mut sessions.get_mut(&part.session_id)?.history;
            history.message(&part.message_id)?;
            history.apply(&part_updated(part));
        }
        Change::Grown(part) => {
            if let Some(kept) = sessions.get_mut(&part.session_id)
                && kept.history.part(&part.id).is_some()
            {
                kept.history.apply(&part_updated(part));
            }
        }
        Change::SessionRemoved(session) => drop(sessions.remove(session)),
        Change::MessageRemoved { session, message } => {
            if let Some(kept) = sessions.get_mut(session) {
                let (session_id, message_id) = (session.clone(), message.clone());
                kept.history.apply(&Event::MessageRemoved { session_id, message_id });
            }
        }
        Change::PartRemoved { session, part } => {
            if let Some(kept) = sessions.get_mut(session)
                && let Some(message_id) = kept.history.part(part).map(|part| part.message_id.clone())
            {
                let removed = Event::PartRemoved { session_id: session.clone(), message_id, part_id: part.clone() };
                kept.history.apply(&removed);
            }
        }
        Change::Todos { session, todos } => sessions.get_mut(session)?.todos = todos.to_vec(),
    }
    Some(())
}

fn message_updated(message: &Message) -> Event {
    Event::MessageUpdated { session_id: message.session_id().clone(), info: Box::new(message.clone()) }
}

fn part_updated(part: &Part) -> Event {
    Event::PartUpdated { session_id: part.session_id.clone(), part: Box::new(part.clone()), time: 0 }
}
