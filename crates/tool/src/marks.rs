//! What a session has seen of files: how each was when it was last read or written, and which instruction files it was
//! told. What was learned in messages that are removed is forgotten with them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::MessageId;

/// Most files that are remembered; beyond, all are forgotten and count as never read.
const MAX_FILES: usize = 10_000;
/// In how many states a file is remembered; the oldest are forgotten first.
const MAX_STATES: usize = 16;
/// Most instruction files that a session is told.
const MAX_TOLD: usize = 1_000;

/// One session's memory of files. A handle, cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    inner: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// How each file was and since which message the session knows that; the newest last.
    seen: HashMap<PathBuf, Vec<(MessageId, Stamp)>>,
    /// In which message each was told; `None`: not in one.
    told: HashMap<PathBuf, Option<MessageId>>,
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
    /// Remembers that the session knows the file at `path` (absolute, without links) as `stamp` says, from `message` on.
    pub fn saw(&self, path: &Path, message: &MessageId, stamp: Stamp) {
        let mut state = self.lock();
        if state.seen.len() >= MAX_FILES && !state.seen.contains_key(path) {
            state.seen.clear();
        }
        let states = state.seen.entry(path.to_owned()).or_default();
        match states.last_mut() {
            // What it held was known before: a new look makes that no newer.
            Some((_, last)) if !last.differs(&stamp) => *last = stamp,
            Some((since, last)) if since == message => *last = stamp,
            Some(_) | None => states.push((message.clone(), stamp)),
        }
        if states.len() > MAX_STATES {
            states.remove(0);
        }
    }

    /// How the session knows the file at `path`; `None` if it never saw it.
    pub fn seen(&self, path: &Path) -> Option<Stamp> {
        self.lock().seen.get(path)?.last().map(|(_, stamp)| *stamp)
    }

    /// Takes the instruction file at `path` as told in `message`, or in none where it is known from elsewhere. Returns
    /// whether it is news that fits: not told before, and fewer than a thousand were.
    pub fn tell(&self, path: &Path, message: Option<&MessageId>) -> bool {
        let mut state = self.lock();
        let is_news = state.told.len() < MAX_TOLD && !state.told.contains_key(path);
        if is_news {
            state.told.insert(path.to_owned(), message.cloned());
        }
        is_news
    }

    /// Forgets what was learned in the messages from `first` on: they are removed. A file then is known as it was before.
    pub fn forget_since(&self, first: &MessageId) {
        let mut state = self.lock();
        state.seen.retain(|_, states| {
            states.retain(|(since, _)| since < first);
            !states.is_empty()
        });
        state.told.retain(|_, message| message.as_ref().is_none_or(|message| message < first));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each use leaves the maps whole, so a panic elsewhere does no harm to them.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::Id;

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

    fn message(at: u64) -> MessageId {
        MessageId::parse(&format!("msg_{at:02}")).unwrap()
    }

    #[test]
    fn what_was_learned_in_messages_that_are_removed_is_forgotten() {
        let marks = Marks::default();
        let (path, content) = (Path::new("/p/a"), |content| stamp(1, 1, 1, Some(content)));
        for (at, held) in [(1, 7), (2, 7), (3, 8), (3, 9), (4, 7)] {
            marks.saw(path, &message(at), content(held));
        }
        marks.saw(Path::new("/p/b"), &message(4), content(1));
        assert!(marks.tell(Path::new("/p/AGENTS.md"), Some(&message(4))) && marks.tell(Path::new("/AGENTS.md"), None));
        let check = |first: u64, want: Option<u64>| {
            marks.forget_since(&message(first));
            assert_eq!(marks.seen(path), want.map(content), "from {first} on");
        };
        check(5, Some(7));
        check(4, Some(9));
        check(3, Some(7));
        // Known since the first message, though it was read again in the second.
        check(2, Some(7));
        check(1, None);
        assert_eq!(marks.seen(Path::new("/p/b")), None);
        assert!(marks.tell(Path::new("/p/AGENTS.md"), Some(&message(5))) && !marks.tell(Path::new("/AGENTS.md"), None));
    }

    #[test]
    fn of_a_file_so_many_states_are_remembered() {
        let marks = Marks::default();
        for at in 0..=MAX_STATES as u64 {
            marks.saw(Path::new("/p/a"), &message(at), stamp(1, 1, 1, Some(at)));
        }
        marks.forget_since(&message(2));
        assert_eq!(marks.seen(Path::new("/p/a")), Some(stamp(1, 1, 1, Some(1))));
        marks.forget_since(&message(1));
        assert_eq!(marks.seen(Path::new("/p/a")), None, "the oldest is forgotten");
    }

    #[test]
    fn so_many_files_are_remembered_and_no_more() {
        let marks = Marks::default();
        let path = |number: usize| PathBuf::from(number.to_string());
        for number in 0..MAX_FILES {
            marks.saw(&path(number), &message(1), stamp(1, 1, 1, None));
        }
        // One that is known takes no further place.
        marks.saw(&path(0), &message(1), stamp(2, 1, 1, None));
        assert_eq!(marks.seen(&path(MAX_FILES - 1)), Some(stamp(1, 1, 1, None)));
        marks.saw(&path(MAX_FILES), &message(1), stamp(3, 1, 1, None));
        assert_eq!((marks.seen(&path(0)), marks.seen(&path(MAX_FILES))), (None, Some(stamp(3, 1, 1, None))));
    }

    #[test]
    fn each_instruction_file_is_told_once_and_not_without_end() {
        let marks = Marks::default();
        let path = |number: usize| PathBuf::from(number.to_string());
        assert!(marks.tell(&path(0), None) && !marks.tell(&path(0), None));
        assert!(!marks.clone().tell(&path(0), None));
        for number in 1..MAX_TOLD {
            assert!(marks.tell(&path(number), None), "{number}");
        }
        assert!(!marks.tell(&path(MAX_TOLD), None));
    }
}
