//! What an event changes in what is kept, and what can keep it.

use haft_protocol::{Event, Message, MessageId, Part, PartId, Session, SessionId, Todo};

use crate::StoreError;

/// How an event is kept.
#[derive(Debug)]
pub(crate) enum Keep<'a> {
    /// As a row, before anybody is told.
    Row(Change<'a>),
    /// As words added to a part, which may be stored a little later.
    Words { session: &'a SessionId, part: &'a PartId, words: &'a str },
    /// Not at all.
    No,
}

impl<'a> Keep<'a> {
    pub(crate) fn of(event: &'a Event) -> Self {
        match event {
            Event::SessionCreated { info, .. } | Event::SessionUpdated { info, .. } => Keep::Row(Change::Session(info)),
            Event::MessageUpdated { info, .. } => Keep::Row(Change::Message(info)),
            Event::PartUpdated { part, time, .. } => Keep::Row(Change::Part { part, time: *time }),
            Event::SessionDeleted { session_id, .. } => Keep::Row(Change::SessionRemoved(session_id)),
            Event::MessageRemoved { session_id, message_id } => {
                Keep::Row(Change::MessageRemoved { session: session_id, message: message_id })
            }
            Event::PartRemoved { session_id, part_id, .. } => {
                Keep::Row(Change::PartRemoved { session: session_id, part: part_id })
            }
            Event::PartDelta { session_id, part_id, delta, .. } => {
                Keep::Words { session: session_id, part: part_id, words: delta }
            }
            Event::TodoUpdated { session_id, todos } => Keep::Row(Change::Todos { session: session_id, todos }),
            Event::SessionStatus { .. }
            | Event::SessionCompacted { .. }
            | Event::SessionDiff { .. }
            | Event::SessionError { .. }
            | Event::PermissionAsked(_)
            | Event::PermissionReplied { .. }
            | Event::QuestionAsked(_)
            | Event::QuestionReplied { .. }
            | Event::QuestionRejected { .. }
            | Event::CommandExecuted { .. } => Keep::No,
        }
    }
}

/// A change of one row. Making the same change twice is the same as making it once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change<'a> {
    /// The session is this now.
    Session(&'a Session),
    /// The message is this now. A new one stands after all others of its session.
    Message(&'a Message),
    /// The part is this now. A new one stands after all others of its message.
    Part { part: &'a Part, time: u64 },
    /// A part that was there has more words. One that is gone stays gone.
    Grown(&'a Part),
    /// The session is gone, with all that it held.
    SessionRemoved(&'a SessionId),
    /// The message is gone, with its parts.
    MessageRemoved { session: &'a SessionId, message: &'a MessageId },
    /// The part is gone.
    PartRemoved { session: &'a SessionId, part: &'a PartId },
    /// The list of things to do is this now.
    Todos { session: &'a SessionId, todos: &'a [Todo] },
}

impl Change<'_> {
    /// What must be there before, for a person to read; `None` when nothing must.
    pub(crate) fn foundation(&self) -> Option<String> {
        match self {
            Change::Session(_)
            | Change::Grown(_)
            | Change::SessionRemoved(_)
            | Change::MessageRemoved { .. }
            | Change::PartRemoved { .. } => None,
            Change::Message(message) => Some(format!("session {}", message.session_id())),
            Change::Part { part, .. } => Some(format!("message {}", part.message_id)),
            Change::Todos { session, .. } => Some(format!("session {session}")),
        }
    }
}

impl Change<'_> {
    /// The session from which something is taken that no row tells of any more.
    pub(crate) fn removed_from(&self) -> Option<&SessionId> {
        match self {
            Change::MessageRemoved { session, .. } | Change::PartRemoved { session, .. } => Some(session),
            Change::Session(_)
            | Change::Message(_)
            | Change::Part { .. }
            | Change::Grown(_)
            | Change::SessionRemoved(_)
            | Change::Todos { .. } => None,
        }
    }
}

/// The writing side of whatever keeps the rows. One task owns it.
pub(crate) trait Shelf: Send + 'static {
    /// Makes `changes`, in order. After an error they may be tried again, together or alone.
    fn write(&mut self, changes: &[Change<'_>]) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Reads a part back.
    fn part(
        &mut self,
        session: &SessionId,
        part: &PartId,
    ) -> impl Future<Output = Result<Option<Part>, StoreError>> + Send;

    /// Lets go of it.
    fn close(self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// What cannot be written: says why to everybody who tries.
pub(crate) struct Shut(pub(crate) StoreError);

impl Shelf for Shut {
    async fn write(&mut self, _: &[Change<'_>]) -> Result<(), StoreError> {
        Err(self.0.clone())
    }

    async fn part(&mut self, _: &SessionId, _: &PartId) -> Result<Option<Part>, StoreError> {
        Err(self.0.clone())
    }

    async fn close(self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::{Ask, Failure, Id, Object, Status};

    use super::*;
    use crate::samples;

    #[track_caller]
    fn check(event: Event, want: &str) {
        let kept = match Keep::of(&event) {
            Keep::Row(Change::Session(_)) => "session",
            Keep::Row(Change::Message(_)) => "message",
            Keep::Row(Change::Part { .. }) => "part",
            Keep::Row(Change::Grown(_)) => "grown",
            Keep::Row(Change::SessionRemoved(_)) => "session removed",
            Keep::Row(Change::MessageRemoved { .. }) => "message removed",
            Keep::Row(Change::PartRemoved { .. }) => "removed",
            Keep::Row(Change::Todos { .. }) => "todos",
            Keep::Words { .. } => "words",
            Keep::No => "no",
        };
        assert_eq!(kept, want, "{event:?}");
    }

    #[test]
    fn what_a_history_is_made_of_is_kept() {
        let session = samples::session("ses_1");
        let message = samples::prompt(&session, "msg_1");
        let part = samples::text(&message, "prt_1", "");
        let (session_id, message_id, part_id) = (session.id.clone(), message.id().clone(), part.id.clone());
        check(samples::created(&session), "session");
        check(Event::SessionUpdated { session_id: session_id.clone(), info: Box::new(session) }, "session");
        check(samples::said(&message), "message");
        check(samples::put(&part), "part");
        check(samples::words(&part, "more"), "words");
        check(samples::to_do(&session_id, "x"), "todos");
        check(Event::PartRemoved { session_id, message_id, part_id }, "removed");
    }

    #[test]
    fn what_passes_is_not() {
        let session_id = samples::session("ses_1").id;
        let ask = Ask {
            id: Id::parse("per_1").unwrap(),
            session_id: session_id.clone(),
            permission: "edit".to_owned(),
            patterns: Vec::new(),
            always: Vec::new(),
            metadata: Object::new(),
            tool: None,
        };
        let request_id = ask.id.clone();
        check(Event::SessionStatus { session_id: session_id.clone(), status: Status::Idle }, "no");
        check(Event::SessionError { session_id: session_id.clone(), error: Failure::aborted("stop") }, "no");
        check(Event::PermissionAsked(Box::new(ask)), "no");
        check(Event::PermissionReplied { session_id, request_id, reply: "once".to_owned() }, "no");
    }

    #[test]
    fn a_change_names_what_it_builds_on() {
        let session = samples::session("ses_1");
        let message = samples::prompt(&session, "msg_1");
        let part = samples::text(&message, "prt_1", "");
        let foundation = |change: Change<'_>| change.foundation();
        assert_eq!(foundation(Change::Session(&session)), None);
        assert_eq!(foundation(Change::Message(&message)).as_deref(), Some("session ses_1"));
        assert_eq!(foundation(Change::Part { part: &part, time: 0 }).as_deref(), Some("message msg_1"));
        assert_eq!(foundation(Change::Todos { session: &session.id, todos: &[] }).as_deref(), Some("session ses_1"));
        assert_eq!(foundation(Change::Grown(&part)), None);
        assert_eq!(foundation(Change::PartRemoved { session: &session.id, part: &part.id }), None);
    }
}
