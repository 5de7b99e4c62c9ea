//! One turn: model steps until the model stops asking for tools.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use haft_llm::{Chunk, LlmError, Request, Usage};
use haft_protocol::{
    Assistant, Event, Failure, History, Message, MessageId, MessageTime, Part, PartKind, Paths, Session, Span, Tokens,
    ToolState,
};
use haft_tool::Spec;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::assemble::assemble;
use crate::calls::{Calls, Ended, Prepared, Progress, part};
use crate::error::{TurnError, failure};
use crate::fold::{Fold, Folded, Planned};
use crate::model::tokens;
use crate::recover::{close_all, closed_part};
use crate::setup::Setup;

/// How long the calls of a stopped turn have to end by themselves.
const GRACE: Duration = Duration::from_millis(500);
/// Progress reports of running calls that may wait to be stored. Further ones are dropped; the next shows as much.
const MAX_PROGRESS: usize = 64;

/// How a turn ended, when nothing failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model had said all; with its reason in the words of messages.
    Finished(String),
    /// The user refused a call without saying what they want instead.
    Refused,
    /// The user stopped it.
    Aborted,
}

/// A running turn: what it works with, and the state of the session that it may change.
pub(crate) struct Turn<'a> {
    pub setup: &'a Setup,
    pub system: &'a str,
    pub tools: &'a [Spec],
    pub calls: &'a Calls,
    pub session: &'a mut Session,
    pub history: &'a mut History,
    /// The prompt that is answered.
    pub prompt: MessageId,
    pub cancel: CancellationToken,
}

/// What follows a step.
enum Next {
    RunCalls(Box<Assistant>, Vec<Planned>),
    Done(TurnEnd),
}

impl Turn<'_> {
    /// Runs model steps until the model stops asking for tools. However it ends, nothing is left open.
    ///
    /// # Errors
    ///
    /// Fails when the model cannot be reached or the store cannot be written. A failing *tool* is not an error here:
    /// the model reads it and goes on.
    pub(crate) async fn run(mut self) -> Result<TurnEnd, TurnError> {
        let result = self.steps().await;
        // Whatever is still open now was given up: close it, also on the way out of an error.
        let why = if matches!(result, Ok(TurnEnd::Aborted)) { "stopped by the user" } else { "the turn failed" };
        let open = close_all(self.session, self.history, self.setup.clock.now_ms(), why);
        let closed = self.record_all(open).await;
        let end = result?;
        closed?;
        Ok(end)
    }

    async fn steps(&mut self) -> Result<TurnEnd, TurnError> {
        loop {
            let request = assemble(self.system, self.history, self.tools, &self.setup.model);
            match self.step(request).await? {
                Next::Done(end) => return Ok(end),
                Next::RunCalls(answer, calls) => {
                    if let Some(end) = self.run_calls(*answer, calls).await? {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Asks the model once and keeps its answer as it comes.
    async fn step(&mut self, request: Request) -> Result<Next, TurnError> {
        let mut answer = self.begin_answer();
        let message = answer.id.clone();
        let span = tracing::info_span!("step", session.id = %self.session.id, message.id = %message);
        let start = self.part(&message, PartKind::StepStart {});
        self.record_all(vec![self.answered(&answer), start]).await?;

        let mut fold = Fold::new(self.setup.clock.clone(), self.session.id.clone(), message.clone());
        let mut stream = self.setup.model.provider.stream(request);
        let broken = loop {
            let chunk = tokio::select! {
                biased;
                () = self.cancel.cancelled() => break None,
                chunk = stream.next().instrument(span.clone()) => chunk,
            };
            match chunk {
                Some(Ok(chunk)) => {
                    let ended = matches!(chunk, Chunk::Finish(_));
                    let events = fold.push(chunk);
                    self.record_all(events).await?;
                    if ended {
                        break None;
                    }
                }
                Some(Err(error)) => break Some(error),
                None => {
                    let provider = self.setup.model.reference.provider_id.clone();
                    break Some(LlmError::CutOff { provider });
                }
            }
        };
        // The connection is of no more use, and a vendor charges for what it goes on writing.
        drop(stream);
        let (mut events, Folded { calls, usage, finish }) = fold.close();

        if let Some(error) = broken {
            tracing::warn!(parent: &span, error = %crate::error::chain(&error), "the model failed");
            answer.time.completed = Some(self.setup.clock.now_ms());
            answer.error = Some(failure(&error));
            events.push(self.answered(&answer));
            self.record_all(events).await?;
            self.announce_failure(failure(&error));
            return Err(error.into());
        }
        let Some(finish) = finish else {
            answer.time.completed = Some(self.setup.clock.now_ms());
            answer.error = Some(Failure::aborted("stopped by the user"));
            events.push(self.answered(&answer));
            events.extend(self.give_up(&message, &calls));
            self.record_all(events).await?;
            return Ok(Next::Done(TurnEnd::Aborted));
        };
        answer.finish = Some(finish.word().to_owned());
        self.book(&mut answer, &usage, &mut events);
        if calls.is_empty() {
            self.finish(&mut answer, &mut events);
        }
        self.record_all(events).await?;
        Ok(match calls.is_empty() {
            true => Next::Done(TurnEnd::Finished(finish.word().to_owned())),
            false => Next::RunCalls(Box::new(answer), calls),
        })
    }

    /// Runs the calls of a step side by side and keeps each result as it comes. `Some` ends the turn.
    async fn run_calls(&mut self, mut answer: Assistant, calls: Vec<Planned>) -> Result<Option<TurnEnd>, TurnError> {
        let message = answer.id.clone();
        let prepared: Vec<Prepared> =
            calls.iter().map(|call| self.calls.prepare(&call.name, &call.arguments)).collect();
        let mut running = HashMap::new();
        let mut started = Vec::new();
        for (planned, prepared) in calls.iter().zip(&prepared) {
            let time = Span { start: self.setup.clock.now_ms(), end: None };
            let state = ToolState::Running { input: prepared.input.clone(), title: None, metadata: None, time };
            let begun = part(planned, &prepared.name, &self.session.id, &message, state);
            started.push(self.changed(begun.clone()));
            running.insert(planned.call.clone(), begun);
        }
        self.record_all(started).await?;

        let (report, mut reports) = mpsc::channel(MAX_PROGRESS);
        let mut work: FuturesUnordered<_> = calls
            .iter()
            .zip(prepared)
            .map(|(planned, prepared)| {
                let (calls, message) = (self.calls.clone(), message.clone());
                let (cancel, report) = (self.cancel.clone(), report.clone());
                async move {
                    let ended = calls.run(&message, &planned.call, prepared, cancel, report).await;
                    (planned.call.clone(), ended)
                }
            })
            .collect();
        let mut refused = false;
        let cancel = self.cancel.clone();
        let patience = async move {
            cancel.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::pin!(patience);
        loop {
            tokio::select! {
                Some((call, Ended { state, refused: stop })) = work.next() => {
                    refused |= stop;
                    if let Some(mut done) = running.remove(&call) {
                        set_state(&mut done, state);
                        let event = self.changed(done);
                        self.record_all(vec![event]).await?;
                    }
                    if running.is_empty() {
                        break;
                    }
                }
                Some(progress) = reports.recv() => {
                    if let Some(part) = running.get_mut(&progress.call) {
                        show(part, progress);
                        let event = self.changed(part.clone());
                        self.record_all(vec![event]).await?;
                    }
                }
                () = &mut patience => break,
            }
        }
        // Whatever is still at work had its time: dropping it stops it.
        drop(work);
        let now = self.setup.clock.now_ms();
        let mut events: Vec<Event> =
            running.values().filter_map(|part| closed_part(part, now)).map(|part| self.changed(part)).collect();
        let aborted = self.cancel.is_cancelled();
        if aborted {
            answer.error = Some(Failure::aborted("stopped by the user"));
        }
        self.finish(&mut answer, &mut events);
        self.record_all(events).await?;
        Ok(match (aborted, refused) {
            (true, _) => Some(TurnEnd::Aborted),
            (false, true) => Some(TurnEnd::Refused),
            (false, false) => None,
        })
    }

    fn begin_answer(&self) -> Assistant {
        let Setup { clock, agent, place, model, .. } = self.setup;
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
        }
    }

    /// Books what the step used on the answer and on the session, before its calls run: a crash must not lose it.
    fn book(&mut self, answer: &mut Assistant, usage: &Usage, events: &mut Vec<Event>) {
        let tokens = tokens(usage);
        let cost = self.setup.model.cost.map_or(0.0, |cost| cost.of(&tokens));
        (answer.tokens, answer.cost) = (tokens, cost);
        events.push(self.answered(answer));
        self.session.cost += cost;
        self.session.tokens += tokens;
        self.session.time.updated = self.setup.clock.now_ms();
        let info = Box::new(self.session.clone());
        events.push(Event::SessionUpdated { session_id: self.session.id.clone(), info });
    }

    /// Ends the step: nothing is added to its message any more.
    fn finish(&self, answer: &mut Assistant, events: &mut Vec<Event>) {
        answer.time.completed = Some(self.setup.clock.now_ms());
        let reason = answer.finish.clone().unwrap_or_default();
        let kind = PartKind::StepFinish { reason, cost: answer.cost, tokens: answer.tokens };
        events.push(self.part(&answer.id, kind));
        events.push(self.answered(answer));
    }

    /// The events that close the calls of an answer that was stopped before they could run.
    fn give_up(&self, message: &MessageId, calls: &[Planned]) -> Vec<Event> {
        let now = self.setup.clock.now_ms();
        let open = calls.iter().filter_map(|planned| {
            let pending = ToolState::Pending { input: haft_protocol::Object::new(), raw: planned.arguments.clone() };
            closed_part(&part(planned, &planned.name, &self.session.id, message, pending), now)
        });
        open.map(|part| self.changed(part)).collect()
    }

    fn announce_failure(&self, error: Failure) {
        self.setup.journal.announce(Event::SessionError { session_id: self.session.id.clone(), error });
    }

    fn answered(&self, answer: &Assistant) -> Event {
        let info = Box::new(Message::Assistant(answer.clone()));
        Event::MessageUpdated { session_id: self.session.id.clone(), info }
    }

    fn part(&self, message: &MessageId, kind: PartKind) -> Event {
        let id = self.setup.clock.mint();
        self.changed(Part { id, session_id: self.session.id.clone(), message_id: message.clone(), kind })
    }

    fn changed(&self, part: Part) -> Event {
        let time = self.setup.clock.now_ms();
        Event::PartUpdated { session_id: self.session.id.clone(), part: Box::new(part), time }
    }

    async fn record_all(&mut self, events: Vec<Event>) -> Result<(), TurnError> {
        record_all(self.setup, self.history, events).await
    }
}

/// Stores and tells `events`, and brings `history` up to date with them.
pub(crate) async fn record_all(setup: &Setup, history: &mut History, events: Vec<Event>) -> Result<(), TurnError> {
    for event in events {
        setup.journal.record(event.clone()).await?;
        history.apply(&event);
    }
    Ok(())
}

fn set_state(part: &mut Part, new: ToolState) {
    if let PartKind::Tool { state, .. } = &mut part.kind {
        *state = new;
    }
}

fn show(part: &mut Part, progress: Progress) {
    if let PartKind::Tool { state: ToolState::Running { title, metadata, .. }, .. } = &mut part.kind {
        *title = Some(progress.title);
        *metadata = Some(progress.metadata);
    }
}
