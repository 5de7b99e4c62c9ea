//! Events: everything that can change about a session, one variant each.

use serde::{Deserialize, Serialize};

use crate::{
    Answers, Ask, AskId, Failure, FileDiff, Inquiry, Message, MessageId, Part, PartId, QuestionId, Session, SessionId,
    Todo,
};

/// Something changed. A client that applies every event to what it knew knows what the store knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "properties")]
pub enum Event {
    /// A session was made.
    #[serde(rename = "session.created")]
    SessionCreated {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// Its record.
        info: Box<Session>,
    },
    /// The record of a session changed.
    #[serde(rename = "session.updated")]
    SessionUpdated {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// Its record as it is now.
        info: Box<Session>,
    },
    /// A session was removed, with all that it held.
    #[serde(rename = "session.deleted")]
    SessionDeleted {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// Its record as it was.
        info: Box<Session>,
    },
    /// What came before is summed up; requests begin with the summary from now on. Not stored by itself.
    #[serde(rename = "session.compacted")]
    SessionCompacted {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
    },
    /// What the session's files came to changed. Not stored by itself.
    #[serde(rename = "session.diff")]
    SessionDiff {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// File by file.
        diff: Vec<FileDiff>,
    },
    /// A session is at work, or no longer. Not stored.
    #[serde(rename = "session.status")]
    SessionStatus {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// What it does.
        status: Status,
    },
    /// A turn failed. Not stored by itself: the message carries the failure.
    #[serde(rename = "session.error")]
    SessionError {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// Why.
        error: Failure,
    },
    /// A message was made or changed.
    #[serde(rename = "message.updated")]
    MessageUpdated {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The message as it is now.
        info: Box<Message>,
    },
    /// A message was taken away, with its parts.
    #[serde(rename = "message.removed")]
    MessageRemoved {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The message.
        #[serde(rename = "messageID")]
        message_id: MessageId,
    },
    /// A part was made or changed.
    #[serde(rename = "message.part.updated")]
    PartUpdated {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The part as it is now.
        part: Box<Part>,
        /// When, in Unix milliseconds.
        time: u64,
    },
    /// Words were added to a part. Told at once; stored at least every 250 ms and when the part ends.
    #[serde(rename = "message.part.delta")]
    PartDelta {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The message.
        #[serde(rename = "messageID")]
        message_id: MessageId,
        /// The part.
        #[serde(rename = "partID")]
        part_id: PartId,
        /// The field that grows; always `text`.
        field: String,
        /// What was added.
        delta: String,
    },
    /// A part was taken away.
    #[serde(rename = "message.part.removed")]
    PartRemoved {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The message.
        #[serde(rename = "messageID")]
        message_id: MessageId,
        /// The part.
        #[serde(rename = "partID")]
        part_id: PartId,
    },
    /// Somebody must decide. Not stored.
    #[serde(rename = "permission.asked")]
    PermissionAsked(Box<Ask>),
    /// Somebody decided. Not stored.
    #[serde(rename = "permission.replied")]
    PermissionReplied {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The ask.
        #[serde(rename = "requestID")]
        request_id: AskId,
        /// `once`, `always` or `reject`.
        reply: String,
    },
    /// The agent wants to know something. Not stored.
    #[serde(rename = "question.asked")]
    QuestionAsked(Box<Inquiry>),
    /// Somebody answered. Not stored by itself: the call carries the answers.
    #[serde(rename = "question.replied")]
    QuestionReplied {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The question.
        #[serde(rename = "requestID")]
        request_id: QuestionId,
        /// What they answered, for each question.
        answers: Answers,
    },
    /// Somebody did not want to answer. Not stored by itself.
    #[serde(rename = "question.rejected")]
    QuestionRejected {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The question.
        #[serde(rename = "requestID")]
        request_id: QuestionId,
    },
    /// A command that was called has been carried out. Not stored.
    #[serde(rename = "command.executed")]
    CommandExecuted {
        /// Its name.
        name: String,
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// What was written behind its name.
        arguments: String,
        /// The last answer to it.
        #[serde(rename = "messageID")]
        message_id: MessageId,
    },
    /// The list of things to do changed.
    #[serde(rename = "todo.updated")]
    TodoUpdated {
        /// The session.
        #[serde(rename = "sessionID")]
        session_id: SessionId,
        /// The list as it is now.
        todos: Vec<Todo>,
    },
}

impl Event {
    /// The session it is about.
    pub fn session_id(&self) -> &SessionId {
        match self {
            Event::SessionCreated { session_id, .. }
            | Event::SessionUpdated { session_id, .. }
            | Event::SessionDeleted { session_id, .. }
            | Event::SessionCompacted { session_id }
            | Event::SessionDiff { session_id, .. }
            | Event::MessageRemoved { session_id, .. }
            | Event::SessionStatus { session_id, .. }
            | Event::SessionError { session_id, .. }
            | Event::MessageUpdated { session_id, .. }
            | Event::PartUpdated { session_id, .. }
            | Event::PartDelta { session_id, .. }
            | Event::PartRemoved { session_id, .. }
            | Event::PermissionReplied { session_id, .. }
            | Event::QuestionReplied { session_id, .. }
            | Event::QuestionRejected { session_id, .. }
            | Event::CommandExecuted { session_id, .. }
            | Event::TodoUpdated { session_id, .. } => session_id,
            Event::PermissionAsked(ask) => &ask.session_id,
            Event::QuestionAsked(inquiry) => &inquiry.session_id,
        }
    }
}

/// What a session does right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Status {
    /// Nothing.
    Idle,
    /// A turn runs.
    Busy,
    /// A turn waits before it asks the model again.
    Retry {
        /// How often it has failed so far, from 1.
        attempt: u32,
        /// Why it failed, for people.
        message: String,
        /// When it will be tried again, in Unix milliseconds.
        next: u64,
    },
}
