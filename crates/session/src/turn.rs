//! One turn: model steps until the model stops asking for tools.

pub(crate) mod call_ids;
pub(crate) mod calls;
pub(crate) mod doom;
pub(crate) mod fold;
pub(crate) mod form;
pub(crate) mod hooked;
pub(crate) mod report;
pub(crate) mod shaping;
pub(crate) mod side_by_side;
pub(crate) mod step;
pub(crate) mod todos;

use std::collections::VecDeque;
use std::sync::Arc;

use haft_llm::{Content, LlmError, Request};
use haft_protocol::{
    Assistant, Event, Failure, History, Message, MessageId, MessageTime, Part, PartKind, Paths, Session, SessionId,
    Tokens, User,
};
use haft_tool::Standing;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::Estimate;
use crate::agents::cast::Cast;
use crate::agents::role::Role;
use crate::beside::title::{Titling, found};
use crate::compact::{Made, Room, Why};
use crate::driver::letters::Letters;
use crate::error::TurnError;
use crate::kin::Kin;
use crate::prompt::intake::Taken;
use crate::request::assemble::{Assembled, Projection, last, reminder};
use crate::setup::Setup;
use crate::stored::recover::close_all;
use crate::turn::calls::Calls;
use crate::turn::doom::Trail;
use crate::turn::fold::Planned;
use crate::turn::form::Form;
use crate::turn::shaping::Shaped;

/// What a message keeps of a turn that the user stopped.
pub(crate) const STOPPED: &str = "stopped by the user";

/// How a turn ended, when nothing failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model had said all; with its reason in the words of messages.
    Finished(String),
    /// It took as many steps as it may. In the last one the model summed up.
    Limit {
        /// How many.
        steps: u32,
    },
    /// The model made the same call over and over, and was told so.
    Circles {
        /// The tool it called.
        tool: String,
    },
    /// The user refused a call without saying what they want instead.
    Refused,
    /// The user stopped it.
    Aborted,
}

/// Why a turn is over.
pub(crate) enum Stop {
    End(TurnEnd),
    /// A prompt came that somebody else is to answer.
    HandOver,
}

/// A running turn: what it works with, and the state of the session that it may change.
pub(crate) struct Turn<'a> {
    pub setup: &'a Setup,
    pub role: &'a Role,
    pub session: &'a mut Session,
    pub history: &'a mut History,
    pub projection: &'a mut Projection,
    pub kin: &'a Kin,
    /// Prompts that come while it runs.
    pub arrivals: &'a mut mpsc::Receiver<Taken>,
    /// What it is told while it runs.
    pub letters: &'a Letters,
    /// The first prompt that it answers.
    pub first: MessageId,
    /// The latest prompt that it answers.
    pub prompt: MessageId,
    pub cancel: CancellationToken,
    /// The title that is being found beside it.
    pub titling: &'a mut Option<Titling>,
    pub state: State,
}

/// What a turn remembers of itself.
#[derive(Default)]
pub(crate) struct State {
    /// Prompts that came and that no step has seen yet.
    pub waiting: VecDeque<MessageId>,
    /// Whether one of them is for somebody else.
    pub for_another: bool,
    /// Who is to answer the last prompt that came.
    pub latest_cast: Option<Arc<Cast>>,
    /// Steps so far.
    pub steps: u32,
    /// Times that the vendor paused in the middle of an answer.
    pub pauses: u32,
    pub trail: Trail,
    /// Whether the model was told that it goes in circles, and nobody allowed it.
    pub warned: bool,
    /// The form that the latest prompt asks for.
    pub form: Option<Arc<Form>>,
    /// How often the model did not keep it.
    pub misses: u32,
    /// Whether the conversation was made shorter and no step was taken since.
    pub compacted: bool,
    /// The conversation as hooks want the next request to show it, where they want it otherwise.
    pub shown: Option<History>,
    /// How often hooks let the turn go on that was about to end.
    pub went_on: u32,
}

/// What a turn leaves to the next one.
pub(crate) struct Left {
    /// Prompts that came and are not answered.
    pub waiting: VecDeque<MessageId>,
    /// Who is to answer the last prompt that came.
    pub cast: Option<Arc<Cast>>,
}

/// What follows a step.
pub(crate) enum Next {
    RunCalls(Box<Assistant>, Vec<Planned>),
    /// The vendor paused in the middle of its answer.
    Again,
    /// The vendor says that the request was too long.
    TooLong(LlmError),
    Done(TurnEnd),
}

impl Turn<'_> {
    /// Runs model steps until the model stops asking for tools. However it ends, nothing is left open. Also returns
    /// the prompts that came and are not answered.
    ///
    /// # Errors
    ///
    /// Fails when the model cannot be reached, the store cannot be written or the money is spent. A failing *tool* is
    /// not an error here: the model reads it and goes on.
    pub(crate) async fn run(mut self) -> (Result<Stop, TurnError>, Left) {
        let standing = self.standing();
        let result = self.steps().await;
        drop(standing);
        let closed = self.close(&result).await;
        // Who was to go on after a step that ended otherwise is not.
        self.role.calls.wish.take();
        let left = Left { waiting: self.state.waiting, cast: self.state.latest_cast };
        (result.and_then(|stop| closed.map(|()| stop)), left)
    }

    /// Runs one call that the person makes with their own hands, and keeps it as an answer without a model.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub(crate) async fn run_by_hand(mut self, calls: Calls, call: Planned) -> Result<TurnEnd, TurnError> {
        let _standing = self.standing();
        let result = self.by_hand(calls, call).await;
        let closed = self.close(&result).await;
        match result {
            Ok(Stop::End(end)) => closed.map(|()| end),
            Ok(Stop::HandOver) => closed.map(|()| TurnEnd::Aborted),
            Err(error) => Err(error),
        }
    }

    /// As long as this is held, hooks hear of what happens under the rules of who answers.
    fn standing(&self) -> Standing {
        self.setup.registry.hooks().stands().stand(&self.session.id, &self.role.calls.rules)
    }

    async fn by_hand(&mut self, calls: Calls, call: Planned) -> Result<Stop, TurnError> {
        let mut answer = self.begin_answer();
        answer.finish = Some("stop".to_owned());
        self.record_all(vec![self.answered(&answer)]).await?;
        let end = self.run_calls(&calls, answer, vec![call]).await?;
        Ok(Stop::End(end.unwrap_or_else(|| TurnEnd::Finished("stop".to_owned()))))
    }

    /// Closes whatever is still open: it was given up, also on the way out of an error.
    async fn close(&mut self, result: &Result<Stop, TurnError>) -> Result<(), TurnError> {
        let (why, told) = match result {
            Ok(Stop::End(TurnEnd::Aborted)) => (Failure::aborted(STOPPED), true),
            Ok(Stop::End(_) | Stop::HandOver) => (Failure::aborted(STOPPED), false),
            Err(error) => (error.failure(), true),
        };
        if told {
            let session_id = self.session.id.clone();
            self.setup.journal.announce(Event::SessionError { session_id, error: why.clone() });
        }
        let messages = self.history.messages();
        let answered = messages.iter().rposition(|turned| *turned.info.id() == self.first).unwrap_or_default();
        let open = close_all(self.session, &messages[answered..], self.setup.clock.now_ms(), &why);
        self.record_all(open).await?;
        self.remember().await
    }

    /// Keeps what files were changed by calls that were stopped, and by jobs that outlived their calls.
    async fn remember(&mut self) -> Result<(), TurnError> {
        let Some(past) = &self.setup.options.past else { return Ok(()) };
        let events = past.rest(&self.setup.clock, &self.session.id, self.history, None).await;
        self.record_all(events.clone()).await?;
        self.remembered(&events);
        Ok(())
    }

    /// What `events` say of files is stored.
    pub(crate) fn remembered(&self, events: &[Event]) {
        if let Some(past) = &self.setup.options.past {
            past.stored(events);
        }
    }

    async fn steps(&mut self) -> Result<Stop, TurnError> {
        let most = self.most_steps();
        loop {
            if let Some(end) = self.run_subtasks().await? {
                return Ok(Stop::End(end));
            }
            self.check_cost()?;
            self.state.steps = self.state.steps.saturating_add(1);
            let is_last = most.is_some_and(|most| self.state.steps >= most);
            let request = match self.make_room(is_last).await? {
                Room::Request(request) => self.hooked(&self.role.cast, *request).await,
                Room::End(stop) => return Ok(stop),
            };
            let form = self.form();
            match self.step(request).await? {
                Next::TooLong(error) => match self.compact(&Why::Overflow).await? {
                    Made::Shorter => self.state.steps -= 1,
                    Made::Nothing => return Err(error.into()),
                    Made::Stopped => return Ok(Stop::End(TurnEnd::Aborted)),
                    Made::Rests => return Ok(Stop::End(given())),
                },
                // Before words end the turn: they may not have the form.
                Next::Done(TurnEnd::Finished(_)) if let Some(form) = &form => {
                    if let Shaped::Given = self.shaped(form, is_last).await? {
                        return Ok(Stop::End(given()));
                    }
                }
                Next::RunCalls(answer, calls) if let Some(form) = &form => {
                    let through = Self::taking(self.role.calls.current().naming(&self.named()), form, is_last);
                    if let Some(end) = self.run_calls(&through, *answer, calls).await? {
                        return Ok(Stop::End(end));
                    }
                    if let Shaped::Given = self.shaped(form, is_last).await? {
                        return Ok(Stop::End(given()));
                    }
                    self.hand_over().await?;
                }
                Next::Done(TurnEnd::Finished(_)) if is_last && self.state.steps > 1 => {
                    return Ok(Stop::End(TurnEnd::Limit { steps: self.state.steps }));
                }
                Next::Done(end) => match self.goes_on(&end).await {
                    Some(because) => self.prompt = self.say(Arc::clone(&self.role.cast), &because).await?,
                    None => return Ok(Stop::End(end)),
                },
                Next::Again if is_last => return Ok(Stop::End(TurnEnd::Limit { steps: self.state.steps })),
                Next::Again => {}
                // It was offered no tools; what it calls all the same is closed on the way out.
                Next::RunCalls(..) if is_last => {
                    return Ok(Stop::End(TurnEnd::Limit { steps: self.state.steps }));
                }
                Next::RunCalls(answer, calls) => {
                    let through = self.role.calls.current().naming(&self.named());
                    if let Some(end) = self.run_calls(&through, *answer, calls).await? {
                        return Ok(Stop::End(end));
                    }
                    self.hand_over().await?;
                }
            }
            if self.take_up().await? {
                return Ok(Stop::HandOver);
            }
        }
    }

    /// Takes up the prompts that came meanwhile. Returns whether somebody else is to answer them.
    pub(crate) async fn take_up(&mut self) -> Result<bool, TurnError> {
        if self.titling.as_ref().is_some_and(Titling::is_finished) {
            found(self.titling).await.keep(self.setup, self.session, self.history, self.kin).await?;
        }
        self.letters.read(self.setup, self.session, self.history).await;
        while let Ok(taken) = self.arrivals.try_recv() {
            self.arrived(taken).await?;
        }
        for notice in self.kin.background.take() {
            let taken = Taken { parts: vec![notice.part()], ..self.told(Arc::clone(&self.role.cast), "") };
            self.arrived(taken).await?;
        }
        if self.state.for_another {
            return Ok(true);
        }
        if let Some(latest) = self.state.waiting.drain(..).next_back() {
            self.prompt = latest;
        }
        Ok(false)
    }

    /// Sums the conversation up because somebody asked for it.
    ///
    /// # Errors
    ///
    /// As [`Turn::compact`], and when there is nothing to sum up.
    pub(crate) async fn run_compaction(mut self, focus: Option<String>) -> Result<TurnEnd, TurnError> {
        let _standing = self.standing();
        let result = match self.compact(&Why::Asked(focus)).await {
            Ok(Made::Shorter | Made::Rests) => Ok(Stop::End(given())),
            Ok(Made::Nothing) => Err(TurnError::NothingToSumUp),
            Ok(Made::Stopped) => Ok(Stop::End(TurnEnd::Aborted)),
            Err(error) => Err(error),
        };
        let closed = self.close(&result).await;
        match result? {
            Stop::End(end) => closed.map(|()| end),
            Stop::HandOver => closed.map(|()| TurnEnd::Aborted),
        }
    }

    /// Most steps that the agent and the user's settings allow.
    fn most_steps(&self) -> Option<u32> {
        let own = self.role.cast.agent.steps;
        let task = self.kin.meter.as_ref().and_then(|meter| meter.limits().steps);
        let most = [own, self.setup.options.limits.steps, task].into_iter().flatten().min();
        most.map(|most| most.max(1))
    }

    pub(crate) fn check_cost(&self) -> Result<(), TurnError> {
        if let Some(what) = self.kin.meter.as_ref().and_then(crate::task::budget::Meter::reached) {
            return Err(TurnError::Budget { what });
        }
        let spent = self.kin.spent.dollars();
        match self.setup.options.limits.cost {
            Some(limit) if spent >= limit => Err(TurnError::Cost { spent, limit }),
            Some(_) | None => Ok(()),
        }
    }

    /// The request for the next step, and about how much it is.
    pub(crate) fn request(&mut self, is_last: bool) -> (Request, Estimate) {
        let Role { system, tools, cast, .. } = self.role;
        let setup = self.setup;
        let remind = |agent: &str, before: Option<&str>| crate::agents::role::remind(setup, agent, before);
        let Assembled { request, estimate } = match &self.state.shown {
            Some(shown) => Projection::default().request(system, shown, tools, &cast.model, &remind),
            None => self.projection.request(system, self.history, tools, &cast.model, &remind),
        };
        self.projection.gauge.ask(estimate.total());
        let mut request = cast.tuned(request);
        let calls_tools = cast.model.calls_tools;
        let request = match (self.form(), is_last) {
            (Some(form), is_last) => {
                form.ask(&mut request, calls_tools, is_last);
                request
            }
            (None, true) => last(request),
            (None, false) => request,
        };
        (self.reminded(request), estimate)
    }

    /// `request` with a word about calls that repeat themselves. It is said where they do, and not kept.
    fn reminded(&mut self, mut request: Request) -> Request {
        let calls = self.state.trail.repeats().map(|tools| tools.join(", "));
        if let Some(calls) = calls {
            let text = reminder(&include_str!("reminders/again.md").replace("{calls}", &calls));
            request.messages.push(Arc::new(haft_llm::Message::User { content: vec![Content::Text { text }] }));
            self.state.trail.reminded = true;
        }
        request
    }

    /// Stores a prompt that came while the turn runs. A step sees it after the one that runs.
    pub(crate) async fn arrived(&mut self, taken: Taken) -> Result<(), TurnError> {
        let id = store_prompt(self.setup, self.session, self.history, &taken).await?;
        self.state.for_another |= !taken.cast.is_same(&self.role.cast);
        self.state.latest_cast = Some(taken.cast);
        self.state.waiting.push_back(id);
        Ok(())
    }

    pub(crate) fn begin_answer(&self) -> Assistant {
        let Setup { clock, place, .. } = self.setup;
        let Cast { agent, model, .. } = &*self.role.cast;
        Assistant {
            id: clock.mint(),
            session_id: self.session.id.clone(),
            parent_id: self.prompt.clone(),
            time: MessageTime { created: clock.now_ms(), completed: None },
            model_id: model.reference.model_id.clone(),
            provider_id: model.reference.provider_id.clone(),
            mode: agent.name.clone(),
            agent: agent.name.clone(),
            path: Paths { cwd: place.directory.display().to_string(), root: place.root().display().to_string() },
            cost: 0.0,
            tokens: Tokens::default(),
            finish: None,
            error: None,
            structured: None,
            summary: false,
            variant: self.role.cast.session_model().variant,
        }
    }

    /// Ends the step: nothing is added to its message any more.
    pub(crate) fn finish(&self, answer: &mut Assistant, events: &mut Vec<Event>) {
        answer.time.completed = Some(self.setup.clock.now_ms());
        let reason = answer.finish.clone().unwrap_or_default();
        let kind = PartKind::StepFinish { reason, cost: answer.cost, tokens: answer.tokens };
        events.push(self.part(&answer.id, kind));
        events.push(self.answered(answer));
    }

    pub(crate) fn answered(&self, answer: &Assistant) -> Event {
        let info = Box::new(Message::Assistant(answer.clone()));
        Event::MessageUpdated { session_id: self.session.id.clone(), info }
    }

    pub(crate) fn part(&self, message: &MessageId, kind: PartKind) -> Event {
        let id = self.setup.clock.mint();
        self.changed(Part { id, session_id: self.session.id.clone(), message_id: message.clone(), kind })
    }

    pub(crate) fn changed(&self, part: Part) -> Event {
        let time = self.setup.clock.now_ms();
        Event::PartUpdated { session_id: self.session.id.clone(), part: Box::new(part), time }
    }

    pub(crate) async fn record_all(&mut self, events: Vec<Event>) -> Result<(), TurnError> {
        record_all(self.setup, self.history, events).await
    }
}

/// The end of a turn whose answer has the form that was asked for.
fn given() -> TurnEnd {
    TurnEnd::Finished("stop".to_owned())
}

/// Stores a prompt as a message.
pub(crate) async fn store_prompt(
    setup: &Setup,
    record: &mut Session,
    history: &mut History,
    taken: &Taken,
) -> Result<MessageId, TurnError> {
    let Taken { id, cast, title, .. } = taken;
    let now = setup.clock.now_ms();
    if record.title.is_empty() {
        record.title.clone_from(title);
    }
    record.model = Some(cast.session_model());
    record.agent = Some(cast.agent.name.clone());
    record.time.updated = now;
    let updated = Event::SessionUpdated { session_id: record.id.clone(), info: Box::new(record.clone()) };
    let events = std::iter::once(updated).chain(message(setup, &record.id, taken, now)).collect();
    record_all(setup, history, events).await?;
    Ok(id.clone())
}

/// The message that a prompt becomes in the session `session` at `now`, in Unix milliseconds.
pub(crate) fn message(setup: &Setup, session: &SessionId, taken: &Taken, now: u64) -> Vec<Event> {
    let Taken { id, cast, parts, format, .. } = taken;
    let user = User {
        id: id.clone(),
        session_id: session.clone(),
        time: MessageTime { created: now, completed: None },
        agent: cast.agent.name.clone(),
        model: cast.model.reference.clone(),
        variant: cast.session_model().variant,
        format: format.clone(),
        summary: None,
        system: None,
    };
    let info = Box::new(Message::User(user));
    let mut events = vec![Event::MessageUpdated { session_id: session.clone(), info }];
    events.extend(parts.iter().map(|kind| {
        let (session_id, message_id) = (session.clone(), id.clone());
        let part = Part { id: setup.clock.mint(), session_id, message_id, kind: kind.clone() };
        Event::PartUpdated { session_id: session.clone(), part: Box::new(part), time: now }
    }));
    events
}

/// Stores and tells `events`, and brings `history` up to date with them.
pub(crate) async fn record_all(setup: &Setup, history: &mut History, events: Vec<Event>) -> Result<(), TurnError> {
    setup.journal.record_all(events.clone()).await?;
    for event in &events {
        history.apply(event);
    }
    Ok(())
}
