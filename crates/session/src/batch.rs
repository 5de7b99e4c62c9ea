//! The calls of one answer: run side by side, each result kept as it comes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use haft_permission::{Access, Asker, Denied};
use haft_protocol::{AskedBy, Assistant, Event, Failure, MessageId, Object, Part, PartKind, Span, ToolSpan, ToolState};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::calls::{Calls, Ended, Prepared, Progress, Report, part};
use crate::error::TurnError;
use crate::fold::Planned;
use crate::recover::closed_part;
use crate::turn::{STOPPED, Turn, TurnEnd};

/// How long progress may be told and not stored.
const STORE_WITHIN: Duration = Duration::from_millis(250);
/// How long the calls of a stopped turn have to end by themselves.
const GRACE: Duration = Duration::from_millis(500);
/// Progress reports of running calls that may wait to be stored. Further ones are dropped; the next shows as much.
const MAX_PROGRESS: usize = 64;
/// The permission for making the same call again and again.
const CIRCLES: &str = "doom_loop";
/// What the model reads of a call that it made again and again.
const AGAIN: &str = "not run: this is the same call with the same input as before, and it will say the same. Do something else, or say what stands in your way";

impl Turn<'_> {
    /// Runs the calls of a step side by side and keeps each result as it comes. `Some` ends the turn.
    pub(crate) async fn run_calls(
        &mut self,
        through: &Calls,
        mut answer: Assistant,
        calls: Vec<Planned>,
    ) -> Result<Option<TurnEnd>, TurnError> {
        // Stopped while the answer ended: nothing is begun any more, and the calls are closed on the way out.
        if self.cancel.is_cancelled() {
            return Ok(Some(TurnEnd::Aborted));
        }
        let message = answer.id.clone();
        let prepared: Vec<Prepared> = calls.iter().map(|call| through.prepare(&call.name, &call.arguments)).collect();
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
        let (held, circles) = self.hold_circles(through, &message, &calls, &prepared).await;

        let (report, mut reports) = mpsc::channel(MAX_PROGRESS);
        let mut work: FuturesUnordered<_> = calls
            .iter()
            .zip(prepared)
            .enumerate()
            .map(|(slot, (planned, prepared))| {
                let (calls, message) = (through.clone(), message.clone());
                let (cancel, report) = (self.cancel.clone(), Report { slot, to: report.clone() });
                let held = held.get(&slot).cloned();
                async move {
                    let ended = match held {
                        Some(why) => refused(&calls, prepared, &why),
                        None => calls.run(&message, &planned.call, prepared, cancel, report).await,
                    };
                    (slot, ended)
                }
            })
            .collect();
        let mut stops = false;
        // Calls whose progress was told and not stored yet, and when it must be.
        let mut unstored = BTreeSet::new();
        let mut due = None;
        let mut patience = std::pin::pin!(patience(self.cancel.clone()));
        while !running.is_empty() {
            tokio::select! {
                Some((slot, Ended { state, refused })) = work.next() => {
                    stops |= refused && !self.setup.options.go_on_when_refused;
                    unstored.remove(&slot);
                    if let Some(mut done) = running.remove(&slot) {
                        self.note(&done, &state);
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
                Some(taken) = self.arrivals.recv() => self.arrived(taken).await?,
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
        Ok(match (aborted, stops, circles) {
            (true, _, _) => Some(TurnEnd::Aborted),
            (false, true, _) => Some(TurnEnd::Refused),
            (false, false, circles) => circles,
        })
    }

    /// Asks about calls that go in circles. Returns what those read that are not to run, by their places, and the end
    /// of the turn where the model was told before.
    async fn hold_circles(
        &mut self,
        through: &Calls,
        message: &MessageId,
        calls: &[Planned],
        prepared: &[Prepared],
    ) -> (BTreeMap<usize, Denied>, Option<TurnEnd>) {
        let mut held = BTreeMap::new();
        let mut end = None;
        for (slot, (planned, Prepared { name, input })) in calls.iter().zip(prepared).enumerate() {
            if !self.state.trail.step(name, input) {
                continue;
            }
            let asked_by = AskedBy { message_id: message.clone(), call_id: planned.call.clone() };
            let asker = Asker { session: self.session.id.clone(), call: Some(asked_by) };
            let access = Access { always: vec![name.clone()], in_person: true, ..Access::new(CIRCLES, name) };
            let access = access.show("tool", name.as_str()).show("input", input.clone());
            let answer = tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Denied::Closed),
                answer = through.gate.ask(&asker, &through.rules, access) => answer,
            };
            match answer {
                Ok(_) => self.state.trail.forgive(),
                Err(denied) => {
                    // Nobody is there to stop it: it is told once, and the next time is the last.
                    if self.state.warned && matches!(denied, Denied::Nobody { .. } | Denied::Rule { .. }) {
                        end = Some(TurnEnd::Circles { tool: name.clone() });
                    }
                    self.state.warned = true;
                    held.insert(slot, denied);
                }
            }
        }
        (held, end)
    }

    /// Keeps in mind what came of a call.
    fn note(&mut self, part: &Part, state: &ToolState) {
        let PartKind::Tool { tool, .. } = &part.kind else { return };
        match state {
            ToolState::Completed { input, output, .. } => self.state.trail.came(tool, input, output),
            ToolState::Error { input, error, .. } => self.state.trail.came(tool, input, error),
            ToolState::Pending { .. } | ToolState::Running { .. } => {}
        }
    }
}

/// The end of a call that was not run, because it goes in circles.
fn refused(calls: &Calls, prepared: Prepared, why: &Denied) -> Ended {
    let text = match why {
        Denied::Nobody { .. } | Denied::Rule { .. } => AGAIN.to_owned(),
        Denied::Rejected | Denied::Advised(_) | Denied::Dismissed | Denied::Along | Denied::Closed => why.to_string(),
    };
    let mut metadata = Object::new();
    metadata.insert("kind".to_owned(), "denied".into());
    let now = calls.clock.now_ms();
    let time = ToolSpan { start: now, end: now, compacted: None };
    let state = ToolState::Error { input: prepared.input, error: text, metadata: Some(metadata), time };
    Ended { state, refused: !why.may_go_on() }
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
