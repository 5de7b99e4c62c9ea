//! Following a session: each event to the screen, each question to the person.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use haft_permission::Gate;
use haft_protocol::{Ask, Clock, Event, Inquiry, Message, Part, PartKind, Session, SessionId, User};
use haft_session::{Questions, Setup};
use haft_store::Journal;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::args::Format;
use crate::render::{
    Console, Json, Paint, Render, Terminal, Text, can_draw, errors, errors_are_terminal, out, out_is_terminal,
};
use crate::{ask, question};

/// How a run is shown.
pub(crate) struct Watch {
    pub format: Format,
    pub thinking: bool,
    /// The session as it was before, if it is an old one.
    pub before: Option<Session>,
    /// Whether to say how the session can be continued.
    pub go_on: bool,
    /// Whether stdout is kept for something else, so that all goes to stderr.
    pub aside: bool,
}

/// A screen that follows one session.
pub(crate) struct Screen {
    watch: Watch,
    events: Receiver<Event>,
    journal: Journal,
    gate: Gate,
    questions: Questions,
    clock: Clock,
    /// Where it works, if that has to be said.
    place: String,
    /// When this run began, in Unix milliseconds: what is older was shown by others.
    began: u64,
    /// Whether it was said who is asked.
    headed: bool,
}

impl Watch {
    /// A screen that hears everything `setup`'s journal tells from now on.
    pub(crate) fn screen(self, setup: &Setup) -> Screen {
        Screen {
            watch: self,
            events: setup.journal.subscribe(),
            journal: setup.journal.clone(),
            gate: setup.gate.clone(),
            questions: setup.questions.clone(),
            clock: setup.clock.clone(),
            place: elsewhere(&setup.place.directory),
            began: setup.clock.now_ms(),
            headed: false,
        }
    }
}

/// The folder that is worked in, if it is not the one that the person is in.
fn elsewhere(directory: &Path) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    if here.is_ok_and(|here| here == directory) { String::new() } else { format!(" · in {}", directory.display()) }
}

impl Screen {
    /// Shows `session` until `over` fires and nothing is left to show. `stopped` takes a question off the screen.
    ///
    /// # Errors
    ///
    /// When nobody reads stdout any more.
    pub(crate) async fn follow(
        mut self,
        session: SessionId,
        over: CancellationToken,
        stopped: CancellationToken,
    ) -> Result<()> {
        match self.watch.format {
            Format::Json => {
                let mut json = Json::new(out(), self.clock.clone(), self.watch.thinking);
                self.pump(&session, &mut json, &over, &stopped).await;
                Ok(json.end()?)
            }
            Format::Default if self.watch.aside => {
                let paint = Paint::new(errors_are_terminal());
                let mut shown = Text::new(errors(), errors(), false, self.watch.thinking, paint, self.clock.clone());
                if let Some(before) = &self.watch.before {
                    shown.begin(before);
                }
                self.pump(&session, &mut shown, &over, &stopped).await;
                Ok(shown.end(&session, self.watch.go_on)?)
            }
            Format::Default if can_draw() => {
                let mut shown =
                    Terminal::new(Console::here(), self.watch.thinking, Paint::new(true), self.clock.clone());
                if let Some(before) = &self.watch.before {
                    shown.begin(before);
                }
                self.pump(&session, &mut shown, &over, &stopped).await;
                shown.end(&session, self.watch.go_on);
                Ok(())
            }
            Format::Default => {
                let terminal = out_is_terminal();
                let paint = Paint::new(terminal || errors_are_terminal());
                let mut shown = Text::new(out(), errors(), terminal, self.watch.thinking, paint, self.clock.clone());
                if let Some(before) = &self.watch.before {
                    shown.begin(before);
                }
                self.pump(&session, &mut shown, &over, &stopped).await;
                Ok(shown.end(&session, self.watch.go_on)?)
            }
        }
    }

    async fn pump(
        &mut self,
        session: &SessionId,
        render: &mut dyn Render,
        over: &CancellationToken,
        stopped: &CancellationToken,
    ) {
        // What a plug-in asked as soon as it began.
        for ask in &self.gate.waiting() {
            self.permission(ask, session, render, stopped).await;
        }
        loop {
            let due = render.due();
            let event = tokio::select! {
                biased;
                event = self.events.recv() => event,
                () = over.cancelled() => return,
                () = at(due), if due.is_some() => {
                    render.tick();
                    continue;
                }
            };
            match event {
                Ok(event) => {
                    tell(&event);
                    // Tasks are shown by their calls; only what they ask is asked here.
                    if event.session_id() == session {
                        self.head(&event, render);
                        render.show(&event);
                    }
                    match event {
                        Event::PermissionAsked(ask) => self.permission(&ask, session, render, stopped).await,
                        Event::QuestionAsked(inquiry) => self.question(&inquiry, session, render, stopped).await,
                        Event::SessionCreated { .. }
                        | Event::SessionUpdated { .. }
                        | Event::SessionDeleted { .. }
                        | Event::SessionCompacted { .. }
                        | Event::SessionDiff { .. }
                        | Event::MessageRemoved { .. }
                        | Event::SessionStatus { .. }
                        | Event::SessionError { .. }
                        | Event::MessageUpdated { .. }
                        | Event::PartUpdated { .. }
                        | Event::PartDelta { .. }
                        | Event::PartRemoved { .. }
                        | Event::PermissionReplied { .. }
                        | Event::QuestionReplied { .. }
                        | Event::QuestionRejected { .. }
                        | Event::CommandExecuted { .. }
                        | Event::TodoUpdated { .. } => {}
                    }
                }
                Err(RecvError::Lagged(_)) => self.catch_up(session, render, stopped).await,
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Says who is asked, once the first prompt is there.
    fn head(&mut self, event: &Event, render: &mut dyn Render) {
        let Event::MessageUpdated { info, .. } = event else { return };
        if let Message::User(User { agent, model, .. }) = &**info
            && !std::mem::replace(&mut self.headed, true)
        {
            let model = format!("{}/{}", model.provider_id, model.model_id);
            tracing::info!(agent, model, "asks");
            render.head(agent, &format!("{model}{}", self.place));
        }
    }

    /// Shows what was missed while the screen was slower than the model: the store has it all.
    async fn catch_up(&mut self, session: &SessionId, render: &mut dyn Render, stopped: &CancellationToken) {
        let stored = self.journal.history(session).await;
        let Ok(history) = stored else { return };
        let began = self.began;
        let new = history.messages().iter().filter(|turned| turned.info.created() >= began);
        for turned in new {
            let session_id = session.clone();
            let event = Event::MessageUpdated { session_id, info: Box::new(turned.info.clone()) };
            self.head(&event, render);
            render.show_stored(&event);
            for part in &turned.parts {
                let (session_id, part) = (session.clone(), Box::new(part.clone()));
                render.show_stored(&Event::PartUpdated { session_id, part, time: self.clock.now_ms() });
            }
        }
        // Questions are not stored; those that wait were asked before.
        for ask in &self.gate.waiting() {
            self.permission(ask, session, render, stopped).await;
        }
        for inquiry in &self.questions.waiting() {
            self.question(inquiry, session, render, stopped).await;
        }
    }

    /// Asks for leave. The gate is that of the session and all below it, so whoever asks there asks the person here.
    async fn permission(&self, ask: &Ask, session: &SessionId, render: &mut dyn Render, stopped: &CancellationToken) {
        render.step_aside();
        let who = self.who(&ask.session_id, session).await;
        ask::answer(ask, who.as_deref(), &self.gate, stopped).await;
    }

    async fn question(
        &self,
        inquiry: &Inquiry,
        session: &SessionId,
        render: &mut dyn Render,
        stopped: &CancellationToken,
    ) {
        render.step_aside();
        let who = self.who(&inquiry.session_id, session).await;
        question::answer(inquiry, who.as_deref(), &self.questions, stopped).await;
    }

    /// The agent of a task and what that is about, if it is one that asks: several may work side by side.
    async fn who(&self, asks: &SessionId, session: &SessionId) -> Option<String> {
        if asks == session {
            return None;
        }
        let record = self.journal.session(asks).await.ok().flatten();
        let Some(Session { agent: Some(agent), title, .. }) = record else { return Some("of a task".to_owned()) };
        let about = title.strip_suffix(&format!(" (@{agent} subagent)")).filter(|about| !about.is_empty());
        Some(about.map_or_else(|| agent.clone(), |about| format!("{agent} ({about})")))
    }
}

/// Completes at `due`, which is a time when this is awaited.
async fn at(due: Option<Instant>) {
    tokio::time::sleep_until(due.unwrap_or_else(Instant::now).into()).await;
}

/// Puts what a step used into the log.
fn tell(event: &Event) {
    let Event::PartUpdated { part, .. } = event else { return };
    if let Part { kind: PartKind::StepFinish { reason, cost, tokens }, .. } = &**part {
        let (input, output) = (tokens.input, tokens.output + tokens.reasoning);
        let (cached, written) = (tokens.cache.read, tokens.cache.write);
        tracing::info!(reason, input, cached, written, output, cost, "step ended");
    }
}
