//! Asking a person for leave.

use serde::{Deserialize, Serialize};

use crate::{AskId, MessageId, Object, SessionId};

/// A request for permission that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// The session that asks.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The kind of permission, for example `edit`.
    pub permission: String,
    /// What it is asked for: paths, commands, addresses.
    pub patterns: Vec<String>,
    /// What answering "always" would allow from then on.
    pub always: Vec<String>,
    /// What helps to decide: a diff, a command, in the tool's own form.
    pub metadata: Object,
    /// The tool call that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<AskedBy>,
}

/// The tool call behind an [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedBy {
    /// The message that holds the call.
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    /// The id that the model gave the call.
    #[serde(rename = "callID")]
    pub call_id: String,
}

/// An answer to an [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Yes, this once.
    Once,
    /// Yes, and for everything that [`Ask::always`] names from now on.
    Always,
    /// No. With `advice` the model reads it and goes on; without, the turn stops.
    Reject {
        /// What the person wants instead.
        advice: Option<String>,
    },
}

impl Reply {
    /// The word the wire uses.
    pub fn word(&self) -> &'static str {
        match self {
            Reply::Once => "once",
            Reply::Always => "always",
            Reply::Reject { .. } => "reject",
        }
    }
}
