//! Agents: a prompt and rules under a name.

use haft_permission::{Action, Rule};

/// Who answers: a prompt and what they may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The name, as messages keep it.
    pub name: String,
    /// The first part of the system prompt.
    pub prompt: String,
    /// Rules on top of the defaults, below the user's own.
    pub rules: Vec<Rule>,
}

/// The agent that does what is asked: reads, changes, runs.
pub fn build() -> Agent {
    Agent {
        name: "build".to_owned(),
        prompt: include_str!("agents/build.md").trim().to_owned(),
        rules: vec![Rule::new("question", "*", Action::Allow), Rule::new("plan_enter", "*", Action::Allow)],
    }
}
