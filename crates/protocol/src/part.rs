//! Parts: what a message is made of, in the order it came.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tagged::tagged;
use crate::{Failure, MessageId, ModelRef, Object, PartId, SessionId, Tokens};

/// The key under which the metadata of words, and of sessions, name the plug-in that they come from.
pub const PLUGIN: &str = "plugin";

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its id.
    pub id: PartId,
    /// The session it belongs to.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The message it belongs to.
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    /// What it is.
    #[serde(flatten)]
    pub kind: PartKind,
}

impl PartKind {
    /// How far the tool call is, where it is one.
    pub fn state(&self) -> Option<&ToolState> {
        let PartKind::Tool { state, .. } = self else { return None };
        Some(state)
    }

    /// The same, to be changed.
    pub fn state_mut(&mut self) -> Option<&mut ToolState> {
        let PartKind::Tool { state, .. } = self else { return None };
        Some(state)
    }

    /// The plug-in that says it, where it is words and one does.
    pub fn plugin(&self) -> Option<&str> {
        let PartKind::Text { metadata: Some(metadata), .. } = self else { return None };
        metadata.get(PLUGIN)?.as_str()
    }
}

tagged! {
    tag: "type", rename_all: "kebab-case",
    /// What a part is.
    ///
    /// Long sessions hold tens of thousands: what is large stands apart, so that the small ones are small.
    pub enum PartKind {
        /// Words of the person or of the model.
        Text {
            /// The words; they grow while `time.end` is missing.
            text: String,
            /// Made by the program, not by the person: shown to the model, dimmed for people.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            synthetic: bool,
            /// For people alone: shown, and not sent to the model.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            ignored: bool,
            /// From when to when the model wrote it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            time: Option<Span>,
            /// The vendor's own item, to be given back to it unchanged.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            metadata: Option<Box<Object>>,
        },
        /// The model's thinking.
        Reasoning {
            /// The words; they grow while `time.end` is missing.
            text: String,
            /// From when to when the model wrote it.
            time: Span,
            /// The vendor's own item (a signature, encrypted thoughts), to be given back to it unchanged.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            metadata: Option<Box<Object>>,
        },
        /// A file that came with a prompt or out of a tool.
        File {
            /// Its MIME type.
            mime: String,
            /// Its name, for people.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            filename: Option<String>,
            /// A `data:` or `file:` address.
            url: String,
            /// Where in a prompt it is named, as whoever sent it wrote that.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            source: Option<Box<Object>>,
        },
        /// A tool call.
        Tool {
            /// The id that the model gave the call.
            #[serde(rename = "callID")]
            call_id: String,
            /// The tool.
            tool: String,
            /// How far it is.
            state: Box<ToolState>,
            /// The vendor's own item, to be given back to it unchanged.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            metadata: Option<Box<Object>>,
        },
        /// Something of the vendor's own that is neither words nor a call, to be given back to it unchanged.
        Vendor {
            /// The item.
            metadata: Object,
        },
        /// The person named a sub-agent.
        Agent {
            /// Its name.
            name: String,
            /// Where in a prompt it is named, as whoever sent it wrote that.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            source: Option<Box<Object>>,
        },
        /// The person started a sub-agent by a command.
        Subtask(Box<Subtask>),
        /// Asking the model failed, and it was asked again.
        Retry {
            /// How often it had failed, from 1.
            attempt: u32,
            /// Why.
            error: Box<Failure>,
            /// When; only the beginning is told.
            time: RetryTime,
        },
        /// Files that a tool call changed. What they were before and after is kept under the hash.
        Patch {
            /// The name of the list of changes in the store of old contents.
            hash: String,
            /// The files, absolute, sorted.
            files: Vec<String>,
            /// The call, where it was one of a model's.
            #[serde(rename = "callID", default, skip_serializing_if = "Option::is_none")]
            call_id: Option<String>,
            /// When they had been changed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            time: Option<RetryTime>,
        },
        /// The conversation up to here is to be summed up; the answer that follows is the summary.
        Compaction {
            /// Whether the program wanted it, and not the person.
            auto: bool,
            /// Whether a request had turned out to be too long.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            overflow: Option<bool>,
            /// The first message that is kept word for word besides the summary.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            tail_start_id: Option<MessageId>,
            /// What the person wants the summary to dwell on.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            focus: Option<String>,
        },
        /// A model call begins.
        StepStart {},
        /// A model call ended.
        StepFinish {
            /// Why the model stopped, as in [`Assistant::finish`](crate::Assistant::finish).
            reason: String,
            /// What it cost, in dollars.
            cost: f64,
            /// What it used.
            tokens: Tokens,
        },
    }
}

/// What a sub-agent that a command started is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subtask {
    /// What it is to do.
    pub prompt: String,
    /// The same in a few words.
    pub description: String,
    /// The agent.
    pub agent: String,
    /// The command it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The model that the command names for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Which named set of that model's options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl Part {
    /// Whether anything about it may still change: growing words, a call without a result.
    pub fn is_open(&self) -> bool {
        match &self.kind {
            PartKind::Text { time, .. } => time.as_ref().is_some_and(|time| time.end.is_none()),
            PartKind::Reasoning { time, .. } => time.end.is_none(),
            PartKind::Tool { state, .. } => {
                matches!(**state, ToolState::Pending { .. } | ToolState::Running { .. })
            }
            PartKind::File { .. }
            | PartKind::Vendor { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Retry { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::StepStart {}
            | PartKind::StepFinish { .. } => false,
        }
    }

    /// Adds `delta` to growing words. Parts without words are left as they are.
    pub fn grow(&mut self, delta: &str) {
        match &mut self.kind {
            PartKind::Text { text, .. } | PartKind::Reasoning { text, .. } => text.push_str(delta),
            PartKind::File { .. }
            | PartKind::Tool { .. }
            | PartKind::Vendor { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Retry { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::StepStart {}
            | PartKind::StepFinish { .. } => {}
        }
    }
}

/// From when to when, in Unix milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The beginning.
    pub start: u64,
    /// The end; `None` while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
}

/// When something happened, in Unix milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryTime {
    /// The moment.
    pub created: u64,
}

tagged! {
    tag: "status", rename_all: "lowercase",
    /// A tool call as it is stored and sent to clients.
    ///
    /// States only move downward, and each has exactly its own fields. A finished turn leaves no call pending or
    /// running.
    pub enum ToolState {
        /// The model is still writing the arguments.
        Pending {
            /// Always empty; clients expect the field.
            input: Object,
            /// The arguments so far, as far as they were kept.
            raw: String,
        },
        /// The tool is at work.
        Running {
            /// The arguments.
            input: Value,
            /// What a person sees meanwhile.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            title: Option<String>,
            /// What the tool tells meanwhile, in its own form.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            metadata: Option<Object>,
            /// Since when.
            time: Span,
        },
        /// The tool answered.
        Completed {
            /// The arguments.
            input: Value,
            /// What the model reads.
            output: String,
            /// What a person sees.
            title: String,
            /// What clients draw, in the tool's own form.
            metadata: Object,
            /// From when to when.
            time: ToolSpan,
            /// Files that go with the output.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            attachments: Vec<Part>,
        },
        /// The tool failed, was refused or was stopped.
        Error {
            /// The arguments.
            input: Value,
            /// What the model reads.
            error: String,
            /// What clients draw, in the tool's own form; `interrupted: true` marks a call that was stopped.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            metadata: Option<Object>,
            /// From when to when.
            time: ToolSpan,
        },
    }
}

/// From when to when a finished call ran, in Unix milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpan {
    /// The beginning.
    pub start: u64,
    /// The end.
    pub end: u64,
    /// When the output was dropped from what the model is sent, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<u64>,
}
