//! What a session has done to files since a message.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use haft_protocol::{FileDiff, History, MessageId, PartId, SessionId};
use haft_snapshot::diff::heading;
use haft_snapshot::{Change, State};
use haft_store::Journal;

use super::gather::{Below, Gathered, Patch, gather};
use super::point::Point;
use super::wanted::To;
use super::{blocking, list, point};
use crate::error::SessionError;
use crate::snapshots::diffs::Tally;
use crate::snapshots::past::Past;

/// What was changed since the message `first`, by the session and those below it, the latest first; all where it is
/// `None`.
pub(crate) async fn since(
    journal: &Journal,
    id: &SessionId,
    history: &History,
    first: Option<&MessageId>,
) -> Result<Vec<Patch>, SessionError> {
    let point = match first {
        None => None,
        Some(first) => {
            let no_message = || SessionError::NoMessage { session: id.clone(), message: first.clone() };
            Some(Point::whole(history, first).ok_or_else(no_message)?)
        }
    };
    Ok(gather(journal, id, history, point.as_ref(), Below::Read).await?.patches)
}

/// What the turn of `prompt`, or the whole session, has done to files that is not taken back.
pub(crate) async fn diffs(
    journal: &Journal,
    past: &Past,
    id: &SessionId,
    prompt: Option<&MessageId>,
) -> Result<Vec<FileDiff>, SessionError> {
    let record = journal.session(id).await?.ok_or_else(|| SessionError::Unknown(id.clone()))?;
    let history = journal.history(id).await?;
    let no_message = |message: &MessageId| SessionError::NoMessage { session: id.clone(), message: message.clone() };
    let (from, until) = match prompt {
        None => (None, record.revert.as_ref().and_then(|revert| Point::of(revert, &history))),
        Some(message) => {
            let from = point::find(&history, None, &To::Before(message.clone(), None)).ok().flatten();
            let from = from.ok_or_else(|| no_message(message))?;
            let until = point::find(&history, Some(&from), &To::Forth).ok().flatten();
            (Some(from), until)
        }
    };
    let patches = gather(journal, id, &history, from.as_ref(), Below::Read).await?.patches;
    let hidden = match &until {
        None => Gathered::default(),
        Some(point) => {
            let hidden = gather(journal, id, &history, Some(point), Below::Read).await?;
            let time = record.revert.and_then(|revert| revert.time).filter(|_| prompt.is_none());
            hidden.until(id, time)
        }
    };
    let patches = without(patches, &hidden);
    let modes = modes(past, patches.clone()).await;
    let mut diffs = tally(past, Tally::default(), patches).await.diffs();
    for diff in &mut diffs {
        if let Some(modes) = modes.get(&diff.file) {
            modes.write(diff);
        }
    }
    Ok(diffs)
}

/// A file whose mode is another one than before.
struct Modes {
    before: u32,
    after: u32,
    /// Whether it holds what it held.
    alone: bool,
}

impl Modes {
    /// Says so in `diff`, as git does.
    fn write(&self, diff: &mut FileDiff) {
        let Self { before, after, alone } = self;
        let said = format!("old mode 100{before:03o}\nnew mode 100{after:03o}\n");
        if *alone {
            diff.patch = heading(&diff.file) + &said;
        } else if let Some((begins, _)) = diff.patch.match_indices("\n--- ").next() {
            diff.patch.insert_str(begins + 1, &said);
        }
    }
}

/// The files whose modes `patches`, the latest first, changed, by their names.
async fn modes(past: &Past, patches: Vec<Patch>) -> HashMap<String, Modes> {
    let past = past.clone();
    let found = blocking(move || {
        let mut ends: HashMap<PathBuf, (State, State)> = HashMap::new();
        // The latest first, as they are taken back.
        for change in patches.iter().flat_map(|patch| list(past.snapshots.keep(), patch)) {
            let Change { path, before, after, .. } = change;
            ends.entry(path).and_modify(|ends| ends.0 = before.clone()).or_insert((before, after));
        }
        let named = |(path, ends): (&PathBuf, &(State, State))| Some((past.files.title(path), differ(ends)?));
        ends.iter().filter_map(named).collect()
    });
    found.await.unwrap_or_default()
}

/// How the modes of a file differ, if they do.
fn differ((before, after): &(State, State)) -> Option<Modes> {
    let (State::File { mode, content, .. }, State::File { mode: now, content: holds, .. }) = (before, after) else {
        return None;
    };
    (mode != now).then(|| Modes { before: *mode, after: *now, alone: content == holds })
}

/// `patches` without those that are `hidden`.
pub(super) fn without(patches: Vec<Patch>, hidden: &Gathered) -> Vec<Patch> {
    let hidden: HashSet<&PartId> = hidden.patches.iter().map(|patch| &patch.part.id).collect();
    patches.into_iter().filter(|patch| !hidden.contains(&patch.part.id)).collect()
}

/// Adds what `patches`, the latest first, come to.
pub(crate) async fn tally(past: &Past, mut tally: Tally, patches: Vec<Patch>) -> Tally {
    let past = past.clone();
    let added = blocking(move || {
        let keep = past.snapshots.keep();
        let changes = patches.iter().rev().flat_map(|patch| {
            let mut changes = list(keep, patch);
            changes.reverse();
            changes
        });
        tally.add(&past.files, keep, changes);
        tally
    });
    added.await.unwrap_or_default()
}
