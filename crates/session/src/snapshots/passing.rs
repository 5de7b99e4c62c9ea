//! Files under passing names that a process left which was killed while it wrote.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_project::{Standing, sweep_passing};
use haft_snapshot::{Change, Hash, Keep, State};

use super::MAX_EDITED;

/// Most folders that are looked into.
const MAX_FOLDERS: usize = 1000;
/// Most changes whose contents are compared with one file.
const MAX_COMPARED: usize = 100;

/// Removes what was left beside the files that a killed process had said it would change. What is removed holds exactly what
/// one of them was, or what it was to become or the beginning of that: all of it is kept, so nothing is lost whoever wrote it.
/// What is younger than `age` stays.
pub(super) fn sweep(keep: &Keep, announced: &[Change], age: Duration) {
    let mut folders: HashMap<&Path, Vec<&Change>> = HashMap::new();
    for change in announced {
        let Some(folder) = change.path.parent() else { continue };
        if folders.len() < MAX_FOLDERS || folders.contains_key(folder) {
            let changes = folders.entry(folder).or_default();
            if changes.len() < MAX_COMPARED {
                changes.push(change);
            }
        }
    }
    for (folder, changes) in folders {
        let removed = sweep_passing(folder, |standing| is_ours(keep, &changes, standing, age));
        if removed > 0 {
            let folder: PathBuf = folder.to_owned();
            tracing::info!(removed, folder = %folder.display(), "files that were half written are removed");
        }
    }
}

fn is_ours(keep: &Keep, changes: &[&Change], standing: Standing, age: Duration) -> bool {
    let file = match standing {
        Standing::File { file, .. } => file,
        // How old a link is is not asked.
        Standing::Link { .. } if !age.is_zero() => return false,
        Standing::Link { to } => {
            let link = State::Link { to: Hash::of(&to) };
            return changes.iter().any(|change| change.before == link || change.after == link);
        }
        Standing::Nothing | Standing::Folder { .. } | Standing::Other(_) => return false,
    };
    let modified = file.metadata().and_then(|meta| meta.modified());
    if !age.is_zero() && modified.is_ok_and(|time| time.elapsed().unwrap_or_default() < age) {
        return false;
    }
    let mut bytes = Vec::new();
    if file.take(MAX_EDITED + 1).read_to_end(&mut bytes).is_err() || bytes.len() as u64 > MAX_EDITED {
        return false;
    }
    let hash = Hash::of(&bytes);
    let is_whole = |named: Option<&Hash>| named.is_some_and(|named| *named == hash && keep.get(named).is_ok());
    let is_begun = |named: Option<&Hash>| {
        named.and_then(|named| keep.get(named).ok()).is_some_and(|content| content.starts_with(&bytes))
    };
    changes.iter().any(|change| {
        let (before, after) = (change.before.content(), change.after.content());
        is_whole(before) || is_whole(after) || is_begun(after)
    })
}
