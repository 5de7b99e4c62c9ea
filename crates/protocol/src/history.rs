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
    // Invariant: where each message stands in `turned`. Without it an event would cost a walk through the whole session.
    messages: HashMap<MessageId, usize>,
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

    /// The part called `id`, looked for from the end.
    pub fn part(&self, id: &PartId) -> Option<&Part> {
        self.turned.iter().rev().flat_map(|turned| turned.parts.iter().rev()).find(|part| part.id == *id)
    }

    /// The parts of a message: few, so that none needs an index.
    fn parts(&mut self, message: &MessageId) -> Option<&mut Vec<Part>> {
        self.messages.get(message).map(|&at| &mut self.turned[at].parts)
    }

    /// Brings the list up to date with `event`. Events that are not about messages change nothing; a part whose
    /// message is unknown is left out.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::MessageUpdated { info, .. } => self.put_message(info),
            Event::PartUpdated { part, .. } => self.put_part(part),
            Event::PartDelta { message_id, part_id, delta, .. } => {
                if let Some(part) = self.parts(message_id).and_then(|parts| find(parts, part_id)) {
                    part.grow(delta);
                }
            }
            Event::PartRemoved { message_id, part_id, .. } => {
                if let Some(parts) = self.parts(message_id) {
                    parts.retain(|part| part.id != *part_id);
                }
            }
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
        let Some(parts) = self.parts(&part.message_id) else { return };
        match find(parts, &part.id) {
            Some(known) => *known = part.clone(),
            None => parts.push(part.clone()),
        }
    }

    fn remove_message(&mut self, id: &MessageId) {
        let Some(at) = self.messages.remove(id) else { return };
        self.turned.remove(at);
        self.note_places(at);
    }

    /// Notes where the messages from the place `from` on stand.
    fn note_places(&mut self, from: usize) {
        for (place, turned) in self.turned.iter().enumerate().skip(from) {
            self.messages.insert(turned.info.id().clone(), place);
        }
    }
}

/// The part called `id`, which mostly is one of the last.
fn find<'a>(parts: &'a mut [Part], id: &PartId) -> Option<&'a mut Part> {
    parts.iter_mut().rfind(|part| part.id == *id)
}

impl From<Vec<Turned>> for History {
    fn from(turned: Vec<Turned>) -> Self {
        let mut history = Self { messages: HashMap::with_capacity(turned.len()), turned };
        history.note_places(0);
        history
    }
}

impl FromIterator<Turned> for History {
    fn from_iter<I: IntoIterator<Item = Turned>>(messages: I) -> Self {
        Self::from(messages.into_iter().collect::<Vec<_>>())
    }
}
