//! Changes that no session remembers yet: in memory, and in a file for each session so that a killed process loses none.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_protocol::{AskedBy, Id, SessionId};
use haft_snapshot::{Change, Hash, State};
use serde::{Deserialize, Serialize};

use super::Recorded;

/// Most bytes of a session's file that are read after a crash. What is beyond it is not settled.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Most calls of a session whose changes wait to be handed out, or to be remembered. Beyond it the oldest are forgotten:
/// who never asks for them does not want them.
pub(super) const MAX_WAITING: usize = 10_000;

/// Most sessions that nobody opened since they were cut off, and whose files are looked at when another one begins.
const MAX_LEFT: usize = 64;

/// The changes of all sessions that this process works on.
#[derive(Debug)]
pub(super) struct Ledger {
    folder: PathBuf,
    state: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    count: u64,
    sessions: HashMap<SessionId, Vec<Entry>>,
}

/// What was announced at once.
#[derive(Debug, Clone)]
struct Entry {
    number: u64,
    by: Option<AskedBy>,
    changes: Vec<Change>,
    /// Where it is a command that runs, how things stood.
    command: Option<Started>,
    rewinds: bool,
    stage: Stage,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is about to happen.
    Announced,
    /// It happened, and nobody asked for it yet.
    Happened,
    /// It was handed out as part of this list.
    HandedOut(Hash),
}

/// One announcement in the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<AskedBy>,
    changes: Vec<Change>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<Started>,
    /// Whether the session itself remembers the changes already: it takes something back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rewinds: bool,
    /// Whether it is known to have happened, so that what stands there by now says nothing about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    happened: bool,
}

/// How things stood when a command was about to run, for who finds that it was cut off.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Started {
    /// When, in nanoseconds since the Unix epoch.
    pub at: i64,
    /// Files of which neither the repository nor the memory of the tree tells what they were.
    pub loose: Vec<Change>,
    /// Whether there are more of them.
    pub more: bool,
}

impl Entry {
    fn line(&self) -> Line {
        Line {
            by: self.by.clone(),
            changes: self.changes.clone(),
            command: self.command.clone(),
            rewinds: self.rewinds,
            happened: self.stage != Stage::Announced,
        }
    }
}

impl Ledger {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, state: Mutex::default() }
    }

    /// Writes down what is about to happen, and returns its number.
    pub(super) fn announce(&self, session: &SessionId, by: Option<&AskedBy>, changes: Vec<Change>) -> u64 {
        let line = Line { by: by.cloned(), changes, command: None, rewinds: false, happened: false };
        self.add(session, line, Stage::Announced)
    }

    /// Writes down that a command is about to run, and returns its number. [`Ledger::ended`] takes it out again.
    pub(super) fn began(&self, session: &SessionId, by: Option<&AskedBy>, started: Started) -> u64 {
        let line =
            Line { by: by.cloned(), changes: Vec::new(), command: Some(started), rewinds: false, happened: false };
        self.add(session, line, Stage::Announced)
    }

    /// Writes down that the session is about to take something back, and returns its number. [`Ledger::ended`] takes it out
    /// again.
    pub(super) fn rewinds(&self, session: &SessionId, changes: Vec<Change>) -> u64 {
        let line = Line { by: None, changes, command: None, rewinds: true, happened: false };
        self.add(session, line, Stage::Announced)
    }

    /// The command or the way back called `number` ended, and what it changed is written down.
    pub(super) fn ended(&self, session: &SessionId, number: u64) {
        self.drop_entries(session, |entry| entry.number == number);
    }

    /// Writes down what has happened without being announced.
    pub(super) fn note(&self, session: &SessionId, by: Option<&AskedBy>, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let line = Line { by: by.cloned(), changes, command: None, rewinds: false, happened: true };
        self.add(session, line, Stage::Happened);
    }

    /// Writes down that the file at `path` is `now`, which the same call had left as something else. Where it had not, or what
    /// commands changed tells it already, nothing is written.
    pub(super) fn reworked(&self, session: &SessionId, by: Option<&AskedBy>, path: &Path, now: State) {
        let last = {
            let book = self.lock();
            let entries = book.sessions.get(session).into_iter().flatten();
            let done = entries.filter(|entry| entry.by.as_ref() == by && entry.stage != Stage::Announced);
            done.flat_map(|entry| &entry.changes).rfind(|change| change.path == path).map(|one| one.after.clone())
        };
        if let Some(before) = last.filter(|last| *last != now) {
            self.note(session, by, vec![Change::new(path.to_owned(), before, now)]);
        }
    }

    /// Writes a line to the file and to the book.
    fn add(&self, session: &SessionId, line: Line, stage: Stage) -> u64 {
        // Both at once: who writes the file anew meanwhile writes what is in the book, and the line would be lost.
        let mut book = self.lock();
        self.append(session, &line);
        Self::enter(&mut book, session, line, stage)
    }

    fn enter(book: &mut Book, session: &SessionId, line: Line, stage: Stage) -> u64 {
        book.count += 1;
        let number = book.count;
        let entries = book.sessions.entry(session.clone()).or_default();
        if entries.len() >= MAX_WAITING {
            entries.remove(0);
        }
        let Line { by, changes, command, rewinds, .. } = line;
        entries.push(Entry { number, by, changes, command, rewinds, stage });
        number
    }

    /// What was announced as `number` has happened; `after` says what each path is now, `None` to leave it out. Returns what
    /// is left.
    pub(super) fn happened(&self, number: u64, mut after: impl FnMut(&Change) -> Option<State>) -> Vec<Change> {
        let find = |book: &mut Book| {
            book.sessions.values_mut().flatten().find(|entry| entry.number == number).map(|entry| entry.changes.clone())
        };
        // The lock is not held while files are read.
        let Some(mut changes) = find(&mut self.lock()) else { return Vec::new() };
        changes.retain_mut(|change| match after(change) {
            Some(state) => {
                change.after = state;
                true
            }
            None => false,
        });
        let mut book = self.lock();
        if let Some(entry) = book.sessions.values_mut().flatten().find(|entry| entry.number == number) {
            entry.changes.clone_from(&changes);
            entry.stage = Stage::Happened;
        }
        changes
    }

    /// What happened in calls that are `wanted` and was not handed out, one list for each; `keep` keeps a list.
    pub(super) fn hand_out(
        &self,
        session: &SessionId,
        wanted: impl Fn(Option<&AskedBy>) -> bool,
        keep: impl Fn(&[Change]) -> Option<Hash>,
    ) -> Vec<Recorded> {
        let mut calls: Vec<(Option<AskedBy>, Vec<u64>, Vec<Change>)> = Vec::new();
        for entry in self.lock().sessions.get(session).into_iter().flatten() {
            if entry.stage != Stage::Happened || !wanted(entry.by.as_ref()) {
                continue;
            }
            match calls.iter_mut().find(|(by, ..)| *by == entry.by) {
                Some((_, numbers, changes)) => {
                    numbers.push(entry.number);
                    changes.extend(entry.changes.iter().cloned());
                }
                None => calls.push((entry.by.clone(), vec![entry.number], entry.changes.clone())),
            }
        }
        let mut recorded = Vec::new();
        for (by, numbers, changes) in calls {
            let changes = Change::squashed(changes);
            if changes.is_empty() {
                self.drop_entries(session, |entry| numbers.contains(&entry.number));
                continue;
            }
            let Some(hash) = keep(&changes) else { continue };
            let mut book = self.lock();
            let entries = book.sessions.get_mut(session).into_iter().flatten();
            for entry in entries.filter(|entry| numbers.contains(&entry.number)) {
                entry.stage = Stage::HandedOut(hash);
            }
            recorded.push(Recorded { by, hash, files: changes.into_iter().map(|change| change.path).collect() });
        }
        recorded
    }

    /// The list called `hash` is remembered elsewhere.
    pub(super) fn forget(&self, session: &SessionId, hash: &Hash) {
        self.drop_entries(session, |entry| entry.stage == Stage::HandedOut(*hash));
    }

    /// Reads what a killed process left of the session; `after` says what became of a change, `None` for nothing, `begun`
    /// hears what was being taken back, and `cut_off` says what may have come of a command, given what else was announced.
    /// What this process knows itself stays.
    pub(super) fn load(
        &self,
        session: &SessionId,
        after: impl Fn(&Change) -> Option<State>,
        begun: impl Fn(&[Change]),
        cut_off: impl Fn(&Started, &[Change]) -> Vec<Change>,
    ) {
        // Who has written to the file itself has read it before.
        if self.lock().sessions.contains_key(session) {
            return;
        }
        let mut announced: Vec<Change> = Vec::new();
        let mut commands = Vec::new();
        for mut line in self.read(session) {
            if line.command.is_some() {
                commands.push(line);
                continue;
            }
            if line.rewinds {
                begun(&line.changes);
                line.changes = Vec::new();
            }
            line.changes.retain_mut(|change| match after(change) {
                _ if line.happened => true,
                Some(state) => {
                    change.after = state;
                    true
                }
                None => false,
            });
            announced.extend(line.changes.iter().cloned());
            Self::enter(&mut self.lock(), session, line, Stage::Happened);
        }
        let had_commands = !commands.is_empty();
        for mut line in commands {
            line.changes = line.command.take().map_or_else(Vec::new, |started| cut_off(&started, &announced));
            announced.extend(line.changes.iter().cloned());
            Self::enter(&mut self.lock(), session, line, Stage::Happened);
        }
        self.drop_entries(session, |entry| entry.changes.is_empty());
        // Looked for once: later nobody could tell it from what came after.
        if had_commands {
            self.rewrite_all(session);
        }
    }

    /// Whether a killed process left a command of the session.
    pub(super) fn was_cut_off(&self, session: &SessionId) -> bool {
        !self.lock().sessions.contains_key(session) && self.read(session).iter().any(|line| line.command.is_some())
    }

    /// The sessions of which a file is there that this process did not write.
    pub(super) fn left(&self) -> Vec<SessionId> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        let session = |entry: io::Result<fs::DirEntry>| {
            let name = entry.ok()?.file_name();
            SessionId::parse(name.to_str()?.strip_suffix(".jsonl")?).ok()
        };
        let book = self.lock();
        entries.filter_map(session).filter(|id| !book.sessions.contains_key(id)).take(MAX_LEFT).collect()
    }

    /// All changes that the file of a session names.
    pub(super) fn announced(&self, session: &SessionId) -> Vec<Change> {
        self.read(session).into_iter().flat_map(|line| line.changes).collect()
    }

    fn read(&self, session: &SessionId) -> Vec<Line> {
        let mut bytes = Vec::new();
        let Ok(file) = File::open(self.path(session)) else { return Vec::new() };
        if file.take(MAX_BYTES).read_to_end(&mut bytes).is_err() {
            return Vec::new();
        }
        // The last line may be cut off: what it would have said did not happen.
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    fn drop_entries(&self, session: &SessionId, gone: impl Fn(&Entry) -> bool) {
        let mut book = self.lock();
        let Some(entries) = book.sessions.get_mut(session) else { return };
        let before = entries.len();
        entries.retain(|entry| !gone(entry));
        if entries.is_empty() {
            book.sessions.remove(session);
            // If it stays, it is settled once more.
            let _ = fs::remove_file(self.path(session));
        } else if entries.len() < before {
            self.rewrite(session, entries.iter().map(Entry::line));
        }
    }

    fn rewrite_all(&self, session: &SessionId) {
        if let Some(entries) = self.lock().sessions.get(session) {
            self.rewrite(session, entries.iter().map(Entry::line));
        }
    }

    fn append(&self, session: &SessionId, line: &Line) {
        let path = self.path(session);
        let written = text(line).and_then(|text| {
            let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
            let mut file = open().or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => private(&self.folder).and_then(|()| open()),
                _ => Err(error),
            })?;
            // In one piece: a process killed meanwhile leaves all of it or a line that is no JSON.
            file.write_all(&text)
        });
        if let Err(error) = written {
            tracing::warn!(%error, path = %path.display(), "a change is written down in memory alone");
        }
    }

    fn rewrite(&self, session: &SessionId, lines: impl Iterator<Item = Line>) {
        let (path, passing) = (self.path(session), self.path(session).with_extension("new"));
        let written = lines.map(|line| text(&line)).collect::<io::Result<Vec<_>>>().and_then(|lines| {
            let options = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&passing);
            options.and_then(|mut file| file.write_all(&lines.concat()))?;
            fs::rename(&passing, &path)
        });
        // The longer one says the same and more, and what is settled twice is the same twice.
        if let Err(error) = written {
            tracing::warn!(%error, path = %path.display(), "what waits to be remembered was not written anew");
        }
    }

    fn path(&self, session: &SessionId) -> PathBuf {
        self.folder.join(format!("{}.jsonl", session.as_str()))
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // The book is whole after each use, so a panic elsewhere does no harm to it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn text(line: &Line) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
    text.push(b'\n');
    Ok(text)
}

pub(super) fn private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
