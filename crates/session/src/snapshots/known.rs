//! What is kept of which file, between runs: files that did not change since need not be read again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use haft_project::Seen;
use haft_snapshot::Hash;

use super::ledger::private;

/// Largest memory of one tree, in bytes. A larger one is begun anew, and the files are read again.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The inode of what is not there.
const GONE: u64 = 0;

/// A line of the file: path, size, modified, changed, inode, mode, content.
type Line = (String, u64, i64, i64, u64, u32, Hash);

/// What is kept of which file. What the file says is believed only where a file still looks exactly so, and its content
/// is told by its hash.
#[derive(Debug)]
pub(super) struct Known {
    path: Option<PathBuf>,
    loaded: bool,
    old: HashMap<PathBuf, (Seen, Hash)>,
    new: Vec<Line>,
    bytes: u64,
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
            self.old.insert(path.into(), (Seen { size, modified, changed, inode, mode }, hash));
        }
        if self.bytes > MAX_BYTES || count > 2 * self.old.len() + 1000 {
            // Begun anew with what is still asked for.
            let _ = fs::remove_file(path);
            self.bytes = 0;
        }
    }

    /// What was kept of files that had changed last before `time`, in nanoseconds since the Unix epoch, as another process
    /// wrote it down.
    pub(super) fn before(path: &Path, time: i64) -> HashMap<PathBuf, (Seen, Hash)> {
        let mut bytes = Vec::new();
        let Ok(file) = File::open(path) else { return HashMap::new() };
        if file.take(MAX_BYTES).read_to_end(&mut bytes).is_err() {
            return HashMap::new();
        }
        let mut known = HashMap::new();
        for line in bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok()) {
            let (path, size, modified, changed, inode, mode, hash) = line;
            if inode == GONE {
                known.remove(Path::new(&path));
            } else if changed < time {
                known.insert(PathBuf::from(path), (Seen { size, modified, changed, inode, mode }, hash));
            }
        }
        known
    }

    /// Whether what is added is there for another process.
    pub(super) fn lasts(&self, path: &Path) -> bool {
        self.path.is_some() && path.to_str().is_some() && self.bytes < MAX_BYTES
    }

    /// The file is gone, and that was seen.
    pub(super) fn gone(&mut self, path: &Path) {
        if self.path.is_some() {
            self.push(path, &Seen { inode: GONE, ..Seen::default() }, Hash::of(b""));
        }
    }

    /// The content of a file that still looks so.
    pub(super) fn find(&mut self, path: &Path, seen: &Seen) -> Option<Hash> {
        let (old, hash) = self.old.get(path)?;
        let hash = (old == seen).then_some(*hash)?;
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
        self.new.push((path.to_owned(), seen.size, seen.modified, seen.changed, seen.inode, seen.mode, hash));
    }

    /// Writes what is new behind the rest. The old is not needed any more: the tree knows.
    pub(super) fn save(&mut self) {
        self.old = HashMap::new();
        let new = std::mem::take(&mut self.new);
        let Some(path) = self.path.as_ref().filter(|_| !new.is_empty()) else { return };
        let mut text = Vec::new();
        for line in new {
            if serde_json::to_writer(&mut text, &line).is_ok() {
                text.push(b'\n');
            }
        }
        if self.bytes + text.len() as u64 > MAX_BYTES {
            return;
        }
        let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let written = open()
            .or_else(|_| path.parent().map_or(Ok(()), private).and_then(|()| open()))
            .and_then(|mut file| file.write_all(&text));
        match written {
            Ok(()) => self.bytes += text.len() as u64,
            Err(error) => tracing::debug!(%error, path = %path.display(), "what is kept is not remembered"),
        }
    }
}
