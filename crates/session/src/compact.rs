//! Making a conversation shorter: old outputs of tools are left out first, then a summary takes the place of what came
//! before it. Everything stays stored; only requests change.

pub(crate) mod condensed;
mod prune;
mod room;
mod tail;
mod transcript;

use std::sync::Arc;

use haft_llm::{Content, LlmError, Message as Asked, Purpose, Request};
use haft_permission::Rules;
use haft_protocol::hook::{CompactPrompt, Continuing};
use haft_protocol::{
    Assistant, Event, Failure, Message, MessageId, MessageTime, Part, PartKind, Session, Turned, User,
};

use crate::agents::agent::SUMS_UP;
use crate::agents::cast::Cast;
use crate::compact::condensed::{is_aside, words};
use crate::error::{TurnError, of_model};
use crate::prompt::intake::Taken;
use crate::request::assemble::weigh;
use crate::request::estimate;
use crate::stored::recover::close_all;
use crate::turn::hooked::of;
use crate::turn::{Stop, Turn, TurnEnd};
use crate::{Agent, Estimate};
use prune::{old_outputs, pruned};
pub use room::Compaction;
use room::usable;
use tail::{Kept, Piece, kept};
pub(crate) use transcript::transcript;

/// A summary of this many tokens is taken however short the conversation was.
const SMALL: u64 = 1_000;
/// Most words that a summary is asked to have, and fewest.
const WORDS: (u64, u64) = (150, 2_000);
/// Most bytes of a conversation that are given to be summed up.
const MAX_TRANSCRIPT: u64 = 4 * 1024 * 1024;
/// Tokens that a request for a summary takes besides the conversation.
const AROUND: u64 = 4_000;
/// How often a conversation that is too long to be summed up is halved.
const MAX_HALVED: u32 = 3;

/// Why a conversation is made shorter.
pub(crate) enum Why {
    /// The next request would be too long.
    Full,
    /// The vendor says that the last request was.
    Overflow,
    /// Somebody asked for it, and perhaps said what matters.
    Asked(Option<String>),
}

/// What came of it.
pub(crate) enum Made {
    Shorter,
    /// There is nothing to sum up.
    Nothing,
    /// Somebody stopped it.
    Stopped,
    /// It is shorter, and a hook wants the work to rest there.
    Rests,
}

/// What follows when there is to be room for a step.
pub(crate) enum Room {
    Request(Box<Request>),
    End(Stop),
}

/// What is summed up, and what stays.
struct Plan {
    cast: Cast,
    /// The places in the history of what is summed up.
    old: Vec<usize>,
    /// The notes on what came before that.
    earlier: Option<String>,
    /// The first message that stays word for word.
    tail: Option<MessageId>,
    kept: Kept,
    /// Prompts that are asked again behind the summary, without their files.
    again: Vec<usize>,
    /// The whole conversation as requests show it now.
    now: Estimate,
    usable: Option<u64>,
    /// How many summaries there were before.
    summaries: usize,
}

impl Turn<'_> {
    /// The request for the next step, after the conversation was made shorter where it had to be.
    ///
    /// # Errors
    ///
    /// When it cannot be made short enough.
    pub(crate) async fn make_room(&mut self, is_last: bool) -> Result<Room, TurnError> {
        let mut pruned = false;
        loop {
            self.state.shown = self.transformed().await;
            let (request, estimate) = self.request(is_last);
            let (role, setup) = (self.role, self.setup);
            let (model, settings) = (&role.cast.model, &setup.options.compaction);
            let size = self.projection.gauge.read(estimate.total());
            let usable = usable(model.limits, settings).filter(|_| settings.auto);
            let Some(usable) = usable.filter(|usable| size >= *usable) else {
                return self.sendable(request, &estimate).await;
            };
            if settings.prune && !std::mem::replace(&mut pruned, true) && self.prune(usable).await? {
                continue;
            }
            match self.compact(&Why::Full).await? {
                Made::Shorter => {}
                // The vendor may see it otherwise.
                Made::Nothing => return self.sendable(request, &estimate).await,
                Made::Stopped => return Ok(Room::End(Stop::End(TurnEnd::Aborted))),
                Made::Rests => return Ok(Room::End(Stop::End(rested()))),
            }
            if self.take_up().await? {
                return Ok(Room::End(Stop::HandOver));
            }
        }
    }

    /// `request`, unless it is surely more than the model can read.
    async fn sendable(&mut self, request: Request, estimate: &Estimate) -> Result<Room, TurnError> {
        let role = self.role;
        let model = &role.cast.model;
        let Some(limit) = model.limits.too_small_for(estimate.total()) else {
            return Ok(Room::Request(Box::new(request)));
        };
        let error = TurnError::TooLarge { model: model.name(), estimate: *estimate, limit };
        // The failure belongs to an answer.
        let answer = self.begin_answer();
        self.record_all(vec![self.answered(&answer)]).await?;
        Err(error)
    }

    /// Leaves old outputs of tools out of requests. Returns whether there were any that are worth it.
    async fn prune(&mut self, usable: u64) -> Result<bool, TurnError> {
        let (messages, now) = (self.history.messages(), self.setup.clock.now_ms());
        let from = condensed::newest(messages, 0..messages.len()).map_or(0, |condensed| condensed.tail);
        let (old, freed) = old_outputs(&messages[from..], usable);
        if old.is_empty() {
            return Ok(false);
        }
        tracing::info!(outputs = old.len(), tokens = freed, "old outputs are left out of requests");
        let events = old.into_iter().map(|part| self.changed(pruned(part, now))).collect();
        self.record_all(events).await?;
        self.projection.renew();
        Ok(true)
    }

    /// Sums the conversation up, but for its end. Until that is done, and where it fails, everything is as it was.
    ///
    /// # Errors
    ///
    /// When it cannot be made short enough, or would be for the second time without a step in between; when the model
    /// or the store fails.
    pub(crate) async fn compact(&mut self, why: &Why) -> Result<Made, TurnError> {
        let is_own = matches!(why, Why::Asked(_));
        if self.state.compacted && !is_own {
            return Err(self.too_long("it was summed up just now, and is too long all the same".to_owned()));
        }
        let Some(plan) = self.plan(why) else { return Ok(Made::Nothing) };
        self.check_cost()?;
        self.compacting(true).await?;
        let written = self.sum_up(&plan, why).await;
        self.compacting(false).await?;
        let made = written?;
        if let Made::Shorter = made {
            self.state.compacted = true;
            let session_id = self.session.id.clone();
            self.setup.journal.announce(Event::SessionCompacted { session_id });
            if !self.go_on(&plan, is_own, matches!(why, Why::Overflow)).await? {
                return Ok(Made::Rests);
            }
        }
        Ok(made)
    }

    /// What to sum up. `None`: there is nothing.
    fn plan(&mut self, why: &Why) -> Option<Plan> {
        let (_, now) = self.request(false);
        let role = self.role;
        let (messages, model) = (self.history.messages(), &role.cast.model);
        let condensed = condensed::newest(messages, 0..messages.len());
        let shown: Vec<usize> = match &condensed {
            Some(condensed) => {
                (condensed.tail..condensed.request).chain(condensed.summary + 1..messages.len()).collect()
            }
            None => (0..messages.len()).collect(),
        };
        let mut shown: Vec<usize> = shown.into_iter().filter(|&at| !is_aside(&messages[at])).collect();
        let waiting = shown.iter().rev().take_while(|&&at| waits(&messages[at], model)).count();
        // Files may be what was too long, and no summary shortens them.
        let again = match why {
            Why::Overflow if shown[shown.len() - waiting..].iter().any(|&at| has_files(&messages[at])) => {
                let again = shown.split_off(shown.len() - waiting);
                again.into_iter().filter(|&at| matches!(messages[at].info, Message::User(_))).collect()
            }
            Why::Overflow | Why::Full | Why::Asked(_) => Vec::new(),
        };
        let settings = &self.setup.options.compaction;
        let usable = usable(model.limits, settings);
        let piece = |at: &usize| Piece {
            prompt: matches!(messages[*at].info, Message::User(_)),
            size: weigh(&messages[*at], &model.reference),
        };
        let budget = settings.tail(usable, now.messages);
        let keep = |turns, budget| kept(shown.iter().rev().map(piece), turns, budget);
        let mut kept = match again.is_empty() {
            true => keep(settings.turns(), budget),
            false => Kept::default(),
        };
        let says = |old: &[usize]| old.iter().any(|&at| weigh(&messages[at], &model.reference) > 0);
        // Who asks for a summary of the little there is gets one.
        if matches!(why, Why::Asked(_)) && !says(&shown[..shown.len() - kept.count]) {
            kept = keep(0, 0);
        }
        let old = shown[..shown.len() - kept.count].to_vec();
        if !says(&old) {
            return None;
        }
        // What waits for an answer is not summed up.
        if usable.is_some_and(|usable| now.system + now.tools + kept.waiting > usable) {
            return None;
        }
        let tail = shown.get(old.len()).map(|&at| messages[at].info.id().clone());
        Some(Plan {
            cast: self.summarizer(),
            old,
            earlier: condensed.map(|condensed| words(&messages[condensed.summary].parts)),
            tail: tail.filter(|_| kept.count > 0),
            kept,
            again,
            now,
            usable,
            summaries: messages.iter().filter(|turned| is_summary(turned)).count(),
        })
    }

    /// Who sums up: the agent for it, on its own model or on the one at work.
    fn summarizer(&self) -> Cast {
        let agent = self.setup.agents.get(SUMS_UP).cloned().unwrap_or_else(Agent::compaction);
        let cast = &self.role.cast;
        let own = agent.model.as_deref().and_then(|name| {
            let found = self.setup.options.models.as_ref()?.find(name, agent.variant.as_deref());
            found.inspect_err(|why| tracing::warn!(model = name, why, "the agent that sums up has another model")).ok()
        });
        let variant = if own.is_some() { agent.variant.clone() } else { cast.variant.clone() };
        Cast {
            model: own.unwrap_or_else(|| cast.model.clone()),
            agent: Agent { rules: Rules::default(), ..agent },
            variant,
        }
    }

    /// Says that the conversation is being summed up, or no longer.
    async fn compacting(&mut self, begins: bool) -> Result<(), TurnError> {
        let now = self.setup.clock.now_ms();
        self.session.time.compacting = begins.then_some(now);
        let info: Box<Session> = Box::new(self.session.clone());
        self.record_all(vec![Event::SessionUpdated { session_id: self.session.id.clone(), info }]).await
    }

    /// Asks for the summary and keeps it.
    async fn sum_up(&mut self, plan: &Plan, why: &Why) -> Result<Made, TurnError> {
        let reason = if matches!(why, Why::Asked(_)) { "manual" } else { "auto" };
        let told = self.setup.registry.hooks().compacting(&of(&self.session.id, Some(reason))).await?;
        let mut answer = self.begin_summary(plan, why).await?;
        let model = &plan.cast.model;
        let mut bytes = self.readable(plan);
        let mut halved = 0;
        let (broken, folded) = loop {
            let request = self.hooked(&plan.cast, self.summary_request(plan, why, &told, bytes)).await;
            let (broken, folded) = self.ask(&mut answer, &request, model).await?;
            match &broken {
                Some(LlmError::TooLong { .. }) if halved < MAX_HALVED => halved += 1,
                Some(_) | None => break (broken, folded),
            }
            bytes /= 2;
        };
        if let Some(error) = broken {
            self.fail(&answer, &of_model(&error)).await?;
            return Err(error.into());
        }
        let Some(finish) = folded.finish else { return Ok(Made::Stopped) };
        let text = self.history.message(&answer.id).map(|turned| words(&turned.parts)).unwrap_or_default();
        if let Some(why) = unfit(&text, plan) {
            let error = self.too_long(why);
            self.fail(&answer, &error.failure()).await?;
            return Err(error);
        }
        tracing::info!(
            before = plan.now.messages,
            summary = estimate::tokens(text.len()),
            "the conversation was summed up"
        );
        answer.finish = Some(finish.word().to_owned());
        let mut events = self.closed(&answer.id, &Failure::aborted("a summary calls no tools"));
        events.retain(|event| matches!(event, Event::PartUpdated { .. }));
        self.finish(&mut answer, &mut events);
        self.record_all(events).await?;
        Ok(Made::Shorter)
    }

    /// Stores the message that asks for the summary, and the summary as it begins.
    async fn begin_summary(&mut self, plan: &Plan, why: &Why) -> Result<Assistant, TurnError> {
        let Cast { agent, model, .. } = &plan.cast;
        let clock = &self.setup.clock;
        let (auto, focus) = match why {
            Why::Full | Why::Overflow => (true, None),
            Why::Asked(focus) => (false, focus.clone()),
        };
        let overflow = matches!(why, Why::Overflow).then_some(true);
        let id: MessageId = clock.mint();
        let user = User {
            id: id.clone(),
            session_id: self.session.id.clone(),
            time: MessageTime { created: clock.now_ms(), completed: None },
            agent: self.role.cast.agent.name.clone(),
            model: self.role.cast.model.reference.clone(),
            variant: self.role.cast.session_model().variant,
            format: None,
            summary: None,
            system: None,
        };
        let asks = PartKind::Compaction { auto, overflow, tail_start_id: plan.tail.clone(), focus };
        let asks = self.part(&id, asks);
        let answer = Assistant {
            parent_id: id,
            agent: agent.name.clone(),
            mode: agent.name.clone(),
            model_id: model.reference.model_id.clone(),
            provider_id: model.reference.provider_id.clone(),
            variant: plan.cast.variant.clone(),
            summary: true,
            ..self.begin_answer()
        };
        let session_id = self.session.id.clone();
        let begins = Event::MessageUpdated { session_id, info: Box::new(Message::User(user)) };
        let start = self.part(&answer.id, PartKind::StepStart {});
        self.record_all(vec![begins, asks, self.answered(&answer), start]).await?;
        Ok(answer)
    }

    /// How many bytes of the conversation whoever sums it up can read.
    fn readable(&self, plan: &Plan) -> usize {
        let own = usable(plan.cast.model.limits, &self.setup.options.compaction);
        let tokens = own.unwrap_or(plan.now.messages).saturating_sub(AROUND).max(AROUND);
        usize::try_from((tokens.saturating_mul(36) / 10).min(MAX_TRANSCRIPT)).unwrap_or(usize::MAX)
    }

    fn summary_request(&self, plan: &Plan, why: &Why, told: &CompactPrompt, bytes: usize) -> Request {
        let (messages, Cast { agent, model, .. }) = (self.history.messages(), &plan.cast);
        let earlier = plan.earlier.as_deref();
        let lines =
            transcript(plan.old.iter().map(|&at| &messages[at]), bytes.saturating_sub(earlier.map_or(0, str::len)));
        let mut text = format!("<conversation>\n{lines}</conversation>\n\n");
        if let Some(earlier) = earlier {
            let order = include_str!("reminders/compaction_again.md").trim();
            text.push_str(&format!("<earlier-notes>\n{earlier}\n</earlier-notes>\n\n{order}\n\n"));
        }
        let (least, most) = WORDS;
        // A word takes a little more than a token; a fifth of what is there leaves room for what stays besides.
        let words = (plan.now.messages / 5).clamp(least, most).to_string();
        match &told.prompt {
            Some(prompt) => text.push_str(prompt),
            None => text.push_str(include_str!("reminders/compaction.md").replace("{words}", &words).trim()),
        }
        for more in &told.context {
            text.push_str(&format!("\n\n{more}"));
        }
        if let Why::Asked(Some(focus)) = why {
            text.push_str(&format!(" The user wants you to dwell on this: {focus}"));
        }
        let size = estimate::tokens(text.len() + agent.voice().len());
        plan.cast.tuned(Request {
            model: model.api_id.clone(),
            system: agent.voice().to_owned(),
            messages: vec![Arc::new(Asked::User { content: vec![Content::Text { text }] })].into(),
            max_output: model.limits.ask_behind(size),
            session: Some(self.session.id.to_string()),
            extra: model.extra.clone(),
            purpose: Purpose::Compaction,
            left_out: plan.summaries,
            ..Request::default()
        })
    }

    /// Ends an answer that failed, and what is open in it.
    pub(crate) async fn fail(&mut self, answer: &Assistant, why: &Failure) -> Result<(), TurnError> {
        let mut answer = answer.clone();
        let mut events = self.closed(&answer.id, why);
        answer.time.completed = Some(self.setup.clock.now_ms());
        answer.error = Some(Box::new(why.clone()));
        events.push(self.answered(&answer));
        self.record_all(events).await
    }

    /// What closes whatever is open in a message.
    fn closed(&self, message: &MessageId, why: &Failure) -> Vec<Event> {
        let turned = self.history.message(message).map(std::slice::from_ref).unwrap_or_default();
        close_all(self.session, turned, self.setup.clock.now_ms(), why)
    }

    /// What follows a summary that nobody asked for: what waited is answered, or the work goes on. Returns whether it does.
    async fn go_on(&mut self, plan: &Plan, is_own: bool, overflow: bool) -> Result<bool, TurnError> {
        let again: Vec<PartKind> =
            plan.again.iter().flat_map(|&at| &self.history.messages()[at].parts).filter_map(asked_again).collect();
        if !again.is_empty() {
            let taken = self.told(Arc::clone(&self.role.cast), "");
            let taken = Taken { parts: again, ..taken };
            self.prompt = crate::turn::store_prompt(self.setup, self.session, self.history, &taken).await?;
        } else if plan.kept.waiting == 0 && !is_own {
            let requested = self.requested(&self.role.cast);
            if !self.setup.registry.hooks().goes_on(&Continuing { requested, overflow }).await {
                return Ok(false);
            }
            let text = include_str!("reminders/continue.md").trim();
            let mut taken = self.told(Arc::clone(&self.role.cast), text);
            for part in &mut taken.parts {
                if let PartKind::Text { metadata, .. } = part {
                    metadata.get_or_insert_default().insert("compaction_continue".to_owned(), true.into());
                }
            }
            self.prompt = crate::turn::store_prompt(self.setup, self.session, self.history, &taken).await?;
        }
        Ok(true)
    }

    fn too_long(&self, why: String) -> TurnError {
        TurnError::TooLong { why, model: self.role.cast.model.name() }
    }
}

/// The end of a turn that rests behind a summary.
fn rested() -> TurnEnd {
    TurnEnd::Finished("stop".to_owned())
}

/// Why a summary does not do, if it does not.
fn unfit(text: &str, plan: &Plan) -> Option<String> {
    if text.is_empty() {
        return Some("the model wrote no summary".to_owned());
    }
    // What waits for an answer stays, however long it is; the rest must shrink by half.
    let before = plan.now.messages.saturating_sub(plan.kept.waiting);
    let after = estimate::tokens(text.len()) + plan.kept.size - plan.kept.waiting;
    if after > (before / 2).max(SMALL) {
        return Some(format!("its summary is too long: {before} tokens became {after}"));
    }
    let whole = plan.now.system + plan.now.tools + plan.kept.waiting + after;
    let usable = plan.usable.filter(|usable| whole > *usable)?;
    Some(format!("with its summary it takes {whole} tokens, and there is room for {usable}"))
}

/// Whether a message is at the end because nobody answered it: a prompt, or an answer that came to nothing.
fn waits(turned: &Turned, model: &crate::Model) -> bool {
    matches!(turned.info, Message::User(_)) || weigh(turned, &model.reference) == 0
}

fn has_files(turned: &Turned) -> bool {
    turned.parts.iter().any(|part| matches!(part.kind, PartKind::File { .. }))
}

fn is_summary(turned: &Turned) -> bool {
    matches!(&turned.info, Message::Assistant(answer) if answer.summary && answer.error.is_none())
}

/// A piece of a prompt as it is asked again, without files.
fn asked_again(part: &Part) -> Option<PartKind> {
    let text = match &part.kind {
        PartKind::Text { text, ignored: false, .. } => text.clone(),
        PartKind::File { mime, filename, .. } => {
            format!("[Attached {mime}: {}]", filename.as_deref().unwrap_or("a file"))
        }
        _ => return None,
    };
    Some(PartKind::Text { text, synthetic: true, ignored: false, time: None, metadata: None })
}
