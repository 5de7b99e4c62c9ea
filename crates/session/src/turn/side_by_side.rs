//! The calls of one answer: run side by side, each result kept as it comes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use haft_permission::{Access, Asker, Denied};
use haft_protocol::{AskedBy, Assistant, Event, Failure, MessageId, Object, Part, PartKind, Span, ToolSpan, ToolState};
use haft_tool::ToolError;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::TurnError;
use crate::stored::recover::closed_part;
use crate::turn::calls::{Calls, Ended, Prepared, not_run, part};
use crate::turn::fold::Planned;
use crate::turn::form::STRUCTURED;
use crate::turn::report::{Inner, Latest, Progress, Report, Within};
use crate::turn::{STOPPED, Turn, TurnEnd};

/// How long progress may be told and not stored.
const STORE_WITHIN: Duration = Duration::from_millis(250);
/// How long the calls of a stopped turn have to end by themselves.
const GRACE: Duration = Duration::from_millis(500);
/// How long its tasks have beyond that.
pub(crate) const GRACE_OF_TASKS: Duration = Duration::from_millis(1500);
/// Calls within calls that may wait to be begun. Whoever makes more waits.
const MAX_INNER: usize = 64;
/// The permission for making the same call again and again.
const CIRCLES: &str = "doom_loop";
/// What the model reads of a call that it made again and again.
const AGAIN: &str = "not run: this is the same call with the same input as before, and it will say the same. Do something else, or say what stands in your way";

/// A call that ended.
struct Done {
    slot: usize,
    ended: Ended,
    /// Where it goes in circles: whether it may, and if not, why.
    circled: Option<Result<(), Denied>>,
}

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
        let (held, mut circles) = self.hold_circles(through, &message, &calls, &prepared).await;

        let (inner, mut within) = mpsc::channel(MAX_INNER);
        let progress = Arc::new(Latest::default());
        let report = |slot, within| Report { slot, progress: Arc::clone(&progress), within };
        let mut work: FuturesUnordered<BoxFuture<'_, Done>> = FuturesUnordered::new();
        for (slot, (planned, prepared)) in calls.iter().zip(prepared).enumerate() {
            let (calls, message) = (through.clone(), message.clone());
            let (cancel, report) = (self.cancel.clone(), report(slot, Within::Kept(inner.clone())));
            let held = held.get(&slot).cloned();
            work.push(Box::pin(async move {
                let ended = match held {
                    Some(why) => refused(&calls, prepared, &why),
                    None => calls.run(&message, &planned.call, prepared, cancel, report).await,
                };
                Done { slot, ended, circled: None }
            }));
        }
        // Calls that running ones make have places behind those of the answer.
        let mut next_slot = calls.len();
        let mut stops = false;
        // Calls whose progress was told and not stored yet, and when it must be.
        let mut unstored = BTreeSet::new();
        let mut due = None;
        let mut patience = std::pin::pin!(patience(self.cancel.clone(), self.kin.children.clone()));
        while !running.is_empty() {
            tokio::select! {
                Some(Done { slot, ended: Ended { state, refused, patch }, circled }) = work.next() => {
                    match circled {
                        Some(Ok(())) => self.state.trail.forgive(),
                        Some(Err(denied)) => circles = self.circled(&denied, tool_of(running.get(&slot))).or(circles),
                        None => {}
                    }
                    stops |= refused && !self.setup.options.go_on_when_refused;
                    unstored.remove(&slot);
                    if let Some(mut done) = running.remove(&slot) {
                        self.note(&done, &state);
                        set_state(&mut done, state);
                        let patch = patch.map(|patch| self.part(&message, patch));
                        let events: Vec<Event> =
                            [self.changed(done)].into_iter().chain(patch).chain(self.settled()).collect();
                        self.record_all(events.clone()).await?;
                        self.remembered(&events);
                    }
                }
                Some(inner) = within.recv() => {
                    let slot = next_slot;
                    next_slot += 1;
                    let begun = self.begin_inner(through, &message, slot, &inner, &running);
                    running.insert(slot, begun.clone());
                    let PartKind::Tool { call_id, .. } = &begun.kind else { continue };
                    work.push(self.inner(through, &message, call_id.clone(), inner, report(slot, Within::None)));
                    let event = self.changed(begun);
                    self.record_all(vec![event]).await?;
                }
                (slot, told) = progress.next() => {
                    let Some(part) = running.get_mut(&slot) else { continue };
                    let is_first = show(part, told);
                    let event = self.changed(part.clone());
                    if is_first {
                        // It may be all that leads to what the call began, so no crash may lose it.
                        self.record_all(vec![event]).await?;
                        continue;
                    }
                    self.history.apply(&event);
                    self.setup.journal.announce(event);
                    unstored.insert(slot);
                    due.get_or_insert_with(|| Instant::now() + STORE_WITHIN);
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
            answer.error = Some(Box::new(Failure::aborted(STOPPED)));
        }
        events.extend(self.settled());
        self.finish(&mut answer, &mut events);
        self.record_all(events).await?;
        Ok(match (aborted, stops, circles) {
            (true, _, _) => Some(TurnEnd::Aborted),
            (false, true, _) => Some(TurnEnd::Refused),
            (false, false, circles) => circles,
        })
    }

    /// Books what calls used of the model. `None`: nothing.
    fn settled(&mut self) -> Option<Event> {
        let used = self.kin.owed.settle(self.session);
        used.then(|| Event::SessionUpdated {
            session_id: self.session.id.clone(),
            info: Box::new(self.session.clone()),
        })
    }

    /// The part of a call that a running one makes, as it begins.
    fn begin_inner(
        &self,
        through: &Calls,
        message: &MessageId,
        slot: usize,
        inner: &Inner,
        running: &BTreeMap<usize, Part>,
    ) -> Part {
        let by = running.get(&inner.by).map(|part| &part.kind);
        let by = if let Some(PartKind::Tool { call_id, .. }) = by { call_id.as_str() } else { "" };
        let Prepared { name, input } = &inner.prepared;
        let planned = Planned {
            part: through.clock.mint(),
            // What tells it from others stands first: some vendors see no more of an id than its beginning.
            call: format!("i{slot}_{by}"),
            name: name.clone(),
            arguments: String::new(),
            metadata: None,
        };
        let time = Span { start: through.clock.now_ms(), end: None };
        let state = ToolState::Running { input: input.clone(), title: None, metadata: None, time };
        part(&planned, name, &self.session.id, message, state)
    }

    /// Runs a call that a running one makes, and tells that one what came of it.
    fn inner(
        &mut self,
        through: &Calls,
        message: &MessageId,
        call: String,
        inner: Inner,
        report: Report,
    ) -> BoxFuture<'static, Done> {
        let Inner { prepared, done, .. } = inner;
        let circles = self.state.trail.step(&prepared.name, &prepared.input);
        let (calls, message, cancel) = (through.clone(), message.clone(), self.cancel.clone());
        Box::pin(async move {
            let (slot, start) = (report.slot, calls.clock.now_ms());
            let circled = match circles {
                true => Some(may_circle(&calls, &message, &call, &prepared, &cancel).await),
                false => None,
            };
            if let Some(Err(why)) = &circled {
                let ended = refused(&calls, prepared, why);
                // Whoever made it may have been stopped meanwhile.
                let _ = done.send(Err(ToolError::Denied(why.clone())));
                return Done { slot, ended, circled };
            }
            let mut prepared = prepared;
            let result = calls.call(&message, &call, &mut prepared, cancel, report).await;
            let patch = calls.changed(&message, &call).await;
            let _ = done.send(not_run(&prepared, result.clone()));
            let ended = Ended { patch, ..calls.ended(&message, prepared.input, start, result) };
            Done { slot, ended, circled }
        })
    }

    /// Takes note of a call of `tool` that was held back because it goes in circles. `Some` ends the turn.
    fn circled(&mut self, denied: &Denied, tool: &str) -> Option<TurnEnd> {
        // Nobody is there to stop it: it is told once, and the next time is the last.
        let told = self.state.warned || self.state.trail.reminded;
        let last = told && matches!(denied, Denied::Nobody { .. } | Denied::Rule { .. });
        self.state.warned = true;
        last.then(|| TurnEnd::Circles { tool: tool.to_owned() })
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
        for (slot, (planned, prepared)) in calls.iter().zip(prepared).enumerate() {
            let Prepared { name, input } = prepared;
            // How often an answer may miss its form is counted apart.
            if name == STRUCTURED || !self.state.trail.step(name, input) {
                continue;
            }
            match may_circle(through, message, &planned.call, prepared, &self.cancel).await {
                Ok(()) => self.state.trail.forgive(),
                Err(denied) => {
                    end = self.circled(&denied, name).or(end);
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

/// The tool that a part is a call of.
fn tool_of(part: Option<&Part>) -> &str {
    let Some(PartKind::Tool { tool, .. }) = part.map(|part| &part.kind) else { return "" };
    tool
}

/// Asks whether a call may be made that goes in circles.
async fn may_circle(
    calls: &Calls,
    message: &MessageId,
    call: &str,
    prepared: &Prepared,
    cancel: &CancellationToken,
) -> Result<(), Denied> {
    let Prepared { name, input } = prepared;
    let asked_by = AskedBy { message_id: message.clone(), call_id: call.to_owned() };
    let asker = Asker { session: calls.session.clone(), call: Some(asked_by) };
    let access = Access { always: vec![name.clone()], in_person: true, ..Access::new(CIRCLES, name) };
    let access = access.show("tool", name.as_str()).show("input", input.clone());
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Denied::Closed),
        answer = calls.gate.ask(&asker, &calls.rules, access) => answer.map(drop),
    }
}

/// The end of a call that was not run, because it goes in circles.
fn refused(calls: &Calls, prepared: Prepared, why: &Denied) -> Ended {
    let text = match why {
        Denied::Nobody { .. } | Denied::Rule { .. } => AGAIN.to_owned(),
        Denied::Rejected
        | Denied::Hook { .. }
        | Denied::Advised(_)
        | Denied::Dismissed
        | Denied::Along
        | Denied::Closed => why.to_string(),
    };
    let mut metadata = Object::new();
    metadata.insert("kind".to_owned(), "denied".into());
    let now = calls.clock.now_ms();
    let time = ToolSpan { start: now, end: now, compacted: None };
    let state = ToolState::Error { input: prepared.input, error: text, metadata: Some(metadata), time };
    Ended { state, refused: !why.may_go_on(), patch: None }
}

/// Completes when `cancel` fired and what runs has had its time to end. Tasks give that time to their own calls first,
/// so while there are `children` it is longer.
pub(crate) async fn patience(cancel: CancellationToken, children: TaskTracker) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
    // What has not ended by then is closed when the session is opened again.
    let _ = tokio::time::timeout(GRACE_OF_TASKS, children.wait()).await;
}

/// Completes at `due`, which is a time when this is awaited.
async fn at(due: Option<Instant>) {
    tokio::time::sleep_until(due.unwrap_or_else(Instant::now)).await;
}

/// Ends a call. One that failed keeps what it had told of itself.
fn set_state(part: &mut Part, mut new: ToolState) {
    let Some(state) = part.kind.state_mut() else { return };
    if let (ToolState::Running { metadata: Some(told), .. }, ToolState::Error { metadata, .. }) = (&*state, &mut new) {
        let metadata = metadata.get_or_insert_default();
        for (key, value) in told {
            metadata.entry(key).or_insert_with(|| value.clone());
        }
    }
    *state = new;
}

/// Takes over what a call tells of itself. Returns whether that is the first it tells.
fn show(part: &mut Part, progress: Progress) -> bool {
    let Some(ToolState::Running { title, metadata, .. }) = part.kind.state_mut() else { return false };
    *title = Some(progress.title);
    metadata.replace(progress.metadata).is_none()
}
