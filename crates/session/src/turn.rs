//! One turn: model steps until the model stops asking for tools.

use std::collections::{BTreeMap, BTreeSet};
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
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::assemble::Projection;
use crate::calls::{Calls, Ended, Prepared, Progress, Report, part};
use crate::error::TurnError;
use crate::fold::{Fold, Folded, Planned};
use crate::model::tokens;
use crate::recover::{close_all, closed_part};
use crate::setup::Setup;

/// What a message keeps of a turn that the user stopped.
const STOPPED: &str = "stopped by the user";
/// How long progress may be told and not stored.
const STORE_WITHIN: Duration = Duration::from_millis(250);
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
    pub projection: &'a mut Projection,
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
        let why = match &result {
            Ok(_) => Failure::aborted(STOPPED),
            Err(error) => error.failure(),
        };
        if result.is_err() {
            let session_id = self.session.id.clone();
            self.setup.journal.announce(Event::SessionError { session_id, error: why.clone() });
        }
        // Whatever is still open now was given up: close it, also on the way out of an error.
        let messages = self.history.messages();
        let answered = messages.iter().rposition(|turned| *turned.info.id() == self.prompt).unwrap_or_default();
        let open = close_all(self.session, &messages[answered..], self.setup.clock.now_ms(), &why);
        let closed = self.record_all(open).await;
        let end = result?;
        closed?;
        Ok(end)
    }

    async fn steps(&mut self) -> Result<TurnEnd, TurnError> {
        loop {
            let request = self.projection.request(self.system, self.history, self.tools, &self.setup.model);
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
        self.book(&mut answer, &usage, &mut events);
        if let Some(error) = broken {
            tracing::warn!(parent: &span, error = %haft_tool::with_causes(&error), "the model failed");
            // The rest is closed on the way out.
            self.record_all(events).await?;
            return Err(error.into());
        }
        let Some(finish) = finish else {
            self.record_all(events).await?;
            return Ok(Next::Done(TurnEnd::Aborted));
        };
        answer.finish = Some(finish.word().to_owned());
        events.push(self.answered(&answer));
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
        // Stopped while the answer ended: nothing is begun any more, and the calls are closed on the way out.
        if self.cancel.is_cancelled() {
            return Ok(Some(TurnEnd::Aborted));
        }
        let message = answer.id.clone();
        let prepared: Vec<Prepared> =
            calls.iter().map(|call| self.calls.prepare(&call.name, &call.arguments)).collect();
        // By the call's place in the answer, so that equal runs close them in equal order.
        let mut running = BTreeMap::new();
        let mut started = Vec::new();
        for (slot, (planned, prepared)) in calls.iter().zip(&prepared).enumerate() {
            let time = Span { start: self.setup.clock.now_ms(), end: None };
            let state = ToolState::Running { input: prepared.input.clone(), title: None, metadata: None, time };
            let begun = part(planned, &prepared.name, &self.session.id, &message, state);
            started.push(self.changed(begun.clone()));
            running.insert(slot, begun);
        }
        self.record_all(started).await?;

        let (report, mut reports) = mpsc::channel(MAX_PROGRESS);
        let mut work: FuturesUnordered<_> = calls
            .iter()
            .zip(prepared)
            .enumerate()
            .map(|(slot, (planned, prepared))| {
                let (calls, message) = (self.calls.clone(), message.clone());
                let (cancel, report) = (self.cancel.clone(), Report { slot, to: report.clone() });
                async move { (slot, calls.run(&message, &planned.call, prepared, cancel, report).await) }
            })
            .collect();
        let mut refused = false;
        // Calls whose progress was told and not stored yet, and when it must be.
        let mut unstored = BTreeSet::new();
        let mut due = None;
        let mut patience = std::pin::pin!(patience(self.cancel.clone()));
        while !running.is_empty() {
            tokio::select! {
                Some((slot, Ended { state, refused: stop })) = work.next() => {
                    refused |= stop;
                    unstored.remove(&slot);
                    if let Some(mut done) = running.remove(&slot) {
                        set_state(&mut done, state);
                        let event = self.changed(done);
                        self.record_all(vec![event]).await?;
                    }
                }
                Some(progress) = reports.recv() => {
                    let slot = progress.slot;
                    if let Some(part) = running.get_mut(&slot) {
                        show(part, progress);
                        let event = self.changed(part.clone());
                        self.history.apply(&event);
                        self.setup.journal.announce(event);
                        unstored.insert(slot);
                        due.get_or_insert_with(|| Instant::now() + STORE_WITHIN);
                    }
                }
                () = at(due), if due.is_some() => {
                    due = None;
                    let slots = std::mem::take(&mut unstored);
                    let parts = slots.iter().filter_map(|slot| running.get(slot));
                    let events = parts.map(|part| self.changed(part.clone())).collect();
                    self.record_all(events).await?;
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
            answer.error = Some(Failure::aborted(STOPPED));
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

    /// Books what the step used on the answer and on the session, before its calls run and however it ended: it has
    /// to be paid.
    fn book(&mut self, answer: &mut Assistant, usage: &Usage, events: &mut Vec<Event>) {
        let tokens = tokens(usage);
        let cost = self.setup.model.cost.map_or(0.0, |cost| cost.of(&tokens));
        (answer.tokens, answer.cost) = (tokens, cost);
        events.push(self.answered(answer));
        if *usage == Usage::default() {
            return;
        }
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

/// Completes when `cancel` fired and what runs has had its time to end.
pub(crate) async fn patience(cancel: CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

/// Completes at `due`, which is a time when this is awaited.
async fn at(due: Option<Instant>) {
    tokio::time::sleep_until(due.unwrap_or_else(Instant::now)).await;
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
