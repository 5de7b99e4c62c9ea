//! One step: asks the model, keeps its answer as it comes, and asks again where that may help.

use std::time::Duration;

use futures::StreamExt;
use haft_llm::retry::MAX_WAITED;
use haft_llm::{Chunk, Finish, LlmError, Request, Usage};
use haft_protocol::{Assistant, Event, Failure, MessageId, PartKind, RetryTime, Status};
use tokio::time::Instant;
use tracing::Instrument;

use crate::Model;
use crate::error::{TurnError, of_model};
use crate::model::tokens;
use crate::turn::fold::{Fold, Folded, merged};
use crate::turn::{Next, Turn, TurnEnd};

/// Most times that a turn goes on after the vendor paused in the middle of an answer.
const MAX_PAUSES: u32 = 8;
/// What a message keeps of an answer that the vendor did not want to give.
const WITHHELD: &str = "the vendor withheld the answer, or the rest of it";
/// Most chunks that are kept at once. Those that came together are, so that a fast model costs little.
const AT_ONCE: usize = 256;

impl Turn<'_> {
    /// Asks the model and keeps its answer as it comes. A failure that may pass is waited out and the answer begun
    /// anew; none of its calls has run then.
    pub(crate) async fn step(&mut self, request: Request) -> Result<Next, TurnError> {
        let mut answer = self.begin_answer();
        let message = answer.id.clone();
        let span = tracing::info_span!("step", session.id = %self.session.id, message.id = %message);
        let start = self.part(&message, PartKind::StepStart {});
        self.record_all(vec![self.answered(&answer), start]).await?;

        // The same for each attempt: a prompt that comes meanwhile is for the step after this one.
        let role = self.role;
        let asked = self.ask(&mut answer, &request, &role.cast.model).instrument(span.clone()).await?;
        let (broken, Folded { calls, usage, finish, .. }) = asked;
        if let Some(error) = broken {
            tracing::warn!(parent: &span, error = %haft_tool::with_causes(&error), "the model failed");
            if matches!(error, LlmError::TooLong { .. }) && self.setup.options.compaction.auto {
                self.fail(&answer, &of_model(&error)).await?;
                return Ok(Next::TooLong(error));
            }
            // The rest is closed on the way out.
            return Err(error.into());
        }
        let read = tokens(&usage);
        self.projection.gauge.took(read.input.saturating_add(read.cache.read).saturating_add(read.cache.write));
        self.state.compacted = false;
        let Some(finish) = finish else { return Ok(Next::Done(TurnEnd::Aborted)) };
        answer.finish = Some(finish.word().to_owned());
        if finish == Finish::ContentFilter && calls.is_empty() {
            // What a vendor withholds it refuses to read again, so the answer is no part of the conversation.
            let error = Failure::new("ContentFilterError", WITHHELD.to_owned());
            answer.error = Some(Box::new(error.clone()));
            let session_id = self.session.id.clone();
            self.setup.journal.announce(Event::SessionError { session_id, error });
        }
        let mut events = vec![self.answered(&answer)];
        if calls.is_empty() {
            self.finish(&mut answer, &mut events);
        }
        self.record_all(events).await?;
        if calls.is_empty() && finish.pauses() && self.state.pauses < MAX_PAUSES {
            self.state.pauses += 1;
            return Ok(Next::Again);
        }
        Ok(match calls.is_empty() {
            true => Next::Done(TurnEnd::Finished(finish.word().to_owned())),
            false => Next::RunCalls(Box::new(answer), calls),
        })
    }

    /// Asks `model` for `answer`, again where that may help, and keeps what comes and what it costs. A failure that is
    /// final stands beside what came before it.
    pub(crate) async fn ask(
        &mut self,
        answer: &mut Assistant,
        request: &Request,
        model: &Model,
    ) -> Result<(Option<LlmError>, Folded), TurnError> {
        let message = answer.id.clone();
        let (mut attempt, mut waited) = (0, Duration::ZERO);
        loop {
            let (broken, folded) = self.listen(&message, request.clone(), model).await?;
            // What the attempt used has to be paid, also where it came to nothing.
            self.charge(answer, &folded.usage, model).await?;
            let Some(error) = broken else { return Ok((None, folded)) };
            attempt += 1;
            let wait = error.retry_after(attempt, self.setup.clock.chance());
            let wait = wait.filter(|wait| self.may_wait(attempt, waited.saturating_add(*wait), &folded));
            let Some(wait) = wait else { return Ok((Some(error), folded)) };
            waited += wait;
            tracing::warn!(error = %haft_tool::with_causes(&error), attempt, "the model is asked again");
            self.start_over(&message, attempt, &error, wait).await?;
        }
    }

    /// Whether a request may be made again for the `attempt`th time, after `waited` in all: not too often or too late,
    /// not where somebody stopped it, and not where what it came to would be done twice.
    fn may_wait(&self, attempt: u32, waited: Duration, folded: &Folded) -> bool {
        let options = &self.setup.options;
        options.retries.is_none_or(|most| attempt <= most)
            && waited <= options.retry_wait.unwrap_or(MAX_WAITED)
            && !folded.worked
            && !self.cancel.is_cancelled()
    }

    /// Asks once, and keeps the answer until it ends, breaks or is stopped.
    async fn listen(
        &mut self,
        message: &MessageId,
        request: Request,
        model: &Model,
    ) -> Result<(Option<LlmError>, Folded), TurnError> {
        let mut fold = Fold::new(self.setup.clock.clone(), self.session.id.clone(), message.clone());
        let mut stream = model.provider.stream(request).ready_chunks(AT_ONCE);
        let mut broken = None;
        let mut open = true;
        while open {
            let came = tokio::select! {
                biased;
                () = self.cancel.cancelled() => break,
                came = stream.next() => came,
                Some(taken) = self.arrivals.recv() => {
                    self.arrived(taken).await?;
                    continue;
                }
            };
            let mut chunks = Vec::new();
            for one in came.unwrap_or_else(|| vec![Err(cut_off(model))]) {
                match one {
                    Ok(chunk) => {
                        open &= !matches!(chunk, Chunk::Finish(_));
                        chunks.push(chunk);
                    }
                    Err(error) => {
                        (open, broken) = (false, Some(error));
                        break;
                    }
                }
            }
            let mut events: Vec<Event> = merged(chunks).into_iter().flat_map(|chunk| fold.push(chunk)).collect();
            self.completed(&mut events).await;
            self.record_all(events).await?;
        }
        // The connection is of no more use, and a vendor charges for what it goes on writing.
        drop(stream);
        let (mut events, folded) = fold.close();
        self.completed(&mut events).await;
        self.record_all(events).await?;
        Ok((broken, folded))
    }

    /// Takes away what a failed attempt left, says why and until when, and waits. A stop ends the wait at once.
    async fn start_over(
        &mut self,
        message: &MessageId,
        attempt: u32,
        error: &LlmError,
        wait: Duration,
    ) -> Result<(), TurnError> {
        let session_id = self.session.id.clone();
        let parts = self.history.message(message).map(|turned| turned.parts.as_slice()).unwrap_or_default();
        let junk = parts.iter().filter(|part| !matches!(part.kind, PartKind::StepStart {} | PartKind::Retry { .. }));
        let mut events: Vec<Event> = junk
            .map(|part| Event::PartRemoved {
                session_id: session_id.clone(),
                message_id: message.clone(),
                part_id: part.id.clone(),
            })
            .collect();
        let now = self.setup.clock.now_ms();
        let kind = PartKind::Retry { attempt, error: Box::new(of_model(error)), time: RetryTime { created: now } };
        events.push(self.part(message, kind));
        self.record_all(events).await?;

        let next = now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let status = Status::Retry { attempt, message: reason(error), next };
        self.setup.journal.announce(Event::SessionStatus { session_id: session_id.clone(), status });
        let until = Instant::now() + wait;
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => break,
                () = tokio::time::sleep_until(until) => break,
                Some(taken) = self.arrivals.recv() => self.arrived(taken).await?,
            }
        }
        self.setup.journal.announce(Event::SessionStatus { session_id, status: Status::Busy });
        Ok(())
    }

    /// Books what an attempt used on the answer and on the session, before its calls run and however it ended.
    async fn charge(&mut self, answer: &mut Assistant, usage: &Usage, model: &Model) -> Result<(), TurnError> {
        if *usage == Usage::default() {
            return Ok(());
        }
        let used = tokens(usage);
        let cost = model.cost.as_ref().map_or(0.0, |cost| cost.of(&used));
        answer.cost += cost;
        answer.tokens = match answer.tokens == haft_protocol::Tokens::default() {
            true => used,
            false => {
                answer.tokens += used;
                answer.tokens
            }
        };
        self.session.cost += cost;
        self.kin.charge(cost, &used);
        self.session.tokens += used;
        self.session.time.updated = self.setup.clock.now_ms();
        let info = Box::new(self.session.clone());
        let session = Event::SessionUpdated { session_id: self.session.id.clone(), info };
        self.record_all(vec![self.answered(answer), session]).await
    }
}

fn cut_off(model: &Model) -> LlmError {
    LlmError::CutOff { provider: model.reference.provider_id.clone() }
}

/// Why a request is tried again, in a line for people.
fn reason(error: &LlmError) -> String {
    let text = haft_tool::with_causes(error);
    if text.to_lowercase().contains("overloaded") { "Provider is overloaded".to_owned() } else { text }
}
