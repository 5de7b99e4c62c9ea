//! Git's index, versions 2 to 4. Whatever is not understood is not there.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{Mode, OFlags};

use super::{Blob, LastSeen};
use crate::Seen;
use crate::files::READ;

/// Largest index that is read, in bytes: that of some two million files.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Git writes nothing finer where it was built without.
const SECOND: i64 = 1_000_000_000;

/// The entries of an index.
#[derive(Debug)]
pub(super) struct Index {
    /// The paths one after the other.
    paths: Vec<u8>,
    /// Sorted by path.
    entries: Vec<Entry>,
    /// Which of them were found.
    found: Vec<AtomicBool>,
    /// When it was written, in nanoseconds since the Unix epoch.
    written: i64,
    /// Where the entry stands that is looked for next, if files are asked for in their order.
    next: AtomicUsize,
}

/// A file that is tracked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    start: u32,
    len: u32,
    changed: i64,
    modified: i64,
    inode: u32,
    size: u32,
    executable: bool,
    pub(super) kind: Kind,
    pub(super) blob: Blob,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
}

impl Entry {
    /// Whether a file that looks so is the one that git saw. Git keeps 32 bits of the sizes and inodes.
    pub(super) fn looks_like(&self, seen: &Seen) -> bool {
        #[allow(clippy::cast_possible_truncation, reason = "it is what git does")]
        let low = |number: u64| number as u32;
        let executable = seen.mode & 0o100 != 0;
        // A size of zero also marks what git has doubts about.
        let sized = self.size == low(seen.size) && seen.size < u64::from(u32::MAX) && (seen.size != 0);
        sized
            && self.modified == seen.modified
            && self.changed == seen.changed
            && self.inode == low(seen.inode)
            && (self.kind == Kind::Link || self.executable == executable)
    }

    /// What it says by itself; the content is left to who knows how it is kept.
    pub(super) fn last_seen(&self) -> LastSeen {
        let Self { changed, executable, kind, .. } = *self;
        LastSeen { blob: None, size: u64::from(self.size), changed, is_link: kind == Kind::Link, executable }
    }
}

impl Index {
    /// Reads the file; `sha256` tells how long names of contents are.
    pub(super) fn read(path: &Path, sha256: bool) -> Option<Self> {
        let file = File::from(rustix::fs::open(path, READ | OFlags::CLOEXEC, Mode::empty()).ok()?);
        let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= MAX_BYTES)?;
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).ok()?);
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let written = meta.mtime().saturating_mul(SECOND).saturating_add(meta.mtime_nsec());
        Self::parse(&bytes, if sha256 { 32 } else { 20 }, written)
    }

    fn parse(bytes: &[u8], id: usize, written: i64) -> Option<Self> {
        let mut rest = Rest(bytes);
        let version = (rest.take(4)? == b"DIRC").then(|| rest.number())??;
        if !(2..=4).contains(&version) {
            return None;
        }
        let count = usize::try_from(rest.number()?).ok()?;
        // Each takes more than that: a number that is too large is a lie.
        let entries = Vec::with_capacity(count.min(bytes.len() / 62));
        let (found, next) = (Vec::new(), AtomicUsize::new(0));
        let mut index = Self { paths: Vec::new(), entries, found, written, next };
        let mut path = Vec::new();
        for _ in 0..count {
            let before = rest.0.len();
            let time = |rest: &mut Rest<'_>| Some(i64::from(rest.number()?) * SECOND + i64::from(rest.number()?));
            let (changed, modified) = (time(&mut rest)?, time(&mut rest)?);
            let (_device, inode, mode) = (rest.number()?, rest.number()?, rest.number()?);
            let (_user, _group, size) = (rest.number()?, rest.number()?, rest.number()?);
            let blob = Blob::new(rest.take(id)?)?;
            let flags = rest.short()?;
            let extended = if flags & 0x4000 != 0 { rest.short()? } else { 0 };
            if version == 4 {
                let keep = path.len().checked_sub(rest.varint()?)?;
                path.truncate(keep);
                path.extend_from_slice(rest.until_zero()?);
            } else {
                path.clear();
                path.extend_from_slice(rest.until_zero()?);
                // Entries are as long as a multiple of eight; one zero byte is taken already.
                let len = before - rest.0.len();
                rest.take((8 - len % 8) % 8)?;
            }
            let kind = match mode & 0o170_000 {
                0o100_000 => Kind::File,
                0o120_000 => Kind::Link,
                // Submodules, and folders that a sparse index does not list.
                _ => continue,
            };
            // Sides of a conflict, what is only to be added, what is not in the work tree.
            if flags & 0x3000 != 0 || extended & 0x6000 != 0 {
                continue;
            }
            let entry = Entry {
                start: u32::try_from(index.paths.len()).ok()?,
                len: u32::try_from(path.len()).ok()?,
                changed,
                modified,
                inode,
                size,
                executable: mode & 0o100 != 0,
                kind,
                blob,
            };
            index.paths.extend_from_slice(&path);
            index.entries.push(entry);
        }
        index.found.resize_with(index.entries.len(), AtomicBool::default);
        let sorted = index.entries.is_sorted_by(|one, other| index.path(one) < index.path(other));
        sorted.then_some(index)
    }

    pub(super) fn find(&self, path: &[u8]) -> Option<&Entry> {
        let next = self.next.load(Ordering::Relaxed);
        let at = match self.entries.get(next) {
            Some(entry) if self.path(entry) == path => next,
            _ => self.entries.binary_search_by(|entry| self.path(entry).cmp(path)).ok()?,
        };
        self.next.store(at + 1, Ordering::Relaxed);
        self.found.get(at)?.store(true, Ordering::Relaxed);
        self.entries.get(at)
    }

    /// Whether the file at `path` is tracked.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.entries.binary_search_by(|entry| self.path(entry).cmp(path)).is_ok()
    }

    /// Whether something in the folder at `path` is tracked.
    pub(super) fn has_below(&self, path: &[u8]) -> bool {
        let below = [path, b"/"].concat();
        let first = self.entries.partition_point(|entry| self.path(entry) < below.as_slice());
        self.entries.get(first).is_some_and(|entry| self.path(entry).starts_with(&below))
    }

    /// Whether the file could have changed after git had looked at it, without looking other.
    pub(super) fn is_racy(&self, entry: &Entry) -> bool {
        entry.modified >= self.written
    }

    /// The paths of the files that are called `name`, wherever they are.
    pub(super) fn named<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let is_named = move |path: &&[u8]| {
            path.strip_suffix(name).is_some_and(|above| above.last().is_none_or(|last| *last == b'/'))
        };
        self.entries.iter().map(|entry| self.path(entry)).filter(is_named)
    }

    /// The files that nobody looked for, with their paths.
    pub(super) fn unasked(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        let entries = self.entries.iter().zip(&self.found);
        entries.filter(|(_, found)| !found.load(Ordering::Relaxed)).map(|(entry, _)| (self.path(entry), entry))
    }

    /// The paths of all files.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| self.path(entry))
    }

    fn path(&self, entry: &Entry) -> &[u8] {
        let start = entry.start as usize;
        self.paths.get(start..start + entry.len as usize).unwrap_or_default()
    }
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// The bytes up to the next zero, which is taken too.
    fn until_zero(&mut self) -> Option<&'a [u8]> {
        let len = self.0.iter().position(|byte| *byte == 0)?;
        let taken = self.take(len)?;
        self.take(1)?;
        Some(taken)
    }

    /// A number in as many bytes as it needs, as packs write offsets.
    fn varint(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut number = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            number = number.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What git itself writes for these files, in each version.
    fn written(version: &str) -> (tempfile::TempDir, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let done = std::process::Command::new("git").args(args).current_dir(folder.path()).output().unwrap();
            assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q"]);
        for (name, text) in [("a", "1"), ("dir/b", "22"), ("dir/bb", "333"), ("z", "4444"), ("empty", "")] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        git(&["add", "."]);
        git(&["update-index", "--index-version", version]);
        let bytes = std::fs::read(folder.path().join(".git/index")).unwrap();
        (folder, bytes)
    }

    #[test]
    fn what_git_writes_is_read() {
        for version in ["2", "3", "4"] {
            let (_folder, bytes) = written(version);
            let index = Index::parse(&bytes, 20, i64::MAX).unwrap();
            let paths: Vec<&[u8]> = index.entries.iter().map(|entry| index.path(entry)).collect();
            assert_eq!(paths, [&b"a"[..], b"dir/b", b"dir/bb", b"empty", b"link", b"z"], "version {version}");
            let one = index.find(b"a").unwrap();
            // printf 1 | git hash-object --stdin
            assert_eq!(one.blob.to_hex(), "56a6051ca2b02b04ef92d5150c9ef600403cb1de");
            assert_eq!((one.size, one.kind, index.find(b"link").unwrap().kind), (1, Kind::File, Kind::Link));
            assert!(index.find(b"dir").is_none());
            for path in [&b"a"[..], b"dir/b", b"dir/bb", b"z", b"a", b"empty", b"link"] {
                assert_eq!(index.path(index.find(path).unwrap()), path, "in whatever order");
            }
            assert_eq!(index.named(b"b").collect::<Vec<_>>(), [b"dir/b"]);
        }
    }

    #[test]
    fn what_is_cut_off_or_altered_is_not_read_and_no_panic() {
        for version in ["2", "4"] {
            let (_folder, bytes) = written(version);
            for len in 0..bytes.len() {
                let _ = Index::parse(&bytes[..len], 20, 0);
                let mut altered = bytes.clone();
                altered[len] ^= 0xff;
                let _ = Index::parse(&altered, 20, 0);
            }
            assert!(Index::parse(&bytes[..100], 20, 0).is_none());
            assert!(Index::parse(b"", 20, 0).is_none());
            assert!(Index::parse(b"DIRC\0\0\0\x05\0\0\0\0", 20, 0).is_none());
        }
    }
}
