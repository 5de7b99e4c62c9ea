//! How sessions and turns fail.

use std::path::PathBuf;

use haft_llm::LlmError;
use haft_protocol::{Failure, MessageId, SessionId};
use haft_store::StoreError;
use haft_tool::{Hooked, with_causes};

use crate::Estimate;

/// Why a session cannot be made, opened or asked.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is none of that name.
    #[error("there is no session {0}; `haft session list` shows those of this folder")]
    Unknown(SessionId),
    /// The folder it works in is not there (any more).
    #[error("the folder {0} does not exist; make it again, or start a new session in another one with --dir")]
    Gone(PathBuf),
    /// A turn runs already.
    #[error("session {0} is at work; wait for it to end, or stop it")]
    Busy(SessionId),
    /// Its end was taken back and may still be brought back.
    #[error(
        "the end of session {0} is taken back; bring it back (`haft session redo {0}`) or go on with a prompt, then sum it up"
    )]
    TakenBack(SessionId),
    /// As many prompts wait as may.
    #[error("session {id} has {waiting} prompts waiting already; wait until it has answered some, or stop it")]
    Full {
        /// The session.
        id: SessionId,
        /// How many wait.
        waiting: usize,
    },
    /// The turn that took this prompt along with another one failed. The prompt is stored.
    #[error("the turn that took this prompt failed: {why}")]
    Along {
        /// Why.
        why: String,
    },
    /// There is no agent of that name to ask.
    #[error("there is no agent {name:?}; those there are: {known}")]
    NoAgent {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// What a turn came to was not said.
    #[error("the turn was not summed up: {0}")]
    NoSummary(String),
    /// There is no message of that name.
    #[error("session {session} has no message {message}")]
    NoMessage {
        /// The session.
        session: SessionId,
        /// The name.
        message: MessageId,
    },
    /// Nothing was asked that could be taken back.
    #[error("there is nothing to undo in session {0}")]
    NothingToUndo(SessionId),
    /// Nothing is taken back.
    #[error("there is nothing to redo in session {0}: nothing was undone since its last prompt")]
    NothingToRedo(SessionId),
    /// Taking back or bringing again failed before any file was changed.
    #[error("cannot undo or redo: {0}")]
    Undo(String),
    /// There is no command of that name.
    #[error("there is no command {name:?}; those there are: {known}")]
    NoCommand {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The model that was named cannot be had.
    #[error("cannot use the model {name}: {why}")]
    NoModel {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// The user refused what a prompt or a command needs.
    #[error("not sent: {0}")]
    Refused(String),
    /// The task behind the handle has ended.
    #[error("session {0} has ended")]
    Ended(SessionId),
    /// Whoever asks would wait for itself.
    #[error(
        "the turn of a session waits for this, so it cannot wait for an answer of session {0}, which waits for that turn; use promptAsync or noReply"
    )]
    Circle(SessionId),
    /// The work on whose behalf it was asked was stopped.
    #[error("session {0} was not asked to its end: what waited for its answer was stopped")]
    Stopped(SessionId),
    /// There was no answer.
    #[error("session {0} gave no answer")]
    Unanswered(SessionId),
    /// A file that came with the prompt cannot be shown.
    #[error("cannot attach {path}: {why}")]
    Attachment {
        /// The file.
        path: String,
        /// Why not.
        why: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The turn failed.
    #[error(transparent)]
    Turn(#[from] TurnError),
}

/// Why a turn failed. A failing *tool* is none: the model reads it and goes on.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The model could not be reached, or could not answer.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// The store could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session has cost as much as it may.
    #[error(
        "this session and its tasks have cost ${spent:.4}, and may cost ${limit} (--max-cost, or `limits.cost` in the \
         settings); what is done is kept. Raise the limit to go on, or start a new session"
    )]
    Cost {
        /// What it has cost, in dollars.
        spent: f64,
        /// What it may cost.
        limit: f64,
    },
    /// A task has used what it may.
    #[error("{what}")]
    Budget {
        /// Which limit, in a sentence without its end.
        what: String,
    },
    /// The request is surely more than the model can read. It was not sent.
    #[error(
        "this request takes about {} tokens (prompt {}, tools {}, conversation {}), and {model} reads at most {limit}; \
         start a new session, show less at once, or name a model that reads more",
        estimate.total(), estimate.system, estimate.tools, estimate.messages
    )]
    TooLarge {
        /// `vendor/model`.
        model: String,
        /// What it takes.
        estimate: Estimate,
        /// What the model reads, in tokens.
        limit: u64,
    },
    /// The conversation is too long, and could not be made short enough.
    #[error(
        "this conversation is too long for {model}, and {why}; it is kept as it was. Start a new session, fork this one at \
         an earlier message, name a model that reads more, or sum it up with a focus of your own (`haft session compact \
         --focus TEXT`)"
    )]
    TooLong {
        /// `vendor/model`.
        model: String,
        /// Why not.
        why: String,
    },
    /// A hook did not let it go on.
    #[error(transparent)]
    Hook(#[from] Hooked),
    /// There is nothing to sum up.
    #[error("there is nothing to sum up in this session yet: all that was said stays as it is")]
    NothingToSumUp,
    /// The model did not give the form that was asked for, however often it was told.
    #[error("the model gave no answer of the form that was asked for: {why}")]
    Form {
        /// What was wrong with its last try.
        why: String,
        /// How often it was asked again.
        retries: u32,
    },
}

impl TurnError {
    /// What a message keeps of it, in the names clients know.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            TurnError::Model(error) => of_model(error),
            TurnError::Store(error) => Failure::new("UnknownError", with_causes(error)),
            TurnError::Cost { .. } | TurnError::Budget { .. } | TurnError::Hook(_) | TurnError::NothingToSumUp => {
                Failure::new("UnknownError", self.to_string())
            }
            TurnError::TooLarge { .. } | TurnError::TooLong { .. } => {
                Failure::new("ContextOverflowError", self.to_string())
            }
            TurnError::Form { retries, .. } => {
                let mut failure = Failure::new("StructuredOutputError", self.to_string());
                failure.data.insert("retries".to_owned(), (*retries).into());
                failure
            }
        }
    }
}

pub(crate) fn of_model(error: &LlmError) -> Failure {
    let text = with_causes(error);
    let with = |name: &str, rows: &[(&str, serde_json::Value)]| {
        let mut failure = Failure::new(name, text.clone());
        failure.data.extend(rows.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        failure
    };
    let api = |status: Option<u16>, again: bool| {
        let mut rows = vec![("isRetryable", again.into())];
        rows.extend(status.map(|status| ("statusCode", status.into())));
        with("APIError", &rows)
    };
    match error {
        LlmError::Unauthorized { provider, .. } => {
            with("ProviderAuthError", &[("providerID", provider.as_str().into())])
        }
        LlmError::TooLong { .. } => with("ContextOverflowError", &[]),
        LlmError::RateLimited { .. } => api(Some(429), true),
        LlmError::Server { status, .. } => api(*status, true),
        LlmError::Transport { .. } | LlmError::TimedOut { .. } | LlmError::CutOff { .. } => api(None, true),
        LlmError::Rejected { status, .. } => api(*status, false),
        LlmError::Unreachable { .. } | LlmError::Quota { .. } | LlmError::Malformed { .. } => api(None, false),
        LlmError::Script(_) => with("UnknownError", &[]),
    }
}
