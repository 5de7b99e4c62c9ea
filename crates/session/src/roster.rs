//! The sessions that are open in this process, for whoever knows one by its id.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::{Session as Record, SessionId, Status};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::driver::desk::Inbox;
use crate::driver::letters::Letters;
use crate::session::Session;
use crate::task::background::Background;
use crate::turn::calls::Calls;

/// The sessions that are open here. It keeps none open. A handle, cheap to clone.
#[derive(Clone, Default)]
pub struct Roster(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    open: BTreeMap<SessionId, Entry>,
    /// Whose turn waits for an answer of whom, once for each that waits.
    waits: Vec<(SessionId, SessionId)>,
}

struct Entry {
    inbox: mpsc::WeakSender<Inbox>,
    background: Background,
    parent: Option<SessionId>,
    status: Status,
    letters: Letters,
    /// How the agent that answered last may call tools.
    calls: Calls,
    /// Fires when the work of the session is stopped.
    stop: CancellationToken,
    /// Fires when nobody owns the session any more.
    left: CancellationToken,
}

/// Whether a session is open.
pub(crate) enum Found {
    Open(Session),
    /// Its last handle is gone, and it closes: this fires when it has.
    Leaving(CancellationToken),
    Not,
}

impl Roster {
    /// The open session called `id`.
    pub fn session(&self, id: &SessionId) -> Option<Session> {
        match self.find(id) {
            Found::Open(session) => Some(session),
            Found::Leaving(_) | Found::Not => None,
        }
    }

    /// The sessions that are not idle, and what they do.
    pub fn at_work(&self) -> BTreeMap<SessionId, Status> {
        let inner = self.inner();
        let at_work = inner.open.iter().filter(|(_, entry)| entry.status != Status::Idle);
        at_work.map(|(id, entry)| (id.clone(), entry.status.clone())).collect()
    }

    /// Completes when all sessions have closed whose last handle is gone.
    pub async fn closed(&self) {
        let leaving = {
            let inner = self.inner();
            let leaving = inner.open.values().filter(|entry| entry.inbox.strong_count() == 0);
            leaving.map(|entry| entry.left.clone()).collect::<Vec<_>>()
        };
        for left in leaving {
            left.cancelled().await;
        }
    }

    pub(crate) fn find(&self, id: &SessionId) -> Found {
        let inner = self.inner();
        let Some(entry) = inner.open.get(id) else { return Found::Not };
        match entry.inbox.upgrade() {
            Some(inbox) => Found::Open(Session::of(id.clone(), inbox, entry.background.clone())),
            None => Found::Leaving(entry.left.clone()),
        }
    }

    /// Takes note of a session that opens, as long as what is given back is there.
    pub(crate) fn enter(
        &self,
        record: &Record,
        inbox: mpsc::WeakSender<Inbox>,
        background: Background,
        letters: &Letters,
        calls: &Calls,
    ) -> Listed {
        let (stop, left) = (CancellationToken::new(), CancellationToken::new());
        let (parent, letters, calls) = (record.parent_id.clone(), letters.clone(), calls.clone());
        let listed = Listed { roster: self.clone(), id: record.id.clone(), left: left.clone() };
        let entry = Entry { inbox, background, parent, status: Status::Idle, letters, calls, stop, left };
        self.inner().open.insert(record.id.clone(), entry);
        listed
    }

    /// Takes note of what an open session does.
    pub(crate) fn does(&self, id: &SessionId, status: &Status) {
        self.change(id, |entry| entry.status = status.clone());
    }

    /// Takes note of who answers in an open session.
    pub(crate) fn answers(&self, id: &SessionId, calls: &Calls) {
        self.change(id, |entry| entry.calls = calls.clone());
    }

    /// How the agent that answered last in an open session may call tools.
    pub(crate) fn calls(&self, id: &SessionId) -> Option<Calls> {
        self.inner().open.get(id).map(|entry| entry.calls.clone())
    }

    /// What an open session is told things by.
    pub(crate) fn letters(&self, id: &SessionId) -> Option<Letters> {
        self.inner().open.get(id).map(|entry| entry.letters.clone())
    }

    /// The work of an open session is stopped, with what waits on its behalf.
    pub(crate) fn stop(&self, id: &SessionId) {
        self.change(id, |entry| std::mem::take(&mut entry.stop).cancel());
    }

    /// Fires when the work of the open session `id` is stopped, or it closes.
    pub(crate) fn stopped(&self, id: &SessionId) -> Option<CancellationToken> {
        self.inner().open.get(id).map(|entry| entry.stop.clone())
    }

    /// Takes note that the turn of `from` waits for an answer of `to`, as long as what is given back is there. `None`: the
    /// turn of `to` waits for `from`, so neither would ever end.
    pub(crate) fn wait(&self, from: &SessionId, to: &SessionId) -> Option<Waits> {
        let mut inner = self.inner();
        if inner.wait_for(from).contains(to) {
            return None;
        }
        inner.waits.push((from.clone(), to.clone()));
        Some(Waits { roster: self.clone(), edge: (from.clone(), to.clone()) })
    }

    fn change(&self, id: &SessionId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.inner().open.get_mut(id) {
            change(entry);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The session `id` and those whose turns may wait until it has answered: who wait for it here, and those above it
    /// that are at work.
    fn wait_for(&self, id: &SessionId) -> BTreeSet<SessionId> {
        let mut found = BTreeSet::from([id.clone()]);
        let mut open = vec![id.clone()];
        while let Some(id) = open.pop() {
            let waiting = self.waits.iter().filter(|(_, to)| *to == id).map(|(from, _)| from);
            let above = self.open.get(&id).and_then(|entry| entry.parent.as_ref());
            let above = above.filter(|above| self.open.get(above).is_some_and(|entry| entry.status != Status::Idle));
            for one in waiting.chain(above) {
                if found.insert(one.clone()) {
                    open.push(one.clone());
                }
            }
        }
        found
    }
}

/// Stands for a session as long as it is open.
pub(crate) struct Listed {
    roster: Roster,
    id: SessionId,
    left: CancellationToken,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let gone = self.roster.inner().open.remove(&self.id);
        // Not while the list is locked: what it holds may be the last of a session.
        if let Some(entry) = gone {
            entry.stop.cancel();
        }
        self.left.cancel();
    }
}

/// Stands for one who waits.
pub(crate) struct Waits {
    roster: Roster,
    edge: (SessionId, SessionId),
}

impl Drop for Waits {
    fn drop(&mut self) {
        let mut inner = self.roster.inner();
        if let Some(at) = inner.waits.iter().position(|edge| *edge == self.edge) {
            inner.waits.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::{Clock, Id};

    use super::*;

    fn ids() -> [SessionId; 3] {
        let clock = Clock::scripted(1);
        [clock.mint(), clock.mint(), clock.mint()]
    }

    #[test]
    fn nobody_waits_in_a_circle() {
        let ([a, b, c], roster) = (ids(), Roster::default());
        assert!(roster.wait(&a, &a).is_none(), "for itself");
        let first = roster.wait(&a, &b).unwrap();
        let second = roster.wait(&b, &c).unwrap();
        assert!(roster.wait(&c, &a).is_none(), "over another one");
        assert!(roster.wait(&a, &c).is_some(), "twice the same way");
        drop(second);
        assert!(roster.wait(&c, &a).is_some(), "{} waits no more", b.as_str());
        assert!(roster.wait(&b, &a).is_none());
        drop(first);
        assert!(roster.wait(&b, &a).is_some());
    }
}
