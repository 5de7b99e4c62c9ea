//! The driver's part in taking back, and what a turn came to for files.

use haft_protocol::{Event, FileDiff, Message, MessageId, TurnSummary};

use super::Driver;
use crate::diffs::Tally;
use crate::error::SessionError;
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
        if let Some(past) = self.setup.options.past.clone() {
            let events = past.rest(&self.setup.clock, &self.record.id, &self.history, true).await;
            record_all(&self.setup, &mut self.history, events.clone()).await?;
            past.stored(&events);
        }
        self.hand().settle().await
    }

    /// Takes back, or brings again.
    pub(super) async fn rewind(&mut self, rewind: &Rewind) -> Result<Rewound, SessionError> {
        if !self.memory.kin.children.is_empty() {
            return Err(SessionError::Busy(self.record.id.clone()));
        }
        let rewound = self.hand().rewind(rewind).await;
        if rewound.is_err() {
            self.read_again().await;
        }
        // What counts is another part of the history now.
        self.tally = None;
        rewound
    }

    /// Makes final what is taken back: something new is asked.
    pub(crate) async fn commit(&mut self) -> Result<(), SessionError> {
        if self.record.revert.is_some() && self.hand().commit().await? {
            self.projection.renew();
            self.tally = None;
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
        if turn.is_empty() {
            return Ok(());
        }
        // Sessions below may have gone on between the turns.
        let known = self.tally.take().filter(|_| turn.iter().all(|patch| patch.part.session_id == self.record.id));
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
        self.tally = Some(all);
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
