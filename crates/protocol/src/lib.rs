//! The words everyone shares: ids, sessions, messages, parts, tool states, asks and events.
//!
//! These types are what the store keeps and what clients receive, field for field, so every change to one is a
//! promise: fields may be added with a default, none may be renamed or change its meaning.
//!
//! **Never here:** I/O, async, decisions. The one thing that reads the outside world is [`Clock`], and it can be
//! scripted.

mod ask;
mod clock;
mod event;
mod file_event;
mod history;
pub mod hook;
mod id;
mod message;
mod part;
mod question;
mod session;
mod tagged;
mod todo;

pub use ask::{Ask, AskedBy, Reply};
pub use clock::{Clock, civil};
pub use event::{Event, Status};
pub use file_event::{FileChange, FileEvent};
pub use history::{History, Turned};
pub use id::{AskId, BadId, EventId, Id, MessageId, OutputId, PartId, QuestionId, SessionId};
pub use message::{
    Assistant, CacheTokens, Failure, Message, MessageTime, ModelRef, OutputFormat, Paths, Tokens, TurnSummary, User,
};
pub use part::{PLUGIN, Part, PartKind, RetryTime, Span, Subtask, ToolSpan, ToolState};
pub use question::{Answers, Choice, Inquiry, Question};
pub use session::{
    FileDiff, FileStatus, Revert, RuleAction, Session, SessionModel, SessionRule, SessionSummary, SessionTime, Share,
};
pub use todo::Todo;

/// A JSON object that keeps the order of its keys.
pub type Object = serde_json::Map<String, serde_json::Value>;
