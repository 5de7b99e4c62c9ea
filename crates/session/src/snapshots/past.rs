//! What is remembered of files, and how calls' changes become parts of their messages.

use haft_project::Files;
use haft_protocol::{Clock, Event, History, MessageId, Part, PartKind, RetryTime, SessionId};
use haft_snapshot::Hash;
use haft_store::Journal;

use crate::error::SessionError;
use crate::snapshots::{Recorded, Snapshots};

/// Most sessions below one that are asked what they changed, the newest first.
const MAX_BESIDE: usize = 100;

/// What is needed to take changes to files back. A handle, cheap to clone.
#[derive(Debug, Clone)]
pub struct Past {
    /// What files were before they were changed.
    pub snapshots: Snapshots,
    /// The doors to them.
    pub files: Files,
}

impl Past {
    /// What a call changed, as a part of its message; `None` if that is nothing.
    pub(crate) async fn of_call(
        &self,
        session: &SessionId,
        message: &MessageId,
        call: &str,
        now: impl FnOnce() -> u64,
    ) -> Option<PartKind> {
        let snapshots = self.snapshots.clone();
        let (session, message, call) = (session.clone(), message.clone(), call.to_owned());
        let taken = tokio::task::spawn_blocking(move || snapshots.take(&session, &message, &call)).await;
        taken.ok().flatten().map(|recorded| patch(recorded, now()))
    }

    /// The events that say what was changed and no message says yet: what jobs did after their call, what was stopped,
    /// and where one `crashed`, what the killed process left; with the lists that sessions beside it remember.
    pub(crate) async fn rest(
        &self,
        clock: &Clock,
        session: &SessionId,
        history: &History,
        crashed: Option<Vec<Hash>>,
    ) -> Vec<Event> {
        let (snapshots, id) = (self.snapshots.clone(), session.clone());
        let crashed = crashed.map(|beside| (told(history), beside));
        let look = move || match crashed {
            Some((told, beside)) => snapshots.settle(&id, &told, &beside),
            None => snapshots.take_all(&id),
        };
        let recorded = tokio::task::spawn_blocking(look).await.unwrap_or_default();
        let mut events = Vec::new();
        for recorded in recorded {
            let hash = recorded.hash.to_string();
            let by = recorded.by.as_ref().map(|by| &by.message_id);
            let known = by.and_then(|id| history.message(id));
            // Before the first message there is nothing that could be taken back.
            let Some(turned) = known.or_else(|| history.messages().last()) else { continue };
            let told = |part: &Part| matches!(&part.kind, PartKind::Patch { hash: told, .. } if *told == hash);
            if turned.parts.iter().any(told) {
                self.snapshots.stored(session, &recorded.hash);
                continue;
            }
            let now = clock.now_ms();
            let part = Part {
                id: clock.mint(),
                session_id: session.clone(),
                message_id: turned.info.id().clone(),
                kind: patch(recorded, now),
            };
            events.push(Event::PartUpdated { session_id: session.clone(), part: Box::new(part), time: now });
        }
        events
    }

    /// Stores what a killed process left of the session `id`, whose lease is held and whose `history` is given.
    ///
    /// # Errors
    ///
    /// When it cannot be stored; then the next one finds it again.
    pub(crate) async fn settle(
        &self,
        journal: &Journal,
        clock: &Clock,
        id: &SessionId,
        history: &mut History,
    ) -> Result<(), SessionError> {
        for turned in history.messages() {
            clock.follow(turned.info.id());
            turned.parts.iter().for_each(|part| clock.follow(&part.id));
        }
        let beside = self.beside(journal, id).await?;
        let events = self.rest(clock, id, history, Some(beside)).await;
        journal.record_all(events.clone()).await?;
        events.iter().for_each(|event| history.apply(event));
        self.stored(&events);
        Ok(())
    }

    /// The lists that the sessions above, beside and below remember, where a command of this one was cut off: they may have
    /// worked at the same time.
    async fn beside(&self, journal: &Journal, id: &SessionId) -> Result<Vec<Hash>, SessionError> {
        let (snapshots, session) = (self.snapshots.clone(), id.clone());
        let look = tokio::task::spawn_blocking(move || snapshots.was_cut_off(&session));
        if !look.await.unwrap_or_default() {
            return Ok(Vec::new());
        }
        let mut family = journal.children(id, MAX_BESIDE).await?;
        let above = journal.session(id).await?.and_then(|record| record.parent_id);
        if let Some(above) = above {
            family.extend(journal.children(&above, MAX_BESIDE).await?);
            family.extend(journal.session(&above).await?);
        }
        let mut lists = Vec::new();
        for record in family.into_iter().filter(|record| record.id != *id) {
            lists.extend(told(&journal.history(&record.id).await?));
        }
        Ok(lists)
    }

    /// The parts among `events` are stored, so nobody else has to remember what they say.
    pub(crate) fn stored(&self, events: &[Event]) {
        for event in events {
            if let Event::PartUpdated { part, .. } = event
                && let PartKind::Patch { hash, .. } = &part.kind
                && let Ok(hash) = hash.parse()
            {
                self.snapshots.stored(&part.session_id, &hash);
            }
        }
    }
}

/// The lists of changes that the session remembers.
fn told(history: &History) -> Vec<Hash> {
    let hash = |part: &Part| match &part.kind {
        PartKind::Patch { hash, .. } => hash.parse().ok(),
        _ => None,
    };
    history.messages().iter().flat_map(|turned| &turned.parts).filter_map(hash).collect()
}

fn patch(recorded: Recorded, now: u64) -> PartKind {
    let mut files: Vec<String> = recorded.files.iter().map(|path| path.display().to_string()).collect();
    files.sort();
    files.dedup();
    let call_id = recorded.by.map(|by| by.call_id);
    PartKind::Patch { hash: recorded.hash.to_string(), files, call_id, time: Some(RetryTime { created: now }) }
}
