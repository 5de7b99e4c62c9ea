//! Hearing from the system that nothing changed, so that nobody has to look.
//!
//! What is heard is never believed to be all that happened: any word at all means a look. It is silence that is believed,
//! and that alone where every folder of the tree was watched when it was looked at last.

#[cfg(target_os = "linux")]
pub(super) use self::linux::Watch;
#[cfg(not(target_os = "linux"))]
pub(super) use self::nothing::Watch;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    use rustix::fs::statfs;
    use rustix::io::{Errno, read};

    /// Most folders that are watched. Each takes about a kilobyte of the system's memory, and the user's other programs
    /// want some of them: a tree has at most half of those that the system gives to a user.
    const MAX_WATCHED: usize = 200_000;
    /// Where the system says how many it gives.
    const GIVEN: &str = "/proc/sys/fs/inotify/max_user_watches";
    /// How many that is where it does not say so: the least that Linux gives.
    const LEAST: usize = 8192;
    /// Most pieces of what was heard that are thrown away at once; the system holds no more than so much.
    const MAX_PIECES: usize = 10_000;

    /// Ears on folders.
    #[derive(Debug)]
    pub(in super::super) struct Watch {
        fd: OwnedFd,
        /// The watches, by the system's numbers.
        numbers: HashSet<i32>,
        /// The most of them.
        max: usize,
        /// Whether a folder that was watched may be so no more: another of its name must be watched anew. Numbers of
        /// folders do not tell, because they are used again.
        lost: bool,
    }

    /// The system says that a folder is not watched any more, or that it could not say all.
    const LOST: u32 = 0x8000 | 0x4000;
    /// The bytes of a word without its name: watch, what happened, which belong together, and the length of the name.
    const WORD: usize = 16;

    impl Watch {
        /// `None` where the system cannot, or may not know of all that changes the files of `root`, as on another machine's
        /// disk.
        pub(in super::super) fn new(root: &Path) -> Option<Self> {
            // ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, ramfs, overlayfs.
            const OWN: [i64; 9] = [
                0xef53,
                0x5846_5342,
                0x9123_683e,
                0xf2f5_2010,
                0x2fc1_2fc1,
                0xca45_1a4e,
                0x0102_1994,
                0x8584_58f6,
                0x794c_7630,
            ];
            #[allow(clippy::unnecessary_cast, reason = "its width is the system's own")]
            let kind = statfs(root).ok()?.f_type as i64;
            if !OWN.contains(&kind) {
                return None;
            }
            let fd = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let given = std::fs::read_to_string(GIVEN).ok().and_then(|text| text.trim().parse().ok());
            let given: usize = given.unwrap_or(LEAST);
            Some(Self { fd, numbers: HashSet::new(), max: MAX_WATCHED.min(given / 2), lost: false })
        }

        /// Listens to a folder too, and says by which number it is known, to be kept with [`Watch::keep`]. `None` where it
        /// cannot.
        pub(in super::super) fn add(&self, folder: &Path) -> Option<i32> {
            let flags = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::MOVE
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW;
            // One that is watched already keeps its number.
            add_watch(&self.fd, folder, flags).ok()
        }

        /// The most folders that are listened to.
        pub(in super::super) fn max(&self) -> usize {
            self.max
        }

        /// Counts the folders that were added. Whether there are not too many.
        pub(in super::super) fn keep(&mut self, numbers: Vec<i32>) -> bool {
            self.numbers.extend(numbers);
            self.numbers.len() <= self.max
        }

        /// Whether nothing was heard since the last call.
        pub(in super::super) fn is_quiet(&mut self) -> bool {
            let mut piece = [0; 16 * 1024];
            let mut quiet = true;
            for _ in 0..MAX_PIECES {
                match read(&self.fd, &mut piece) {
                    Err(Errno::AGAIN) => return quiet,
                    Err(Errno::INTR) => {}
                    Ok(len) => {
                        quiet = false;
                        self.lost |= tells_of_loss(piece.get(..len).unwrap_or_default());
                    }
                    Err(_) => return false,
                }
            }
            self.lost = true;
            false
        }

        /// Whether folders may have to be watched anew, since the last call.
        pub(in super::super) fn lost(&mut self) -> bool {
            std::mem::take(&mut self.lost)
        }
    }

    fn tells_of_loss(mut words: &[u8]) -> bool {
        while let Some((word, rest)) = words.split_at_checked(WORD) {
            let number = |at: usize| Some(u32::from_ne_bytes(word.get(at..at + 4)?.try_into().ok()?));
            let (Some(what), Some(len)) = (number(4), number(12)) else { return true };
            if what & LOST != 0 {
                return true;
            }
            words = rest.get(len as usize..).unwrap_or_default();
        }
        false
    }
}

#[cfg(not(target_os = "linux"))]
mod nothing {
    use std::path::Path;

    /// No ears.
    #[derive(Debug)]
    pub(in super::super) struct Watch;

    impl Watch {
        pub(in super::super) fn new(_root: &Path) -> Option<Self> {
            None
        }

        pub(in super::super) fn add(&self, _folder: &Path) -> Option<i32> {
            None
        }

        pub(in super::super) fn max(&self) -> usize {
            0
        }

        pub(in super::super) fn keep(&mut self, _numbers: Vec<i32>) -> bool {
            false
        }

        pub(in super::super) fn is_quiet(&mut self) -> bool {
            false
        }

        pub(in super::super) fn lost(&mut self) -> bool {
            false
        }
    }
}
