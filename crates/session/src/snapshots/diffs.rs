//! What changes to files come to, file by file, as clients show it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft_project::Files;
use haft_protocol::{FileDiff, FileStatus, SessionSummary};
use haft_snapshot::diff::Diff;
use haft_snapshot::undo::same;
use haft_snapshot::{Change, Keep, State};

/// Most files of a session that are told apart. Further ones are not counted.
const MAX_FILES: usize = 10_000;
/// Largest content that is compared, in bytes. A larger one has neither a patch nor counts.
const MAX_CONTENT: u64 = 16 * 1024 * 1024;
/// Longest patch of one file that is shown, in bytes. A longer one is only counted.
const MAX_PATCH: usize = 128 * 1024;
/// Longest patches of all files together, in bytes; those behind are only counted.
const MAX_PATCHES: usize = 512 * 1024;
/// Times that somebody else changed a file in between, and that are told apart.
const MAX_SPANS: usize = 16;
/// How long the files of one turn are compared. Then any difference that is right will do.
const PATIENCE: Duration = Duration::from_secs(2);

/// What changes to files come to. What others did in between does not count.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    files: BTreeMap<PathBuf, Net>,
}

/// One file: what it was and became, once more for each time that somebody else changed it in between.
#[derive(Debug, Default)]
struct Net {
    spans: Vec<(State, State)>,
    diff: Option<FileDiff>,
}

impl Tally {
    /// Adds `changes`, oldest first, and compares anew what they touch. Blocks.
    pub(crate) fn add(&mut self, files: &Files, keep: &Keep, changes: impl IntoIterator<Item = Change>) {
        for Change { path, before, after, .. } in changes {
            if self.files.len() >= MAX_FILES && !self.files.contains_key(&path) {
                continue;
            }
            let net = self.files.entry(path).or_default();
            net.diff = None;
            let is_full = net.spans.len() >= MAX_SPANS;
            match net.spans.last_mut() {
                Some((_, last)) if is_full || same(last, &before) => *last = after,
                Some(_) | None => net.spans.push((before, after)),
            }
        }
        let until = Instant::now() + PATIENCE;
        for (path, net) in self.files.iter_mut().filter(|(_, net)| net.diff.is_none()) {
            net.diff = Some(net.compare(&named(files, path), keep, until));
        }
    }

    /// File by file, those that are as they were left out. Patches that would be too much are empty.
    pub(crate) fn diffs(&self) -> Vec<FileDiff> {
        let mut room = MAX_PATCHES;
        let diffs = self.files.values().filter(|net| net.differs()).filter_map(|net| net.diff.clone());
        diffs.map(|diff| within(diff, &mut room)).collect()
    }

    /// The numbers alone.
    pub(crate) fn summary(&self) -> SessionSummary {
        let mut summary = SessionSummary::default();
        for diff in self.files.values().filter(|net| net.differs()).filter_map(|net| net.diff.as_ref()) {
            summary.additions += diff.additions;
            summary.deletions += diff.deletions;
            summary.files += 1;
        }
        summary
    }
}

/// A path as people see it: relative to the work tree, which itself is `.`.
pub(crate) fn named(files: &Files, path: &Path) -> String {
    let title = files.title(path);
    if title.is_empty() { ".".to_owned() } else { title }
}

/// `diff` with its patch, if there is `room` for it.
pub(crate) fn within(mut diff: FileDiff, room: &mut usize) -> FileDiff {
    match room.checked_sub(diff.patch.len()).filter(|_| diff.patch.len() <= MAX_PATCH) {
        Some(rest) => *room = rest,
        None => diff.patch = String::new(),
    }
    diff
}

/// Room for the patches of one turn or session, in bytes.
pub(crate) fn room() -> usize {
    MAX_PATCHES
}

impl Net {
    fn differs(&self) -> bool {
        let is_folder = |state: &State| matches!(state, State::Folder { .. } | State::Absent);
        self.spans.iter().any(|(before, after)| !(same(before, after) || is_folder(before) && is_folder(after)))
    }

    fn compare(&self, name: &str, keep: &Keep, until: Instant) -> FileDiff {
        let mut all: Option<FileDiff> = None;
        for (before, after) in &self.spans {
            let diff = file_diff(name, before, after, keep, until);
            match &mut all {
                None => all = Some(diff),
                Some(all) => {
                    all.patch.push_str(&diff.patch);
                    all.additions += diff.additions;
                    all.deletions += diff.deletions;
                }
            }
        }
        let absent = |state: Option<&State>| matches!(state, Some(State::Absent));
        let status = status(
            absent(self.spans.first().map(|(before, _)| before)),
            absent(self.spans.last().map(|(_, after)| after)),
        );
        let none = || FileDiff { file: name.to_owned(), patch: String::new(), additions: 0, deletions: 0, status };
        FileDiff { status, ..all.unwrap_or_else(none) }
    }
}

fn status(was_absent: bool, is_absent: bool) -> FileStatus {
    match (was_absent, is_absent) {
        (true, false) => FileStatus::Added,
        (false, true) => FileStatus::Deleted,
        (false, false) | (true, true) => FileStatus::Modified,
    }
}

/// How a file differs between two states. What is not kept has neither a patch nor counts. Blocks.
pub(crate) fn file_diff(name: &str, before: &State, after: &State, keep: &Keep, until: Instant) -> FileDiff {
    let compared = match (content(before, keep), content(after, keep)) {
        (Some(before), Some(after)) if before != after => Diff::between(name, &before, &after, until),
        _ => Diff::default(),
    };
    let Diff { patch, additions, deletions } = compared;
    let status = status(*before == State::Absent, *after == State::Absent);
    FileDiff { file: name.to_owned(), patch, additions, deletions, status }
}

fn content(state: &State, keep: &Keep) -> Option<Vec<u8>> {
    match state {
        State::Absent | State::Folder { .. } => Some(Vec::new()),
        State::File { size, .. } if *size > MAX_CONTENT => None,
        State::File { content, .. } => keep.get(content).ok(),
        State::Link { to } => keep.get(to).ok(),
        State::Unkept { .. } => None,
    }
}

/// Until when files are compared that a person waits for.
pub(crate) fn soon() -> Instant {
    Instant::now() + PATIENCE
}
