//! Small requests beside the turns: for titles, and for what a turn came to.

pub(crate) mod gist;
pub(crate) mod sampling;
pub(crate) mod title;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use haft_llm::{Chunk, Content, Finish, Message as Asked, Purpose, Request, Usage};
use haft_protocol::hook::{Point, Requested};
use haft_protocol::{Session, SessionId, Tokens};

use crate::Agent;
use crate::agents::cast::Cast;
use crate::kin::Kin;
use crate::model::{Model, tokens};
use crate::setup::{Options, Setup};
use crate::turn::hooked;

/// Most bytes of an answer that are looked at.
const MAX_ANSWER: usize = 64 * 1024;
/// Most tokens that an answer may have; models that think need some.
const MAX_OUTPUT: u64 = 4_096;
/// How often a request that failed is tried again.
const RETRIES: u32 = 2;
/// How long it may take in all.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(60);

/// Who is asked.
pub(crate) struct Helper {
    setup: Setup,
    session: SessionId,
    agent: Agent,
    /// `None`: only if hooks name one.
    model: Option<Model>,
    /// Whether hooks may name another one.
    may_change: bool,
    purpose: Purpose,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Heard {
    /// The whole answer, if there is one.
    pub text: Option<String>,
    /// Whether there was more, which it might not write.
    pub cut: bool,
    pub used: Tokens,
    pub cost: f64,
}

impl Helper {
    /// The agent called `name`, on its own model or the small one. `None`: nobody is there, or no money.
    pub(crate) fn find(setup: &Setup, session: &SessionId, name: &str, purpose: Purpose, kin: &Kin) -> Option<Self> {
        let agent = setup.agents.get(name)?.clone();
        if setup.options.limits.cost.is_some_and(|limit| kin.spent.dollars() >= limit) {
            return None;
        }
        let own = agent.model.as_deref().zip(setup.options.models.as_ref());
        let own = own.and_then(|(name, models)| models.find(name, agent.variant.as_deref()).ok());
        // What the settings name goes before what hooks do.
        let hooks = setup.registry.hooks();
        let may_change = own.is_none() && !setup.options.small_chosen && hooks.listen(Point::SmallModel);
        let model = own.or_else(|| setup.options.small.clone()).filter(|model| model.provider.serves(purpose));
        let (setup, session) = (setup.clone(), session.clone());
        (model.is_some() || may_change).then_some(Self { setup, session, agent, model, may_change, purpose })
    }

    /// The same for somebody who waits for the answer: where there is no small model, the session's own.
    pub(crate) fn for_somebody(
        setup: &Setup,
        session: &SessionId,
        name: &str,
        purpose: Purpose,
        kin: &Kin,
    ) -> Option<Self> {
        let small = setup.options.small.clone().or_else(|| Some(setup.model.clone()));
        let setup = Setup { options: Options { small, ..setup.options.clone() }, ..setup.clone() };
        Self::find(&setup, session, name, purpose, kin)
    }

    /// Asks, again where that may help, for a minute at most.
    pub(crate) async fn ask(self, text: String) -> Heard {
        let Self { setup, session, agent, model, may_change, purpose } = self;
        let by_hooks = if may_change { hooked::small_model(&setup).await } else { None };
        let by_hooks = by_hooks.filter(|model| model.provider.serves(purpose));
        let Some(model) = by_hooks.or(model) else { return Heard::default() };
        let cast = Cast { agent, model: model.clone(), variant: None };
        let request = cast.tuned(Request {
            model: model.api_id.clone(),
            system: cast.agent.voice().to_owned(),
            messages: vec![Arc::new(Asked::User { content: vec![Content::Text { text }] })].into(),
            max_output: model.limits.ask_for().map(|most| most.min(MAX_OUTPUT)),
            extra: model.extra.clone(),
            purpose,
            ..Request::default()
        });
        let requested = || Requested {
            session_id: session.clone(),
            agent: cast.agent.name.clone(),
            model: hooked::model(&model),
            provider: hooked::provider(&model),
            message: None,
        };
        let request = hooked::shaped(setup.registry.hooks(), requested, request).await;
        let mut heard = Heard::default();
        if tokio::time::timeout(MAX_TIME, heard.listen(&model, &request)).await.is_err() {
            tracing::warn!(?purpose, "no answer came in time");
        }
        heard
    }
}

impl Heard {
    pub(crate) async fn listen(&mut self, model: &Model, request: &Request) {
        for attempt in 1..=RETRIES + 1 {
            let mut stream = model.provider.stream(request.clone());
            let (mut text, mut usage, mut broken) = (String::new(), Usage::default(), None);
            while let Some(next) = stream.next().await {
                match next {
                    Ok(Chunk::Text(words)) if text.len() < MAX_ANSWER => text.push_str(&words),
                    Ok(Chunk::Usage(used)) => usage = used,
                    Ok(Chunk::Finish(finish)) => {
                        self.cut = finish == Finish::Length;
                        break;
                    }
                    Ok(_) => {}
                    Err(error) => {
                        broken = Some(error);
                        break;
                    }
                }
            }
            drop(stream);
            let used = tokens(&usage);
            if usage != Usage::default() {
                self.cost += model.cost.as_ref().map_or(0.0, |cost| cost.of(&used));
                self.used += used;
            }
            let Some(error) = broken else {
                self.text = Some(text);
                return;
            };
            tracing::warn!(error = %haft_tool::with_causes(&error), attempt, purpose = ?request.purpose, "no answer");
            // Chance would come from the session's clock, and two equal runs would no more be equal.
            let Some(wait) = error.retry_after(attempt, 0.5).filter(|_| attempt <= RETRIES) else { return };
            tokio::time::sleep(wait).await;
        }
    }

    /// Books what it cost. Returns whether that was anything.
    pub(crate) fn charge(&self, record: &mut Session, kin: &Kin) -> bool {
        record.cost += self.cost;
        record.tokens += self.used;
        kin.charge(self.cost, &self.used);
        self.used != Tokens::default()
    }
}

/// `answer` without thoughts.
pub(crate) fn spoken(answer: &str) -> String {
    let mut rest = answer;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once("<think>") {
        text.push_str(before);
        rest = after.split_once("</think>").map_or("", |(_, behind)| behind);
    }
    text.push_str(rest);
    // Some begin in the middle of their thoughts.
    text.rsplit_once("</think>").map_or(text.as_str(), |(_, behind)| behind).to_owned()
}
