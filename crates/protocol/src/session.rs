//! The record of a session.

use serde::{Deserialize, Serialize};

use crate::{Object, SessionId, Tokens};

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
    /// When.
    pub time: SessionTime,
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
    /// When it was put away, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<u64>,
}
