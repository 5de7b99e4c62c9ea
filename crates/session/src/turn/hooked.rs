//! What hooks are told in a turn, and what they may change in it.

use std::sync::Arc;

use haft_llm::{Request, Secret};
use haft_protocol::hook::{
    ChatParams, CommandParts, Commanded, OfSession, Point, PromptParts, Prompted, Requested, SmallModelOf, Stopping,
    SystemOf, TextOf,
};
use haft_protocol::{
    Event, History, Message, MessageId, MessageTime, ModelRef, Part, PartKind, Session, SessionId, User,
};
use haft_tool::{Hooked, Hooks};
use serde_json::{Value, json};

use crate::Model;
use crate::agents::cast::Cast;
use crate::error::SessionError;
use crate::kin::Kin;
use crate::prompt::intake::Taken;
use crate::setup::Setup;
use crate::turn::{Turn, TurnEnd};

/// How often hooks may let a turn go on that was about to end.
const MAX_GOING_ON: u32 = 8;

impl Turn<'_> {
    fn hooks(&self) -> &Hooks {
        self.setup.registry.hooks()
    }

    /// What hooks before a request are told of it.
    pub(crate) fn requested(&self, cast: &Cast) -> Requested {
        let message = self.history.message(&self.prompt).map(|turned| &turned.info);
        Requested {
            session_id: self.session.id.clone(),
            agent: cast.agent.name.clone(),
            model: model(&cast.model),
            provider: provider(&cast.model),
            message: message.and_then(|info| if let Message::User(user) = info { Some(user.clone()) } else { None }),
        }
    }

    /// The conversation as hooks want the next request to show it; `None`: as it is.
    pub(crate) async fn transformed(&self) -> Option<History> {
        if !self.hooks().listen(Point::MessagesTransform) {
            return None;
        }
        let messages = self.hooks().messages(self.history.messages().to_vec()).await;
        Some(History::from_iter(messages))
    }

    /// `request` to `cast` as hooks want it to be.
    pub(crate) async fn hooked(&self, cast: &Cast, request: Request) -> Request {
        shaped(self.hooks(), || self.requested(cast), request).await
    }

    /// Lets hooks change pieces of an answer that are whole now.
    pub(crate) async fn completed(&self, events: &mut [Event]) {
        if !self.hooks().listen(Point::TextComplete) {
            return;
        }
        for event in events {
            let Event::PartUpdated { part, .. } = event else { continue };
            let Part { id, session_id, message_id, kind } = &mut **part;
            let PartKind::Text { text, time: Some(time), .. } = kind else { continue };
            if time.end.is_none() {
                continue;
            }
            let (session_id, message_id, part_id) = (session_id.clone(), message_id.clone(), id.clone());
            let of = TextOf { session_id, message_id, part_id };
            *text = self.hooks().text_complete(&of, std::mem::take(text)).await;
        }
    }

    /// Asks hooks whether a turn goes on that ended as `end` says, and tells the model what for. Stopping the turn ends
    /// the wait.
    pub(crate) async fn goes_on(&mut self, end: &TurnEnd) -> Option<String> {
        let listens = self.hooks().listen(Point::TurnStop) && matches!(end, TurnEnd::Finished(_));
        if !listens || self.state.went_on >= MAX_GOING_ON {
            return None;
        }
        let stopping = Stopping {
            session_id: self.session.id.clone(),
            parent_id: self.session.parent_id.clone(),
            agent: self.role.cast.agent.name.clone(),
            again: self.state.went_on > 0,
        };
        let because = tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            because = self.hooks().turn_stop(&stopping) => because,
        };
        self.state.went_on += u32::from(because.is_some());
        because
    }
}

/// `request` as `hooks` want it to be, that is made as `requested` says.
pub(crate) async fn shaped(hooks: &Hooks, requested: impl Fn() -> Requested, mut request: Request) -> Request {
    if hooks.listen(Point::SystemTransform) {
        let Requested { session_id, model, .. } = requested();
        let pieces = hooks.system(&SystemOf { session_id, model }, vec![request.system]).await;
        let pieces = pieces.into_iter().filter(|piece| !piece.trim().is_empty());
        request.system = pieces.collect::<Vec<_>>().join("\n\n");
    }
    if hooks.listen(Point::ChatParams) {
        let params = ChatParams {
            temperature: request.temperature,
            top_p: request.top_p,
            top_k: request.top_k,
            max_output_tokens: request.max_output,
            options: request.extra,
        };
        let params = hooks.chat_params(&requested(), params).await;
        let ChatParams { temperature, top_p, top_k, max_output_tokens, options } = params;
        request = Request { temperature, top_p, top_k, max_output: max_output_tokens, extra: options, ..request };
    }
    if hooks.listen(Point::ChatHeaders) {
        request.headers = {
            let headers = hooks.chat_headers(&requested()).await.headers.into_iter();
            headers.map(|(name, value)| (name, Secret::from(value))).collect()
        };
    }
    request
}

/// The model that hooks want for small work beside `main`; `None`: they say nothing, or name one that cannot be asked.
pub(crate) async fn small_model(setup: &Setup) -> Option<Model> {
    let main = &setup.model;
    let named = setup.registry.hooks().small_model(&SmallModelOf { provider: provider(main) }).await?;
    let named = if named.contains('/') { named } else { format!("{}/{named}", main.reference.provider_id) };
    let found = match &setup.options.models {
        Some(models) => models.find(&named, None),
        None => Err("no other model is known here".to_owned()),
    };
    found.inspect_err(|why| tracing::warn!(named, why, "a hook wants a small model that cannot be asked")).ok()
}

/// What hooks want the model to be told of in a session that is opened.
pub(crate) async fn opening(setup: &Setup, record: &Session, kin: &Kin, is_new: bool) -> String {
    let hooks = setup.registry.hooks();
    if kin.depth > 0 || !hooks.listen(Point::SessionStart) {
        return String::new();
    }
    let reason = if is_new { "startup" } else { "resume" };
    let context = hooks.session_start(&of(&record.id, Some(reason))).await;
    context.into_iter().filter(|text| !text.trim().is_empty()).map(|text| format!("\n\n{}", text.trim())).collect()
}

/// A session, and why hooks hear of it.
pub(crate) fn of(session: &SessionId, reason: Option<&str>) -> OfSession {
    OfSession { session_id: session.clone(), reason: reason.map(str::to_owned) }
}

/// `parts` of the command called `command` as hooks want them to be.
pub(crate) async fn commanded(
    setup: &Setup,
    id: &MessageId,
    session: &SessionId,
    command: &str,
    arguments: &str,
    parts: Vec<PartKind>,
) -> Result<Vec<PartKind>, SessionError> {
    let hooks = setup.registry.hooks();
    if !hooks.listen(Point::CommandBefore) {
        return Ok(parts);
    }
    let commanded =
        Commanded { command: command.to_owned(), session_id: session.clone(), arguments: arguments.to_owned() };
    let shown = CommandParts { parts: shown(setup, id, session, parts) };
    let changed = hooks.command_before(&commanded, shown).await.map_err(not_sent)?;
    read(changed.parts)
}

/// A prompt as hooks want it to be.
pub(crate) async fn prompted(setup: &Setup, session: &SessionId, taken: Taken) -> Result<Taken, SessionError> {
    let hooks = setup.registry.hooks();
    if !hooks.listen(Point::ChatMessage) {
        return Ok(taken);
    }
    let Cast { agent, model, .. } = &*taken.cast;
    // Who is to answer counts already.
    let _standing = hooks.stands().stand(session, &agent.rules);
    let variant = taken.cast.session_model().variant;
    let prompted = Prompted {
        session_id: session.clone(),
        agent: agent.name.clone(),
        model: model.reference.clone(),
        message_id: taken.id.clone(),
        variant: variant.clone(),
    };
    let message = User {
        id: taken.id.clone(),
        session_id: session.clone(),
        time: MessageTime { created: setup.clock.now_ms(), completed: None },
        agent: agent.name.clone(),
        model: model.reference.clone(),
        variant,
        format: taken.format.clone(),
        summary: None,
        system: None,
    };
    let parts = shown(setup, &taken.id, session, taken.parts);
    let shown = PromptParts { message, parts };
    let changed = hooks.chat_message(&prompted, shown.clone()).await.map_err(not_sent)?;
    let cast = recast(setup, &taken.cast, &shown.message, &changed.message)?;
    Ok(Taken { parts: read(changed.parts)?, cast, ..taken })
}

/// Who answers a prompt after hooks made `after` of its message, which was `before`: another agent, model or variant. Of
/// the rest nothing is taken.
fn recast(setup: &Setup, cast: &Arc<Cast>, before: &User, after: &User) -> Result<Arc<Cast>, SessionError> {
    let refused = |why: String| SessionError::Refused(format!("a hook wants another one to answer: {why}"));
    let mut changed = (**cast).clone();
    if after.agent != before.agent {
        let agent = setup.agents.primaries().find(|agent| agent.name == after.agent);
        changed.agent =
            agent.cloned().ok_or_else(|| refused(format!("there is no agent {:?} that answers", after.agent)))?;
    }
    if after.model != before.model || after.variant != before.variant {
        let ModelRef { provider_id, model_id } = &after.model;
        let models = setup.options.models.as_ref();
        let models = models.ok_or_else(|| refused("this session knows no other model than its own".to_owned()))?;
        let name = format!("{provider_id}/{model_id}");
        changed.model = models.find(&name, after.variant.as_deref()).map_err(refused)?;
        changed.variant.clone_from(&after.variant);
    }
    Ok(if changed.is_same(cast) { Arc::clone(cast) } else { Arc::new(changed) })
}

/// Parts that are not stored yet, as hooks are shown them.
fn shown(setup: &Setup, message: &MessageId, session: &SessionId, parts: Vec<PartKind>) -> Vec<Value> {
    let part = |kind| Part { id: setup.clock.mint(), session_id: session.clone(), message_id: message.clone(), kind };
    haft_protocol::hook::shown(&parts.into_iter().map(part).collect::<Vec<_>>())
}

/// Parts as hooks gave them back. Ids are the program's own business.
fn read(parts: Vec<Value>) -> Result<Vec<PartKind>, SessionError> {
    let read = |part: Value| {
        serde_json::from_value(part)
            .map_err(|error| SessionError::Refused(format!("a hook made a part of the prompt that is none: {error}")))
    };
    let parts = parts.into_iter().map(read).collect::<Result<Vec<PartKind>, _>>()?;
    match parts.is_empty() {
        true => Err(SessionError::Refused("a hook left nothing of the prompt".to_owned())),
        false => Ok(parts),
    }
}

fn not_sent(hooked: Hooked) -> SessionError {
    SessionError::Refused(hooked.to_string())
}

/// A model as hooks are shown it.
pub(crate) fn model(model: &Model) -> Value {
    json!({
        "id": model.reference.model_id,
        "providerID": model.reference.provider_id,
        "name": model.reference.model_id,
        "api": { "id": model.api_id },
        "limit": { "context": model.limits.context, "output": model.limits.output },
        "capabilities": { "toolcall": model.calls_tools },
        "options": model.extra,
    })
}

/// A vendor as hooks are shown it.
pub(crate) fn provider(model: &Model) -> Value {
    let id = &model.reference.provider_id;
    json!({ "id": id, "info": { "id": id }, "options": {} })
}
