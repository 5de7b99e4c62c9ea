//! What a command may have done that was cut off: haft was killed while it ran, and nobody looked at the tree after it.
//!
//! What has changed since it began may be its doing, or that of somebody who came later. So it is named with what it was,
//! and taken back only where that is forced.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use haft_project::{Diff, Seen, Standing, Tracked, Tree};
use haft_snapshot::{Change, Keep, State};

use super::around::{Ground, MAX_FILE, born, changed};
use super::known::{Known, Last, TICK};
use super::ledger::Started;
use super::repositories::Repositories;
use super::unkept;

/// Most files that are named.
const MAX_NAMED: usize = 2000;
/// What changed so much earlier than the command began is not its doing, in nanoseconds: file systems may count seconds in
/// twos.
const GRAIN: i64 = 2_500_000_000;

/// What may have been changed since the command `started`. What is exactly as `told` says that somebody left it is left out.
pub(super) fn changes(
    keep: &Keep,
    ground: &Ground,
    started: &Started,
    told: &HashMap<PathBuf, Vec<State>>,
) -> Vec<Change> {
    let is_told = |path: &Path, now: &State| told.get(path).is_some_and(|told| told.contains(now));
    let Ground { root, home, left_out, memory } = ground.clone();
    let mut repositories = Repositories::new(root.clone());
    let known = memory.map(|path| Known::before(&path, started.at.saturating_sub(TICK))).unwrap_or_default();
    let Ok(mut tree) = Tree::<()>::new(root.clone(), home.as_deref(), left_out) else { return Vec::new() };
    if tree.look().is_err() {
        return Vec::new();
    }
    let mut found: Vec<Diff<()>> = (0..tree.places()).flat_map(|place| tree.found_in(place)).collect();
    // The same list each time that it is made.
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    let loose = started.loose.iter().map(|change| (change.path.as_path(), &change.before)).collect();
    let since = started.at.saturating_sub(GRAIN);
    let mut before = Before { keep, started, known: &known, loose, repositories: &mut repositories };
    let mut changes = Vec::new();
    let there: HashSet<&Path> = found.iter().map(|diff| diff.path.as_path()).collect();
    for diff in &found {
        let Some(seen) = diff.now.filter(|seen| seen.changed >= since && !seen.is_folder()) else { continue };
        let now = standing(keep, &diff.path);
        if !is_told(&diff.path, &now) && changes.len() < MAX_NAMED {
            changes.extend(before.change(&diff.path, Some(&seen), &now));
        }
    }
    let tracked: Vec<PathBuf> = before.repositories.all(tree.folder_paths()).flat_map(Tracked::paths).collect();
    let loose = started.loose.iter().map(|change| change.path.clone());
    let mut gone: Vec<PathBuf> = tracked.into_iter().chain(known.keys().cloned()).chain(loose).collect();
    gone.retain(|path| path.starts_with(&root) && !there.contains(path.as_path()) && went(path, since));
    gone.sort_unstable();
    gone.dedup();
    for path in gone {
        let now = standing(keep, &path);
        if !is_told(&path, &now) && changes.len() < MAX_NAMED {
            changes.extend(before.change(&path, None, &now));
        }
    }
    changes
}

/// Whether a file is gone that may have been there at the time `since`: a folder that has changed stands there, or the folder
/// in which it or what held it was has changed.
fn went(path: &Path, since: i64) -> bool {
    let about = match Standing::at(path) {
        Standing::Nothing => path.ancestors().skip(1).find_map(|folder| folder.symlink_metadata().ok()),
        Standing::Folder { .. } => path.symlink_metadata().ok(),
        Standing::File { .. } | Standing::Link { .. } | Standing::Other(_) => None,
    };
    about.is_some_and(|about| changed(&about) >= since)
}

/// Whether what stands at a path was made before the time `since`, as far as the file system tells.
fn is_older(path: &Path, since: i64) -> bool {
    path.symlink_metadata().ok().and_then(|about| born(&about)).is_some_and(|born| born < since)
}

fn standing(keep: &Keep, path: &Path) -> State {
    match Standing::at(path) {
        Standing::Nothing => State::Absent,
        Standing::File { file, mode, .. } => match keep.put_file(file, MAX_FILE) {
            Ok((content, size)) => State::File { content, size, mode },
            Err(error) => unkept(&error),
        },
        Standing::Link { to } => keep.put(&to).map_or_else(|error| unkept(&error), |to| State::Link { to }),
        Standing::Folder { mode } => State::Folder { mode },
        Standing::Other(why) => State::Unkept { why },
    }
}

/// What it takes to tell what a file was when the command began.
struct Before<'a> {
    keep: &'a Keep,
    started: &'a Started,
    known: &'a HashMap<PathBuf, Last>,
    loose: HashMap<&'a Path, &'a State>,
    repositories: &'a mut Repositories,
}

impl Before<'_> {
    /// What may have been done to a path; `None` where it is what it was.
    fn change(&mut self, path: &Path, seen: Option<&Seen>, now: &State) -> Option<Change> {
        let mut before = self.state(path, seen);
        if before == *now {
            return None;
        }
        // It may have been one of those that were too many to be written down.
        if self.started.more && !self.loose.contains_key(path) {
            before = State::unkept("it is not known what it was");
        }
        let why = "haft was ended while the command ran, and nobody knows who changed it last";
        Some(Change::new(path.to_owned(), before, State::unkept(why)))
    }

    fn state(&mut self, path: &Path, seen: Option<&Seen>) -> State {
        if let Some(state) = self.loose.get(path) {
            return (*state).clone();
        }
        let known = self.known.get(path);
        let last = self.repositories.tracked(path).and_then(|tracked| tracked.last_seen(path));
        match (known, last) {
            // What is later holds: each was right when it was written down.
            (Some(known), last) if last.is_none_or(|last| known.at() >= last.changed) => self.known(known),
            (_, Some(last)) if last.changed >= self.started.at.saturating_sub(TICK) => match known {
                // The index was written since.
                Some(known) => self.known(known),
                None => State::unkept("the repository's index was written after the command had begun"),
            },
            (_, Some(last)) => {
                let content = last.blob.and_then(|blob| self.repositories.content(path, blob, last.size));
                let put = content.map(|content| self.keep.put(&content));
                match put {
                    Some(Ok(to)) if last.is_link => State::Link { to },
                    Some(Ok(content)) => State::File { content, size: last.size, mode: mode(seen, last.executable) },
                    Some(Err(error)) => unkept(&error),
                    None => State::unkept("the repository does not give its old content"),
                }
            }
            // It was ignored, or somewhere else.
            (_, None) if seen.is_some() && is_older(path, self.started.at.saturating_sub(TICK)) => {
                State::unkept("it is older than the command, and nobody looked at it before")
            }
            (_, None) => State::Absent,
        }
    }

    fn known(&self, last: &Last) -> State {
        match *last {
            Last::Gone(_) => State::Absent,
            Last::Kept(_, hash) if !self.keep.has(&hash) => State::unkept("its old content is kept no more"),
            Last::Kept(seen, hash) if seen.is_link() => State::Link { to: hash },
            Last::Kept(seen, content) => State::File { content, size: seen.size, mode: seen.mode & 0o7777 },
        }
    }
}

/// A repository remembers of a mode only whether the file may be run. Where that has not changed it is taken from the file.
fn mode(seen: Option<&Seen>, executable: bool) -> u32 {
    match seen.filter(|seen| seen.is_file() && (seen.mode & 0o100 != 0) == executable) {
        Some(seen) => seen.mode & 0o7777,
        None if executable => 0o755,
        None => 0o644,
    }
}

#[cfg(test)]
mod tests;
