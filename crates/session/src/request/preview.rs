//! The first request of a session that is not made.

use std::sync::Arc;

use haft_llm::Request;
use haft_permission::Asker;
use haft_protocol::{History, Message, MessageTime, Part, PartKind, Session as Record, Subtask, Turned, User};
use haft_tool::Task;

use crate::agents::cast::Casting;
use crate::agents::role::{Role, remind};
use crate::driver::memory;
use crate::error::SessionError;
use crate::kin::Kin;
use crate::prompt::Prompt;
use crate::prompt::intake::{Intake, Taken};
use crate::request::assemble::Projection;
use crate::request::instructions::Instructions;
use crate::session::new_record;
use crate::setup::{NewSession, Setup};
use crate::task::{Below, ModelName};
use crate::turn::hooked::opening;

/// See [`Session::preview`](crate::Session::preview).
pub(crate) async fn preview(setup: Setup, prompt: Prompt) -> Result<Request, SessionError> {
    let setup = Arc::new(setup);
    let record = new_record(&setup, NewSession::default()).await?;
    match first(&setup, &record, prompt, Kin::none()).await? {
        First::Request(request) => Ok(*request),
        First::Task(below) => match first(&below.setup, &below.record, below.prompt, below.kin).await? {
            First::Request(request) => Ok(*request),
            // What a model writes calls no command.
            First::Task(_) => Err(SessionError::Refused("a task cannot be a task".to_owned())),
        },
    }
}

/// What a prompt leads to first.
enum First {
    Request(Box<Request>),
    /// A session below, and what it is asked.
    Task(Box<Below>),
}

async fn first(setup: &Arc<Setup>, record: &Record, prompt: Prompt, kin: Kin) -> Result<First, SessionError> {
    let mut memory = memory(setup, record, &History::default(), Vec::new(), kin.clone());
    memory.context = opening(setup, record, &kin, true).await;
    let mut instructions = Instructions::default();
    let asker = Asker { session: record.id.clone(), call: None };
    let (wanted, pages) = (&setup.options.instructions, setup.options.pages.as_deref());
    instructions.refresh(wanted, pages, &setup.place, &setup.gate, &asker).await;
    memory.sent.wait(&setup.registry).await;
    let (cast, command) = Casting::new(Arc::clone(setup), kin.variant.clone()).of(&prompt)?;
    let mut role = Role::new(setup, cast, record, &memory, &instructions.text(&memory.marks));
    role.equip(setup, &memory).await;
    let intake = Intake { setup: Arc::clone(setup), calls: role.calls.clone() };
    let Taken { id, cast, parts, .. } = intake.take(prompt, Arc::clone(&role.cast), command).await?;
    if let Some(crew) = &role.calls.crew
        && let [PartKind::Subtask(subtask)] = parts.as_slice()
    {
        let Subtask { prompt, description, agent, command, model, variant } = (**subtask).clone();
        let model = ModelName::of(model.as_ref(), variant.as_ref());
        let task = Task { description, prompt, agent, command, ..Task::default() };
        let below = crew.below(&role.calls.rules, &task, model.as_ref()).await?;
        return Ok(First::Task(Box::new(below)));
    }
    let info = Message::User(User {
        id: id.clone(),
        session_id: record.id.clone(),
        time: MessageTime { created: setup.clock.now_ms(), completed: None },
        agent: cast.agent.name.clone(),
        model: cast.model.reference.clone(),
        variant: cast.session_model().variant,
        format: None,
        summary: None,
        system: None,
    });
    let part = |kind| Part { id: setup.clock.mint(), session_id: record.id.clone(), message_id: id.clone(), kind };
    let history = History::from_iter([Turned { info, parts: parts.into_iter().map(part).collect() }]);
    let remind = |agent: &str, before: Option<&str>| remind(setup, agent, before);
    let request = Projection::default().request(&role.system, &history, &role.tools, &cast.model, &remind).request;
    Ok(First::Request(Box::new(cast.tuned(request))))
}
