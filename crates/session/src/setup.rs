//! What a session is given to work with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use haft_permission::{Gate, Rule};
use haft_project::Place;
use haft_protocol::Clock;
use haft_store::Journal;
use haft_tool::Registry;

use crate::{
    Agents, Command, Compaction, InstructionFiles, Model, Pages, Past, Questions, Roster, Skill, TaskLimits, Worktrees,
};

/// Everything a session needs that is not the conversation.
#[derive(Clone)]
pub struct Setup {
    /// Where it is kept.
    pub journal: Journal,
    /// Times and ids.
    pub clock: Clock,
    /// Who may do what.
    pub gate: Gate,
    /// What the agent wants to know.
    pub questions: Questions,
    /// The tools there are.
    pub registry: Registry,
    /// The agents there are. The default one answers unless a prompt names another.
    pub agents: Agents,
    /// Rules that are laid over those of every agent.
    pub rules: Vec<Rule>,
    /// Where.
    pub place: Place,
    /// The folder where long outputs are kept; it exists.
    pub outputs: PathBuf,
    /// The model.
    pub model: Model,
    /// What may be left as it is.
    pub options: Options,
}

/// What a session can do without.
#[derive(Clone, Default)]
pub struct Options {
    /// Where other models come from than the one it begins with.
    pub models: Option<Arc<dyn Models>>,
    /// Prompts that are called by a name, weakest first; they lie over those that are built in.
    pub commands: Vec<Command>,
    /// Skills that models are told of.
    pub skills: Vec<Skill>,
    /// Where a project and its user say how to work.
    pub instructions: InstructionFiles,
    /// What is said behind the instructions, in this order.
    pub notes: Vec<Arc<dyn Note>>,
    /// Who has further commands: prompts that somebody else writes.
    pub prompts: Option<Arc<dyn Prompts>>,
    /// Which servers of tools a prompt may name to have something of theirs shown.
    pub resources: Option<Arc<dyn Resources>>,
    /// Who reads those that are at an address; they are left out where nobody does.
    pub pages: Option<Arc<dyn Pages>>,
    /// How far it may go by itself.
    pub limits: TurnLimits,
    /// Whether a turn goes on when the user refused a call without saying what they want instead.
    pub go_on_when_refused: bool,
    /// Most times that a failed request is tried again; as often as [`LlmError::retry_after`](haft_llm::LlmError)
    /// finds useful where left out.
    pub retries: Option<u32>,
    /// How long one step waits for that in all; [`MAX_WAITED`](haft_llm::retry::MAX_WAITED) where left out. A wait that
    /// would go beyond it is not begun.
    pub retry_wait: Option<Duration>,
    /// The user's home, which `~` means in a prompt.
    pub home: Option<PathBuf>,
    /// The folder of plans that belong to no work tree.
    pub plans: Option<PathBuf>,
    /// What agents may hand to others.
    pub tasks: Tasks,
    /// Who makes work trees for tasks; there are none where nobody does.
    pub worktrees: Option<Arc<dyn Worktrees>>,
    /// Most tokens that the definitions of tools of others may take in a request;
    /// [`TOOLS_BUDGET`](haft_tool::TOOLS_BUDGET) where left out.
    pub tools_budget: Option<usize>,
    /// How a long session is made shorter.
    pub compaction: Compaction,
    /// The model for titles, where they are wanted and no agent `title` names another.
    pub small: Option<Model>,
    /// Whether the user named it: then no hook names another.
    pub small_chosen: bool,
    /// Whether the agent `summary` says what each turn came to, once it has ended.
    pub gists: bool,
    /// What is remembered of files, so that changes to them can be taken back; nothing where left out.
    pub past: Option<Past>,
    /// Where those are listed that are open.
    pub roster: Roster,
}

/// What agents may hand to others.
#[derive(Debug, Clone, PartialEq)]
pub struct Tasks {
    /// How many tasks may stand one below the other: with 1 a task begins no further ones, with 0 there are none.
    pub depth: u32,
    /// Permissions that no task has.
    pub closed: Vec<String>,
    /// Most that each of them may use.
    pub each: TaskLimits,
    /// Most tokens and dollars that all tasks of a session may use together, from when it was opened.
    pub together: TaskLimits,
    /// Whether the end of a task in the background begins a turn where none runs. Else it is kept for the next one.
    pub wake: bool,
}

impl Default for Tasks {
    fn default() -> Self {
        let none = TaskLimits::default();
        Self { depth: 1, closed: Vec::new(), each: none, together: none, wake: false }
    }
}

/// How far a session may go by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TurnLimits {
    /// Most steps of one turn; the last one is for summing up. Zero counts as one. An agent may have a lower limit.
    pub steps: Option<u32>,
    /// Most dollars that the whole session may cost, its tasks included. No step is begun once they are spent.
    pub cost: Option<f64>,
}

/// Something that is said in the system prompt behind the instructions: what servers of tools say about themselves.
pub trait Note: Send + Sync {
    /// The text, beginning with a blank line; empty where there is nothing to say. `allowed` tells whether a permission is
    /// one that the rules do not close altogether. Asked for when the system prompt is written, and not before it is known
    /// what tools there are.
    fn text(&self, allowed: &dyn Fn(&str) -> bool) -> String;
}

/// Prompts that somebody else writes, called like commands. Nothing in them is run, and nothing that they name is read
/// without leave.
pub trait Prompts: Send + Sync {
    /// The names that there are now, and what each is for.
    fn all(&self) -> Vec<(String, String)>;
    /// The prompt called `name`, for these arguments.
    ///
    /// # Errors
    ///
    /// A text for people that says why there is none.
    fn get<'a>(&'a self, name: &'a str, arguments: Vec<String>) -> BoxFuture<'a, Result<String, String>>;
}

/// Servers of tools that have something to be read. What it is, their tool `read_mcp_resource` reads.
pub trait Resources: Send + Sync {
    /// Whether there is a server called `server`. Asks nobody.
    fn has(&self, server: &str) -> bool;
}

/// Finds models by their names.
pub trait Models: Send + Sync {
    /// The model called `name`, as `vendor/model`, with the options of `variant`.
    ///
    /// # Errors
    ///
    /// A text for people that says why there is none, and what to do.
    fn find(&self, name: &str, variant: Option<&str>) -> Result<Model, String>;
}

/// How a new session begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewSession {
    /// What a person sees in lists. `None`: the first line of the first prompt.
    pub title: Option<String>,
}
