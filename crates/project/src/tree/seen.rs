//! How a file looked.

use rustix::fs::{FileType, Stat};

/// How a file looked, without a look into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Its size in bytes.
    pub size: u64,
    /// When its content changed, in nanoseconds since the Unix epoch.
    pub modified: i64,
    /// When anything of it changed, in nanoseconds since the Unix epoch. No program can set it.
    pub changed: i64,
    /// What the file system calls it.
    pub inode: u64,
    /// Kind and mode.
    pub mode: u32,
}

/// Two changes within so many nanoseconds may bear one time: the longest tick of a kernel's clock, twice.
const GRAIN: i64 = 20_000_000;
/// The same where a file system knows whole seconds alone; some count them in twos.
const COARSE_GRAIN: i64 = 2_500_000_000;

impl Seen {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "widths are the system's own")]
    pub(super) fn of(stat: &Stat) -> Self {
        let time = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: u64::from(stat.st_ino),
            mode: u32::from(stat.st_mode),
        }
    }

    /// What it is.
    fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode as _)
    }

    /// Whether it is a plain file.
    pub fn is_file(&self) -> bool {
        self.kind() == FileType::RegularFile
    }

    /// Whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.kind() == FileType::Symlink
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// Whether a change after a look at `now` could leave it looking as it does.
    pub(super) fn is_doubtful(&self, now: i64) -> bool {
        let whole = |time: i64| time % 1_000_000_000 == 0;
        let grain = if whole(self.changed) && whole(self.modified) { COARSE_GRAIN } else { GRAIN };
        self.changed.max(self.modified) > now.saturating_sub(grain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_just_now_is_doubtful() {
        const SECOND: i64 = 1_000_000_000;
        let now = 1000 * SECOND;
        let row = |modified: i64, changed: i64, want: bool| {
            let seen = Seen { modified, changed, ..Seen::default() };
            assert_eq!(seen.is_doubtful(now), want, "{modified} {changed}");
        };
        row(now - 1, now - 1, true);
        row(now - GRAIN - 1, now - GRAIN - 1, false);
        row(now - 100 * SECOND + 1, now - 1, true);
        row(now - 2 * SECOND, now - 2 * SECOND, true);
        row(now - 3 * SECOND, now - 3 * SECOND, false);
        // A clock that is ahead.
        row(now + SECOND + 1, now + SECOND + 1, true);
    }
}
