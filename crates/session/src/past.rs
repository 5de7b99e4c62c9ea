//! What is remembered of files, and how calls' changes become parts of their messages.

use haft_project::Files;
use haft_protocol::{Clock, Event, History, MessageId, Part, PartKind, RetryTime, SessionId};
use haft_snapshot::Hash;
use haft_store::Journal;

use crate::error::SessionError;
use crate::snapshots::{Recorded, Snapshots};

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
    /// and where `crashed`, what a killed process left.
    pub(crate) async fn rest(
        &self,
        clock: &Clock,
        session: &SessionId,
        history: &History,
        crashed: bool,
    ) -> Vec<Event> {
        let (snapshots, id) = (self.snapshots.clone(), session.clone());
        let told = if crashed { told(history) } else { Vec::new() };
        let look = move || if crashed { snapshots.settle(&id, &told) } else { snapshots.take_all(&id) };
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
        let events = self.rest(clock, id, history, true).await;
        journal.record_all(events.clone()).await?;
        events.iter().for_each(|event| history.apply(event));
        self.stored(&events);
        Ok(())
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
