//! The handle: one way to store and tell, a few ways to read.

use std::path::Path;
use std::sync::Arc;

use haft_protocol::{Event, History, MessageId, Session, SessionId, Todo, Turned};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::StoreError;
use crate::lease::{Lease, Leases, Owner};
use crate::memory::Memory;
use crate::open::{self, Opened, Remark};
use crate::reader;
use crate::rows::{Shelf, Shut};
use crate::watch::Watch;
use crate::writer::{Command, Writer};

/// Most events that wait for the writer. Beyond, [`Journal::record`] waits.
const MAX_WAITING: usize = 1024;
/// How far a listener may fall behind before it misses events.
const MAX_BEHIND: usize = 4096;

/// Where sessions are kept and from where they are told. A handle, cheap to clone.
///
/// [`Journal::close`] writes what is held back; so does dropping the last handle, as long as the runtime goes on.
#[derive(Debug, Clone)]
pub struct Journal {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    // The writer ends when this does.
    inbox: mpsc::Sender<Command>,
    told: broadcast::Sender<Event>,
    reader: Reader,
    leases: Leases,
    remarks: Vec<Remark>,
}

#[derive(Debug)]
pub(crate) enum Reader {
    File(Box<reader::Reader>),
    Memory(Memory),
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only those that work in exactly this folder.
    pub directory: Option<String>,
    /// Only those that no other session started.
    pub roots: bool,
    /// No more than this many; 100 by default.
    pub limit: usize,
    /// Also those that were put away.
    pub archived: bool,
    /// Only those with this in their title, large or small.
    pub title: Option<String>,
}

impl Default for Filter {
    fn default() -> Self {
        Self { directory: None, roots: false, limit: 100, archived: false, title: None }
    }
}

impl Journal {
    /// Opens the database at `path`, which other processes may have open too. Makes the folder (mode 0700) and the
    /// file (mode 0600) when they are not there, and brings an older one up to date after a backup beside it.
    ///
    /// A damaged one is put aside, and what can be read of it goes into a new one, unless somebody works on a session;
    /// where nothing can be written it is opened for reading alone. [`Journal::remarks`] says what happened.
    ///
    /// Runs within a Tokio runtime with its clock enabled.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotWritable`], [`StoreError::Full`], [`StoreError::Newer`], [`StoreError::Damaged`] when it is not
    /// a database of haft, [`StoreError::Locked`].
    pub async fn open(path: &Path) -> Result<Journal, StoreError> {
        let path = std::path::absolute(path).map_err(|error| StoreError::io(path, error))?;
        let Opened { shelf, reader, leases, remarks } = open::open(&path).await?;
        Ok(match shelf {
            Ok(shelf) => Self::start(shelf, Reader::File(Box::new(reader)), leases, remarks),
            Err(why) => Self::start(Shut(why), Reader::File(Box::new(reader)), leases, remarks),
        })
    }

    /// What the person should be told about the store that was opened.
    pub fn remarks(&self) -> &[Remark] {
        &self.inner.remarks
    }

    /// A journal that keeps everything in memory until its last handle is gone, and behaves the same otherwise. For
    /// tests, and for runs that leave nothing behind.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn memory() -> Journal {
        let memory = Memory::default();
        Self::start(memory.clone(), Reader::Memory(memory), Leases::in_process(), Vec::new())
    }

    fn start(shelf: impl Shelf, reader: Reader, leases: Leases, remarks: Vec<Remark>) -> Self {
        let (inbox, commands) = mpsc::channel(MAX_WAITING);
        let told = broadcast::Sender::new(MAX_BEHIND);
        // Owned by the handles: it stops when the last of them drops the inbox, or on `Close`.
        tokio::spawn(Writer::new(shelf, told.clone()).run(commands));
        Self { inner: Arc::new(Inner { inbox, told, reader, leases, remarks }) }
    }

    /// Saves `event`, then tells subscribers. Both happen in the order of the calls, also when the future is dropped
    /// after its first poll.
    ///
    /// Sessions, messages, parts and lists of things to do are stored; [`Event::PartDelta`] within 250 ms, or before
    /// this returns when more grows than may be held back. Other events are only told.
    ///
    /// # Errors
    ///
    /// Then the event was neither stored nor told, and a later call may work: [`StoreError::Full`],
    /// [`StoreError::NotWritable`], [`StoreError::Locked`], [`StoreError::Missing`] when what it builds on is not
    /// stored, [`StoreError::Closed`]. A delta also fails when earlier words of its session could not be stored.
    pub async fn record(&self, event: Event) -> Result<(), StoreError> {
        self.record_all(vec![event]).await
    }

    /// Saves and tells `events` in their order, as [`Journal::record`] does each, in one way to the writer and as few
    /// transactions as they allow.
    ///
    /// # Errors
    ///
    /// The first failure, as [`Journal::record`]. The events that do not build on the one that failed are stored and
    /// told all the same.
    pub async fn record_all(&self, events: Vec<Event>) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        self.ask(|done| Command::Record { events, done }).await
    }

    /// Tells subscribers, and stores nothing. Never waits.
    pub fn announce(&self, event: Event) {
        // No subscribers is not an error: a session may run unwatched.
        let _ = self.inner.told.send(event);
    }

    /// Everything that is told from now on.
    ///
    /// A listener more than 4,096 events behind gets `RecvError::Lagged` instead of what it missed, and should read
    /// [`Journal::history`] again.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.inner.told.subscribe()
    }

    /// The record of one session.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when it cannot be read, [`StoreError::Closed`].
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        match self.reader()? {
            Reader::File(file) => file.session(id).await,
            Reader::Memory(memory) => Ok(memory.session(id)),
        }
    }

    /// The records of the sessions that `filter` lets through, the latest `updated` first. One that cannot be read is
    /// logged and left out.
    ///
    /// # Errors
    ///
    /// When the file as a whole cannot be read; [`StoreError::Closed`].
    pub async fn sessions(&self, filter: &Filter) -> Result<Vec<Session>, StoreError> {
        match self.reader()? {
            Reader::File(file) => file.sessions(filter).await,
            Reader::Memory(memory) => Ok(memory.sessions(filter)),
        }
    }

    /// The records of the sessions that the session `id` started as tasks, the newest first, at most `limit`. One that
    /// cannot be read is logged and left out.
    ///
    /// # Errors
    ///
    /// When the file as a whole cannot be read; [`StoreError::Closed`].
    pub async fn children(&self, id: &SessionId, limit: usize) -> Result<Vec<Session>, StoreError> {
        match self.reader()? {
            Reader::File(file) => file.children(id, limit).await,
            Reader::Memory(memory) => Ok(memory.children(id, limit)),
        }
    }

    /// The messages of one session with everything told so far; empty when there is no such session. What cannot be
    /// read is stood for by words that say so, to people and not to models.
    ///
    /// # Errors
    ///
    /// When the file as a whole cannot be read; [`StoreError::Closed`], and as [`Journal::record`] when words that were
    /// told cannot be stored.
    pub async fn history(&self, id: &SessionId) -> Result<History, StoreError> {
        self.ask(|done| Command::Settle { session: id.clone(), done }).await?;
        match self.reader()? {
            Reader::File(file) => file.history(id).await,
            Reader::Memory(memory) => Ok(memory.history(id)),
        }
    }

    /// The last `limit` messages of one session, or the last before the message `before`, oldest first. For those who
    /// show a long one page by page; words may be missing that were told within the last 250 ms.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] when there is no such message; when the file as a whole cannot be read;
    /// [`StoreError::Closed`].
    pub async fn messages(
        &self,
        id: &SessionId,
        before: Option<&MessageId>,
        limit: usize,
    ) -> Result<Vec<Turned>, StoreError> {
        match self.reader()? {
            Reader::File(file) => file.messages(id, before, limit).await,
            Reader::Memory(memory) => memory.messages(id, before, limit),
        }
    }

    /// Follows a session that this or another process works on: what is stored of it now, and then what changes, as
    /// events. Nothing when there is no such session.
    ///
    /// # Errors
    ///
    /// When the file as a whole cannot be read; [`StoreError::Closed`].
    pub async fn watch(&self, id: &SessionId) -> Result<Option<Watch>, StoreError> {
        Watch::begin(self.clone(), id.clone()).await
    }

    /// Who works on a session, in this or another process on this machine.
    pub fn owner(&self, id: &SessionId) -> Option<Owner> {
        self.inner.leases.owner(id)
    }

    /// The list of things to do of one session; empty when it has none, or there is no such session.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] when it cannot be read, [`StoreError::Closed`].
    pub async fn todos(&self, id: &SessionId) -> Result<Vec<Todo>, StoreError> {
        match self.reader()? {
            Reader::File(file) => file.todos(id).await,
            Reader::Memory(memory) => Ok(memory.todos(id)),
        }
    }

    /// Makes the caller the one owner of a session, until the lease is dropped or the process ends in any way.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] when somebody else is, here or in another process; [`StoreError::NotWritable`],
    /// [`StoreError::Full`].
    pub fn claim(&self, id: &SessionId) -> Result<Lease, StoreError> {
        self.inner.leases.claim(id)
    }

    /// Writes what is held back, serves the calls that came before, and stops. Closing twice is no error.
    ///
    /// # Errors
    ///
    /// When what is held back cannot be stored; it is lost then, and the journal closed all the same.
    pub async fn close(&self) -> Result<(), StoreError> {
        // First, so that the writer's connection is the last one and can tidy up the file.
        if let Reader::File(file) = &self.inner.reader {
            file.close().await;
        }
        match self.ask(|done| Command::Close { done }).await {
            Err(StoreError::Closed) => Ok(()),
            closed => closed,
        }
    }

    async fn ask(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<(), StoreError>>) -> Command,
    ) -> Result<(), StoreError> {
        let (done, answer) = oneshot::channel();
        self.inner.inbox.send(command(done)).await.map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(crate) fn reader(&self) -> Result<&Reader, StoreError> {
        if self.inner.inbox.is_closed() {
            return Err(StoreError::Closed);
        }
        Ok(&self.inner.reader)
    }
}

#[cfg(test)]
mod tests;
