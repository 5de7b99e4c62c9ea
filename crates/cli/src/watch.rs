//! Following a session: each event to the screen, each question to the person.

use std::io::{IsTerminal, stderr, stdout};
use std::path::Path;

use anyhow::Result;
use haft_permission::Gate;
use haft_protocol::{Clock, Event, Session, SessionId};
use haft_session::Setup;
use haft_store::Journal;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use crate::args::Format;
use crate::ask;
use crate::render::{Json, Paint, Render, Text};

/// How a run is shown.
pub(crate) struct Watch {
    pub format: Format,
    pub thinking: bool,
    /// The session as it was before, if it is an old one.
    pub before: Option<Session>,
    /// Whether to say how the session can be continued.
    pub go_on: bool,
}

/// A screen that follows one session.
pub(crate) struct Screen {
    watch: Watch,
    events: Receiver<Event>,
    journal: Journal,
    gate: Gate,
    clock: Clock,
    agent: String,
    model: String,
    /// When this run began, in Unix milliseconds: what is older was shown by others.
    began: u64,
}

impl Watch {
    /// A screen that hears everything `setup`'s journal tells from now on.
    pub(crate) fn screen(self, setup: &Setup) -> Screen {
        let model = &setup.model.reference;
        Screen {
            watch: self,
            events: setup.journal.subscribe(),
            journal: setup.journal.clone(),
            gate: setup.gate.clone(),
            clock: setup.clock.clone(),
            agent: setup.agent.name.clone(),
            model: format!("{}/{}{}", model.provider_id, model.model_id, elsewhere(&setup.place.directory)),
            began: setup.clock.now_ms(),
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
                let mut json = Json::new(stdout(), self.clock.clone(), self.watch.thinking);
                self.pump(&session, &mut json, &over, &stopped).await;
                Ok(json.end()?)
            }
            Format::Default => {
                let terminal = stdout().is_terminal();
                let paint = Paint::new(terminal || stderr().is_terminal());
                let mut shown = Text::new(stdout(), stderr(), terminal, self.watch.thinking, paint);
                shown.head(&self.agent, &self.model);
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
        loop {
            let event = tokio::select! {
                biased;
                event = self.events.recv() => event,
                () = over.cancelled() => return,
            };
            match event {
                Ok(event) if event.session_id() == session => {
                    render.show(&event);
                    if let Event::PermissionAsked(ask) = event {
                        ask::answer(&ask, &self.gate, stopped).await;
                    }
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.catch_up(session, render, stopped).await,
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Shows what was missed while the screen was slower than the model: the store has it all.
    async fn catch_up(&self, session: &SessionId, render: &mut dyn Render, stopped: &CancellationToken) {
        let stored = self.journal.history(session).await;
        let Ok(history) = stored else { return };
        let new = history.messages().iter().filter(|turned| turned.info.created() >= self.began);
        for turned in new {
            let session_id = session.clone();
            render.show_stored(&Event::MessageUpdated { session_id, info: Box::new(turned.info.clone()) });
            for part in &turned.parts {
                let (session_id, part) = (session.clone(), Box::new(part.clone()));
                render.show_stored(&Event::PartUpdated { session_id, part, time: self.clock.now_ms() });
            }
        }
        // Questions are not stored; those that wait were asked before.
        for ask in self.gate.waiting().iter().filter(|ask| ask.session_id == *session) {
            ask::answer(ask, &self.gate, stopped).await;
        }
    }
}
