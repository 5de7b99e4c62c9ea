//! What other sessions did to the same files: a command that ran beside them took it for its own doing.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use haft_protocol::{Session as Record, SessionId};
use haft_snapshot::undo::same;
use haft_snapshot::{Change, State};
use haft_store::{Filter, Journal};

use super::blocking;
use super::gather::{Gathered, own};
use super::{changes, list};
use crate::error::SessionError;
use crate::snapshots::past::Past;

/// Most other sessions whose changes are asked for, those that changed last first.
const MAX_OTHERS: usize = 100;

/// What others left where, and who.
#[derive(Debug, Default)]
pub(super) struct Others {
    left: HashMap<PathBuf, Vec<(State, SessionId)>>,
}

impl Others {
    /// What sessions that are not `gathered` have left of files since what is taken back began. A copy of a session did not
    /// do what it was copied with.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(super) async fn find(
        journal: &Journal,
        past: &Past,
        record: &Record,
        gathered: &Gathered,
    ) -> Result<Self, SessionError> {
        let mut others = Self::default();
        let copied: HashSet<(&str, u64)> =
            gathered.patches.iter().map(|patch| (patch.hash.as_str(), patch.time)).collect();
        let filter = Filter { archived: true, limit: MAX_OTHERS, ..Filter::default() };
        for other in journal.sessions(&filter).await? {
            let is_other = other.project_id == record.project_id && !gathered.sessions.contains(&other.id);
            if !is_other || other.time.updated < gathered.since {
                continue;
            }
            let history = journal.history(&other.id).await?;
            let mut patches = own(&history, 0, None, true);
            patches.retain(|patch| patch.time >= gathered.since && !copied.contains(&(&patch.hash, patch.time)));
            let files = past.clone();
            let read = move || patches.iter().flat_map(|patch| list(files.snapshots.keep(), patch)).collect::<Vec<_>>();
            others.add(&other.id, blocking(read).await?);
            // What it took back it did to files too.
            if let Some(hash) = other.revert.and_then(|revert| revert.snapshot) {
                others.add(&other.id, changes(past, &hash).await.unwrap_or_default());
            }
        }
        Ok(others)
    }

    fn add(&mut self, by: &SessionId, changes: Vec<Change>) {
        for change in changes {
            self.left.entry(change.path).or_default().push((change.after, by.clone()));
        }
    }

    /// The change, in doubt where it was only found, and another session says that it is its doing.
    pub(super) fn doubt(&self, change: Change) -> Change {
        let mut left = self.left.get(&change.path).into_iter().flatten().filter(|_| change.found);
        match left.find(|(state, _)| same(state, &change.after)) {
            Some((_, by)) => {
                let why = format!("it changed while a command ran, and session {by} says that it did that");
                Change { after: State::unkept(why), ..change }
            }
            None => change,
        }
    }
}
