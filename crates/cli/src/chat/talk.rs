//! The chat: the person's lines to the agent, and what happens back to the person.

mod follow;
mod turns;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use haft_permission::Answerer;
use haft_protocol::{Event, Id, Session as Record, SessionId, Tokens};
use haft_session::{Agent, Agents, NewSession, Session, SessionError, Setup, TurnEnd};
use haft_store::Journal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinSet;

use super::asks::{Asks, Desk};
use super::commands::{Meant, meant, unknown};
use super::editor::{Complete, Draft, Input, LineSource, Mode, Prompt};
use super::lists;
use super::status::Window;
use crate::commands::run::rules;
use crate::models::{self, NO_MODEL_YET};
use crate::render::{Looks, Render, clean, size};
use crate::report::{Exit, describe};
use crate::signals::Endings;
use crate::wire::Ground;

/// A second Ctrl-C within this time leaves.
const TWICE: Duration = Duration::from_secs(2);
/// How long a turn that was stopped may take to end when the person leaves.
const FAREWELL: Duration = Duration::from_secs(5);
/// Sessions of this chat that stay open, so that the person can return to them.
const MAX_OPEN: usize = 8;

/// What a chat begins with.
pub(super) struct Opening {
    pub ground: Ground,
    pub journal: Journal,
    pub answerer: Answerer,
    pub agents: Agents,
    pub agent: Agent,
    pub chosen: Chosen,
    /// The session that goes on.
    pub resumed: Option<Record>,
}

/// Which model the person wants.
#[derive(Debug, Clone, Default)]
pub(super) struct Chosen {
    /// As `vendor/model`; the usual one where left out.
    pub name: Option<String>,
    pub variant: Option<String>,
    /// Whether the person named it, so that it goes before an agent's own.
    pub is_named: bool,
}

/// A chat.
pub(super) struct Talk {
    pub(super) ground: Ground,
    pub(super) journal: Journal,
    pub(super) agents: Agents,
    answerer: Answerer,
    /// There once a model was found.
    pub(super) setup: Option<Setup>,
    /// The session that is talked in, and those that were before.
    pub(super) session: Option<Session>,
    opened: Vec<Session>,
    pub(super) record: Option<Box<Record>>,
    pub(super) agent: String,
    pub(super) chosen: Chosen,
    pub(super) face: Box<dyn Render>,
    pub(super) looks: Looks,
    asks: Asks,
    /// Whether everything that no rule denies is allowed.
    pub(super) auto: bool,
    /// What the editor completes. Without it lines are whole and nothing is drawn.
    pub(super) complete: Option<Arc<Complete>>,
    is_terminal: bool,
    turns: JoinSet<Result<TurnEnd, SessionError>>,
    running: Option<Running>,
    /// Who was last said to answer, and on which model.
    headed: (String, String),
    pub(super) window: Window,
    last_interrupt: Option<Instant>,
    /// What the last lists showed, for whoever chooses by number.
    pub(super) listed_sessions: Vec<SessionId>,
    pub(super) listed_models: Vec<String>,
    /// Whether the person waits to read what the last turn came to.
    pub(super) wants_summary: bool,
    /// Whether the last turn failed.
    failed: bool,
    /// Whether what goes on behind the last line of a pipe was waited for.
    rested: bool,
}

/// What runs.
struct Running {
    began: Instant,
    /// The same in Unix milliseconds of the session's clock.
    began_ms: u64,
    before: (Tokens, f64),
    /// Whether a model is asked.
    asks_model: bool,
    /// Whether somebody here waits for its end; else its status tells of that.
    is_awaited: bool,
    /// What is to be said when all of it has ended.
    notes: Vec<String>,
}

/// Whether the chat goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Leave,
}

/// What woke the chat.
enum Woke {
    Input(Input),
    Ended(Result<Result<TurnEnd, SessionError>, tokio::task::JoinError>),
    /// What is to be read is another thing now.
    Changed,
    Leave,
}

impl Talk {
    pub(super) fn new(
        opening: Opening,
        face: Box<dyn Render>,
        looks: Looks,
        complete: Option<Arc<Complete>>,
        is_terminal: bool,
    ) -> Self {
        let Opening { ground, journal, answerer, agents, agent, chosen, resumed } = opening;
        Self {
            ground,
            journal,
            agents,
            answerer,
            setup: None,
            session: None,
            opened: Vec::new(),
            record: resumed.map(Box::new),
            agent: agent.name,
            chosen,
            face,
            looks,
            asks: Asks::default(),
            auto: answerer == Answerer::Yes,
            complete,
            is_terminal,
            turns: JoinSet::new(),
            running: None,
            headed: (String::new(), String::new()),
            window: Window::default(),
            last_interrupt: None,
            listed_sessions: Vec::new(),
            listed_models: Vec::new(),
            wants_summary: false,
            failed: false,
            rested: false,
        }
    }

    /// Says what this is, and shows the last `replay` prompts of a session that goes on.
    ///
    /// # Errors
    ///
    /// When the model that was named cannot be had, or the session cannot be opened.
    pub(super) async fn greet(&mut self, replay: usize) -> Result<()> {
        let dim = |line: &str| self.looks.paint.dim(line);
        if self.is_terminal {
            let place = lists::one_line(&self.ground.place.directory.display().to_string());
            let head = format!("haft {} · {place}", env!("CARGO_PKG_VERSION"));
            self.face.note(vec![dim(&head), dim("Say what is to be done. /help lists commands, Ctrl-D leaves.")]);
        }
        self.tell_known();
        self.tell_sessions().await;
        if let Some(record) = self.record.take() {
            return self.enter(*record, replay).await;
        }
        match self.setup().await {
            Ok(setup) => self.head_at_start(&setup),
            Err(error) if self.chosen.name.is_some() || !self.is_terminal => return Err(error),
            Err(_) => self.face.note(NO_MODEL_YET.lines().map(str::to_owned).collect()),
        }
        if self.is_terminal {
            self.tell_of_latest().await;
        }
        Ok(())
    }

    /// Says who will answer, as far as that is known before anything is said.
    fn head_at_start(&mut self, setup: &Setup) {
        if self.is_terminal {
            let (agent, model) = (self.agent.clone(), setup.model.name());
            self.head(&agent, &model);
        }
    }

    /// Says which session could be gone on with.
    async fn tell_of_latest(&mut self) {
        let latest = self.sessions_here(1).await;
        if let Some(record) = latest.first() {
            let title = lists::one_line(&record.title);
            let ago = crate::commands::session::ago(record.time.updated);
            let line = format!("/continue lists earlier sessions; the latest, {ago}: {title}");
            self.face.note(vec![self.looks.paint.dim(&line)]);
        }
    }

    /// The newest sessions of this folder, at most so many.
    pub(super) async fn sessions_here(&self, limit: usize) -> Vec<Record> {
        let directory = Some(self.ground.place.directory.display().to_string());
        let filter = haft_store::Filter { directory, roots: true, limit, ..haft_store::Filter::default() };
        self.journal.sessions(&filter).await.unwrap_or_default()
    }

    /// Goes on in the stored session `record`, and shows its last `replay` prompts.
    pub(super) async fn enter(&mut self, record: Record, replay: usize) -> Result<()> {
        let setup = self.setup().await?;
        self.head_at_start(&setup);
        let kept = self.opened.iter().find(|session| *session.id() == record.id).cloned();
        let session = match kept {
            Some(session) => session,
            None => Session::open(setup, &record.id).await?,
        };
        // What opening it put right is stored by now.
        let record = self.journal.session(&record.id).await?.unwrap_or(record);
        let history = self.journal.history(&record.id).await?;
        let title = lists::one_line(&record.title);
        self.face.note(vec![self.looks.paint.dim(&format!("{title} · {}", record.id))]);
        let (shown, hidden) = haft_session::shown(&record, &history);
        self.face.note(lists::replay(shown, replay, self.looks.paint));
        if hidden > 0 {
            self.tell_taken_back(&session).await;
        }
        self.window = Window::default();
        self.record = Some(Box::new(record));
        self.keep(session);
        Ok(())
    }

    fn keep(&mut self, session: Session) {
        self.opened.retain(|opened| opened.id() != session.id());
        if self.opened.len() >= MAX_OPEN {
            self.opened.remove(0);
        }
        self.opened.push(session.clone());
        self.session = Some(session);
    }

    /// What sessions here are given to work with. Finds the model, the first time.
    pub(super) async fn setup(&mut self) -> Result<Setup> {
        if let Some(setup) = &self.setup {
            return Ok(setup.clone());
        }
        let own = self.agents.get(&self.agent).and_then(|agent| agent.model.clone());
        let named = self.chosen.name.clone().or(own);
        let model = models::find(named.as_deref(), self.chosen.variant.as_deref(), &self.ground.config).await?;
        let (answerer, agents) = (self.answerer, self.agents.clone());
        let setup = self.ground.setup(self.journal.clone(), model, answerer, &rules(answerer), agents)?;
        self.setup = Some(setup.clone());
        Ok(setup)
    }

    /// The session that is talked in; made where there is none.
    async fn session(&mut self) -> Result<Session> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let setup = self.setup().await?;
        let session = Session::create(setup, NewSession::default()).await?;
        self.window = Window::default();
        self.record = None;
        self.keep(session.clone());
        Ok(session)
    }

    /// Talks until the person leaves. `first` is said before anything else.
    pub(super) async fn run(mut self, source: &mut dyn LineSource, first: Option<String>) -> Result<Exit> {
        let mut events = self.journal.subscribe();
        // What a plug-in asked as soon as it began.
        for ask in self.setup.iter().flat_map(|setup| setup.gate.waiting()) {
            self.asks.leave(Box::new(ask), None);
        }
        let mut endings = Endings::listen()?;
        // Where the terminal is ours, Ctrl-C is a key; a signal of that name comes from elsewhere.
        let mut interrupts = signal(SignalKind::interrupt())?;
        if let Some(text) = first {
            self.hear(Draft { shown: text.clone(), text, ..Draft::default() }, source).await;
        }
        loop {
            if self.settle() {
                // What was typed for a question that is gone answers no other one.
                source.release();
            }
            let prompt = self.prompt();
            let reads = self.is_terminal || self.running.is_none();
            let woke = {
                let mut reading = std::pin::pin!(async {
                    match reads {
                        true => source.read(&prompt).await,
                        // Lines of a pipe come one after the other.
                        false => std::future::pending().await,
                    }
                });
                loop {
                    let due = self.face.due();
                    tokio::select! {
                        event = events.recv() => if self.follow(event).await { break Woke::Changed },
                        Some(ended) = self.turns.join_next(), if !self.turns.is_empty() => break Woke::Ended(ended),
                        input = &mut reading => break Woke::Input(input),
                        () = endings.next() => break Woke::Leave,
                        Some(()) = interrupts.recv(), if !self.is_terminal => break Woke::Input(Input::Interrupt),
                        () = at(due), if due.is_some() => self.face.tick(),
                    }
                }
            };
            let flow = match woke {
                Woke::Changed => Flow::On,
                Woke::Leave => Flow::Leave,
                Woke::Ended(end) => {
                    self.catch_all(&mut events).await;
                    self.ended(end).await;
                    Flow::On
                }
                Woke::Input(input) => self.input(input, source).await,
            };
            if flow == Flow::Leave {
                source.release();
                return Ok(self.leave(&mut events).await);
            }
        }
    }

    /// Forgets questions that need no answer any more. Whether the one on the screen was among them.
    fn settle(&mut self) -> bool {
        let Some(setup) = &self.setup else { return false };
        self.asks.settle(Desk { gate: &setup.gate, questions: &setup.questions })
    }

    /// What is read next, and with which mark.
    fn prompt(&mut self) -> Prompt {
        let busy = self.running.is_some();
        if self.asks.is_empty() {
            self.face.hush(false);
        } else {
            self.face.hush(true);
            if let Some(asked) = self.asks.unshown(self.looks.paint, size().columns) {
                self.face.note(asked.trim_end().lines().map(str::to_owned).collect());
            }
            return Prompt { busy, ..Prompt::answer("answer › ") };
        }
        // Without an editor a mark would stand among the lines of the answer.
        let is_marked = self.is_terminal && (!busy || self.complete.is_some());
        let mark = if is_marked { format!("{} › ", lists::one_line(&self.agent)) } else { String::new() };
        let hint = if busy {
            "what you say now is read after this step, with Ctrl-Q after the turn; Ctrl-C stops"
        } else {
            ""
        };
        Prompt { busy, hint: hint.to_owned(), ..Prompt::chat(mark) }
    }

    async fn input(&mut self, input: Input, source: &mut dyn LineSource) -> Flow {
        if !matches!(input, Input::Interrupt) {
            self.last_interrupt = None;
        }
        match input {
            Input::Submit(draft) if !self.asks.is_empty() => {
                self.answer(Some(&draft.text));
                Flow::On
            }
            Input::Escape | Input::Eof if !self.asks.is_empty() => {
                self.answer(None);
                Flow::On
            }
            Input::Submit(draft) => self.hear(draft, source).await,
            Input::Interrupt => self.interrupt().await,
            Input::Escape => Flow::On,
            Input::Cycle(cycle) => {
                self.cycle(cycle);
                Flow::On
            }
            // What a pipe said last is answered before it counts as gone, with what goes on behind that.
            Input::Eof if !self.is_terminal && !self.rested => {
                self.rest();
                Flow::On
            }
            Input::Eof => Flow::Leave,
        }
    }

    /// Waits until no task goes on by itself any more.
    fn rest(&mut self) {
        self.rested = true;
        // After a failure nothing is begun any more.
        let Some(session) = self.session.clone().filter(|_| !self.failed) else { return };
        self.begin(false, true);
        self.turns.spawn(async move { Ok(session.rest().await?.unwrap_or(TurnEnd::Finished("stop".to_owned()))) });
    }

    fn answer(&mut self, line: Option<&str>) {
        let Some(setup) = &self.setup else { return };
        let desk = Desk { gate: &setup.gate, questions: &setup.questions };
        if let Some(again) = self.asks.answer(line, desk, size().columns) {
            self.face.note(again.trim_end().lines().map(str::to_owned).collect());
        }
    }

    async fn interrupt(&mut self) -> Flow {
        let now = Instant::now();
        let before = self.last_interrupt.replace(now);
        if before.is_some_and(|before| now.duration_since(before) < TWICE) {
            return Flow::Leave;
        }
        let told = match (&self.session, &self.running) {
            (Some(session), Some(_)) => {
                session.abort().await;
                "stopping; Ctrl-C once more leaves"
            }
            _ => "Ctrl-C once more, or Ctrl-D, leaves",
        };
        self.face.note(vec![self.looks.paint.dim(told)]);
        Flow::On
    }

    /// Takes what the person said.
    async fn hear(&mut self, draft: Draft, source: &mut dyn LineSource) -> Flow {
        if draft.mode == Mode::Shell {
            self.shell(draft.text).await;
            return Flow::On;
        }
        let prompts: Vec<String> = self.prompts().into_iter().map(|(name, _)| name).collect();
        let text = draft.text.clone();
        match meant(&text, &prompts, |path| std::path::Path::new(path).exists()) {
            Meant::Words => self.say(draft).await,
            Meant::Unknown(name) => self.complain(&unknown(name, &prompts)),
            Meant::Deed(name, deed, arguments) => {
                let given = Draft { text: arguments.to_owned(), ..draft };
                match self.obey(name, deed, given, source).await {
                    Ok(flow) => return flow,
                    Err(error) => self.complain(&describe(&error)),
                }
            }
        }
        Flow::On
    }

    /// The commands that are prompts, with what they do.
    pub(super) fn prompts(&self) -> Vec<(String, String)> {
        let all = haft_session::builtin_commands().into_iter().chain(self.ground.commands());
        let mut prompts: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
        prompts.extend(self.ground.servers().prompts().into_iter().map(|prompt| (prompt.name, prompt.description)));
        for command in all {
            prompts.insert(command.name, command.description.unwrap_or_default());
        }
        prompts.into_iter().collect()
    }

    /// Says what is wrong.
    pub(super) fn complain(&mut self, text: &str) {
        let lines = clean(text).lines().map(|line| self.looks.paint.yellow(line)).collect();
        self.face.note(lines);
    }

    /// Stops what runs, and says how to go on.
    async fn leave(mut self, events: &mut Receiver<Event>) -> Exit {
        if let Some(session) = self.session.clone().filter(|_| !self.turns.is_empty()) {
            session.abort().await;
            let ended = async { while self.turns.join_next().await.is_some() {} };
            // The next opening closes what is then left open.
            let _ = tokio::time::timeout(FAREWELL, ended).await;
        }
        self.face.hush(false);
        self.catch_all(events).await;
        self.face.rest();
        if let Some(session) = &self.session {
            session.settle().await;
        }
        if let Some(record) = &self.record {
            let id = record.id.as_str();
            self.face.note(vec![self.looks.paint.dim(&format!("kept; to go on:  haft --session {id}"))]);
        }
        self.ground.dispose().await;
        if self.failed && !self.is_terminal { Exit::Failed } else { Exit::Done }
    }
}

/// Completes at `due`, which is a time when this is awaited.
async fn at(due: Option<Instant>) {
    tokio::time::sleep_until(due.unwrap_or_else(Instant::now).into()).await;
}
