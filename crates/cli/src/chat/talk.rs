//! The chat: the person's lines to the agent, and what happens back to the person.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use haft_permission::Answerer;
use haft_protocol::{Event, Id, Message, PartKind, Reply, Session as Record, SessionId, Status, Tokens, User};
use haft_session::{Agent, Agents, Delivery, NewSession, Session, SessionError, Setup, TurnEnd};
use haft_store::Journal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::task::JoinSet;

use super::asks::{Asks, Desk};
use super::commands::{Meant, meant, unknown};
use super::editor::{Complete, Draft, Input, LineSource, Mode, Prompt};
use super::lists;
use super::status::{self, Turn, Window};
use crate::commands::run::{rules, unusual};
use crate::models::{self, NO_MODEL_YET};
use crate::render::{Looks, Render, clean, size};
use crate::report::{Exit, describe, describe_within};
use crate::signals::Endings;
use crate::wire::Ground;

/// A second Ctrl-C within this time leaves.
const TWICE: Duration = Duration::from_secs(2);
/// How long a turn that was stopped may take to end when the person leaves.
const FAREWELL: Duration = Duration::from_secs(5);
/// How much of what a plug-in says is shown, in characters.
const MAX_TOLD: usize = 200;
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
        let history = self.journal.history(&record.id).await?;
        let title = lists::one_line(&record.title);
        self.face.note(vec![self.looks.paint.dim(&format!("{title} · {}", record.id))]);
        self.face.note(lists::replay(history.messages(), replay, self.looks.paint));
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

    /// Says it to the agent.
    pub(super) async fn say(&mut self, draft: Draft) {
        let session = match self.session().await {
            Ok(session) => session,
            Err(error) if self.setup.is_none() && self.chosen.name.is_none() => {
                tracing::info!(error = format!("{error:#}"), "no model");
                return self.face.note(NO_MODEL_YET.lines().map(str::to_owned).collect());
            }
            Err(error) => return self.complain(&describe(&error)),
        };
        let delivery = if draft.later { Delivery::Queue } else { Delivery::Steer };
        let mut prompt = match haft_session::Prompt::with_files(draft.text, draft.files).await {
            Ok(prompt) => prompt.agent(&self.agent).delivery(delivery),
            Err(error) => return self.complain(&describe(&error.into())),
        };
        if let Some(name) = self.chosen.name.clone().filter(|_| self.chosen.is_named) {
            prompt = prompt.model(name, self.chosen.variant.clone());
        }
        if self.running.is_some() {
            let told = match draft.later {
                true => "queued: it is read once this turn has ended",
                false => {
                    "queued: it is read after the step that runs; Ctrl-Q or /queue instead of Enter: after the turn"
                }
            };
            self.face.note(vec![self.looks.paint.dim(told)]);
        }
        self.start(async move { session.prompt(prompt).await });
    }

    /// Runs a command line that the person typed.
    async fn shell(&mut self, line: String) {
        if self.running.is_some() {
            return self.complain("a turn runs; wait for its end, or stop it with Ctrl-C, and run the command then");
        }
        match self.session().await {
            Ok(session) => {
                self.begin(false, true);
                self.turns.spawn(async move { session.shell(line).await });
            }
            Err(error) => self.complain(&describe(&error)),
        }
    }

    /// Runs `turn`, which asks a model.
    pub(super) fn start(&mut self, turn: impl Future<Output = Result<TurnEnd, SessionError>> + Send + 'static) {
        self.begin(true, true);
        self.turns.spawn(turn);
    }

    fn begin(&mut self, asks_model: bool, is_awaited: bool) {
        let before = self.record.as_ref().map(|record| (record.tokens, record.cost)).unwrap_or_default();
        let began_ms = self.setup.as_ref().map_or(0, |setup| setup.clock.now_ms());
        let (began, notes) = (Instant::now(), Vec::new());
        self.running.get_or_insert(Running { began, began_ms, before, asks_model, is_awaited, notes });
    }

    /// Whether something runs, which is then said.
    pub(super) fn is_busy(&mut self, name: &str) -> bool {
        let busy = self.running.is_some();
        if busy {
            self.complain(&format!("a turn runs; wait for its end, or stop it with Ctrl-C, and say /{name} then"));
        }
        busy
    }

    /// One who waited for a turn was told of its end.
    async fn ended(&mut self, end: Result<Result<TurnEnd, SessionError>, tokio::task::JoinError>) {
        let note = match end {
            Ok(Ok(end)) => {
                self.failed = false;
                told(&end)
            }
            Ok(Err(error)) => {
                self.failed = true;
                Some(self.looks.paint.red(&clean(&describe_within(error))))
            }
            Err(error) => {
                self.failed = true;
                Some(self.looks.paint.red(&format!("error: the turn crashed: {error}; what is stored is kept")))
            }
        };
        let Some(running) = &mut self.running else { return };
        if let Some(note) = note.filter(|note| !running.notes.contains(note)) {
            running.notes.push(note);
        }
        if self.turns.is_empty() {
            self.finish();
        }
    }

    /// Says what there is to say at the end of a turn.
    fn finish(&mut self) {
        let Some(running) = self.running.take() else { return };
        self.face.rest();
        let mut lines: Vec<String> =
            running.notes.iter().flat_map(|note| note.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        if running.asks_model {
            let (tokens, cost) = self.record.as_ref().map(|record| (record.tokens, record.cost)).unwrap_or_default();
            let turn = Turn {
                agent: self.headed.0.clone(),
                model: self.headed.1.clone(),
                took: running.began.elapsed(),
                tokens: status::since(&running.before.0, &tokens),
                cost: cost - running.before.1,
                window: self.window,
            };
            lines.push(self.looks.paint.dim(&lists::one_line(&status::line(&turn))));
        }
        self.face.note(lines);
        if let (true, Some(setup)) = (self.chosen.is_named && !self.failed, &self.setup) {
            models::remember(&setup.model.reference, &self.ground.folders);
        }
    }

    /// Shows what was told. Whether something else is to be read now.
    async fn follow(&mut self, event: Result<Event, RecvError>) -> bool {
        let event = match event {
            Ok(event) => event,
            Err(RecvError::Lagged(_)) => {
                self.catch_up().await;
                return true;
            }
            // The journal ends after the chat.
            Err(RecvError::Closed) => return std::future::pending().await,
        };
        self.show(&event, false);
        if let Event::PermissionAsked(ask) = &event {
            if let (true, Some(setup)) = (self.auto, &self.setup) {
                // One that was taken back meanwhile needs no answer.
                let _ = setup.gate.reply(&ask.id, Reply::Once);
                return false;
            }
            let who = self.who(&ask.session_id).await;
            self.asks.leave(ask.clone(), who);
            return true;
        }
        if let Event::QuestionAsked(inquiry) = &event {
            let who = self.who(&inquiry.session_id).await;
            self.asks.question(inquiry.clone(), who);
            return true;
        }
        if self.follow_status(&event) {
            return true;
        }
        let Some(setup) = &self.setup else { return false };
        self.asks.is_stale(Desk { gate: &setup.gate, questions: &setup.questions })
    }

    /// Follows a turn that nobody here waits for: one that began with the end of a task. Whether it began or ended.
    fn follow_status(&mut self, event: &Event) -> bool {
        let Event::SessionStatus { session_id, status } = event else { return false };
        let is_here = self.session.as_ref().is_some_and(|session| session.id() == session_id);
        if !is_here || !self.turns.is_empty() {
            return false;
        }
        match (status, &self.running) {
            (Status::Busy | Status::Retry { .. }, None) => self.begin(true, false),
            (Status::Idle, Some(Running { is_awaited: false, .. })) => self.finish(),
            (Status::Busy | Status::Retry { .. } | Status::Idle, _) => return false,
        }
        true
    }

    /// Shows one event, and keeps what it says of the session.
    fn show(&mut self, event: &Event, stored: bool) {
        if self.session.as_ref().is_none_or(|session| session.id() != event.session_id()) {
            return;
        }
        if let Event::SessionCreated { info, .. } | Event::SessionUpdated { info, .. } = event {
            self.record = Some(info.clone());
        }
        if let Event::MessageUpdated { info, .. } = event {
            match &**info {
                Message::User(User { agent, model, summary, .. }) => {
                    // One agent let another go on: the person's next words are for that one.
                    let is_followed = self.running.is_some() && self.agent == self.headed.0 && *agent != self.headed.0;
                    if is_followed && self.agents.primaries().any(|primary| primary.name == *agent) {
                        self.agent.clone_from(agent);
                    }
                    self.head(agent, &format!("{}/{}", model.provider_id, model.model_id));
                    if let Some(summary) = summary.as_ref().filter(|summary| summary.body.is_some())
                        && std::mem::take(&mut self.wants_summary)
                    {
                        self.face.note(lists::summary(summary, self.looks.paint));
                    }
                }
                Message::Assistant(answer) => {
                    self.head(&answer.agent, &format!("{}/{}", answer.provider_id, answer.model_id));
                    if answer.tokens != Tokens::default() {
                        self.window = Window::of(&answer.tokens, self.reads());
                    }
                }
            }
        }
        if let Event::PartUpdated { part, .. } = event
            && let PartKind::Text { text, synthetic: false, .. } = &part.kind
            && let Some(plugin) = part.kind.plugin()
        {
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let told: String = format!("the plug-in {plugin} says: {line}").chars().take(MAX_TOLD).collect();
            self.face.note(vec![self.looks.paint.dim(&lists::one_line(&told))]);
        }
        match stored {
            true => self.face.show_stored(event),
            false => self.face.show(event),
        }
    }

    /// Says who answers, where that is another one than before.
    fn head(&mut self, agent: &str, model: &str) {
        let now = (agent.to_owned(), model.to_owned());
        if self.headed != now {
            self.headed = now;
            self.face.head(agent, model);
        }
    }

    /// How many tokens the model that answers reads at once; 0 where that is not known.
    fn reads(&self) -> u64 {
        let Some(setup) = &self.setup else { return 0 };
        if setup.model.name() == self.headed.1 {
            return setup.model.limits.context;
        }
        models::choose(Some(&self.headed.1), &self.ground.config).map_or(0, |model| model.limits.context)
    }

    /// Shows all that was told so far.
    async fn catch_all(&mut self, events: &mut Receiver<Event>) {
        loop {
            match events.try_recv() {
                Ok(event) => drop(self.follow(Ok(event)).await),
                Err(TryRecvError::Lagged(_)) => self.catch_up().await,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return,
            }
        }
    }

    /// Shows what was missed while the screen was slower than the model: the store has it all.
    async fn catch_up(&mut self) {
        let (Some(session), Some(setup)) = (self.session.clone(), self.setup.clone()) else { return };
        let began = self.running.as_ref().map_or(u64::MAX, |running| running.began_ms);
        let Ok(history) = self.journal.history(session.id()).await else { return };
        for turned in history.messages().iter().filter(|turned| turned.info.created() >= began) {
            let info = Box::new(turned.info.clone());
            self.show(&Event::MessageUpdated { session_id: session.id().clone(), info }, true);
            for part in &turned.parts {
                let (session_id, part) = (session.id().clone(), Box::new(part.clone()));
                self.show(&Event::PartUpdated { session_id, part, time: setup.clock.now_ms() }, true);
            }
        }
        // Questions are not stored; those that wait were asked before.
        for ask in setup.gate.waiting() {
            let who = self.who(&ask.session_id).await;
            self.asks.leave(Box::new(ask), who);
        }
        for inquiry in setup.questions.waiting() {
            let who = self.who(&inquiry.session_id).await;
            self.asks.question(Box::new(inquiry), who);
        }
    }

    /// The agent of a task, if it is one that asks.
    async fn who(&self, asks: &SessionId) -> Option<String> {
        if self.session.as_ref().is_some_and(|session| session.id() == asks) {
            return None;
        }
        let record = self.journal.session(asks).await.ok().flatten();
        Some(record.and_then(|record| record.agent).unwrap_or_else(|| "of a task".to_owned()))
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

/// What a person should know about how a turn ended.
fn told(end: &TurnEnd) -> Option<String> {
    match end {
        TurnEnd::Finished(reason) => unusual(reason).map(str::to_owned),
        TurnEnd::Limit { steps } => {
            Some(format!("stopped after {steps} steps, which is the limit; say `continue` to go on"))
        }
        TurnEnd::Circles { tool } => Some(format!("stopped: the model made the same call of {tool} over and over")),
        TurnEnd::Refused => Some("stopped, because you refused a call; say what you want instead to go on".to_owned()),
        TurnEnd::Aborted => Some("stopped; what was said and done is kept".to_owned()),
    }
}

/// Completes at `due`, which is a time when this is awaited.
async fn at(due: Option<Instant>) {
    tokio::time::sleep_until(due.unwrap_or_else(Instant::now).into()).await;
}
