//! Work that one agent hands to another.

use haft_protocol::{Object, SessionId};

/// An agent that a task may be for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegate {
    /// Its name.
    pub name: String,
    /// What it is for; `None` where only the user knows.
    pub description: Option<String>,
    /// Whether the one whose call runs is told of it. The others are for those whom the user told.
    pub told: bool,
}

/// A task for another agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// What it is about, in a few words.
    pub description: String,
    /// Everything the agent is told. Files that it names are shown to the agent, as far as the agent's rules let it
    /// read them.
    pub prompt: String,
    /// The agent.
    pub agent: String,
    /// An earlier task of the same session that is to be gone on with. One that is not there is begun anew.
    pub resume: Option<String>,
    /// The command that the task came from.
    pub command: Option<String>,
}

/// What came of a [`Task`].
#[derive(Debug, Clone, PartialEq)]
pub struct TaskResult {
    /// The session that the task was, or is.
    pub session: SessionId,
    /// The last words of the agent's last answer; empty where it had none.
    pub text: String,
    /// What clients find the session by: `sessionId`, `parentSessionId` and `model`.
    pub metadata: Object,
}

/// Where a plan is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFile {
    /// Its path as tools name files: relative to the project's top, or absolute where it stands outside.
    pub path: String,
    /// Whether it is there.
    pub exists: bool,
}
