//! The handle to a session: what anybody may ask of one.

use haft_llm::Request;
use haft_protocol::{
    Event, FileDiff, History, MessageId, Session as Record, SessionId, SessionTime, Tokens, TurnSummary,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::Past;
use crate::agents::cast::Casting;
use crate::driver::Driver;
use crate::driver::desk::Inbox;
use crate::error::SessionError;
use crate::kin::Kin;
use crate::prompt::Prompt;
use crate::request::preview;
use crate::setup::{NewSession, Setup};
use crate::stored::fork;
use crate::stored::slug::slug;
use crate::task::background::Background;
use crate::turn::TurnEnd;
use crate::undo::{self, Rewind, Rewound, To};

/// Requests that may wait for the session's task.
const MAX_INBOX: usize = 32;

/// A handle to a session. Cheap to clone; the session ends, and a running turn stops, with the last one.
#[derive(Clone)]
pub struct Session {
    id: SessionId,
    inbox: mpsc::Sender<Inbox>,
    background: Background,
}

impl Session {
    /// Makes a session and stores it.
    ///
    /// # Errors
    ///
    /// When its folder is not there or the store cannot be written.
    pub async fn create(setup: Setup, new: NewSession) -> Result<Self, SessionError> {
        let record = new_record(&setup, new).await?;
        let kin = Kin::of(&setup, &record).await?;
        Ok(Self::start(record.id.clone(), Self::made(setup, record, kin).await?, None).0)
    }

    /// Makes and stores the session `record`, whose task counts among `among` while it is there. The task ends by itself
    /// when the last handle is dropped and what it was at is closed.
    pub(crate) async fn create_below(
        setup: Setup,
        record: Record,
        kin: Kin,
        among: &TaskTracker,
    ) -> Result<(Self, JoinHandle<()>), SessionError> {
        Ok(Self::start(record.id.clone(), Self::made(setup, record, kin).await?, Some(among)))
    }

    async fn made(setup: Setup, record: Record, kin: Kin) -> Result<Driver, SessionError> {
        let lease = setup.journal.claim(&record.id)?;
        let event = Event::SessionCreated { session_id: record.id.clone(), info: Box::new(record.clone()) };
        setup.journal.record(event).await?;
        Driver::open(setup, record, lease, kin).await
    }

    /// Opens a stored session and closes what a crash left open in it and in its tasks.
    ///
    /// # Errors
    ///
    /// When there is none of that name, another process is at work on it, its folder is gone, or the store fails.
    pub async fn open(setup: Setup, id: &SessionId) -> Result<Self, SessionError> {
        Ok(Self::start(id.clone(), Self::opened(setup, id, None).await?, None).0)
    }

    /// The same for a session below another, whose task counts among `among` while it is there.
    pub(crate) async fn open_below(
        setup: Setup,
        id: &SessionId,
        kin: Kin,
        among: &TaskTracker,
    ) -> Result<(Self, JoinHandle<()>), SessionError> {
        Ok(Self::start(id.clone(), Self::opened(setup, id, Some(kin)).await?, Some(among)))
    }

    async fn opened(setup: Setup, id: &SessionId, kin: Option<Kin>) -> Result<Driver, SessionError> {
        let unknown = || SessionError::Unknown(id.clone());
        // No lock is made for what is not there.
        setup.journal.session(id).await?.ok_or_else(unknown)?;
        let lease = setup.journal.claim(id)?;
        // Until now another owner may have changed it.
        let record = setup.journal.session(id).await?.ok_or_else(unknown)?;
        if !setup.place.directory.is_dir() {
            return Err(SessionError::Gone(setup.place.directory));
        }
        let kin = match kin {
            Some(kin) => kin,
            None => Kin::of(&setup, &record).await?,
        };
        Driver::open(setup, record, lease, kin).await
    }

    /// Copies a stored session into a new one and returns its id: the same words and results, with ids of their own,
    /// up to and without the message `before`, or all of them. Its costs begin at nothing; files are left as they are.
    ///
    /// # Errors
    ///
    /// When there is no such session or message, or the store fails.
    pub async fn fork(
        journal: &haft_store::Journal,
        clock: &haft_protocol::Clock,
        id: &SessionId,
        before: Option<&MessageId>,
    ) -> Result<SessionId, SessionError> {
        fork::fork(journal, clock, id, before).await
    }

    /// The first request that a new session would send for `prompt`. Nothing is sent or stored; what the prompt names
    /// is read, and the command lines of its command are run, as they would be.
    ///
    /// # Errors
    ///
    /// As [`Session::prompt`].
    pub async fn preview(setup: Setup, prompt: Prompt) -> Result<Request, SessionError> {
        preview::preview(setup, prompt).await
    }

    fn start(id: SessionId, driver: Driver, among: Option<&TaskTracker>) -> (Self, JoinHandle<()>) {
        let (inbox, wake) = mpsc::channel(MAX_INBOX);
        let span = tracing::info_span!("session", session.id = %id);
        let background = driver.background();
        // The task ends by itself when the last handle is dropped, which closes the inbox.
        let listed = driver.enter(inbox.downgrade());
        let work = async move {
            driver.run(wake).await;
            // Not before others may own it.
            drop(listed);
        };
        let work = work.instrument(span);
        let task = match among {
            Some(among) => tokio::spawn(among.track_future(work)),
            None => tokio::spawn(work),
        };
        (Self { id, inbox, background }, task)
    }

    /// The handle to an open session, which `inbox` reaches.
    pub(crate) fn of(id: SessionId, inbox: mpsc::Sender<Inbox>, background: Background) -> Self {
        Self { id, inbox, background }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Asks, and waits until the turn that answers ends. What happens meanwhile is told by the journal.
    ///
    /// A prompt that comes while a turn runs is stored at once; the turn takes it up after the step that runs, or it
    /// is answered next. Up to 16 may wait, counting the one that is answered. Stopping the turn ends the wait of all;
    /// what is stored stays, and the next turn's model reads it.
    ///
    /// Dropping the future does not stop the turn; [`Session::abort`] does.
    ///
    /// # Errors
    ///
    /// When too many prompts wait, there is no such agent, model or command, a file cannot be attached, the model
    /// fails or the store fails.
    pub async fn prompt(&self, prompt: Prompt) -> Result<TurnEnd, SessionError> {
        let (done, end) = oneshot::channel();
        self.ask(Inbox::Prompt(Box::new(prompt), done), end).await
    }

    /// Runs a command line that the person typed, through the shell tool and its door: typing it is the leave. It is
    /// stored for the model to read later; no model is asked now.
    ///
    /// # Errors
    ///
    /// [`SessionError::Busy`] while a turn runs; when the store fails. A command that fails is not an error here.
    pub async fn shell(&self, command: impl Into<String>) -> Result<TurnEnd, SessionError> {
        let (done, end) = oneshot::channel();
        self.ask(Inbox::Shell(command.into(), done), end).await
    }

    /// Sums the conversation up, but for its end, and goes on with the summary from then on; `focus` says what it is to
    /// dwell on. What was said stays stored and readable.
    ///
    /// [`Session::abort`] stops it, and then everything is as it was, as it is where it fails.
    ///
    /// # Errors
    ///
    /// [`SessionError::Busy`] while a turn runs; when there is nothing to sum up, or its end was taken back; when the
    /// summary is not much shorter, the model fails or the store fails.
    pub async fn compact(&self, focus: Option<String>) -> Result<TurnEnd, SessionError> {
        let (done, end) = oneshot::channel();
        self.ask(Inbox::Compact(focus, done), end).await
    }

    /// Has a small model say in words what the turn that answers `prompt`, or the last one, came to; it is kept as that
    /// prompt's `summary`, whatever the settings say of turns that end.
    ///
    /// [`Session::abort`] stops it. Takes a minute at most.
    ///
    /// # Errors
    ///
    /// [`SessionError::Busy`] while a turn runs; [`SessionError::NoSummary`]; when there is no such turn, or the store
    /// fails.
    pub async fn describe(&self, prompt: Option<MessageId>) -> Result<TurnSummary, SessionError> {
        let (done, described) = oneshot::channel();
        let ended = || SessionError::Ended(self.id.clone());
        self.inbox.send(Inbox::Describe(prompt, done)).await.map_err(|_| ended())?;
        described.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Gives it another title; while a turn runs, after its step.
    ///
    /// # Errors
    ///
    /// When the session has ended, or the store fails.
    pub async fn rename(&self, title: impl Into<String>) -> Result<(), SessionError> {
        let ended = || SessionError::Ended(self.id.clone());
        self.begin_rename(title.into()).await?.await.unwrap_or_else(|_| Err(ended()))
    }

    /// The same without waiting until it is done.
    pub(crate) async fn begin_rename(
        &self,
        title: String,
    ) -> Result<oneshot::Receiver<Result<(), SessionError>>, SessionError> {
        let (done, renamed) = oneshot::channel();
        let ended = || SessionError::Ended(self.id.clone());
        self.inbox.send(Inbox::Rename(title, done)).await.map_err(|_| ended())?;
        Ok(renamed)
    }

    /// Takes back what was asked and what was done to files for it, or brings it again. What is taken back is hidden; the
    /// next prompt removes it.
    ///
    /// # Errors
    ///
    /// [`SessionError::Busy`] while a turn or a task of it runs; [`SessionError::NothingToUndo`],
    /// [`SessionError::NothingToRedo`], [`SessionError::NoMessage`]; when the store fails. A file that cannot be changed is
    /// none: that is told, and the rest is done.
    pub async fn rewind(&self, rewind: Rewind) -> Result<Rewound, SessionError> {
        let (done, rewound) = oneshot::channel();
        let ended = || SessionError::Ended(self.id.clone());
        self.inbox.send(Inbox::Rewind(Box::new(rewind), done)).await.map_err(|_| ended())?;
        rewound.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Takes the last prompt back that still counts.
    ///
    /// # Errors
    ///
    /// As [`Session::rewind`].
    pub async fn undo(&self) -> Result<Rewound, SessionError> {
        self.rewind(Rewind::to(To::Back)).await
    }

    /// Brings the first prompt again that was taken back.
    ///
    /// # Errors
    ///
    /// As [`Session::rewind`].
    pub async fn redo(&self) -> Result<Rewound, SessionError> {
        self.rewind(Rewind::to(To::Forth)).await
    }

    /// The same for a session that is only stored: it is opened for as long as this takes, and no model is needed. `gate`
    /// notes what the person's hand does.
    ///
    /// # Errors
    ///
    /// As [`Session::rewind`]; when there is no such session, or another process is at work on it.
    pub async fn rewind_stored(
        journal: &haft_store::Journal,
        clock: &haft_protocol::Clock,
        gate: &haft_permission::Gate,
        past: Option<&Past>,
        id: &SessionId,
        rewind: &Rewind,
    ) -> Result<Rewound, SessionError> {
        undo::rewind_stored(journal, clock, gate, past, id, rewind).await
    }

    /// Where the turn of the message `id` lies in a stored session, seen from the point from which on it is taken back: `Less`
    /// can be undone, `Greater` be redone. `None` where there is no such message.
    pub fn lies(record: &Record, history: &History, id: &MessageId) -> Option<std::cmp::Ordering> {
        let stands = record.revert.as_ref().and_then(|revert| undo::Point::of(revert, history));
        undo::Point::lies(stands.as_ref(), history, id)
    }

    /// What the turn that answers `prompt`, or the whole session, has done to files that is not taken back.
    ///
    /// # Errors
    ///
    /// When there is no such session or message, or the store fails.
    pub async fn diffs(
        journal: &haft_store::Journal,
        past: &Past,
        id: &SessionId,
        prompt: Option<&MessageId>,
    ) -> Result<Vec<FileDiff>, SessionError> {
        undo::diffs(journal, past, id, prompt).await
    }

    async fn ask(
        &self,
        wake: Inbox,
        end: oneshot::Receiver<Result<TurnEnd, SessionError>>,
    ) -> Result<TurnEnd, SessionError> {
        let ended = || SessionError::Ended(self.id.clone());
        self.inbox.send(wake).await.map_err(|_| ended())?;
        match end.await {
            Ok(end) => end,
            // Stopped before it was stored, or the session's task is gone.
            Err(_) if self.inbox.is_closed() => Err(ended()),
            Err(_) => Ok(TurnEnd::Aborted),
        }
    }

    /// Waits, half a second at most, for what is done beside the turns: a title that is still being found. What is not
    /// done by then is given up. To be called before the last handle is dropped.
    pub async fn settle(&self) {
        let (done, end) = oneshot::channel();
        if self.inbox.send(Inbox::Settle(done)).await.is_ok() {
            // No answer is one, too: there is nothing to wait for.
            let _ = end.await;
        }
    }

    /// Waits until nothing is at work any more: no turn, and no task behind it. Returns how the last turn ended that
    /// began with the end of such a task, if there was one since this was asked last.
    ///
    /// Dropping the future stops nothing.
    ///
    /// # Errors
    ///
    /// When the session has ended; when that turn failed.
    pub async fn rest(&self) -> Result<Option<TurnEnd>, SessionError> {
        let ended = || SessionError::Ended(self.id.clone());
        let (done, rest) = oneshot::channel();
        self.inbox.send(Inbox::Rest(done)).await.map_err(|_| ended())?;
        rest.await.map_err(|_| ended())?.transpose()
    }

    /// Waits until the task `id` that goes on behind this session has ended, at once where it is none. The session is told
    /// of it then, after the step that runs or in a turn of its own.
    ///
    /// Dropping the future stops nothing.
    pub async fn ended(&self, id: &SessionId) {
        self.background.ended(id).await;
    }

    /// Stops the turn that runs, if one does, and the tasks that go on behind it, and forgets the prompts that are not
    /// stored yet.
    pub async fn abort(&self) {
        // A session that has ended has nothing left to stop.
        let _ = self.inbox.send(Inbox::Abort).await;
    }
}

/// The record of a new session, which is not stored yet.
pub(crate) async fn new_record(setup: &Setup, new: NewSession) -> Result<Record, SessionError> {
    if !setup.place.directory.is_dir() {
        return Err(SessionError::Gone(setup.place.directory.clone()));
    }
    let id = new_id(&setup.journal, &setup.clock).await?;
    let now = setup.clock.now_ms();
    let cast = Casting::new(std::sync::Arc::new(setup.clone()), None).usual();
    Ok(Record {
        slug: slug(&id),
        project_id: setup.place.project_id.clone(),
        directory: setup.place.directory.display().to_string(),
        path: setup.place.relative(),
        parent_id: None,
        permission: None,
        title: new.title.unwrap_or_default(),
        agent: Some(cast.agent.name.clone()),
        model: Some(cast.session_model()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cost: 0.0,
        tokens: Tokens::default(),
        metadata: None,
        summary: None,
        share: None,
        revert: None,
        time: SessionTime { created: now, updated: now, ..SessionTime::default() },
        id,
    })
}

/// An id that no stored session has. A scripted clock starts over in each process, and nothing stored may be lost.
pub(crate) async fn new_id(
    journal: &haft_store::Journal,
    clock: &haft_protocol::Clock,
) -> Result<SessionId, SessionError> {
    loop {
        let id: SessionId = clock.mint();
        if journal.session(&id).await?.is_none() {
            return Ok(id);
        }
    }
}
