//! Owns one session: its record, its history, and the turn that runs.

use haft_protocol::{
    Event, Failure, History, Message, MessageId, MessageTime, Part, PartKind, Session as Record, SessionId,
    SessionModel, SessionTime, Status, Tokens, User,
};
use haft_store::Lease;
use haft_tool::Spec;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::assemble::Projection;
use crate::calls::Calls;
use crate::error::SessionError;
use crate::policy;
use crate::prompt::{Prompt, title};
use crate::recover::close_all;
use crate::setup::{NewSession, Setup};
use crate::slug::slug;
use crate::system;
use crate::turn::{Turn, TurnEnd, record_all};

/// Requests that may wait for the session's task.
const MAX_INBOX: usize = 32;

/// A handle to a session. Cheap to clone; the session ends, and a running turn stops, with the last one.
#[derive(Clone)]
pub struct Session {
    id: SessionId,
    inbox: mpsc::Sender<Inbox>,
}

/// Everything that can wake a session. There is nothing else.
enum Inbox {
    Prompt(Prompt, oneshot::Sender<Result<TurnEnd, SessionError>>),
    Abort,
}

impl Session {
    /// Makes a session and stores it.
    ///
    /// # Errors
    ///
    /// When its folder is not there or the store cannot be written.
    pub async fn create(setup: Setup, new: NewSession) -> Result<Self, SessionError> {
        if !setup.place.directory.is_dir() {
            return Err(SessionError::Gone(setup.place.directory));
        }
        let id = new_id(&setup).await?;
        let now = setup.clock.now_ms();
        let record = Record {
            slug: slug(&id),
            project_id: setup.place.project_id.clone(),
            directory: setup.place.directory.display().to_string(),
            path: setup.place.relative(),
            parent_id: None,
            title: new.title.unwrap_or_default(),
            agent: Some(setup.agent.name.clone()),
            model: Some(model(&setup)),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cost: 0.0,
            tokens: Tokens::default(),
            metadata: None,
            time: SessionTime { created: now, updated: now, archived: None },
            id: id.clone(),
        };
        let lease = setup.journal.claim(&id)?;
        let event = Event::SessionCreated { session_id: id, info: Box::new(record.clone()) };
        setup.journal.record(event).await?;
        Ok(Self::start(Driver::new(setup, record, History::default(), lease)))
    }

    /// Opens a stored session and closes what a crash left open in it.
    ///
    /// # Errors
    ///
    /// When there is none of that name, another process is at work on it, its folder is gone, or the store fails.
    pub async fn open(setup: Setup, id: &SessionId) -> Result<Self, SessionError> {
        let unknown = || SessionError::Unknown(id.clone());
        // No lock is made for what is not there.
        setup.journal.session(id).await?.ok_or_else(unknown)?;
        let lease = setup.journal.claim(id)?;
        // Until now another owner may have changed it.
        let record = setup.journal.session(id).await?.ok_or_else(unknown)?;
        if !setup.place.directory.is_dir() {
            return Err(SessionError::Gone(setup.place.directory));
        }
        let mut history = setup.journal.history(id).await?;
        let why = Failure::aborted("haft was stopped while this was written");
        let open = close_all(&record, history.messages(), setup.clock.now_ms(), &why);
        record_all(&setup, &mut history, open).await?;
        Ok(Self::start(Driver::new(setup, record, history, lease)))
    }

    fn start(driver: Driver) -> Self {
        let (inbox, wake) = mpsc::channel(MAX_INBOX);
        let id = driver.record.id.clone();
        let span = tracing::info_span!("session", session.id = %id);
        // The task ends by itself when the last handle is dropped, which closes the inbox.
        tokio::spawn(driver.run(wake).instrument(span));
        Self { id, inbox }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Asks, and waits until the turn ends. What happens meanwhile is told by the journal.
    ///
    /// Dropping the future does not stop the turn; [`Session::abort`] does.
    ///
    /// # Errors
    ///
    /// When a turn runs already, a file cannot be attached, the model fails or the store fails.
    pub async fn prompt(&self, prompt: Prompt) -> Result<TurnEnd, SessionError> {
        let (done, end) = oneshot::channel();
        let ended = || SessionError::Ended(self.id.clone());
        self.inbox.send(Inbox::Prompt(prompt, done)).await.map_err(|_| ended())?;
        end.await.map_err(|_| ended())?
    }

    /// Stops the turn that runs, if one does.
    pub async fn abort(&self) {
        // A session that has ended has nothing left to stop.
        let _ = self.inbox.send(Inbox::Abort).await;
    }
}

struct Driver {
    setup: Setup,
    record: Record,
    history: History,
    projection: Projection,
    calls: Calls,
    tools: Vec<Spec>,
    system: String,
    /// Held for as long as the session is owned.
    _lease: Lease,
}

impl Driver {
    fn new(setup: Setup, record: Record, history: History, lease: Lease) -> Self {
        // What a rule closes altogether is neither offered nor run when it is called all the same.
        let registry =
            setup.registry.offered(&setup.model.api_id, |permission| !policy::hidden(permission, &setup.rules));
        let tools = registry.specs();
        let calls = Calls {
            registry,
            gate: setup.gate.clone(),
            rules: setup.rules.clone().into(),
            clock: setup.clock.clone(),
            outputs: setup.outputs.clone(),
            session: record.id.clone(),
        };
        let system = system::prompt(&setup);
        Self { setup, record, history, projection: Projection::default(), calls, tools, system, _lease: lease }
    }

    async fn run(mut self, mut inbox: mpsc::Receiver<Inbox>) {
        while let Some(wake) = inbox.recv().await {
            match wake {
                Inbox::Prompt(prompt, done) => {
                    let end = self.answer(prompt, &mut inbox).await;
                    // Whoever asked may not wait any more; the journal has it all.
                    let _ = done.send(end);
                }
                Inbox::Abort => {}
            }
        }
    }

    /// Takes a prompt and runs its turn, still listening.
    async fn answer(&mut self, prompt: Prompt, inbox: &mut mpsc::Receiver<Inbox>) -> Result<TurnEnd, SessionError> {
        let prompt = self.store(prompt).await?;
        self.status(Status::Busy);
        let cancel = CancellationToken::new();
        let id = self.record.id.clone();
        let turn = Turn {
            setup: &self.setup,
            system: &self.system,
            tools: &self.tools,
            calls: &self.calls,
            session: &mut self.record,
            history: &mut self.history,
            projection: &mut self.projection,
            prompt,
            cancel: cancel.clone(),
        };
        let end = {
            let mut turn = std::pin::pin!(turn.run().instrument(tracing::info_span!("turn")));
            let mut listening = true;
            loop {
                tokio::select! {
                    end = &mut turn => break end,
                    wake = inbox.recv(), if listening => match wake {
                        Some(Inbox::Prompt(_, done)) => {
                            // Whoever asked may not wait any more.
                            let _ = done.send(Err(SessionError::Busy(id.clone())));
                        }
                        Some(Inbox::Abort) => cancel.cancel(),
                        // The last handle is gone: nobody is left to see the end.
                        None => {
                            cancel.cancel();
                            listening = false;
                        }
                    },
                }
            }
        };
        self.status(Status::Idle);
        if end.is_err() {
            // What is stored is the truth, also where a write failed half way.
            if let Ok(history) = self.setup.journal.history(&id).await {
                (self.history, self.projection) = (history, Projection::default());
            }
        }
        Ok(end?)
    }

    /// Stores a prompt as a message.
    async fn store(&mut self, prompt: Prompt) -> Result<MessageId, SessionError> {
        let id: MessageId = self.setup.clock.mint();
        let now = self.setup.clock.now_ms();
        if self.record.title.is_empty() {
            self.record.title = title(&prompt.text);
        }
        self.record.model = Some(model(&self.setup));
        self.record.agent = Some(self.setup.agent.name.clone());
        self.record.time.updated = now;
        let user = User {
            id: id.clone(),
            session_id: self.record.id.clone(),
            time: MessageTime { created: now, completed: None },
            agent: self.setup.agent.name.clone(),
            model: self.setup.model.reference.clone(),
        };
        let words = PartKind::Text { text: prompt.text, synthetic: false, time: None, metadata: None };
        let session_id = self.record.id.clone();
        let mut events = vec![
            Event::SessionUpdated { session_id: session_id.clone(), info: Box::new(self.record.clone()) },
            Event::MessageUpdated { session_id: session_id.clone(), info: Box::new(Message::User(user)) },
        ];
        events.extend(std::iter::once(words).chain(prompt.shown).map(|kind| Event::PartUpdated {
            session_id: session_id.clone(),
            part: Box::new(Part {
                id: self.setup.clock.mint(),
                session_id: session_id.clone(),
                message_id: id.clone(),
                kind,
            }),
            time: now,
        }));
        record_all(&self.setup, &mut self.history, events).await?;
        Ok(id)
    }

    fn status(&self, status: Status) {
        self.setup.journal.announce(Event::SessionStatus { session_id: self.record.id.clone(), status });
    }
}

/// An id that no stored session has. A scripted clock starts over in each process, and nothing stored may be lost.
async fn new_id(setup: &Setup) -> Result<SessionId, SessionError> {
    loop {
        let id: SessionId = setup.clock.mint();
        if setup.journal.session(&id).await?.is_none() {
            return Ok(id);
        }
    }
}

fn model(setup: &Setup) -> SessionModel {
    let reference = &setup.model.reference;
    SessionModel { id: reference.model_id.clone(), provider_id: reference.provider_id.clone(), variant: None }
}
