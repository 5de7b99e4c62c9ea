//! Files of the user's own that several processes read and change: only their owner may have a hand in them, one process
//! at a time changes them, and what is written is there whole or not at all.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

/// How often, and how far apart, another process that holds a lock is waited for: two seconds.
const PATIENCE: (u32, Duration) = (400, Duration::from_millis(5));

/// Opens a file of this user alone. A link is not followed, and what only looks like a file is not waited for.
///
/// # Errors
///
/// When it cannot be opened, or others can write to it. The error names the file.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let opened = options.custom_flags(flags).mode(0o600).open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (meta, file) = opened.map_err(|error| {
        let why = match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
                "it is a link, and none is followed; put the file itself there".to_owned()
            }
            Some(_) | None => error.to_string(),
        };
        io::Error::new(error.kind(), format!("{} cannot be opened: {why}", path.display()))
    })?;
    if !meta.is_file() || meta.uid() != rustix::process::geteuid().as_raw() || meta.mode() & 0o022 != 0 {
        return Err(io::Error::other(format!(
            "{} is not used, because others can write to it; make it yours alone (chmod 600) or move it away",
            path.display()
        )));
    }
    Ok(file)
}

/// Waits until no other process holds `file`, and holds it until it is closed or this process ends.
///
/// # Errors
///
/// When another process holds it for more than two seconds, or there are no locks where it is.
pub fn lock(file: &File) -> io::Result<()> {
    let (tries, pause) = PATIENCE;
    for _ in 0..tries {
        if try_lock(file)? {
            return Ok(());
        }
        std::thread::sleep(pause);
    }
    Err(io::Error::other("another haft holds it for too long"))
}

/// Holds `file` if no other process does; says whether.
///
/// # Errors
///
/// When there are no locks where it is.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Puts a file with these `bytes` at `path`, for this user alone: whole or not at all, also after a power cut. Whoever
/// calls holds a lock.
///
/// # Errors
///
/// When it cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = Path::new(&name);
    // Left over from a crash of a process with the same number.
    match std::fs::remove_file(new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(new, path)
    })();
    if written.is_err() {
        // What is half written helps nobody; that it is gone matters less than why it was not written.
        drop(std::fs::remove_file(new));
    }
    written
}

/// Makes `folder` for this user alone, if it is not there.
///
/// # Errors
///
/// When it cannot be made.
pub fn folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_others_can_change_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        replace(&path, b"x").unwrap();
        assert!(open(&path, OpenOptions::new().read(true)).is_ok());
        for (mode, fine) in [(0o600, true), (0o644, true), (0o620, false), (0o602, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(open(&path, OpenOptions::new().read(true)).is_ok(), fine, "{mode:o}");
        }
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        let told = open(&link, OpenOptions::new().read(true)).unwrap_err().to_string();
        assert!(told.ends_with("it is a link, and none is followed; put the file itself there"), "{told}");
        assert!(open(folder.path(), OpenOptions::new().read(true)).is_err(), "a folder");
    }

    #[test]
    fn a_file_is_replaced_whole_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let leftover = folder.path().join(format!("f.{}", std::process::id()));
        std::fs::write(&leftover, "half").unwrap();
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(!leftover.exists());
        assert!(replace(&folder.path().join("none/f"), b"x").is_err());
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        let file = || OpenOptions::new().create(true).truncate(false).write(true).open(&path).unwrap();
        let (first, second) = (file(), file());
        assert!(try_lock(&first).unwrap());
        assert!(!try_lock(&second).unwrap());
        drop(first);
        lock(&second).unwrap();
    }
}
