//! Messages: what a person asked, and one answer of a model for each step.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tagged::tagged;
use crate::{FileDiff, MessageId, Object, SessionId};

tagged! {
    tag: "role", rename_all: "lowercase",
    /// A message without its parts.
    pub enum Message {
        /// From the person.
        User(User),
        /// From the model.
        Assistant(Assistant),
    }
}

impl Message {
    /// Its id.
    pub fn id(&self) -> &MessageId {
        match self {
            Message::User(user) => &user.id,
            Message::Assistant(assistant) => &assistant.id,
        }
    }

    /// The session it belongs to.
    pub fn session_id(&self) -> &SessionId {
        match self {
            Message::User(user) => &user.session_id,
            Message::Assistant(assistant) => &assistant.session_id,
        }
    }

    /// When it was made, in Unix milliseconds.
    pub fn created(&self) -> u64 {
        match self {
            Message::User(user) => user.time.created,
            Message::Assistant(assistant) => assistant.time.created,
        }
    }
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "UserOnTheWire", into = "UserOnTheWire")]
pub struct User {
    /// Its id.
    pub id: MessageId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// When it was made.
    pub time: MessageTime,
    /// The agent that is asked.
    pub agent: String,
    /// The model that is asked.
    pub model: ModelRef,
    /// Which named set of its options it is asked with.
    pub variant: Option<String>,
    /// The form that the answer is to have; words where left out.
    pub format: Option<OutputFormat>,
    /// What the turn that answers it did to files, and what it was about.
    pub summary: Option<TurnSummary>,
    /// What the agent is told besides, for this prompt alone.
    pub system: Option<String>,
}

/// A prompt as it is stored and sent: the variant stands in the model.
#[derive(Serialize, Deserialize)]
struct UserOnTheWire {
    id: MessageId,
    #[serde(rename = "sessionID")]
    session_id: SessionId,
    time: MessageTime,
    agent: String,
    model: AskedModel,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<TurnSummary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct AskedModel {
    #[serde(rename = "providerID")]
    provider_id: String,
    #[serde(rename = "modelID")]
    model_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
}

impl From<User> for UserOnTheWire {
    fn from(User { id, session_id, time, agent, model, variant, format, summary, system }: User) -> Self {
        let model = AskedModel { provider_id: model.provider_id, model_id: model.model_id, variant };
        Self { id, session_id, time, agent, model, format, summary, system }
    }
}

impl From<UserOnTheWire> for User {
    fn from(user: UserOnTheWire) -> Self {
        let UserOnTheWire { id, session_id, time, agent, model, format, summary, system } = user;
        let AskedModel { provider_id, model_id, variant } = model;
        let model = ModelRef { provider_id, model_id };
        Self { id, session_id, time, agent, model, variant, format, summary, system }
    }
}

/// What a turn came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSummary {
    /// What it was about, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The same in some sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The files that it changed.
    #[serde(default)]
    pub diffs: Vec<FileDiff>,
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputFormat {
    /// Words.
    Text,
    /// One JSON value.
    JsonSchema {
        /// A JSON Schema of it.
        schema: Value,
        /// How often a model that gives something else is told so and asked again; 2 where left out.
        #[serde(rename = "retryCount", default, skip_serializing_if = "Option::is_none")]
        retry_count: Option<u32>,
    },
}

/// One answer of a model. A turn with one round of tool calls makes two of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assistant {
    /// Its id.
    pub id: MessageId,
    /// The session it belongs to.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The prompt it answers.
    #[serde(rename = "parentID")]
    pub parent_id: MessageId,
    /// When it began and ended.
    pub time: MessageTime,
    /// The model's name at its vendor.
    #[serde(rename = "modelID")]
    pub model_id: String,
    /// The vendor.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// The agent's name once more, for older clients.
    pub mode: String,
    /// The agent that answers.
    pub agent: String,
    /// Where it works.
    pub path: Paths,
    /// What it cost, in dollars.
    pub cost: f64,
    /// What it used.
    pub tokens: Tokens,
    /// Why the model stopped: `stop`, `tool-calls`, `length`, `content-filter`, `error`, `other` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// What went wrong, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Failure>>,
    /// The answer in the form that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Box<Value>>,
    /// Whether it sums up all that came before, instead of answering.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summary: bool,
    /// Which named set of the model's options it was asked with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// A vendor and a model of theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRef {
    /// The vendor.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// The model's name at its vendor.
    #[serde(rename = "modelID")]
    pub model_id: String,
}

/// Times of a message in Unix milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageTime {
    /// When it was made.
    pub created: u64,
    /// When it ended; `None` while it grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<u64>,
}

/// Where a step works, absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paths {
    /// The working folder.
    pub cwd: String,
    /// The top of the work tree.
    pub root: String,
}

/// Tokens of one step or of many. The kinds do not overlap: their sum is what was processed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Everything as the vendor counted it, if it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Read, and not from a cache.
    pub input: u64,
    /// Written, without reasoning.
    pub output: u64,
    /// Written as reasoning.
    pub reasoning: u64,
    /// What passed the vendor's cache.
    pub cache: CacheTokens,
}

/// Tokens that passed a vendor's prompt cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheTokens {
    /// Read from it.
    pub read: u64,
    /// Written to it.
    pub write: u64,
}

impl std::ops::AddAssign for Tokens {
    /// Sums the kinds. A sum has no `total`: steps that were not counted would make it wrong.
    fn add_assign(&mut self, other: Self) {
        self.total = None;
        self.input += other.input;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cache.read += other.cache.read;
        self.cache.write += other.cache.write;
    }
}

/// Why a message failed, in the form clients know: `{"name", "data": {"message", …}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Which kind, for example `MessageAbortedError` or `APIError`.
    pub name: String,
    /// `message`, and what else this kind carries.
    pub data: Object,
}

impl Failure {
    /// A failure that carries only a message.
    pub fn new(name: &str, message: impl Into<String>) -> Self {
        let mut data = Object::new();
        data.insert("message".to_owned(), message.into().into());
        Self { name: name.to_owned(), data }
    }

    /// The person stopped the turn, or the program did for them.
    pub fn aborted(message: impl Into<String>) -> Self {
        Self::new(Self::ABORTED, message)
    }

    /// The name of [`Failure::aborted`].
    pub const ABORTED: &str = "MessageAbortedError";

    /// What a person reads.
    pub fn message(&self) -> &str {
        self.data.get("message").and_then(|message| message.as_str()).unwrap_or(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_variant_of_a_prompt_stands_in_its_model() {
        let user = |model: Value| {
            json!({
                "role": "user", "id": "msg_0001", "sessionID": "ses_0001", "time": {"created": 1}, "agent": "build",
                "model": model,
            })
        };
        for variant in [None, Some("high")] {
            let mut model = json!({"providerID": "v", "modelID": "m"});
            if let Some(variant) = variant {
                model["variant"] = variant.into();
            }
            let message: Message = serde_json::from_value(user(model.clone())).unwrap();
            let Message::User(read) = &message else { panic!("it is a prompt") };
            assert_eq!((read.variant.as_deref(), read.model.model_id.as_str()), (variant, "m"));
            assert_eq!(serde_json::to_value(&message).unwrap(), user(model));
        }
    }
}
