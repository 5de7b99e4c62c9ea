//! What others ask of a session, and who waits for the answers.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::FuturesOrdered;
use haft_protocol::{Event, MessageId, Session as Record, TurnSummary};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::agents::cast::Casting;
use crate::agents::role::{Memory, calls};
use crate::driver::letters::{Letter, Letters};
use crate::error::{SessionError, TurnError};
use crate::prompt::Prompt;
use crate::prompt::intake::{Called, Intake, Taken};
use crate::setup::Setup;
use crate::turn::{Stop, TurnEnd};
use crate::undo::{Rewind, Rewound};

/// Prompts that may wait to be answered, the one that is being answered among them.
pub(crate) const MAX_WAITING: usize = 16;

/// What whoever asked is told.
pub(crate) type Answer = oneshot::Sender<Result<TurnEnd, SessionError>>;
/// What whoever waits for rest is told: how the last turn ended that nobody asked for, if there was one.
pub(crate) type AtRest = oneshot::Sender<Option<Result<TurnEnd, SessionError>>>;

/// Everything that can wake a session. There is nothing else.
pub(crate) enum Inbox {
    Prompt(Box<Prompt>, Answer),
    Shell(String, Answer),
    Compact(Option<String>, Answer),
    /// Whoever asks does so no more.
    Settle(oneshot::Sender<()>),
    Rest(AtRest),
    Rewind(Box<Rewind>, oneshot::Sender<Result<Rewound, SessionError>>),
    Describe(Option<MessageId>, oneshot::Sender<Result<TurnSummary, SessionError>>),
    Rename(String, oneshot::Sender<Result<(), SessionError>>),
    Abort,
}

/// The prompts that wait, and who waits for their answers.
pub(crate) struct Desk {
    setup: Arc<Setup>,
    record: Record,
    memory: Memory,
    casting: Casting,
    /// What the turn that runs is told.
    letters: Letters,
    /// Those that are being taken in.
    pub intake: FuturesOrdered<BoxFuture<'static, (Result<Taken, SessionError>, Answer)>>,
    /// Those that are taken in, and wait for the end of the turn.
    pub queued: VecDeque<(Taken, Answer)>,
    /// Whoever waits for the answer to a stored one.
    pub callers: Vec<Caller>,
    /// Whoever waits for rest.
    resting: Vec<AtRest>,
    /// How the last turn ended that nobody asked for.
    pub woken: Option<Result<TurnEnd, SessionError>>,
}

pub(crate) struct Caller {
    pub message: MessageId,
    pub done: Answer,
    /// The command that it is the end of.
    pub command: Option<Called>,
}

impl Desk {
    /// Nothing waits yet.
    pub(crate) fn new(setup: Arc<Setup>, record: Record, memory: Memory, letters: Letters) -> Self {
        let casting = Casting::new(Arc::clone(&setup), memory.kin.variant.clone());
        Self {
            setup,
            record,
            memory,
            casting,
            letters,
            intake: FuturesOrdered::new(),
            queued: VecDeque::new(),
            callers: Vec::new(),
            resting: Vec::new(),
            woken: None,
        }
    }

    /// Begins to take a prompt in.
    pub(crate) fn take(&mut self, prompt: Prompt, done: Answer) {
        let waiting = self.intake.len() + self.queued.len() + self.callers.len();
        if waiting >= MAX_WAITING {
            let id = self.record.id.clone();
            return drop(done.send(Err(SessionError::Full { id, waiting })));
        }
        let (cast, command) = match self.casting.of(&prompt) {
            Ok(found) => found,
            Err(error) => return drop(done.send(Err(error))),
        };
        let calls = calls(&self.setup, &cast, &self.record, &self.memory);
        let intake = Intake { setup: Arc::clone(&self.setup), calls };
        self.intake.push_back(Box::pin(async move { (intake.take(prompt, cast, command).await, done) }));
    }

    /// Serves the inbox while something runs. Returns whether anybody can still be heard.
    pub(crate) fn wake(&mut self, wake: Option<Inbox>, cancel: &CancellationToken) -> bool {
        match wake {
            Some(Inbox::Prompt(prompt, done)) => self.take(*prompt, done),
            Some(Inbox::Shell(_, done) | Inbox::Compact(_, done)) => {
                drop(done.send(Err(SessionError::Busy(self.record.id.clone()))))
            }
            Some(Inbox::Rewind(_, done)) => drop(done.send(Err(SessionError::Busy(self.record.id.clone())))),
            Some(Inbox::Describe(_, done)) => drop(done.send(Err(SessionError::Busy(self.record.id.clone())))),
            // What runs holds the record.
            Some(Inbox::Rename(title, done)) => self.letters.put(Letter::Title(title, done)),
            // Whoever does not wait for the turn does not wait for what is beside it.
            Some(Inbox::Settle(done)) => drop(done),
            Some(Inbox::Rest(done)) => self.rest(done),
            Some(Inbox::Abort) => {
                self.stop();
                cancel.cancel();
            }
            // The last handle is gone: nobody is left to see the end.
            None => {
                self.stop();
                cancel.cancel();
                return false;
            }
        }
        true
    }

    /// Stops the tasks that go on by themselves, and forgets the prompts that are not stored yet.
    pub(crate) fn stop(&mut self) {
        // Whoever asked hears of it when their end of the channel is gone; see `Session::prompt`.
        self.intake.clear();
        self.queued.clear();
        self.memory.kin.background.stop();
        self.setup.options.roster.stop(&self.record.id);
    }

    /// Somebody waits for rest.
    pub(crate) fn rest(&mut self, done: AtRest) {
        self.resting.retain(|waiting| !waiting.is_closed());
        if self.resting.len() < MAX_WAITING {
            self.resting.push(done);
        }
    }

    /// Tells those who wait for rest, if there is any: called where no turn runs.
    pub(crate) fn look_for_rest(&mut self) {
        let is_at_rest = self.intake.is_empty() && self.queued.is_empty() && self.memory.kin.background.is_at_rest();
        for waiting in std::mem::take(&mut self.resting).into_iter().filter(|waiting| !waiting.is_closed()) {
            match is_at_rest {
                true => drop(waiting.send(self.woken.take())),
                false => self.resting.push(waiting),
            }
        }
    }

    /// Tells those whose prompts are not `waiting` how the turn ended, with `answer` as its last one; all of them, where it
    /// was stopped.
    pub(crate) fn tell(&mut self, result: Result<Stop, TurnError>, waiting: &[MessageId], answer: Option<&MessageId>) {
        let is_stopped = matches!(result, Ok(Stop::End(TurnEnd::Aborted)));
        let (answered, still): (Vec<_>, Vec<_>) = std::mem::take(&mut self.callers)
            .into_iter()
            .partition(|caller| is_stopped || !waiting.contains(&caller.message));
        if let (Ok(Stop::End(_)) | Err(_), Some(answer)) = (&result, answer) {
            answered
                .iter()
                .filter_map(|caller| caller.command.as_ref())
                .for_each(|called| self.executed(called, answer));
        }
        match result {
            // They wait on: whoever takes over answers them too.
            Ok(Stop::HandOver) => {
                self.callers = answered;
                self.callers.extend(still);
            }
            Ok(Stop::End(end)) => {
                answered.into_iter().for_each(|caller| drop(caller.done.send(Ok(end.clone()))));
                self.callers = still;
            }
            Err(error) => {
                let why = haft_tool::with_causes(&error);
                let mut answered = answered.into_iter();
                if let Some(first) = answered.next() {
                    let _ = first.done.send(Err(error.into()));
                }
                answered.for_each(|caller| drop(caller.done.send(Err(SessionError::Along { why: why.clone() }))));
                self.callers = still;
            }
        }
    }

    /// A command was carried out: `answer` is the last one to it.
    fn executed(&self, called: &Called, answer: &MessageId) {
        let Called { name, arguments } = called.clone();
        let (session_id, message_id) = (self.record.id.clone(), answer.clone());
        self.setup.journal.announce(Event::CommandExecuted { name, session_id, arguments, message_id });
    }

    /// Nothing runs any more.
    pub(crate) fn end(&mut self) {
        for caller in self.callers.drain(..) {
            let _ = caller.done.send(Ok(TurnEnd::Aborted));
        }
    }
}
