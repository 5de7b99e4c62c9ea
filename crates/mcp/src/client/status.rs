//! How a server is doing.

use serde_json::{Value, json};

/// How a server is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// The user switched it off.
    Disabled,
    /// Nobody needed it yet. What tools it has is known from before where `known` says so.
    Idle {
        /// Whether its tools are known.
        known: bool,
    },
    /// It is being started or asked.
    Connecting,
    /// It answers.
    Connected,
    /// It does not, because of this.
    Failed(String),
    /// One must sign in first.
    NeedsAuth,
    /// It does not let just anybody sign in, and no client of ours is set up for it.
    NeedsRegistration(String),
}

impl Status {
    /// The word for it that programs read.
    pub fn word(&self) -> &'static str {
        match self {
            Status::Disabled => "disabled",
            Status::Idle { .. } => "idle",
            Status::Connecting => "connecting",
            Status::Connected => "connected",
            Status::Failed(_) => "failed",
            Status::NeedsAuth => "needs_auth",
            Status::NeedsRegistration(_) => "needs_client_registration",
        }
    }

    /// `{"status":…}`, with `error` where there is one.
    pub fn to_json(&self) -> Value {
        match self {
            Status::Failed(error) | Status::NeedsRegistration(error) => json!({"status": self.word(), "error": error}),
            Status::Disabled | Status::Idle { .. } | Status::Connecting | Status::Connected | Status::NeedsAuth => {
                json!({"status": self.word()})
            }
        }
    }
}

/// Why a server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It could not be reached, or did not answer as it should.
    #[error("{0}")]
    Broken(String),
    /// One must sign in first.
    #[error("it wants you to sign in")]
    NeedsAuth,
    /// It does not let just anybody sign in.
    #[error("it lets nobody sign in who is not registered with it: {0}")]
    NeedsRegistration(String),
    /// The user switched it off.
    #[error("it is switched off")]
    Disabled,
}

impl From<&Failure> for Status {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Broken(why) => Status::Failed(why.clone()),
            Failure::NeedsAuth => Status::NeedsAuth,
            Failure::NeedsRegistration(why) => Status::NeedsRegistration(why.clone()),
            Failure::Disabled => Status::Disabled,
        }
    }
}
