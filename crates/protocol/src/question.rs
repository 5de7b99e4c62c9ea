//! Asking a person what they want.

use serde::{Deserialize, Serialize};

use crate::{AskedBy, QuestionId, SessionId};

/// Questions of one call that wait for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquiry {
    /// Its id.
    pub id: QuestionId,
    /// The session that asks.
    #[serde(rename = "sessionID")]
    pub session_id: SessionId,
    /// The questions, in order.
    pub questions: Vec<Question>,
    /// The tool call that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<AskedBy>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question, whole.
    pub question: String,
    /// The same in a word or three, for a tab.
    pub header: String,
    /// What can be chosen.
    pub options: Vec<Choice>,
    /// Whether several may be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiple: Option<bool>,
    /// Whether the person may write an answer of their own; yes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<bool>,
}

/// One answer that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is chosen, and what the answer then says.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// The answers to an [`Inquiry`]: for each question the labels chosen and what was written; empty where it was left
/// out.
pub type Answers = Vec<Vec<String>>;
