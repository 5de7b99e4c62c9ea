//! The one task that writes: stores what was recorded, then tells it, in the order it came.

use haft_protocol::{Event, PartId, SessionId};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::Instant;

use crate::StoreError;
use crate::growing::Growing;
use crate::rows::{Change, Keep, Shelf};

/// Most commands that share one transaction.
const MAX_BATCH: usize = 256;

type Outcome = Result<(), StoreError>;
type Done = oneshot::Sender<Outcome>;

/// Who waits for the commands of one batch, and what they will hear: the first failure of their events.
#[derive(Default)]
struct Answers {
    each: Vec<(Done, Outcome)>,
}

impl Answers {
    /// Takes note of a command and gives it a number.
    fn begin(&mut self, done: Done) -> usize {
        self.each.push((done, Ok(())));
        self.each.len() - 1
    }

    fn note(&mut self, number: usize, outcome: Outcome) {
        let (_, so_far) = &mut self.each[number];
        if so_far.is_ok() {
            *so_far = outcome;
        }
    }

    fn send(self) {
        for (done, outcome) in self.each {
            // Whoever asked may have gone meanwhile.
            let _ = done.send(outcome);
        }
    }
}

/// Everything that can be asked of the writer.
pub(crate) enum Command {
    /// Store and tell, in order.
    Record { events: Vec<Event>, done: Done },
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
            // Whoever asked may have gone meanwhile.
            let _ = done.send(settled.clone().and(closed.clone()));
        }
    }

    async fn serve(&mut self, batch: &mut Vec<Command>) {
        let (mut run, mut answers) = (Vec::new(), Answers::default());
        for command in batch.drain(..) {
            match command {
                Command::Record { events, done } => {
                    let number = answers.begin(done);
                    for event in events {
                        match Keep::of(&event) {
                            Keep::Row(_) | Keep::No => run.push((event, number)),
                            Keep::Words { session, part, words } => {
                                // The part may be in the run.
                                self.commit(&mut run, &mut answers).await;
                                let kept = self.grow(session, part, words).await;
                                answers.note(number, self.tell(event, kept));
                            }
                        }
                    }
                }
                Command::Settle { session, done } => {
                    self.commit(&mut run, &mut answers).await;
                    let number = answers.begin(done);
                    answers.note(number, self.settle(Some(&session)).await);
                }
                Command::Close { done } => self.closing.push(done),
            }
        }
        self.commit(&mut run, &mut answers).await;
        answers.send();
    }

    /// Stores a run of events in one transaction, then tells them.
    async fn commit(&mut self, run: &mut Vec<(Event, usize)>, answers: &mut Answers) {
        if run.is_empty() {
            return;
        }
        let changes: Vec<_> = run.iter().filter_map(|(event, _)| row(event)).collect();
        let mut written = self.write(&changes).await.into_iter();
        for (event, number) in run.drain(..) {
            let kept = match row(&event) {
                Some(_) => written.next().unwrap_or(Err(StoreError::Closed)),
                None => Ok(()),
            };
            if kept.is_ok() {
                self.supersede(&event);
            }
            answers.note(number, self.tell(event, kept));
        }
    }

    /// Drops held words that a newer row replaced.
    fn supersede(&mut self, event: &Event) {
        match row(event) {
            Some(Change::Part { part, .. }) => self.growing.forget(&part.session_id, &part.id),
            Some(Change::PartRemoved { session, part }) => self.growing.forget(session, part),
            Some(
                Change::Session(_)
                | Change::Message(_)
                | Change::Grown(_)
                // Held words of a part that is gone are dropped when they come to be stored.
                | Change::SessionRemoved(_)
                | Change::MessageRemoved { .. }
                | Change::Todos { .. },
            )
            | None => {}
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

    fn tell(&self, event: Event, kept: Outcome) -> Outcome {
        if kept.is_ok() {
            // No subscribers is not an error: a session may run unwatched.
            let _ = self.told.send(event);
        }
        kept
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
