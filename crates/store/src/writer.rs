//! The one task that writes: stores what was recorded, then tells it, in the order it came.

use haft_protocol::{Event, PartId, SessionId};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::Instant;

use crate::StoreError;
use crate::growing::Growing;
use crate::rows::{Change, Keep, Shelf};

/// Most commands that share one transaction.
const MAX_BATCH: usize = 256;

type Done = oneshot::Sender<Result<(), StoreError>>;

/// Everything that can be asked of the writer.
pub(crate) enum Command {
    /// Store and tell.
    Record { event: Event, done: Done },
    /// Store now what is held back of this session.
    Settle { session: SessionId, done: Done },
    /// Store everything that came before, then stop.
    Close { done: Done },
}

pub(crate) struct Writer<S> {
    shelf: S,
    told: broadcast::Sender<Event>,
    growing: Growing,
    closing: Vec<Done>,
}

impl<S: Shelf> Writer<S> {
    pub(crate) fn new(shelf: S, told: broadcast::Sender<Event>) -> Self {
        Self { shelf, told, growing: Growing::default(), closing: Vec::new() }
    }

    /// Works until it is told to close, or until nobody is left who could ask for anything.
    pub(crate) async fn run(mut self, mut inbox: mpsc::Receiver<Command>) {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        loop {
            tokio::select! {
                // The clock first: a full inbox must not keep words from being stored.
                biased;
                () = until(self.growing.due()) => {
                    if let Err(error) = self.settle(None).await {
                        tracing::warn!(%error, "growing text could not be stored yet");
                    }
                }
                count = inbox.recv_many(&mut batch, MAX_BATCH) => {
                    if count == 0 {
                        break;
                    }
                    self.serve(&mut batch).await;
                    if !self.closing.is_empty() {
                        // What is in the inbox already is still served.
                        inbox.close();
                    }
                }
            }
        }
        let settled = self.settle(None).await;
        let closed = self.shelf.close().await;
        for done in self.closing {
            let _ = done.send(settled.clone().and(closed.clone()));
        }
    }

    async fn serve(&mut self, batch: &mut Vec<Command>) {
        let mut run = Vec::new();
        for command in batch.drain(..) {
            match command {
                Command::Record { event, done } => match Keep::of(&event) {
                    Keep::Row(_) | Keep::No => run.push((event, done)),
                    Keep::Words { session, part, words } => {
                        // The part may be in the run.
                        self.commit(&mut run).await;
                        let kept = self.grow(session, part, words).await;
                        self.tell(event, done, kept);
                    }
                },
                Command::Settle { session, done } => {
                    self.commit(&mut run).await;
                    // Whoever asked may have gone meanwhile; so in all answers below.
                    let _ = done.send(self.settle(Some(&session)).await);
                }
                Command::Close { done } => self.closing.push(done),
            }
        }
        self.commit(&mut run).await;
    }

    /// Stores a run of events in one transaction, then tells them.
    async fn commit(&mut self, run: &mut Vec<(Event, Done)>) {
        let changes: Vec<_> = run.iter().filter_map(|(event, _)| row(event)).collect();
        let mut written = self.write(&changes).await.into_iter();
        for (event, done) in run.drain(..) {
            let kept = match row(&event) {
                Some(_) => written.next().unwrap_or(Err(StoreError::Closed)),
                None => Ok(()),
            };
            if kept.is_ok() {
                self.supersede(&event);
            }
            self.tell(event, done, kept);
        }
    }

    /// Drops held words that a newer row replaced.
    fn supersede(&mut self, event: &Event) {
        match row(event) {
            Some(Change::Part { part, .. }) => self.growing.forget(&part.session_id, &part.id),
            Some(Change::PartRemoved { session, part }) => self.growing.forget(session, part),
            Some(Change::Session(_) | Change::Message(_) | Change::Grown(_)) | None => {}
        }
    }

    /// Adds words to a part. They are stored a little later, or now when too much is held back already.
    async fn grow(&mut self, session: &SessionId, part: &PartId, words: &str) -> Result<(), StoreError> {
        if self.growing.is_stuck(session) {
            self.settle(Some(session)).await?;
        }
        if !self.growing.has_room(words.len()) {
            self.settle(None).await?;
        }
        if self.growing.grow(session, part, words) {
            return Ok(());
        }
        let Some(mut grown) = self.shelf.part(session, part).await? else {
            return Err(StoreError::Missing { row: format!("part {part}") });
        };
        grown.grow(words);
        if !self.growing.has_room_for(&grown) {
            return self.shelf.write(&[Change::Grown(&grown)]).await;
        }
        self.growing.hold(grown, Instant::now());
        Ok(())
    }

    /// Stores what is held back, of one session or of all. What cannot be stored stays held.
    async fn settle(&mut self, whose: Option<&SessionId>) -> Result<(), StoreError> {
        let held = self.growing.take(whose);
        let changes: Vec<_> = held.iter().map(|held| Change::Grown(&held.part)).collect();
        let written = self.write(&changes).await;
        let mut outcome = Ok(());
        for (held, written) in held.into_iter().zip(written) {
            if written.is_err() {
                self.growing.put_back(held);
                outcome = written;
            }
        }
        outcome
    }

    /// Makes all changes at once; if that fails, each alone, so that none suffers from another.
    async fn write(&mut self, changes: &[Change<'_>]) -> Vec<Result<(), StoreError>> {
        if changes.is_empty() {
            return Vec::new();
        }
        match self.shelf.write(changes).await {
            Err(error) if changes.len() > 1 && !error.concerns_all() => {}
            all => return vec![all; changes.len()],
        }
        let mut each = Vec::with_capacity(changes.len());
        for change in changes {
            each.push(self.shelf.write(std::slice::from_ref(change)).await);
        }
        each
    }

    fn tell(&self, event: Event, done: Done, kept: Result<(), StoreError>) {
        if kept.is_ok() {
            // No subscribers is not an error: a session may run unwatched.
            let _ = self.told.send(event);
        }
        let _ = done.send(kept);
    }
}

fn row(event: &Event) -> Option<Change<'_>> {
    match Keep::of(event) {
        Keep::Row(change) => Some(change),
        Keep::Words { .. } | Keep::No => None,
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
