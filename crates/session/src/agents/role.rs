//! What a turn is run as: the agent, its rights and tools, and what it is told first.

use std::sync::Arc;

use haft_llm::ToolSpec;
use haft_permission::{Action, Rule, Rules, matches};
use haft_protocol::Session;
use haft_tool::{Belongings, Marks, Registry, Spec, TOOLS_BUDGET};

use crate::agents::agent;
use crate::agents::cast::Cast;
use crate::agents::delegates::told;
use crate::agents::hand_over::Wish;
use crate::agents::policy;
use crate::hands::TASK;
use crate::kin::Kin;
use crate::request::assemble::definition;
use crate::request::sent::Sent;
use crate::request::skills;
use crate::request::system;
use crate::setup::Setup;
use crate::task::Crew;
use crate::turn::calls::Calls;
use crate::turn::todos::Todos;
use crate::{Agent, Toolset};

/// Who answers, with everything they work with.
pub(crate) struct Role {
    pub cast: Arc<Cast>,
    pub calls: Calls,
    /// What the model is told of them.
    pub tools: Arc<Vec<ToolSpec>>,
    pub system: String,
}

/// What every role of a session shares.
#[derive(Clone)]
pub(crate) struct Memory {
    pub marks: Marks,
    pub belongings: Belongings,
    pub todos: Todos,
    pub kin: Kin,
    /// Who is to go on.
    pub wish: Wish,
    /// The definitions that models were sent.
    pub sent: Sent,
    /// When the session was opened, in Unix milliseconds: its today, for as long as it is open.
    pub opened: u64,
    /// What hooks want the model to be told besides, in every system prompt.
    pub context: String,
}

impl Role {
    /// The role of `cast` in a session, told `instructions`.
    pub(crate) fn new(
        setup: &Arc<Setup>,
        cast: Arc<Cast>,
        record: &Session,
        memory: &Memory,
        instructions: &str,
    ) -> Self {
        let calls = calls(setup, &cast, record, memory);
        let mut role = Self { cast, calls, tools: Arc::default(), system: String::new() };
        role.tools = sent(&role.definitions(&role.calls.registry, setup, memory));
        role.tell(setup, memory, instructions);
        role
    }

    /// Waits for those who have tools to offer, as far as anybody waits for them, and settles what this agent is sent on
    /// this model for as long as the session is open.
    pub(crate) async fn equip(&mut self, setup: &Setup, memory: &Memory) {
        let key =
            format!("{} {} {}", self.cast.agent.name, self.cast.model.reference.provider_id, self.cast.model.api_id);
        let tools = match memory.sent.get(&key) {
            Some(tools) => tools,
            None => {
                memory.sent.wait(&setup.registry).await;
                self.calls = self.calls.current();
                let tools = self.definitions(&self.calls.registry, setup, memory);
                memory.sent.settle(key, setup.registry.hooks().definitions(tools).await)
            }
        };
        self.tools = sent(&tools);
    }

    /// The definitions of the tools of `registry`.
    fn definitions(&self, registry: &Registry, setup: &Setup, memory: &Memory) -> Vec<Spec> {
        let mut tools = told(registry.specs(), &setup.agents, &self.calls.rules);
        // Where no further task may begin there is no use in being told of it.
        tools.retain(|spec| spec.name != TASK || memory.kin.depth < setup.options.tasks.depth);
        tools
    }

    /// Writes the system prompt anew.
    pub(crate) fn tell(&mut self, setup: &Setup, memory: &Memory, instructions: &str) {
        let Cast { agent, model, .. } = &*self.cast;
        let words = agent.voice_on(&model.api_id, model.toolset);
        let allowed = |permission: &str| !self.calls.rules.hides(permission);
        let notes: String = setup.options.notes.iter().map(|note| note.text(&allowed)).collect();
        let skills = skills::list(&setup.options.skills, &self.calls.rules, &self.calls.registry);
        let behind = format!("{instructions}{notes}{skills}{}", memory.context);
        self.system = system::prompt(&words, &setup.place, &model.reference, memory.opened, &behind);
    }
}

/// How the agent of `cast` may call tools.
pub(crate) fn calls(setup: &Arc<Setup>, cast: &Arc<Cast>, record: &Session, memory: &Memory) -> Calls {
    let own = policy::session_rules(record.permission.as_deref().unwrap_or_default());
    let rules = cast.agent.rules.clone().own(setup.rules.iter().cloned()).own(own);
    Calls {
        registry: registry(setup, cast, &rules),
        gate: setup.gate.clone(),
        questions: setup.questions.clone(),
        marks: memory.marks.clone(),
        belongings: memory.belongings.clone(),
        todos: memory.todos.clone(),
        rules,
        clock: setup.clock.clone(),
        outputs: setup.outputs.clone(),
        session: record.id.clone(),
        crew: Some(Arc::new(Crew {
            setup: Arc::clone(setup),
            cast: Arc::clone(cast),
            record: record.clone(),
            kin: memory.kin.clone(),
            tree: None,
        })),
        task_model: None,
        wish: memory.wish.clone(),
    }
}

/// The tools that there are now for the agent of `cast` under `rules`.
pub(crate) fn registry(setup: &Setup, cast: &Cast, rules: &Rules) -> Registry {
    let Cast { agent, model, .. } = cast;
    offered(&setup.registry, agent, rules, &model.api_id, model.toolset, setup.options.tools_budget)
}

/// Definitions as models are sent them.
fn sent(tools: &[Spec]) -> Arc<Vec<ToolSpec>> {
    Arc::new(tools.iter().map(definition).collect())
}

/// The tools of `registry` that there are now for `agent` under `rules`, on the model that its vendor calls `model`. No
/// more than `budget` tokens of definitions of sources are sent.
pub fn offered(
    registry: &Registry,
    agent: &Agent,
    rules: &Rules,
    model: &str,
    toolset: Toolset,
    budget: Option<usize>,
) -> Registry {
    // What the user says of one agent counts more than what they say of all.
    let wants = |rule: &Rule, name: &str| {
        rule.action != Action::Deny && rule.permission != "*" && matches(&rule.permission, name)
    };
    let registry = registry.now().again(|name| agent.own.iter().any(|rule| wants(rule, name)));
    // What a rule closes altogether is neither offered nor run when it is called all the same.
    let registry = registry.offered(model, |permission| !rules.hides(permission));
    match toolset {
        Toolset::Full => registry.fitted(budget.unwrap_or(TOOLS_BUDGET)),
        // What it is not told of it can still look for.
        Toolset::Small => registry.small().fitted(0),
    }
}

/// What is added to a prompt for the agent called `agent` where the one called `before` answered last.
pub(crate) fn remind(setup: &Setup, agent: &str, before: Option<&str>) -> Option<&'static str> {
    agent::reminder(setup.agents.get(agent)?, before)
}
