//! The record of a session.

use serde::{Deserialize, Serialize};

use crate::{MessageId, Object, PLUGIN, PartId, SessionId, Tokens};

/// One conversation with an agent about one folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Two words that are easier to say than the id.
    pub slug: String,
    /// The project: the hash of the repository's first commit, or `global`.
    #[serde(rename = "projectID")]
    pub project_id: String,
    /// The folder it works in, absolute.
    pub directory: String,
    /// That folder relative to the work tree, with `/`; empty at its root.
    #[serde(default)]
    pub path: String,
    /// The session that started this one as a task.
    #[serde(rename = "parentID", default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<SessionId>,
    /// What a person sees in lists.
    pub title: String,
    /// The agent of the latest prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model of the latest prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<SessionModel>,
    /// The version of haft that made it.
    pub version: String,
    /// What all its finished steps cost, in dollars.
    #[serde(default)]
    pub cost: f64,
    /// What all its finished steps used.
    #[serde(default)]
    pub tokens: Tokens,
    /// Rules of this session alone, laid over those of whichever agent answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Vec<SessionRule>>,
    /// Whatever a client wishes to keep with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
    /// What its files came to, all turns together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SessionSummary>,
    /// Where others can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// What was taken back and may still be brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert: Option<Revert>,
    /// When.
    pub time: SessionTime,
}

impl Session {
    /// The plug-in that made it, if one did.
    pub fn plugin(&self) -> Option<&str> {
        self.metadata.as_ref()?.get(PLUGIN)?.as_str()
    }
}

/// What a session's files came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Lines that are new.
    pub additions: u64,
    /// Lines that are gone.
    pub deletions: u64,
    /// Files that differ.
    pub files: u64,
    /// The same file by file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diffs: Option<Vec<FileDiff>>,
}

/// Where others can read a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The address.
    pub url: String,
}

/// The end of a session that was taken back: it is stored, but neither shown nor sent, until it is brought back or the
/// next prompt removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revert {
    /// The first message that is taken back.
    #[serde(rename = "messageID")]
    pub message_id: MessageId,
    /// The first part of it that is, where the message begins before.
    #[serde(rename = "partID", default, skip_serializing_if = "Option::is_none")]
    pub part_id: Option<PartId>,
    /// The name of the list of changes that taking back made to files, in the store of old contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// What it changed, as a unified diff. Missing where the program ended before all of it was done: the next opening
    /// does the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Whether nothing is to be taken back any more once all of it is done.
    #[serde(rename = "toEnd", default, skip_serializing_if = "std::ops::Not::not")]
    pub to_end: bool,
    /// When it was taken back, in Unix milliseconds: what sessions below do later is no part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
}

/// How one file differs between two moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The file, relative to the work tree where it is in it.
    pub file: String,
    /// A unified diff; empty for what is not text.
    pub patch: String,
    /// Lines that are new.
    pub additions: u64,
    /// Lines that are gone.
    pub deletions: u64,
    /// What became of it.
    pub status: FileStatus,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It differs.
    Modified,
}

/// The model a session uses. (The wire says `id` here and `modelID` in messages.)
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionModel {
    /// The model's name at its vendor.
    pub id: String,
    /// The vendor.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    /// Which named set of options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// One rule of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRule {
    /// The permission, or a pattern over their names.
    pub permission: String,
    /// A pattern over what is asked for.
    pub pattern: String,
    /// What then.
    pub action: RuleAction,
}

/// What a [`SessionRule`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleAction {
    /// Yes.
    Allow,
    /// A person decides.
    Ask,
    /// No.
    Deny,
}

/// Times of a session in Unix milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTime {
    /// When it was made.
    pub created: u64,
    /// When anything in it last changed.
    pub updated: u64,
    /// Since when it is being summed up, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacting: Option<u64>,
    /// When it was put away, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<u64>,
}
