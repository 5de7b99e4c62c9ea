//! What a session is given to work with.

use std::path::PathBuf;

use haft_permission::{Gate, Rule};
use haft_project::Place;
use haft_protocol::Clock;
use haft_store::Journal;
use haft_tool::Registry;

use crate::{Agent, Model};

/// Everything a session needs that is not the conversation.
#[derive(Clone)]
pub struct Setup {
    /// Where it is kept.
    pub journal: Journal,
    /// Times and ids.
    pub clock: Clock,
    /// Who may do what.
    pub gate: Gate,
    /// The tools there are.
    pub registry: Registry,
    /// The complete rules, weakest first: defaults, the agent's, the user's.
    pub rules: Vec<Rule>,
    /// Who answers.
    pub agent: Agent,
    /// Where.
    pub place: Place,
    /// The folder where long outputs are kept; it exists.
    pub outputs: PathBuf,
    /// The model.
    pub model: Model,
}

/// How a new session begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewSession {
    /// What a person sees in lists. `None`: the first line of the first prompt.
    pub title: Option<String>,
}
