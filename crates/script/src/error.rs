//! What can go wrong with a script.

use std::path::PathBuf;

use crate::wire::WireError;

/// Longest first line of an error that is shown, in characters.
const MAX_BRIEF: usize = 300;

/// Why a script did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It threw something.
    #[error("{}", thrown(.message, .places))]
    Thrown {
        /// The class of what it threw, such as `TypeError`.
        name: String,
        /// What it said.
        message: String,
        /// Where, in its own source: `FILE:LINE:COLUMN`, innermost first.
        places: Vec<String>,
    },
    /// The process that runs scripts ended under it. A new one is started for the next call.
    #[error("the process that ran the script ended: it used too much memory, or did not stop when it was told to")]
    Ended,
    /// The process does not start.
    #[error("cannot start the process that runs scripts, {}", .program.display())]
    Start {
        /// What was started.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The program that ran it does not, or not any more.
    #[error("{name} as its host: {why}")]
    Host {
        /// The program.
        name: String,
        /// What happened.
        why: String,
    },
    /// It took too long without asking for anything.
    #[error("stopped: the script went on for {} s without an end", .time.as_secs_f32())]
    TooLong {
        /// How long it had.
        time: std::time::Duration,
    },
    /// It wanted too much done for it in one call.
    #[error("stopped: the script asked for files, commands or the network more than {effects} times")]
    TooMuch {
        /// How often it might.
        effects: u32,
    },
}

/// What the engine begins with when it has ended something that would not.
pub(crate) const STOPPED: &str = "stopped: ";

impl ScriptError {
    /// Whether it took too much, and would take it again.
    pub(crate) fn is_too_much(&self) -> bool {
        match self {
            ScriptError::Thrown { message, .. } => message.starts_with(STOPPED),
            ScriptError::TooLong { .. } | ScriptError::TooMuch { .. } => true,
            ScriptError::Ended | ScriptError::Start { .. } | ScriptError::Host { .. } => false,
        }
    }

    /// The first line of what it says, for a person who need not know it all.
    pub(crate) fn briefly(&self) -> String {
        let text = self.to_string();
        let line = text.lines().next().unwrap_or_default();
        let mut brief: String = line.chars().take(MAX_BRIEF).collect();
        if brief.len() < line.len() {
            brief.push('…');
        }
        brief
    }

    /// Whether a real Node may be able to do what this engine was not: a module or a part of one that it has not, or
    /// words that it does not understand.
    pub(crate) fn is_lack(&self) -> bool {
        let ScriptError::Thrown { name, message, .. } = self else { return false };
        let lacks = [
            "needs a real Node",
            "is not there",
            "is an ES module",
            "is not in any node_modules",
            "is not for scripts",
        ];
        matches!(name.as_str(), "TypeError" | "ReferenceError" | "SyntaxError" | "InternalError")
            || lacks.iter().any(|words| message.contains(words))
    }
}

fn thrown(message: &str, places: &[String]) -> String {
    match places.first() {
        // A mistake of the language names its place itself.
        Some(place) if !message.contains(place.as_str()) => format!("{message} (at {place})"),
        Some(_) | None => message.to_owned(),
    }
}

impl From<WireError> for ScriptError {
    fn from(error: WireError) -> Self {
        let WireError { message, name, places, .. } = error;
        ScriptError::Thrown { name: name.unwrap_or_else(|| "Error".to_owned()), message, places }
    }
}

/// Why the host did not do something for a script: thrown in the script as an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// What the script, or the model, can do about it.
    pub message: String,
    /// As Node calls it, such as `ENOENT`; `None` where it has no name for it.
    pub code: Option<String>,
}

impl Refusal {
    /// One without a code.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None }
    }

    /// One with a code of Node's.
    pub fn coded(code: &str, message: impl Into<String>) -> Self {
        Self { message: message.into(), code: Some(code.to_owned()) }
    }
}
