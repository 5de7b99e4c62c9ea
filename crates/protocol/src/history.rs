//! A session as a list of messages, built from events.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Event, Message, MessageId, Part, PartId};

/// The messages of one session, oldest first, each with its parts.
///
/// Reopening a session and following it live are the same fold: [`History::apply`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    turned: Vec<Turned>,
    // Invariant: where each message stands in `turned`, and each part in which message at which place. Without
    // these an event would cost a walk through the whole session.
    messages: HashMap<MessageId, usize>,
    parts: HashMap<PartId, (usize, usize)>,
}

/// A message with its parts, in the order they came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turned {
    /// The message.
    pub info: Message,
    /// Its parts.
    pub parts: Vec<Part>,
}

impl Turned {
    /// The plug-in that says it, where it is a prompt and one does.
    pub fn plugin(&self) -> Option<&str> {
        let parts = self.parts.iter().filter(|_| matches!(self.info, Message::User(_)));
        parts.filter_map(|part| part.kind.plugin()).next()
    }
}

impl History {
    /// All messages, oldest first.
    pub fn messages(&self) -> &[Turned] {
        &self.turned
    }

    /// The message called `id`.
    pub fn message(&self, id: &MessageId) -> Option<&Turned> {
        self.messages.get(id).map(|&at| &self.turned[at])
    }

    /// The part called `id`.
    pub fn part(&self, id: &PartId) -> Option<&Part> {
        self.parts.get(id).map(|&(message, at)| &self.turned[message].parts[at])
    }

    /// Brings the list up to date with `event`. Events that are not about messages change nothing; a part whose
    /// message is unknown is left out.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::MessageUpdated { info, .. } => self.put_message(info),
            Event::PartUpdated { part, .. } => self.put_part(part),
            Event::PartDelta { part_id, delta, .. } => {
                if let Some(&(message, at)) = self.parts.get(part_id) {
                    self.turned[message].parts[at].grow(delta);
                }
            }
            Event::PartRemoved { part_id, .. } => self.remove_part(part_id),
            Event::MessageRemoved { message_id, .. } => self.remove_message(message_id),
            Event::SessionCreated { .. }
            | Event::SessionUpdated { .. }
            | Event::SessionDeleted { .. }
            | Event::SessionCompacted { .. }
            | Event::SessionDiff { .. }
            | Event::SessionStatus { .. }
            | Event::SessionError { .. }
            | Event::PermissionAsked(_)
            | Event::PermissionReplied { .. }
            | Event::QuestionAsked(_)
            | Event::QuestionReplied { .. }
            | Event::QuestionRejected { .. }
            | Event::CommandExecuted { .. }
            | Event::TodoUpdated { .. } => {}
        }
    }

    fn put_message(&mut self, info: &Message) {
        if let Some(&at) = self.messages.get(info.id()) {
            self.turned[at].info = info.clone();
            return;
        }
        self.messages.insert(info.id().clone(), self.turned.len());
        self.turned.push(Turned { info: info.clone(), parts: Vec::new() });
    }

    fn put_part(&mut self, part: &Part) {
        if let Some(&(message, at)) = self.parts.get(&part.id) {
            self.turned[message].parts[at] = part.clone();
            return;
        }
        let Some(&message) = self.messages.get(&part.message_id) else { return };
        let parts = &mut self.turned[message].parts;
        self.parts.insert(part.id.clone(), (message, parts.len()));
        parts.push(part.clone());
    }

    fn remove_message(&mut self, id: &MessageId) {
        let Some(at) = self.messages.remove(id) else { return };
        for part in self.turned.remove(at).parts {
            self.parts.remove(&part.id);
        }
        self.note_places(at);
    }

    /// Notes where the messages from the place `from` on stand, and their parts.
    fn note_places(&mut self, from: usize) {
        for (place, turned) in self.turned.iter().enumerate().skip(from) {
            self.messages.insert(turned.info.id().clone(), place);
            for (within, part) in turned.parts.iter().enumerate() {
                self.parts.insert(part.id.clone(), (place, within));
            }
        }
    }

    fn remove_part(&mut self, id: &PartId) {
        let Some((message, at)) = self.parts.remove(id) else { return };
        self.turned[message].parts.remove(at);
        for (place, part) in self.turned[message].parts.iter().enumerate().skip(at) {
            self.parts.insert(part.id.clone(), (message, place));
        }
    }
}

impl FromIterator<Turned> for History {
    fn from_iter<I: IntoIterator<Item = Turned>>(messages: I) -> Self {
        let turned: Vec<Turned> = messages.into_iter().collect();
        let mut history = Self {
            messages: HashMap::with_capacity(turned.len()),
            parts: HashMap::with_capacity(turned.iter().map(|turned| turned.parts.len()).sum()),
            turned,
        };
        history.note_places(0);
        history
    }
}
