//! What is kept of which file, between runs: files that did not change since need not be read again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use haft_project::Seen;
use haft_snapshot::Hash;

use super::ledger::private;

/// Largest memory of one tree, in bytes. A larger one is begun anew, and the files are read again.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Longest line in it, in bytes: a path may be 4 KiB long, and each byte be written as six.
const MAX_LINE: u64 = 32 * 1024;

/// The inode of what is not there; then `changed` is a time at which it was gone.
const GONE: u64 = 0;

/// What the memory of a tree says of files that changed so shortly before is not sure, in nanoseconds: their times come from
/// a clock of the system that lags behind.
pub(super) const TICK: i64 = 20_000_000;

/// A line of the file: path, size, modified, changed, inode, mode, content.
type Line = (String, u64, i64, i64, u64, u32, Hash);

/// What was written down of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// It looked so, and its content is kept.
    Kept(Seen, Hash),
    /// Nothing stood there at this time, in nanoseconds since the Unix epoch.
    Gone(i64),
}

impl Last {
    fn new(seen: Seen, hash: Hash) -> Self {
        if seen.inode == GONE { Self::Gone(seen.changed) } else { Self::Kept(seen, hash) }
    }

    /// Since when it was so at the latest, in nanoseconds since the Unix epoch.
    pub(super) fn at(&self) -> i64 {
        match self {
            Self::Kept(seen, _) => seen.changed,
            Self::Gone(at) => *at,
        }
    }
}

/// What is kept of which file. What the file says is believed only where a file still looks exactly so, and its content
/// is told by its hash.
#[derive(Debug)]
pub(super) struct Known {
    path: Option<PathBuf>,
    loaded: bool,
    old: HashMap<PathBuf, Old>,
    /// Lines that are not in the file yet.
    new: Vec<u8>,
    /// How long the file is.
    bytes: u64,
}

/// What the file said when it was read.
#[derive(Debug)]
struct Old {
    last: Last,
    /// Whether something stands there.
    is_there: bool,
}

impl Known {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path, loaded: false, old: HashMap::new(), new: Vec::new(), bytes: 0 }
    }

    /// Reads the file, once.
    pub(super) fn load(&mut self) {
        let Some(path) = self.path.as_ref().filter(|_| !self.loaded) else { return };
        self.loaded = true;
        let mut bytes = Vec::new();
        let Ok(file) = File::open(path) else { return };
        if file.take(MAX_BYTES + 1).read_to_end(&mut bytes).is_err() {
            return;
        }
        self.bytes = bytes.len() as u64;
        let lines = bytes.split(|byte| *byte == b'\n');
        let mut count = 0_usize;
        for line in lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok()) {
            count += 1;
            let (path, size, modified, changed, inode, mode, hash) = line;
            let last = Last::new(Seen { size, modified, changed, inode, mode }, hash);
            self.old.insert(path.into(), Old { last, is_there: false });
        }
        if self.bytes > MAX_BYTES || count > 2 * self.old.len() + 1000 {
            self.bytes = match self.shorten(path) {
                Ok(bytes) => bytes,
                Err(error) => {
                    tracing::debug!(%error, path = %path.display(), "the memory of a tree is begun anew");
                    // If it stays, it is tried again.
                    let _ = fs::remove_file(path);
                    0
                }
            };
        }
    }

    /// Writes the last word on each file beside the old ones, and in their place: who needs it to tell what a command did
    /// finds one or the other. Says how long it is.
    fn shorten(&self, path: &Path) -> io::Result<u64> {
        let mut text = Vec::new();
        for (name, old) in &self.old {
            let (seen, hash) = match old.last {
                Last::Kept(seen, hash) => (seen, hash),
                Last::Gone(at) => (Seen { inode: GONE, changed: at, ..Seen::default() }, Hash::of(b"")),
            };
            write_line(&mut text, &line(name.to_str().unwrap_or_default(), &seen, hash));
        }
        if text.len() as u64 > MAX_BYTES / 2 {
            return Err(io::Error::other("it is too long"));
        }
        let passing = path.with_extension(format!("{}.new", std::process::id()));
        let options = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&passing);
        options.and_then(|mut file| file.write_all(&text)).and_then(|()| fs::rename(&passing, path))?;
        Ok(text.len() as u64)
    }

    /// What another process wrote down of files as they were before `time`, in nanoseconds since the Unix epoch.
    pub(super) fn before(path: &Path, time: i64) -> HashMap<PathBuf, Last> {
        let mut bytes = Vec::new();
        let Ok(file) = File::open(path) else { return HashMap::new() };
        if file.take(MAX_BYTES).read_to_end(&mut bytes).is_err() {
            return HashMap::new();
        }
        let mut known = HashMap::new();
        for line in bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok()) {
            let (path, size, modified, changed, inode, mode, hash) = line;
            let last = Last::new(Seen { size, modified, changed, inode, mode }, hash);
            if last.at() < time {
                known.insert(PathBuf::from(path), last);
            }
        }
        known
    }

    /// Whether what is added is there for another process.
    pub(super) fn lasts(&self, path: &Path) -> bool {
        self.path.is_some() && path.to_str().is_some() && self.bytes + self.new.len() as u64 + MAX_LINE <= MAX_BYTES
    }

    /// Something stands at the path.
    pub(super) fn saw(&mut self, path: &Path) {
        if let Some(old) = self.old.get_mut(path) {
            old.is_there = true;
        }
    }

    /// The files that stood somewhere when that was written down, and were not seen since it was read.
    pub(super) fn unseen(&self) -> impl Iterator<Item = &PathBuf> {
        let unseen = self.old.iter().filter(|(_, old)| !old.is_there && matches!(old.last, Last::Kept(..)));
        unseen.map(|(path, _)| path)
    }

    /// Whether it is written down that the file was gone at the time `since` or later.
    pub(super) fn says_gone(&self, path: &Path, since: i64) -> bool {
        let is_gone = |old: &Old| matches!(old.last, Last::Gone(at) if at >= since);
        self.bytes > 0 && self.old.get(path).is_some_and(is_gone)
    }

    /// The file was gone at the time `at`, in nanoseconds since the Unix epoch.
    pub(super) fn gone(&mut self, path: &Path, at: i64) {
        if self.path.is_some() {
            self.push(path, &Seen { inode: GONE, changed: at, ..Seen::default() }, Hash::of(b""));
        }
    }

    /// The content of a file that still looks so.
    pub(super) fn find(&mut self, path: &Path, seen: &Seen) -> Option<Hash> {
        let Last::Kept(old, hash) = self.old.get(path)?.last else { return None };
        if old != *seen {
            return None;
        }
        if self.bytes == 0 {
            self.push(path, seen, hash);
        }
        Some(hash)
    }

    /// The file's content is kept.
    pub(super) fn add(&mut self, path: &Path, seen: &Seen, hash: Hash) {
        if self.path.is_some() {
            self.push(path, seen, hash);
        }
    }

    fn push(&mut self, path: &Path, seen: &Seen, hash: Hash) {
        // One that is no text is read again.
        let Some(path) = path.to_str() else { return };
        write_line(&mut self.new, &line(path, seen, hash));
    }

    /// Writes what is new behind the rest. The old is not needed any more: the tree knows. Whether all of it is written; where
    /// it cannot be, nothing lasts from now on.
    pub(super) fn save(&mut self) -> bool {
        self.old = HashMap::new();
        let new = std::mem::take(&mut self.new);
        let Some(path) = self.path.as_ref().filter(|_| !new.is_empty()) else { return true };
        let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let written = open()
            .or_else(|_| path.parent().map_or(Ok(()), private).and_then(|()| open()))
            .and_then(|mut file| file.write_all(&new));
        match written {
            Ok(()) => self.bytes += new.len() as u64,
            Err(error) => {
                tracing::debug!(%error, path = %path.display(), "what is kept is not remembered");
                self.path = None;
                return false;
            }
        }
        true
    }
}

fn line(path: &str, seen: &Seen, hash: Hash) -> Line {
    (path.to_owned(), seen.size, seen.modified, seen.changed, seen.inode, seen.mode, hash)
}

fn write_line(text: &mut Vec<u8>, line: &Line) {
    if serde_json::to_writer(&mut *text, line).is_ok() {
        text.push(b'\n');
    }
}
