//! How a file was when it was looked at, so that a later look can tell whether it changed.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use rustix::fs::{Stat, fstat};

/// What was seen of a file. Taken from the handle it was read or written through, never from a second look at its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its size in bytes.
    pub size: u64,
    /// When it was last changed, in nanoseconds since the Unix epoch.
    pub modified: i128,
    /// What the file system calls it; another number is another file.
    pub inode: u64,
    /// A hash of its content, where all of that was read. Another process makes another hash of the same content.
    pub content: Option<u64>,
}

impl Stamp {
    /// What the handle `file` is on now; `content` is the hash of what was read or written through it.
    pub(crate) fn of(file: impl AsFd, content: Option<u64>) -> rustix::io::Result<Self> {
        Ok(Self::from_stat(&fstat(file)?, content))
    }

    pub(crate) fn from_stat(stat: &Stat, content: Option<u64>) -> Self {
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: modified(stat),
            // Its width is the system's own.
            #[allow(clippy::useless_conversion, reason = "it is 32 bits wide on some systems")]
            inode: u64::from(stat.st_ino),
            content,
        }
    }

    /// Whether size, time and file are those of `other`.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        (self.size, self.modified, self.inode) == (other.size, other.modified, other.inode)
    }
}

/// When the file was last changed, in nanoseconds since the Unix epoch.
pub(crate) fn modified(stat: &Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}

/// Hashes a content that comes in pieces; how it is cut makes no difference.
pub(crate) struct ContentHash(std::hash::DefaultHasher);

impl ContentHash {
    pub(crate) fn new() -> Self {
        // With a key that nobody outside knows, no content can be made to pass for another.
        static KEYS: OnceLock<RandomState> = OnceLock::new();
        Self(KEYS.get_or_init(RandomState::new).build_hasher())
    }

    /// The hash of a whole content.
    pub(crate) fn of(content: &[u8]) -> u64 {
        let mut hash = Self::new();
        hash.add(content);
        hash.value()
    }

    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.finish()
    }
}

impl std::fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ContentHash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_content_is_cut_makes_no_difference() {
        let content: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for size in [1, 2, 3, 7, 8, 13, 999, 1000] {
            let mut hash = ContentHash::new();
            content.chunks(size).for_each(|piece| hash.add(piece));
            assert_eq!(hash.value(), ContentHash::of(&content), "pieces of {size}");
        }
        assert_ne!(ContentHash::of(b"a"), ContentHash::of(b"b"));
        assert_ne!(ContentHash::of(b""), ContentHash::of(b"\0"));
    }
}
