//! Owns one session: its record, its history, the prompts that wait and the turn that runs.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesOrdered;
use haft_permission::Asker;
use haft_protocol::{Event, Failure, History, MessageId, PartKind, Session as Record, Status, ToolState};
use haft_store::Lease;
use haft_tool::Marks;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::assemble::Projection;
use crate::cast::{Cast, Casting};
use crate::error::{SessionError, TurnError};
use crate::fold::Planned;
use crate::hands::SHELL;
use crate::instructions::Instructions;
use crate::intake::{Intake, Taken};
use crate::prompt::{Prompt, title};
use crate::recover::close_all;
use crate::role::{Memory, Role, calls};
use crate::setup::Setup;
use crate::todos::Todos;
use crate::turn::{State, Stop, Turn, TurnEnd, record_all, store_prompt};

/// Prompts that may wait to be answered, the one that is being answered among them.
pub(crate) const MAX_WAITING: usize = 16;

/// What a model reads of a command that the person ran.
const BY_HAND: &str = "The user ran this command.";

/// What whoever asked is told.
pub(crate) type Answer = oneshot::Sender<Result<TurnEnd, SessionError>>;

/// Everything that can wake a session. There is nothing else.
pub(crate) enum Inbox {
    Prompt(Prompt, Answer),
    Shell(String, Answer),
    Abort,
}

pub(crate) struct Driver {
    setup: Arc<Setup>,
    record: Record,
    history: History,
    projection: Projection,
    memory: Memory,
    instructions: Instructions,
    role: Role,
    /// Held for as long as the session is owned.
    _lease: Lease,
}

/// The prompts that wait, and who waits for their answers.
struct Desk {
    setup: Arc<Setup>,
    record: Record,
    memory: Memory,
    casting: Casting,
    /// Those that are being taken in.
    intake: FuturesOrdered<BoxFuture<'static, (Result<Taken, SessionError>, Answer)>>,
    /// Whoever waits for the answer to a stored one.
    callers: Vec<Caller>,
}

struct Caller {
    message: MessageId,
    done: Answer,
}

impl Driver {
    /// Opens what is stored and closes what a crash left open in it.
    pub(crate) async fn open(setup: Setup, record: Record, lease: Lease) -> Result<Self, SessionError> {
        let mut history = setup.journal.history(&record.id).await?;
        for turned in history.messages() {
            setup.clock.follow(turned.info.id());
            turned.parts.iter().for_each(|part| setup.clock.follow(&part.id));
        }
        let todos = setup.journal.todos(&record.id).await?;
        let why = Failure::aborted("haft was stopped while this was written");
        let open = close_all(&record, history.messages(), setup.clock.now_ms(), &why);
        record_all(&setup, &mut history, open).await?;
        let setup = Arc::new(setup);
        let memory = memory(&setup, &record, &history, todos);
        let casting = Casting::new(Arc::clone(&setup));
        let role = Role::new(&setup, casting.usual(), &record, &memory, "");
        let (projection, instructions) = (Projection::default(), Instructions::default());
        Ok(Self { setup, record, history, projection, memory, instructions, role, _lease: lease })
    }

    pub(crate) async fn run(mut self, mut inbox: mpsc::Receiver<Inbox>) {
        let mut desk = Desk {
            setup: Arc::clone(&self.setup),
            record: self.record.clone(),
            memory: self.memory.clone(),
            casting: Casting::new(Arc::clone(&self.setup)),
            intake: FuturesOrdered::new(),
            callers: Vec::new(),
        };
        loop {
            tokio::select! {
                wake = inbox.recv() => match wake {
                    Some(Inbox::Prompt(prompt, done)) => desk.take(prompt, done),
                    Some(Inbox::Shell(command, done)) => self.shell(command, done, &mut desk, &mut inbox).await,
                    Some(Inbox::Abort) => desk.drop_intake(),
                    None => return,
                },
                Some((taken, done)) = desk.intake.next() => {
                    self.begin(taken, done, &mut desk, &mut inbox).await;
                }
            }
        }
    }

    /// Stores a prompt that was taken in, and runs turns until every stored prompt is answered.
    async fn begin(
        &mut self,
        taken: Result<Taken, SessionError>,
        done: Answer,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) {
        let stored = match taken {
            Ok(taken) => {
                let stored = store_prompt(&self.setup, &mut self.record, &mut self.history, &taken).await;
                stored.map(|message| (message, taken.cast)).map_err(SessionError::from)
            }
            Err(error) => Err(error),
        };
        let (message, mut cast) = match stored {
            Ok(stored) => stored,
            // Whoever asked may not wait any more; the journal has it all. So in all answers below.
            Err(error) => return drop(done.send(Err(error))),
        };
        desk.callers.push(Caller { message: message.clone(), done });
        let mut next = Some((message.clone(), message));
        while let Some((first, latest)) = next.take() {
            self.status(Status::Busy);
            self.cast(Arc::clone(&cast)).await;
            let Outcome { result, waiting, latest_cast, stopped } = self.turn(first, latest, desk, inbox).await;
            self.status(Status::Idle);
            let handed_over = matches!(result, Ok(Stop::HandOver));
            if result.is_err() {
                self.read_again().await;
            }
            desk.tell(result, &waiting);
            if stopped || waiting.is_empty() {
                continue;
            }
            cast = latest_cast.unwrap_or(cast);
            // The one who takes over answers everything since; else what waits is a turn of its own.
            let first = if handed_over { desk.callers.first().map(|caller| caller.message.clone()) } else { None };
            let begin = first.or_else(|| waiting.first().cloned());
            next = begin.zip(waiting.last().cloned());
        }
        desk.end();
    }

    /// Runs one turn, still listening.
    async fn turn(
        &mut self,
        first: MessageId,
        prompt: MessageId,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) -> Outcome {
        let cancel = CancellationToken::new();
        let (arrive, mut arrivals) = mpsc::channel(MAX_WAITING);
        let mut latest_cast = None;
        let turn = Turn {
            setup: &self.setup,
            role: &self.role,
            session: &mut self.record,
            history: &mut self.history,
            projection: &mut self.projection,
            arrivals: &mut arrivals,
            first,
            prompt,
            cancel: cancel.clone(),
            state: State::default(),
        };
        let (mut result, waiting) = {
            let mut turn = std::pin::pin!(turn.run().instrument(tracing::info_span!("turn")));
            let mut listening = true;
            loop {
                tokio::select! {
                    ended = &mut turn => break ended,
                    wake = inbox.recv(), if listening => listening = desk.wake(wake, &cancel),
                    // Whoever asks behind a stop means the turn after this one.
                    Some((taken, done)) = desk.intake.next(), if !cancel.is_cancelled() => match taken {
                        Ok(taken) => {
                            desk.callers.push(Caller { message: taken.id.clone(), done });
                            latest_cast = Some(Arc::clone(&taken.cast));
                            // There is room: no more prompts are taken in than fit.
                            let _ = arrive.try_send(taken);
                        }
                        Err(error) => drop(done.send(Err(error))),
                    },
                }
            }
        };
        let mut waiting: Vec<MessageId> = waiting.into();
        // Those that came with its end.
        while let Ok(taken) = arrivals.try_recv() {
            match store_prompt(&self.setup, &mut self.record, &mut self.history, &taken).await {
                Ok(message) => waiting.push(message),
                Err(error) => result = result.and(Err(error)),
            }
        }
        let stopped = cancel.is_cancelled();
        // Who was to take over was stopped with it.
        if stopped && matches!(result, Ok(Stop::HandOver)) {
            result = Ok(Stop::End(TurnEnd::Aborted));
        }
        Outcome { result, waiting, latest_cast, stopped }
    }

    /// Reads the history again: what is stored is the truth, also where a write failed half way.
    async fn read_again(&mut self) {
        if let Ok(history) = self.setup.journal.history(&self.record.id).await {
            (self.history, self.projection) = (history, Projection::default());
        }
    }

    /// Runs a command that the person typed, and keeps it. No model is asked.
    async fn shell(&mut self, command: String, done: Answer, desk: &mut Desk, inbox: &mut mpsc::Receiver<Inbox>) {
        let end = self.run_shell(command, desk, inbox).await;
        if end.is_err() {
            self.read_again().await;
        }
        let _ = done.send(end.map_err(SessionError::from));
        desk.end();
    }

    async fn run_shell(
        &mut self,
        command: String,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) -> Result<TurnEnd, TurnError> {
        let words =
            PartKind::Text { text: BY_HAND.to_owned(), synthetic: true, ignored: false, time: None, metadata: None };
        let taken = Taken {
            id: self.setup.clock.mint(),
            cast: Arc::clone(&self.role.cast),
            title: title(&command),
            parts: vec![words],
        };
        let prompt = store_prompt(&self.setup, &mut self.record, &mut self.history, &taken).await?;
        let by_hand = self.role.calls.by_hand(&self.setup.registry);
        let call = Planned {
            part: self.setup.clock.mint(),
            call: format!("{prompt}_{SHELL}"),
            name: SHELL.to_owned(),
            arguments: json!({ "command": command }).to_string(),
            metadata: None,
        };
        self.status(Status::Busy);
        let cancel = CancellationToken::new();
        let (_arrive, mut arrivals) = mpsc::channel(1);
        let turn = Turn {
            setup: &self.setup,
            role: &self.role,
            session: &mut self.record,
            history: &mut self.history,
            projection: &mut self.projection,
            arrivals: &mut arrivals,
            first: prompt.clone(),
            prompt,
            cancel: cancel.clone(),
            state: State::default(),
        };
        let end = {
            let mut turn = std::pin::pin!(turn.run_by_hand(by_hand, call).instrument(tracing::info_span!("shell")));
            let mut listening = true;
            loop {
                tokio::select! {
                    end = &mut turn => break end,
                    // Prompts are taken in meanwhile and begin when it has ended.
                    wake = inbox.recv(), if listening => listening = desk.wake(wake, &cancel),
                }
            }
        };
        self.status(Status::Idle);
        end
    }

    /// Makes `cast` the one who answers, and looks whether the instructions changed.
    async fn cast(&mut self, cast: Arc<Cast>) {
        let Self { setup, record, memory, instructions, .. } = self;
        let asker = Asker { session: record.id.clone(), call: None };
        let changed = instructions.refresh(&setup.options.instructions, &setup.place, &setup.gate, &asker).await;
        if !cast.is_same(&self.role.cast) {
            // What a vendor made goes to no other, so the messages are made anew.
            self.projection = Projection::default();
            self.role = Role::new(setup, cast, record, memory, &instructions.text(&memory.marks));
        } else if changed {
            self.role.tell(setup, memory, &instructions.text(&memory.marks));
        }
    }

    fn status(&self, status: Status) {
        self.setup.journal.announce(Event::SessionStatus { session_id: self.record.id.clone(), status });
    }
}

/// How a turn went.
struct Outcome {
    result: Result<Stop, TurnError>,
    /// Stored prompts that it did not answer.
    waiting: Vec<MessageId>,
    /// Who is to answer the last of those that came meanwhile.
    latest_cast: Option<Arc<Cast>>,
    /// Somebody stopped it, or would have, had it not just ended: nothing that waits is answered.
    stopped: bool,
}

impl Desk {
    /// Begins to take a prompt in.
    fn take(&mut self, prompt: Prompt, done: Answer) {
        let waiting = self.intake.len() + self.callers.len();
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
    fn wake(&mut self, wake: Option<Inbox>, cancel: &CancellationToken) -> bool {
        match wake {
            Some(Inbox::Prompt(prompt, done)) => self.take(prompt, done),
            Some(Inbox::Shell(_, done)) => drop(done.send(Err(SessionError::Busy(self.record.id.clone())))),
            Some(Inbox::Abort) => {
                self.drop_intake();
                cancel.cancel();
            }
            // The last handle is gone: nobody is left to see the end.
            None => {
                self.drop_intake();
                cancel.cancel();
                return false;
            }
        }
        true
    }

    /// Stops taking prompts in. They are not stored yet.
    fn drop_intake(&mut self) {
        // Whoever asked hears of it when their end of the channel is gone; see `Session::prompt`.
        self.intake.clear();
    }

    /// Tells those whose prompts are not `waiting` how the turn ended; all of them, where it was stopped.
    fn tell(&mut self, result: Result<Stop, TurnError>, waiting: &[MessageId]) {
        let is_stopped = matches!(result, Ok(Stop::End(TurnEnd::Aborted)));
        let (answered, still): (Vec<_>, Vec<_>) = std::mem::take(&mut self.callers)
            .into_iter()
            .partition(|caller| is_stopped || !waiting.contains(&caller.message));
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

    /// Nothing runs any more.
    fn end(&mut self) {
        for caller in self.callers.drain(..) {
            let _ = caller.done.send(Ok(TurnEnd::Aborted));
        }
    }
}

/// What a session remembers, as far as its history says so.
pub(crate) fn memory(setup: &Setup, record: &Record, history: &History, todos: Vec<haft_protocol::Todo>) -> Memory {
    let marks = Marks::default();
    for path in history.messages().iter().flat_map(|turned| &turned.parts).flat_map(loaded) {
        marks.tell(path.as_ref());
    }
    let todos = Todos::kept(setup.journal.clone(), record.id.clone(), todos);
    Memory { marks, todos, opened: setup.clock.now_ms() }
}

/// The instruction files that a call told the model of.
fn loaded(part: &haft_protocol::Part) -> Vec<&str> {
    let PartKind::Tool { state: ToolState::Completed { metadata, .. }, .. } = &part.kind else { return Vec::new() };
    let loaded = metadata.get("loaded").and_then(|loaded| loaded.as_array());
    loaded.into_iter().flatten().filter_map(|path| path.as_str()).collect()
}
