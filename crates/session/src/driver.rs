//! Owns one session: its record, its history and the turn that runs.

mod aside;
mod asked;
pub(crate) mod desk;
pub(crate) mod letters;
mod past;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use haft_permission::Asker;
use haft_protocol::{Event, Failure, History, Message, MessageId, Session as Record, Status, ToolState};
use haft_store::Lease;
use haft_tool::{Belongings, Marks};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::agents::cast::{Cast, Casting};
use crate::agents::hand_over::Wish;
use crate::agents::role::{Memory, Role};
use crate::beside::gist::{Gist, written};
use crate::beside::title::{Titling, found};
use crate::driver::desk::{Answer, Caller, Desk, Inbox, MAX_WAITING};
use crate::driver::letters::Letters;
use crate::error::{SessionError, TurnError};
use crate::kin::Kin;
use crate::prompt::Delivery;
use crate::prompt::intake::Taken;
use crate::request::assemble::Projection;
use crate::request::instructions::Instructions;
use crate::request::sent::Sent;
use crate::roster::Listed;
use crate::setup::Setup;
use crate::snapshots::diffs::Tally;
use crate::stored::recover::close_all;
use crate::task::background::{Background, Notice};
use crate::task::left_open::{CUT_OFF, close_below, report_cut_off};
use crate::turn::hooked::opening;
use crate::turn::side_by_side::GRACE_OF_TASKS;
use crate::turn::todos::Todos;
use crate::turn::{State, Stop, Turn, TurnEnd, record_all, store_prompt};

/// What a model reads of a command that the person ran.
pub(crate) const BY_HAND: &str = "The user ran this command.";

/// How long hooks may take to hear that a session is closed.
const GRACE_OF_HOOKS: Duration = Duration::from_secs(2);
/// How long a title is waited for when nobody asks any more.
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) struct Driver {
    setup: Arc<Setup>,
    record: Record,
    history: History,
    projection: Projection,
    memory: Memory,
    instructions: Instructions,
    role: Role,
    /// The title that is being found.
    titling: Option<Titling>,
    /// What is being written on the turn that ended last.
    gist: Option<Gist>,
    /// What its files came to, where that is known.
    tally: Option<Tally>,
    /// Whether hooks heard that it is closed.
    told_of_end: bool,
    /// What it is told while it is at work.
    letters: Letters,
    /// How many lists of changes were there when it was counted last.
    counted: usize,
    /// Held for as long as the session is owned.
    _lease: Lease,
}

impl Driver {
    /// Opens what is stored and closes what a crash left open in it.
    pub(crate) async fn open(setup: Setup, record: Record, lease: Lease, kin: Kin) -> Result<Self, SessionError> {
        let (mut history, mut record) = (setup.journal.history(&record.id).await?, record);
        for turned in history.messages() {
            setup.clock.follow(turned.info.id());
            turned.parts.iter().for_each(|part| setup.clock.follow(&part.id));
        }
        let todos = setup.journal.todos(&record.id).await?;
        let why = Failure::aborted(CUT_OFF);
        close_below(&setup, &record.id, history.messages()).await?;
        let mut open = close_all(&record, history.messages(), setup.clock.now_ms(), &why);
        if record.time.compacting.take().is_some() {
            let info = Box::new(record.clone());
            open.push(Event::SessionUpdated { session_id: record.id.clone(), info });
        }
        record_all(&setup, &mut history, open).await?;
        let setup = Arc::new(setup);
        let mut memory = memory(&setup, &record, &history, todos, kin);
        memory.context = opening(&setup, &record, &memory.kin, history.messages().is_empty()).await;
        let casting = Casting::new(Arc::clone(&setup), memory.kin.variant.clone());
        let role = Role::new(&setup, casting.usual(), &record, &memory, "");
        report_cut_off(&setup, &record, &mut history).await?;
        let (projection, instructions) = (Projection::default(), Instructions::default());
        let mut driver = Self {
            setup,
            record,
            history,
            projection,
            memory,
            instructions,
            role,
            titling: None,
            gist: None,
            tally: None,
            told_of_end: false,
            letters: Letters::default(),
            counted: 0,
            _lease: lease,
        };
        driver.settle_past().await?;
        Ok(driver)
    }

    /// The tasks that go on behind the session.
    pub(crate) fn background(&self) -> Background {
        self.memory.kin.background.clone()
    }

    /// Takes note of itself as open, as long as what is given back is there; `inbox` reaches it.
    pub(crate) fn enter(&self, inbox: mpsc::WeakSender<Inbox>) -> Listed {
        self.setup.options.roster.enter(&self.record, inbox, self.background(), &self.letters, &self.role.calls)
    }

    pub(crate) async fn run(mut self, mut inbox: mpsc::Receiver<Inbox>) {
        let (setup, letters) = (Arc::clone(&self.setup), self.letters.clone());
        let mut desk = Desk::new(setup, self.record.clone(), self.memory.clone(), letters.clone());
        let background = self.background();
        loop {
            self.letters.read(&self.setup, &mut self.record, &mut self.history).await;
            if let Some((taken, done)) = desk.queued.pop_front() {
                self.begin(Ok(taken), done, &mut desk, &mut inbox).await;
                continue;
            }
            desk.look_for_rest();
            tokio::select! {
                wake = inbox.recv() => match wake {
                    Some(Inbox::Prompt(prompt, done)) => desk.take(*prompt, done),
                    Some(Inbox::Shell(command, done)) => self.shell(command, done, &mut desk, &mut inbox).await,
                    Some(Inbox::Compact(focus, done)) => self.compact(focus, done, &mut desk, &mut inbox).await,
                    Some(Inbox::Rewind(rewind, done)) => {
                        let rewound = self.rewind(&rewind).await;
                        let _ = done.send(rewound);
                    }
                    Some(Inbox::Describe(prompt, done)) => {
                        let described = self.describe_turn(prompt.as_ref(), &mut desk, &mut inbox).await;
                        let _ = done.send(described);
                    }
                    Some(Inbox::Rename(title, done)) => drop(done.send(self.rename(title).await)),
                    Some(Inbox::Settle(done)) => self.settle(done).await,
                    Some(Inbox::Rest(done)) => desk.rest(done),
                    Some(Inbox::Abort) => desk.stop(),
                    None => break,
                },
                titled = found(&mut self.titling) => self.entitle(titled).await,
                written = written(&mut self.gist) => self.describe(written).await,
                Some((taken, done)) = desk.intake.next() => {
                    self.begin(taken, done, &mut desk, &mut inbox).await;
                }
                () = background.news() => self.news(&mut desk, &mut inbox).await,
                () = letters.news() => {}
            }
        }
        desk.stop();
        self.ended().await;
        // The lease is held until then: nobody else is to find them open.
        let _ = tokio::time::timeout(GRACE_OF_TASKS, self.memory.kin.children.wait()).await;
    }

    /// Stores what became of tasks that went on by themselves, and lets the agent go on with it where it is to.
    async fn news(&mut self, desk: &mut Desk, inbox: &mut mpsc::Receiver<Inbox>) {
        let notices = self.memory.kin.background.take();
        let wakes = self.setup.options.tasks.wake && notices.iter().any(|notice| notice.wakes);
        let mut stored = Vec::new();
        for notice in notices {
            match store_notice(&self.setup, &mut self.record, &mut self.history, &self.role.cast, &notice).await {
                Ok(message) => stored.push(message),
                // What it did is in its own session all the same.
                Err(error) => tracing::error!(task = %notice.task, %error, "the end of a task could not be stored"),
            }
        }
        let (Some(first), Some(last)) = (stored.first().cloned(), stored.last().cloned()) else { return };
        if wakes {
            let (done, mut end) = oneshot::channel();
            desk.callers.push(Caller { message: last.clone(), done, command: None });
            let cast = Arc::clone(&self.role.cast);
            self.answer((first, last), cast, desk, inbox).await;
            desk.woken = end.try_recv().ok();
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
                let untitled = self.record.title.is_empty();
                let stored = self.keep_prompt(&taken).await;
                if untitled && stored.is_ok() {
                    self.titling = Titling::begin(&self.setup, &self.record, &taken.parts, &self.memory.kin);
                }
                stored.map(|message| (message, taken.cast, taken.command))
            }
            Err(error) => Err(error),
        };
        let (message, cast, command) = match stored {
            Ok(stored) => stored,
            // Whoever asked may not wait any more; the journal has it all. So in all answers below.
            Err(error) => return drop(done.send(Err(error))),
        };
        desk.callers.push(Caller { message: message.clone(), done, command });
        self.answer((message.clone(), message), cast, desk, inbox).await;
    }

    /// Runs turns until every stored prompt is answered, those first that are stored from the one to the other.
    async fn answer(
        &mut self,
        prompts: (MessageId, MessageId),
        mut cast: Arc<Cast>,
        desk: &mut Desk,
        inbox: &mut mpsc::Receiver<Inbox>,
    ) {
        let mut next = Some(prompts);
        while let Some((first, latest)) = next.take() {
            self.status(Status::Busy);
            self.cast(Arc::clone(&cast)).await;
            self.letters.read(&self.setup, &mut self.record, &mut self.history).await;
            self.setup.options.roster.answers(&self.record.id, &self.role.calls);
            let Outcome { result, waiting, latest_cast, stopped } = self.turn(first.clone(), latest, desk, inbox).await;
            let handed_over = matches!(result, Ok(Stop::HandOver));
            if result.is_err() {
                self.read_again().await;
            }
            self.sum_up(&first).await;
            if let Ok(Stop::End(TurnEnd::Finished(_) | TurnEnd::Limit { .. })) = &result {
                let Self { setup, record, history, memory, .. } = self;
                // One of an earlier turn that is not there yet is given up.
                self.gist = Gist::begin(setup, record, history, &first, &memory.kin);
            }
            self.status(Status::Idle);
            let answers = self.history.messages().iter().rev();
            let answer = answers.map(|turned| &turned.info).find(|info| matches!(info, Message::Assistant(_)));
            desk.tell(result, &waiting, answer.map(Message::id));
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

    /// Stores a prompt. What was taken back before is gone then.
    async fn keep_prompt(&mut self, taken: &Taken) -> Result<MessageId, SessionError> {
        self.commit().await?;
        Ok(store_prompt(&self.setup, &mut self.record, &mut self.history, taken).await?)
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
        let turn = self.begin_turn(first, prompt, &mut arrivals, cancel.clone());
        let (mut result, left) = {
            let mut turn = std::pin::pin!(turn.run().instrument(tracing::info_span!("turn")));
            let mut listening = true;
            loop {
                tokio::select! {
                    ended = &mut turn => break ended,
                    wake = inbox.recv(), if listening => listening = desk.wake(wake, &cancel),
                    // Whoever asks behind a stop means the turn after this one.
                    Some((taken, done)) = desk.intake.next(), if !cancel.is_cancelled() => match taken {
                        Ok(taken) if taken.delivery == Delivery::Queue => desk.queued.push_back((taken, done)),
                        Ok(taken) => {
                            let (message, command) = (taken.id.clone(), taken.command.clone());
                            desk.callers.push(Caller { message, done, command });
                            // There is room: no more prompts are taken in than fit.
                            let _ = arrive.try_send(taken);
                        }
                        Err(error) => drop(done.send(Err(error))),
                    },
                }
            }
        };
        let (mut waiting, mut latest_cast): (Vec<MessageId>, _) = (left.waiting.into(), left.cast);
        // Those that came with its end.
        while let Ok(taken) = arrivals.try_recv() {
            match store_prompt(&self.setup, &mut self.record, &mut self.history, &taken).await {
                Ok(message) => {
                    waiting.push(message);
                    latest_cast = Some(taken.cast);
                }
                Err(error) => result = result.and(Err(error)),
            }
        }
        self.letters.read(&self.setup, &mut self.record, &mut self.history).await;
        let stopped = cancel.is_cancelled();
        // Who was to take over was stopped with it.
        if stopped && matches!(result, Ok(Stop::HandOver)) {
            result = Ok(Stop::End(TurnEnd::Aborted));
        }
        Outcome { result, waiting, latest_cast, stopped }
    }

    /// A turn that answers the prompts from `first` to `prompt`.
    fn begin_turn<'a>(
        &'a mut self,
        first: MessageId,
        prompt: MessageId,
        arrivals: &'a mut mpsc::Receiver<Taken>,
        cancel: CancellationToken,
    ) -> Turn<'a> {
        Turn {
            setup: &self.setup,
            role: &self.role,
            session: &mut self.record,
            history: &mut self.history,
            projection: &mut self.projection,
            kin: &self.memory.kin,
            titling: &mut self.titling,
            arrivals,
            letters: &self.letters,
            first,
            prompt,
            cancel,
            state: State::default(),
        }
    }

    /// Reads the history again: what is stored is the truth, also where a write failed half way.
    async fn read_again(&mut self) {
        if let Ok(history) = self.setup.journal.history(&self.record.id).await {
            (self.history, self.projection) = (history, Projection::default());
        }
    }

    /// Makes `cast` the one who answers, and looks whether the instructions changed.
    async fn cast(&mut self, cast: Arc<Cast>) {
        let Self { setup, record, memory, instructions, .. } = self;
        let asker = Asker { session: record.id.clone(), call: None };
        let (wanted, pages) = (&setup.options.instructions, setup.options.pages.as_deref());
        let changed = instructions.refresh(wanted, pages, &setup.place, &setup.gate, &asker).await;
        // What servers say of themselves is known when their tools are.
        let changed = memory.sent.wait(&setup.registry).await && !setup.options.notes.is_empty() || changed;
        if !cast.is_same(&self.role.cast) {
            // What a vendor made goes to no other, so the messages are made anew.
            self.projection = Projection::default();
            self.role = Role::new(setup, cast, record, memory, &instructions.text(&memory.marks));
        } else if changed {
            self.role.tell(setup, memory, &instructions.text(&memory.marks));
        }
        self.role.equip(&self.setup, &self.memory).await;
    }

    fn status(&self, status: Status) {
        self.setup.options.roster.does(&self.record.id, &status);
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

/// Stores `notice` as a prompt for `cast`.
async fn store_notice(
    setup: &Setup,
    record: &mut Record,
    history: &mut History,
    cast: &Arc<Cast>,
    notice: &Notice,
) -> Result<MessageId, TurnError> {
    let taken = Taken {
        id: setup.clock.mint(),
        cast: Arc::clone(cast),
        title: String::new(),
        parts: vec![notice.part()],
        format: None,
        delivery: Delivery::default(),
        command: None,
    };
    store_prompt(setup, record, history, &taken).await
}

/// What a session remembers, as far as its history says so.
pub(crate) fn memory(
    setup: &Setup,
    record: &Record,
    history: &History,
    todos: Vec<haft_protocol::Todo>,
    kin: Kin,
) -> Memory {
    let marks = Marks::default();
    for part in history.messages().iter().flat_map(|turned| &turned.parts) {
        for path in loaded(part) {
            marks.tell(path.as_ref(), Some(&part.message_id));
        }
    }
    let todos = Todos::kept(setup.journal.clone(), record.id.clone(), todos);
    let (belongings, wish, sent) = (Belongings::default(), Wish::default(), Sent::default());
    let (opened, context) = (setup.clock.now_ms(), String::new());
    Memory { marks, belongings, todos, kin, wish, sent, opened, context }
}

/// The instruction files that a call told the model of.
fn loaded(part: &haft_protocol::Part) -> Vec<&str> {
    let Some(ToolState::Completed { metadata, .. }) = part.kind.state() else { return Vec::new() };
    let loaded = metadata.get("loaded").and_then(|loaded| loaded.as_array());
    loaded.into_iter().flatten().filter_map(|path| path.as_str()).collect()
}
