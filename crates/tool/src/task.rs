//! Work that one agent hands to another.

use haft_protocol::{Object, SessionId};
use serde_json::Value;

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
    /// Whether its caller goes on meanwhile, and is told when it has ended.
    pub background: bool,
    /// Whether it works in a work tree of its own, whose changes are carried over when it has ended.
    pub worktree: bool,
    /// A JSON Schema that the result is to have; words where left out.
    pub form: Option<Value>,
}

/// What came of a [`Task`].
#[derive(Debug, Clone, PartialEq)]
pub struct TaskResult {
    /// The session that the task was, or is.
    pub session: SessionId,
    /// How far it came.
    pub end: TaskEnd,
    /// The last words of the agent's last answer, or the JSON of the form that was asked for; empty where it had none.
    pub text: String,
    /// What clients find the session by: `sessionId`, `parentSessionId` and `model`; `background` where it goes on by
    /// itself, `structured` where the result has a form, `leftIn` where its changes stand that were not carried over.
    pub metadata: Object,
}

/// How far a task came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnd {
    /// To its end.
    Complete,
    /// To a limit, which is said in a sentence; the result is what it had by then.
    Short(String),
    /// It goes on behind its caller's back.
    Running,
    /// It was cut off: haft was stopped, or the user stopped it. The result is what it had by then.
    CutOff,
}

impl TaskEnd {
    /// The word that models and clients read.
    pub fn word(&self) -> &'static str {
        match self {
            TaskEnd::Complete => "completed",
            TaskEnd::Short(_) => "partial",
            TaskEnd::Running => "running",
            TaskEnd::CutOff => "interrupted",
        }
    }
}

impl TaskResult {
    /// The result as a model reads it, with `summary` in a line of its own if there is something to say.
    pub fn framed(&self, summary: Option<&str>) -> String {
        let Self { session, end, text, .. } = self;
        let own = if let TaskEnd::Short(why) = end { Some(why.as_str()) } else { None };
        let summary: String =
            [summary, own].into_iter().flatten().map(|line| format!("<summary>{line}</summary>\n")).collect();
        let word = end.word();
        format!("<task id=\"{session}\" state=\"{word}\">\n{summary}<task_result>\n{text}\n</task_result>\n</task>")
    }
}

/// Where a plan is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFile {
    /// Its path as tools name files: relative to the project's top, or absolute where it stands outside.
    pub path: String,
    /// Whether it is there.
    pub exists: bool,
}
