//! What a turn is run as: the agent, its rights and tools, and what it is told first.

use std::sync::Arc;

use haft_protocol::Session;
use haft_tool::{Belongings, Marks, Spec};

use crate::Toolset;
use crate::agent;
use crate::calls::Calls;
use crate::cast::Cast;
use crate::delegates::told;
use crate::hand_over::Wish;
use crate::hands::TASK;
use crate::kin::Kin;
use crate::policy;
use crate::setup::Setup;
use crate::system;
use crate::task::Crew;
use crate::todos::Todos;

/// Who answers, with everything they work with.
pub(crate) struct Role {
    pub cast: Arc<Cast>,
    pub calls: Calls,
    pub tools: Vec<Spec>,
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
    /// When the session was opened, in Unix milliseconds: its today, for as long as it is open.
    pub opened: u64,
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
        let mut tools = told(calls.registry.specs(), &setup.agents, &calls.rules);
        // Where no further task may begin there is no use in being told of it.
        tools.retain(|spec| spec.name != TASK || memory.kin.depth < setup.options.tasks.depth);
        let mut role = Self { cast, calls, tools, system: String::new() };
        role.tell(setup, memory, instructions);
        role
    }

    /// Writes the system prompt anew.
    pub(crate) fn tell(&mut self, setup: &Setup, memory: &Memory, instructions: &str) {
        let Cast { agent, model, .. } = &*self.cast;
        let words = agent.voice_on(&model.api_id, model.toolset);
        self.system = system::prompt(&words, &setup.place, &model.reference, memory.opened, instructions);
    }
}

/// How the agent of `cast` may call tools.
pub(crate) fn calls(setup: &Arc<Setup>, cast: &Arc<Cast>, record: &Session, memory: &Memory) -> Calls {
    let own = policy::session_rules(record.permission.as_deref().unwrap_or_default());
    let rules = cast.agent.rules.clone().own(setup.rules.iter().cloned()).own(own);
    // What a rule closes altogether is neither offered nor run when it is called all the same.
    let registry = setup.registry.offered(&cast.model.api_id, |permission| !rules.hides(permission));
    let registry = match cast.model.toolset {
        Toolset::Full => registry,
        Toolset::Small => registry.small(),
    };
    Calls {
        registry,
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
        })),
        task_model: None,
        wish: memory.wish.clone(),
    }
}

/// What is added to a prompt for the agent called `agent` where the one called `before` answered last.
pub(crate) fn remind(setup: &Setup, agent: &str, before: Option<&str>) -> Option<&'static str> {
    agent::reminder(setup.agents.get(agent)?, before)
}
