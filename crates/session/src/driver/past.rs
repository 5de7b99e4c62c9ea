//! The driver's part in taking back, and what a turn came to for files.

use haft_protocol::{Event, FileDiff, History, Message, MessageId, PartKind, TurnSummary};

use super::Driver;
use crate::error::SessionError;
use crate::snapshots::diffs::Tally;
use crate::turn::record_all;
use crate::undo::{Hand, Rewind, Rewound, since, tally};

impl Driver {
    fn hand(&mut self) -> Hand<'_> {
        let Self { setup, record, history, .. } = self;
        let past = setup.options.past.as_ref();
        Hand { journal: &setup.journal, clock: &setup.clock, gate: &setup.gate, past, record, history }
    }

    /// Closes what the end of the program left open: changes that no message says yet, and an undo that was begun.
    pub(super) async fn settle_past(&mut self) -> Result<(), SessionError> {
        let Self { setup, record, history, .. } = self;
        if let Some(past) = &setup.options.past {
            past.settle(&setup.journal, &setup.clock, &record.id, history).await?;
        }
        self.counted = patches(&self.history);
        self.hand().settle().await
    }

    /// Takes back, or brings again.
    pub(super) async fn rewind(&mut self, rewind: &Rewind) -> Result<Rewound, SessionError> {
        if !self.memory.kin.children.is_empty() {
            return Err(SessionError::Busy(self.record.id.clone()));
        }
        self.letters.read(&self.setup, &mut self.record, &mut self.history).await;
        self.remember().await?;
        let rewound = self.hand().rewind(rewind).await;
        if rewound.is_err() {
            self.read_again().await;
        }
        // What counts is another part of the history now.
        self.tally = None;
        rewound
    }

    /// Keeps what jobs have changed since the last turn.
    async fn remember(&mut self) -> Result<(), SessionError> {
        let Some(past) = self.setup.options.past.clone() else { return Ok(()) };
        let events = past.rest(&self.setup.clock, &self.record.id, &self.history, None).await;
        record_all(&self.setup, &mut self.history, events.clone()).await?;
        past.stored(&events);
        Ok(())
    }

    /// Makes final what is taken back: something new is asked.
    pub(crate) async fn commit(&mut self) -> Result<(), SessionError> {
        let Some(revert) = self.record.revert.clone() else { return Ok(()) };
        if self.hand().commit().await? {
            // Files that went back are known as they were then.
            self.memory.marks.forget_since(&revert.message_id);
            self.projection.renew();
            self.tally = None;
            self.counted = patches(&self.history);
        }
        Ok(())
    }

    /// Keeps what the turn that answers `first` came to for files, and what all turns together do. What cannot be found
    /// out is left as it was: it is no reason to fail.
    pub(super) async fn sum_up(&mut self, first: &MessageId) {
        if let Err(error) = self.sum_up_turn(first).await {
            tracing::warn!(%error, "what the turn changed is not summed up");
        }
    }

    async fn sum_up_turn(&mut self, first: &MessageId) -> Result<(), SessionError> {
        let Some(past) = self.setup.options.past.clone() else { return Ok(()) };
        let journal = &self.setup.journal;
        let turn = since(journal, &self.record.id, &self.history, Some(first)).await?;
        let own = turn.iter().filter(|patch| patch.part.session_id == self.record.id).count();
        // What a job did later belongs to the turn that began it.
        let late = patches(&self.history) != self.counted + own;
        if turn.is_empty() && !late {
            return Ok(());
        }
        // Sessions below may have gone on between the turns.
        let known = self.tally.take().filter(|_| own == turn.len() && !late);
        let all = match known {
            Some(known) => tally(&past, known, turn.clone()).await,
            None => {
                let all = since(journal, &self.record.id, &self.history, None).await?;
                tally(&past, Tally::default(), all).await
            }
        };
        let turn = tally(&past, Tally::default(), turn).await.diffs();
        self.record.summary = Some(all.summary());
        let session_id = self.record.id.clone();
        let mut events =
            vec![Event::SessionUpdated { session_id: session_id.clone(), info: Box::new(self.record.clone()) }];
        events.extend(self.summed_up(first, turn));
        events.push(Event::SessionDiff { session_id, diff: all.diffs() });
        (self.tally, self.counted) = (Some(all), patches(&self.history));
        record_all(&self.setup, &mut self.history, events).await?;
        Ok(())
    }

    /// The prompt with what its turn came to.
    fn summed_up(&self, prompt: &MessageId, diffs: Vec<FileDiff>) -> Option<Event> {
        let Some(Message::User(user)) = self.history.message(prompt).map(|turned| &turned.info) else { return None };
        let mut user = user.clone();
        user.summary = Some(TurnSummary { diffs, ..user.summary.unwrap_or_default() });
        let session_id = self.record.id.clone();
        Some(Event::MessageUpdated { session_id, info: Box::new(Message::User(user)) })
    }
}

/// How many lists of changes the session remembers.
fn patches(history: &History) -> usize {
    let parts = history.messages().iter().flat_map(|turned| &turned.parts);
    parts.filter(|part| matches!(part.kind, PartKind::Patch { .. })).count()
}
