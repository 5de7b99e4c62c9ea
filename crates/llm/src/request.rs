//! What a model is asked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Item, Messages, Secret};

/// One request. Equal requests are equal bytes on the wire.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The model's name at its vendor.
    pub model: String,
    /// The system prompt. Empty: none is sent.
    pub system: String,
    /// The conversation.
    pub messages: Messages,
    /// The tools it may call, in the order they are sent. Copies of a request share them.
    pub tools: Arc<Vec<ToolSpec>>,
    /// Whether it must, or may not.
    pub tool_choice: ToolChoice,
    /// Most tokens it may write. `None` leaves that to the vendor.
    pub max_output: Option<u64>,
    /// Sampling temperature. `None` leaves that to the vendor.
    pub temperature: Option<f64>,
    /// Nucleus sampling. `None` leaves that to the vendor.
    pub top_p: Option<f64>,
    /// How many of the likeliest tokens are sampled from. `None` leaves that to the vendor.
    pub top_k: Option<u64>,
    /// The form that the answer is to have, for vendors that can hold a model to one.
    pub format: Option<Format>,
    /// Names the conversation, for vendors that keep a cache for each.
    pub session: Option<String>,
    /// Further fields of the body, laid over what the dialect wrote. `null` leaves a field out.
    pub extra: Map<String, Value>,
    /// Further headers by name, for whoever wants some of their own. Those that say where a request goes and how it is
    /// sent are left as they are.
    pub headers: Vec<(String, Secret)>,
    /// What the answer is for. It is not sent: whoever plays written answers goes by it.
    pub purpose: Purpose,
    /// How many answers the conversation had that are no longer among `messages`. It is not sent either.
    pub left_out: usize,
    /// How many of the answers so far are none of a model: they keep what a person ran. It is not sent either.
    pub by_hand: usize,
}

/// What an answer is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The next step of the conversation.
    #[default]
    Step,
    /// A summary with which a long conversation goes on.
    Compaction,
    /// The title of a conversation.
    Title,
    /// What a turn came to.
    Summary,
    /// An answer for a server of tools, which is no part of the conversation.
    Sampling,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Step, Self::Compaction, Self::Title, Self::Summary, Self::Sampling];

    /// Whether it is the usual one, which is not written down.
    pub(crate) fn is_step(&self) -> bool {
        *self == Self::Step
    }
}

impl Request {
    /// How many answers the conversation had so far, what a person ran among them.
    pub fn answers(&self) -> usize {
        self.left_out + self.messages.iter().filter(|message| matches!(***message, Message::Assistant { .. })).count()
    }

    /// How many of them a model gave.
    pub(crate) fn given(&self) -> usize {
        self.answers().saturating_sub(self.by_hand)
    }
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The person speaks.
    User {
        /// What they said and showed.
        content: Vec<Content>,
    },
    /// The model answered.
    Assistant {
        /// Its answer, in the order it came.
        parts: Vec<AssistantPart>,
    },
    /// What came of the calls of the answer before.
    Tools {
        /// One result for each call, in the order of the calls.
        results: Vec<ToolResult>,
    },
}

/// Words or a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture, a document, a sound.
    Media {
        /// Its MIME type.
        mime: String,
        /// Its bytes in base64.
        data: String,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl Content {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text { text: text.into() }
    }
}

/// A piece of a model's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantPart {
    /// Words.
    Text {
        /// The words.
        text: String,
        /// The vendor's own item for them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<Item>,
    },
    /// Thinking.
    Reasoning {
        /// The words; may be empty where the vendor keeps them to itself.
        text: String,
        /// The vendor's own item: a signature, encrypted thoughts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<Item>,
    },
    /// A tool call.
    ToolCall {
        /// The id that the model gave it.
        id: String,
        /// The tool.
        name: String,
        /// The arguments: the JSON text as the model wrote it, also where it is broken.
        arguments: String,
        /// The vendor's own item for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<Item>,
    },
    /// Something of the vendor's own that is none of these.
    Vendor {
        /// The item.
        item: Item,
    },
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What the model reads and sees.
    pub content: Vec<Content>,
    /// Whether the call failed.
    pub is_error: bool,
}

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// What the model calls it.
    pub name: String,
    /// The prose it reads.
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Value,
}

/// A form for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Format {
    /// What it is called: letters, digits, `_` and `-`.
    pub name: String,
    /// A JSON Schema of it.
    pub schema: Value,
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// It may.
    #[default]
    Auto,
    /// It must.
    Required,
    /// It must not.
    None,
}
