//! The first request of a session that is not made.

use std::sync::Arc;

use haft_llm::Request;
use haft_permission::Asker;
use haft_protocol::{History, Message, MessageTime, Part, Turned, User};

use crate::assemble::Projection;
use crate::cast::Casting;
use crate::driver::memory;
use crate::error::SessionError;
use crate::instructions::Instructions;
use crate::intake::{Intake, Taken};
use crate::kin::Kin;
use crate::prompt::Prompt;
use crate::role::{Role, remind};
use crate::session::new_record;
use crate::setup::{NewSession, Setup};

/// See [`Session::preview`](crate::Session::preview).
pub(crate) async fn preview(setup: Setup, prompt: Prompt) -> Result<Request, SessionError> {
    let setup = Arc::new(setup);
    let record = new_record(&setup, NewSession::default()).await?;
    let memory = memory(&setup, &record, &History::default(), Vec::new(), Kin::none());
    let mut instructions = Instructions::default();
    let asker = Asker { session: record.id.clone(), call: None };
    instructions.refresh(&setup.options.instructions, &setup.place, &setup.gate, &asker).await;
    let (cast, command) = Casting::new(Arc::clone(&setup), None).of(&prompt)?;
    let role = Role::new(&setup, cast, &record, &memory, &instructions.text(&memory.marks));
    let intake = Intake { setup: Arc::clone(&setup), calls: role.calls.clone() };
    let Taken { id, cast, parts, .. } = intake.take(prompt, Arc::clone(&role.cast), command).await?;
    let info = Message::User(User {
        id: id.clone(),
        session_id: record.id.clone(),
        time: MessageTime { created: setup.clock.now_ms(), completed: None },
        agent: cast.agent.name.clone(),
        model: cast.model.reference.clone(),
    });
    let part = |kind| Part { id: setup.clock.mint(), session_id: record.id.clone(), message_id: id.clone(), kind };
    let history = History::from_iter([Turned { info, parts: parts.into_iter().map(part).collect() }]);
    let remind = |agent: &str, before: Option<&str>| remind(&setup, agent, before);
    let request = Projection::default().request(&role.system, &history, &role.tools, &cast.model, &remind);
    Ok(cast.tuned(request))
}
