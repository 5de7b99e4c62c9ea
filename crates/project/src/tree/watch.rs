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
    /// want some of them.
    const MAX_WATCHED: usize = 50_000;
    /// Most pieces of what was heard that are thrown away at once; the system holds no more than so much.
    const MAX_PIECES: usize = 10_000;

    /// Ears on folders.
    #[derive(Debug)]
    pub(in super::super) struct Watch {
        fd: OwnedFd,
        /// The watches, by the system's numbers.
        numbers: HashSet<i32>,
        /// Whether a folder that was watched may be so no more: another of its name must be watched anew. Numbers of
        /// folders do not tell, because they are used again.
        lost: bool,
    }

    /// The system says that a folder is not watched any more, or that it could not say all.
    const LOST: u32 = 0x8000 | 0x4000;
    /// The bytes of a word without its name: watch, what happened, which belong together, and the length of the name.
    const WORD: usize = 16;

    impl Watch {
        /// `None` where the system cannot, or where others could change the files of `root` without its knowing.
        pub(in super::super) fn new(root: &Path) -> Option<Self> {
            // NFS, CIFS, SMB 1 and 2, FUSE, 9P, Ceph, AFS, Coda.
            const SHARED: [i64; 9] = [
                0x6969,
                0xff53_4d42,
                0x517b,
                0xfe53_4d42,
                0x6573_5546,
                0x0102_1997,
                0x00c3_6400,
                0x5346_414f,
                0x7375_7245,
            ];
            #[allow(clippy::unnecessary_cast, reason = "its width is the system's own")]
            let kind = statfs(root).ok()?.f_type as i64;
            if SHARED.contains(&kind) {
                return None;
            }
            let fd = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            Some(Self { fd, numbers: HashSet::new(), lost: false })
        }

        /// Listens to a folder too. Whether it could.
        pub(in super::super) fn add(&mut self, folder: &Path) -> bool {
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
            let number = add_watch(&self.fd, folder, flags);
            let Ok(number) = number else { return false };
            self.numbers.insert(number);
            self.numbers.len() <= MAX_WATCHED
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

        pub(in super::super) fn add(&mut self, _folder: &Path) -> bool {
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
