//! Opening a true path without following a link.
//!
//! A path is opened from the root of the disk down, with every link refused, and not beneath a handle on the project's
//! folder that was opened once. Both keep the door inside: a path without links and `..` names a place beneath the
//! project and nothing else. They differ where the project's folder itself is moved away and another put in its place.
//! Handles would go on with the old one, and then files would be changed in one project while commands, which are given
//! paths, run in the other.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode, Stat, openat, statat};
use rustix::io::Errno;

/// What a folder is opened with to reach what is in it.
#[cfg(target_os = "linux")]
pub(crate) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
/// What a folder is opened with to reach what is in it.
#[cfg(not(target_os = "linux"))]
pub(crate) const FOLDER: OFlags = OFlags::DIRECTORY;

/// Opens the absolute `path`. A link anywhere in it is [`Errno::LOOP`].
///
/// Must not be given flags that create: new files go through [`crate::write`].
pub(crate) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, path, flags | OFlags::CLOEXEC, Mode::empty(), how) {
            // Kernels before 5.6 do not know the call, and filters of older containers answer EPERM to what they do
            // not know. Where EPERM was meant, the walk gets it too.
            Err(Errno::NOSYS | Errno::PERM) => {}
            other => return other,
        }
    }
    walk(path, flags)
}

/// The same, folder by folder, for systems that cannot do it at once.
pub(crate) fn walk(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut folder = openat(CWD, "/", FOLDER | OFlags::CLOEXEC, Mode::empty())?;
    let names: Vec<Component<'_>> = path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let Some((last, parents)) = names.split_last() else {
        return openat(CWD, "/", flags | OFlags::CLOEXEC, Mode::empty());
    };
    for name in parents {
        folder = step(&folder, name.as_ref(), FOLDER)?;
    }
    step(&folder, last.as_ref(), flags)
}

/// Opens `name` in `folder`. A link is [`Errno::LOOP`].
pub(crate) fn step(folder: &OwnedFd, name: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| {
        // A link that was to be a folder is "not a folder" to the system.
        let link =
            || statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| kind(&stat) == FileType::Symlink);
        if errno == Errno::NOTDIR && link() { Errno::LOOP } else { errno }
    })
}

/// Whether `file` at `path` shows what is in a process: its variables, its memory. Ours hold the user's keys.
pub(crate) fn is_of_a_process(file: &OwnedFd, path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        let named = |name: Component<'_>| {
            let name = name.as_os_str().as_encoded_bytes();
            matches!(name, b"self" | b"thread-self") || name.iter().all(u8::is_ascii_digit)
        };
        // Wherever that file system is mounted.
        path.components().any(named)
            && rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, path);
        false
    }
}

/// The rights that `stat` tells, without what kind of thing it is.
#[allow(clippy::useless_conversion, reason = "the width is the system's own")]
pub(crate) fn mode(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

/// The rights `mode`, for the system.
#[allow(clippy::unnecessary_cast, clippy::cast_possible_truncation, reason = "the width is the system's own")]
pub(crate) fn rights(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as RawMode)
}

/// The number of the disk that something is on.
#[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "its width is the system's own")]
pub(crate) fn device(stat: &Stat) -> u64 {
    stat.st_dev as u64
}

/// What `stat` says that a thing is.
pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    type Way = fn(&Path, OFlags) -> Result<OwnedFd, Errno>;

    /// Both ways must agree about every path.
    #[track_caller]
    fn check(base: &Path, name: &str, flags: OFlags, want: Result<(), Errno>) {
        let ways: [(&str, Way); 2] = [("open", open), ("walk", walk)];
        for (way, open) in ways {
            assert_eq!(open(&base.join(name), flags).map(drop), want, "{way} {name}");
        }
    }

    #[test]
    fn both_ways_open_true_paths_and_refuse_links_anywhere() {
        let base = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(base.path()).unwrap();
        fs::create_dir_all(base.join("dir/sub")).unwrap();
        fs::write(base.join("dir/file"), "x").unwrap();
        symlink("dir", base.join("to_dir")).unwrap();
        symlink("dir/file", base.join("to_file")).unwrap();
        symlink("nowhere", base.join("dangling")).unwrap();
        let read = OFlags::RDONLY;
        check(&base, "dir/file", read, Ok(()));
        check(&base, "dir/sub", FOLDER, Ok(()));
        check(Path::new("/"), "", FOLDER, Ok(()));
        check(&base, "to_dir/file", read, Err(Errno::LOOP));
        check(&base, "to_dir", FOLDER, Err(Errno::LOOP));
        check(&base, "to_file", read, Err(Errno::LOOP));
        check(&base, "dangling", read, Err(Errno::LOOP));
        check(&base, "dir/none", read, Err(Errno::NOENT));
        check(&base, "none/none", read, Err(Errno::NOENT));
        check(&base, "dir/file/x", read, Err(Errno::NOTDIR));
    }
}
