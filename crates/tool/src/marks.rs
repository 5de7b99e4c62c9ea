//! What a session has seen of files: how each was when it was last read or written, and which instruction files it was
//! told.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most files that are remembered; beyond, all are forgotten and count as never read.
const MAX_FILES: usize = 10_000;
/// Most instruction files that a session is told.
const MAX_TOLD: usize = 1_000;

/// One session's memory of files. A handle, cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    inner: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    seen: HashMap<PathBuf, Stamp>,
    told: HashSet<PathBuf>,
}

/// How a file was: enough to see that it changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its size in bytes.
    pub size: u64,
    /// When it was last changed, in nanoseconds since the Unix epoch.
    pub modified: i128,
    /// What the file system calls it; another number is another file.
    pub inode: u64,
    /// A hash of the whole content, where that was looked at. It means something within this process only.
    pub content: Option<u64>,
}

impl Stamp {
    /// Whether a file that was as `self` says and is now as `now` says holds something else.
    ///
    /// Where both contents were looked at, they alone decide: a file that was only touched has not changed, and one
    /// that was changed within a tick of the clock has.
    pub fn differs(&self, now: &Stamp) -> bool {
        match (self.content, now.content) {
            (Some(then), Some(now)) => then != now,
            (None, _) | (_, None) => (self.size, self.modified, self.inode) != (now.size, now.modified, now.inode),
        }
    }
}

impl Marks {
    /// Remembers that the session knows the file at `path` (absolute, without links) as `stamp` says.
    pub fn saw(&self, path: &Path, stamp: Stamp) {
        let mut state = self.lock();
        if state.seen.len() >= MAX_FILES && !state.seen.contains_key(path) {
            state.seen.clear();
        }
        state.seen.insert(path.to_owned(), stamp);
    }

    /// How the session knows the file at `path`; `None` if it never saw it.
    pub fn seen(&self, path: &Path) -> Option<Stamp> {
        self.lock().seen.get(path).copied()
    }

    /// Takes the instruction file at `path` as told. Returns whether it is news that fits: not told before, and fewer
    /// than a thousand were.
    pub fn tell(&self, path: &Path) -> bool {
        let mut state = self.lock();
        state.told.len() < MAX_TOLD && state.told.insert(path.to_owned())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each use leaves the maps whole, so a panic elsewhere does no harm to them.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64, modified: i128, inode: u64, content: Option<u64>) -> Stamp {
        Stamp { size, modified, inode, content }
    }

    #[test]
    fn content_decides_where_it_is_known_and_outside_signs_otherwise() {
        #[track_caller]
        fn check(then: Stamp, now: Stamp, want: bool) {
            assert_eq!(then.differs(&now), want, "{then:?} {now:?}");
        }
        check(stamp(1, 1, 1, Some(7)), stamp(1, 1, 1, Some(7)), false);
        check(stamp(1, 1, 1, Some(7)), stamp(1, 2, 1, Some(7)), false);
        check(stamp(1, 1, 1, Some(7)), stamp(1, 1, 2, Some(7)), false);
        check(stamp(1, 1, 1, Some(7)), stamp(1, 1, 1, Some(8)), true);
        check(stamp(1, 1, 1, None), stamp(1, 1, 1, None), false);
        check(stamp(1, 1, 1, None), stamp(1, 1, 1, Some(8)), false);
        check(stamp(1, 1, 1, None), stamp(1, 2, 1, Some(8)), true);
        check(stamp(1, 1, 1, Some(7)), stamp(2, 1, 1, None), true);
        check(stamp(1, 1, 1, None), stamp(1, 1, 2, None), true);
    }

    #[test]
    fn so_many_files_are_remembered_and_no_more() {
        let marks = Marks::default();
        let path = |number: usize| PathBuf::from(number.to_string());
        for number in 0..MAX_FILES {
            marks.saw(&path(number), stamp(1, 1, 1, None));
        }
        // One that is known takes no further place.
        marks.saw(&path(0), stamp(2, 1, 1, None));
        assert_eq!(marks.seen(&path(MAX_FILES - 1)), Some(stamp(1, 1, 1, None)));
        marks.saw(&path(MAX_FILES), stamp(3, 1, 1, None));
        assert_eq!((marks.seen(&path(0)), marks.seen(&path(MAX_FILES))), (None, Some(stamp(3, 1, 1, None))));
    }

    #[test]
    fn each_instruction_file_is_told_once_and_not_without_end() {
        let marks = Marks::default();
        let path = |number: usize| PathBuf::from(number.to_string());
        assert!(marks.tell(&path(0)) && !marks.tell(&path(0)));
        assert!(!marks.clone().tell(&path(0)));
        for number in 1..MAX_TOLD {
            assert!(marks.tell(&path(number)), "{number}");
        }
        assert!(!marks.tell(&path(MAX_TOLD)));
    }
}
