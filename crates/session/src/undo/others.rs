//! What other sessions did to the same files: a command that ran beside them took it for its own doing.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use haft_protocol::{PartKind, Revert, Session as Record, SessionId};
use haft_snapshot::undo::same;
use haft_snapshot::{Change, State};
use haft_store::{Filter, Journal};

use super::gather::{Gathered, own};
use super::{blocking, changes, list};
use crate::error::SessionError;
use crate::snapshots::past::Past;

/// Most other sessions whose changes are asked for, those that changed last first.
const MAX_OTHERS: usize = 100;
/// What two processes say of one moment may differ by so many milliseconds.
const SLACK: u64 = 100;
/// Messages at the end of a session that tell whether it did something lately.
const LATEST: usize = 8;

/// What others left where.
#[derive(Debug, Default)]
pub(super) struct Others {
    left: HashMap<PathBuf, Vec<Left>>,
}

/// What one of them left.
#[derive(Debug)]
struct Left {
    state: State,
    by: SessionId,
    /// From when to when it did that, in Unix milliseconds.
    span: (u64, u64),
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
            if !is_other || !is_recent(journal, &other, gathered.since).await? {
                continue;
            }
            let history = journal.history(&other.id).await?;
            let mut patches = own(&history, 0, None, true);
            patches.retain(|patch| patch.time >= gathered.since && !copied.contains(&(&patch.hash, patch.time)));
            let files = past.clone();
            let read = move || {
                let lists =
                    patches.iter().map(|patch| ((patch.began, patch.time), list(files.snapshots.keep(), patch)));
                lists.collect::<Vec<_>>()
            };
            for (span, changes) in blocking(read).await? {
                others.add(&other.id, span, changes);
            }
            // What it took back it did to files too.
            if let Some(Revert { snapshot: Some(hash), time: Some(time), .. }) = other.revert {
                others.add(&other.id, (time, time), changes(past, &hash).await.unwrap_or_default());
            }
        }
        Ok(others)
    }

    fn add(&mut self, by: &SessionId, span: (u64, u64), changes: Vec<Change>) {
        for Change { path, after, .. } in changes {
            self.left.entry(path).or_default().push(Left { state: after, by: by.clone(), span });
        }
    }

    /// The change, made from when to when `span` tells, in doubt where it was only found, and another session says that it is
    /// its doing at that time.
    pub(super) fn doubt(&self, change: Change, span: (u64, u64)) -> Change {
        let is_it = |left: &&Left| {
            same(&left.state, &change.after) && left.span.0 <= span.1 + SLACK && span.0 <= left.span.1 + SLACK
        };
        match self.left.get(&change.path).into_iter().flatten().filter(|_| change.found).find(is_it) {
            Some(Left { by, .. }) => {
                let why = format!("it changed while a command ran, and session {by} says that it did that");
                Change { after: State::unkept(why), ..change }
            }
            None => change,
        }
    }
}

/// Whether a session did something since the time `since`, in Unix milliseconds, as far as its end tells.
async fn is_recent(journal: &Journal, session: &Record, since: u64) -> Result<bool, SessionError> {
    if session.time.updated >= since {
        return Ok(true);
    }
    let latest = journal.messages(&session.id, None, LATEST).await?;
    let parts = latest.iter().flat_map(|turned| &turned.parts);
    let changed = parts.filter_map(|part| match &part.kind {
        PartKind::Patch { time: Some(time), .. } => Some(time.created),
        _ => None,
    });
    Ok(latest.iter().map(|turned| turned.info.created()).chain(changed).any(|time| time >= since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::Clock;
    use haft_snapshot::Hash;

    #[test]
    fn only_what_was_found_at_the_same_time_is_in_doubt() {
        let file = |text: &str| State::File { content: Hash::of(text.as_bytes()), size: 1, mode: 0o644 };
        let row = |found: bool, after: &str, span: (u64, u64), want: bool| {
            let mut others = Others::default();
            let change = |after| Change::new("/f", file("old"), file(after));
            others.add(&Clock::scripted(1).mint(), (5000, 6000), vec![change("theirs")]);
            let change = Change { found, ..change(after) };
            let doubted = others.doubt(change.clone(), span);
            assert_eq!(doubted != change, want, "{found} {after} {span:?}");
            assert_eq!(matches!(doubted.after, State::Unkept { .. }), want);
        };
        row(true, "theirs", (5500, 5600), true);
        row(true, "theirs", (1000, 5000), true);
        row(true, "theirs", (6000 + SLACK, 9000), true);
        row(true, "theirs", (6001 + SLACK, 9000), false);
        row(true, "theirs", (1000, 4999 - SLACK), false);
        row(true, "ours", (5500, 5600), false);
        row(false, "theirs", (5500, 5600), false);
    }
}
