//! What hooks are told, and what they may change: one pair of types for each point.
//!
//! Names and fields are those that OpenCode's plug-ins know. What haft adds has a default, so a hook that leaves it out
//! means nothing by it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{MessageId, ModelRef, Object, Part, PartId, SessionId, Turned, User};

/// A moment at which hooks are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// Everything ends.
    Dispose,
    /// Something changed. Not waited for.
    Event,
    /// The settings were read.
    Config,
    /// A prompt is about to be stored.
    ChatMessage,
    /// A request is about to be made: how the model is to answer.
    ChatParams,
    /// A request is about to be made: its headers.
    ChatHeaders,
    /// A person is about to be asked for leave.
    PermissionAsk,
    /// A slash command was filled in.
    CommandBefore,
    /// A tool is about to run.
    ToolBefore,
    /// A tool ran.
    ToolAfter,
    /// A tool is described to the model. Once for each session.
    ToolDefinition,
    /// A command line is about to run.
    ShellEnv,
    /// A request is about to be made: the conversation in it.
    MessagesTransform,
    /// A request is about to be made: the system prompt in it.
    SystemTransform,
    /// A small model is chosen, for titles and the like.
    SmallModel,
    /// A conversation is about to be summed up.
    Compacting,
    /// A conversation was summed up, and the work is about to go on.
    AutoContinue,
    /// A piece of an answer is whole.
    TextComplete,
    /// A session was opened.
    SessionStart,
    /// A session is closed.
    SessionEnd,
    /// A turn is about to end because the model has said all.
    TurnStop,
}

impl Point {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Dispose,
        Self::Event,
        Self::Config,
        Self::ChatMessage,
        Self::ChatParams,
        Self::ChatHeaders,
        Self::PermissionAsk,
        Self::CommandBefore,
        Self::ToolBefore,
        Self::ToolAfter,
        Self::ToolDefinition,
        Self::ShellEnv,
        Self::MessagesTransform,
        Self::SystemTransform,
        Self::SmallModel,
        Self::Compacting,
        Self::AutoContinue,
        Self::TextComplete,
        Self::SessionStart,
        Self::SessionEnd,
        Self::TurnStop,
    ];

    /// What plug-ins call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dispose => "dispose",
            Self::Event => "event",
            Self::Config => "config",
            Self::ChatMessage => "chat.message",
            Self::ChatParams => "chat.params",
            Self::ChatHeaders => "chat.headers",
            Self::PermissionAsk => "permission.ask",
            Self::CommandBefore => "command.execute.before",
            Self::ToolBefore => "tool.execute.before",
            Self::ToolAfter => "tool.execute.after",
            Self::ToolDefinition => "tool.definition",
            Self::ShellEnv => "shell.env",
            Self::MessagesTransform => "experimental.chat.messages.transform",
            Self::SystemTransform => "experimental.chat.system.transform",
            Self::SmallModel => "experimental.provider.small_model",
            Self::Compacting => "experimental.session.compacting",
            Self::AutoContinue => "experimental.compaction.autocontinue",
            Self::TextComplete => "experimental.text.complete",
            Self::SessionStart => "session.start",
            Self::SessionEnd => "session.end",
            Self::TurnStop => "turn.stop",
        }
    }

    /// The one that plug-ins call `name`.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.name() == name)
    }

    /// Whether a hook that fails there stops what is going on. Elsewhere it is passed over.
    pub fn stops(self) -> bool {
        match self {
            Self::ChatMessage | Self::CommandBefore | Self::ToolBefore | Self::ToolAfter => true,
            Self::Dispose
            | Self::Event
            | Self::Config
            | Self::ChatParams
            | Self::ChatHeaders
            | Self::PermissionAsk
            | Self::ToolDefinition
            | Self::ShellEnv
            | Self::MessagesTransform
            | Self::SystemTransform
            | Self::SmallModel
            | Self::Compacting
            | Self::AutoContinue
            | Self::TextComplete
            | Self::SessionStart
            | Self::SessionEnd
            | Self::TurnStop => false,
        }
    }
}

/// The call that a tool runs for. What [`Point::ToolBefore`] is told, and [`Point::ToolAfter`] with the arguments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCalled {
    /// The tool.
    pub tool: String,
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The id that the model gave the call.
    #[serde(rename = "callID")]
    pub call_id: String,
    /// The arguments with which it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
}

/// What may be changed before a tool runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolArgs {
    /// The arguments. They are checked after this.
    pub args: Value,
    /// What becomes of the questions that the call asks. A denial by a rule stays one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Leave>,
    /// Why, for the model, where it is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a hook says about leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Leave {
    /// A person need not be asked.
    Allow,
    /// No.
    Deny,
    /// A person is to be asked.
    Ask,
}

/// What may be changed after a tool ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// What a person sees in one line.
    pub title: String,
    /// What the model reads.
    pub output: String,
    /// What clients draw.
    #[serde(default)]
    pub metadata: Object,
}

/// What [`Point::ToolDefinition`] is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolNamed {
    /// The tool.
    #[serde(rename = "toolID")]
    pub tool_id: String,
}

/// How a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolTold {
    /// The prose it reads.
    pub description: String,
    /// A JSON Schema of the arguments.
    pub parameters: Value,
}

/// Where a command line is to run, and for whom. What [`Point::ShellEnv`] is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShellPlace {
    /// The working folder.
    pub cwd: String,
    /// The session.
    #[serde(rename = "sessionID", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The call.
    #[serde(rename = "callID", skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// Variables that a command line gets beside those of the program.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellEnv {
    /// By name.
    pub env: BTreeMap<String, String>,
}

impl std::fmt::Debug for ShellEnv {
    /// Names alone: a value may be a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ShellEnv").field(&self.env.keys()).finish()
    }
}

/// Who asks for what leave is [`Ask`](crate::Ask); this is what may be changed about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskStatus {
    /// What becomes of it.
    pub status: Leave,
    /// Why, for the model, where it is denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What [`Point::ChatMessage`] is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prompted {
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The agent that answers.
    pub agent: String,
    /// The model that answers.
    pub model: ModelRef,
    /// The prompt's message.
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    /// Which named set of the model's options it answers with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// A prompt that may be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PromptParts {
    /// The message. Its agent, model and variant can be changed: another one answers then.
    pub message: User,
    /// Its parts.
    pub parts: Vec<Value>,
}

/// What [`Point::CommandBefore`] is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Commanded {
    /// The command's name.
    pub command: String,
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// What stands behind its name.
    pub arguments: String,
}

/// The parts that a command came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandParts {
    /// In their order.
    pub parts: Vec<Value>,
}

/// What hooks before a request are told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Requested {
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The agent.
    pub agent: String,
    /// The model, in the form of the list of models as far as it is known.
    pub model: Value,
    /// Its vendor.
    pub provider: Value,
    /// The prompt that is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<User>,
}

/// How a model is to answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatParams {
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// How many of the likeliest tokens are sampled from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    /// Most tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Further fields of the request.
    #[serde(default)]
    pub options: Object,
}

/// Headers of a request.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatHeaders {
    /// By name.
    pub headers: BTreeMap<String, String>,
}

impl std::fmt::Debug for ChatHeaders {
    /// Names alone: a value may be a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ChatHeaders").field(&self.headers.keys()).finish()
    }
}

/// The conversation of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessages {
    /// Oldest first.
    pub messages: Vec<Turned>,
}

/// What [`Point::SystemTransform`] is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemOf {
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The model.
    pub model: Value,
}

/// The system prompt of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemPrompt {
    /// Its pieces; the first one is the usual prompt.
    pub system: Vec<String>,
}

/// What [`Point::SmallModel`] is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SmallModelOf {
    /// The vendor of the model at work.
    pub provider: Value,
}

/// The small model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SmallModelIs {
    /// `vendor/model`, or an object that has its `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Value>,
}

/// What [`Point::Compacting`], [`Point::SessionStart`] and [`Point::SessionEnd`] are told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfSession {
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// Why: `startup` or `resume` for a session that is opened, `manual` or `auto` for one that is summed up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What whoever sums a conversation up is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactPrompt {
    /// Stands behind the usual words.
    #[serde(default)]
    pub context: Vec<String>,
    /// Stands in the place of the usual words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// What [`Point::AutoContinue`] is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Continuing {
    /// Of which session and request.
    #[serde(flatten)]
    pub requested: Requested,
    /// Whether the vendor had said that the request was too long.
    pub overflow: bool,
}

/// Whether the work goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enabled {
    /// Whether it does.
    pub enabled: bool,
}

/// What [`Point::TextComplete`] is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextOf {
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The message.
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    /// The part.
    #[serde(rename = "partID")]
    pub part_id: PartId,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeText {
    /// Its words.
    pub text: String,
}

/// What the model of a session that begins is told besides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionContext {
    /// In their order.
    #[serde(default)]
    pub context: Vec<String>,
}

/// What [`Point::TurnStop`] is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stopping {
    /// The session.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The session that handed this one its task, if one did.
    #[serde(rename = "parentID", skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<SessionId>,
    /// The agent.
    pub agent: String,
    /// Whether the turn goes on because a hook wanted it to.
    pub again: bool,
}

/// Whether a turn goes on that was about to end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoOn {
    /// What the model is told to go on with; `None`: the turn ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// `parts` as hooks are shown them.
pub fn shown(parts: &[Part]) -> Vec<Value> {
    parts.iter().filter_map(|part| serde_json::to_value(part).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_has_a_name_of_its_own() {
        for point in Point::ALL {
            assert_eq!(Point::of(point.name()), Some(point));
        }
        assert_eq!(Point::of("tool"), None);
    }

    #[test]
    fn what_a_hook_leaves_out_means_nothing() {
        let args: ToolArgs = serde_json::from_str(r#"{"args": {}, "other": 1}"#).unwrap();
        assert_eq!(args.permission, None);
        let params: ChatParams = serde_json::from_str(r#"{"maxOutputTokens": 5}"#).unwrap();
        assert_eq!(params, ChatParams { max_output_tokens: Some(5), ..ChatParams::default() });
        assert_eq!(serde_json::from_str::<CompactPrompt>("{}").unwrap(), CompactPrompt::default());
    }

    #[test]
    fn of_variables_and_headers_the_names_are_printed() {
        let one = || BTreeMap::from([("x-key".to_owned(), "s3cret".to_owned())]);
        for printed in [format!("{:?}", ChatHeaders { headers: one() }), format!("{:?}", ShellEnv { env: one() })] {
            assert!(!printed.contains("s3cret") && printed.contains("x-key"), "{printed}");
        }
    }
}
