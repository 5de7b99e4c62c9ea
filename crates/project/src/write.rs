//! Writing a file whole or not at all, and removing one.

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, accessat, fchmod, fchown, mkdirat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::FilesError;
use crate::door::{self, FOLDER};
use crate::stamp::{ContentHash, Stamp};

/// What to do about a file that is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfExists {
    /// Leave it and fail with [`FilesError::Exists`].
    Fail,
    /// Replace it if these bytes are what it holds, else fail with [`FilesError::Changed`]. The bytes are compared
    /// just before: between reading a file and changing it a person may take an hour to say yes.
    ReplaceOnly(Vec<u8>),
    /// Replace it if it still looks as it did then, for a file too large to be compared, else fail with
    /// [`FilesError::Changed`].
    ReplaceStamped(Stamp),
    /// Replace it, whatever it holds.
    Replace,
}

/// How many names are tried for the new file beside the old one. All are taken only after as many crashes.
const MAX_TEMP_NAMES: usize = 100;

/// Puts `bytes` at the true path `path`: all of them, or nothing happens. Missing folders are made.
///
/// The bytes go into a new file beside the old one, which then takes its name, its mode and, where the system
/// lets us, its owner. They are not forced to the disk: after a power cut the file may be the old one.
pub(crate) fn write(path: &Path, bytes: &[u8], if_exists: &IfExists) -> Result<Stamp, FilesError> {
    let (folder, name) = split(path)?;
    let dir = make_folder(folder)?;
    let failed = |doing| move |errno: Errno| FilesError::at(path, doing, errno);
    let old = old_file(&dir, path, name)?;
    may_write(&dir, path, name, old.is_some(), if_exists)?;

    let mut temp =
        Temp::make(&dir, old.as_ref(), passing_names()).map_err(|errno| FilesError::io(path, "write", errno.into()))?;
    temp.file.write_all(bytes).map_err(|error| FilesError::io(path, "write", error))?;
    if let Some(old) = &old {
        keep_owner_and_mode(temp.file.as_fd(), old).map_err(failed("keep the mode of"))?;
    }
    let stamp = Stamp::of(&temp.file, Some(ContentHash::of(bytes))).map_err(failed("look at"))?;
    // Writing takes its time; what the change was made for is held against what is there at the last moment.
    unchanged(&dir, path, name, if_exists)?;
    temp.take_name(name, if_exists).map_err(|errno| match errno {
        Errno::EXIST => FilesError::Exists { path: path.to_owned() },
        other => FilesError::at(path, "write", other),
    })?;
    Ok(stamp)
}

/// Removes the plain file at the true path `path`.
pub(crate) fn remove(path: &Path) -> Result<(), FilesError> {
    let (folder, name) = split(path)?;
    let dir = door::open(folder, FOLDER).map_err(|errno| FilesError::at(path, "remove", errno))?;
    if old_file(&dir, path, name)?.is_none() {
        return Err(FilesError::Missing { path: path.to_owned() });
    }
    unlinkat(&dir, name, AtFlags::empty()).map_err(|errno| FilesError::at(path, "remove", errno))
}

/// Removes the empty folder at the true path `path`.
pub(crate) fn remove_folder(path: &Path) -> Result<(), FilesError> {
    let (folder, name) = split(path)?;
    let failed = |errno| FilesError::at(path, "remove", errno);
    let dir = door::open(folder, FOLDER).map_err(failed)?;
    match unlinkat(&dir, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTDIR) => Err(FilesError::NotAFolder { path: path.to_owned() }),
        done => done.map_err(failed),
    }
}

pub(crate) fn split(path: &Path) -> Result<(&Path, &Path), FilesError> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok((folder, Path::new(name))),
        _ => Err(FilesError::Folder { path: path.to_owned() }),
    }
}

/// Opens the folder `path`, and makes it and those above it where they are missing.
pub(crate) fn make_folder(path: &Path) -> Result<OwnedFd, FilesError> {
    match door::open(path, FOLDER) {
        Err(Errno::NOENT) => {}
        Err(Errno::NOTDIR) => return Err(FilesError::NotAFolder { path: path.to_owned() }),
        other => return other.map_err(|errno| FilesError::at(path, "open the folder", errno)),
    }
    let (above, name) = split(path)?;
    let above = make_folder(above)?;
    match mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
        // Somebody else made it just now.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(FilesError::io(path, "make the folder", errno.into())),
    }
    door::step(&above, name, FOLDER).map_err(|errno| FilesError::at(path, "open the folder", errno))
}

/// The plain file that `name` in `dir` is; anything else there is an error.
pub(crate) fn old_file(dir: &OwnedFd, path: &Path, name: &Path) -> Result<Option<Stat>, FilesError> {
    let path = || path.to_owned();
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(FilesError::at(&path(), "look at", errno)),
        Ok(stat) => match door::kind(&stat) {
            FileType::RegularFile => Ok(Some(stat)),
            FileType::Symlink => Err(FilesError::Link { path: path() }),
            FileType::Directory => Err(FilesError::Folder { path: path() }),
            _ => Err(FilesError::Special { path: path() }),
        },
    }
}

/// Whether a file may be made or replaced at all.
pub(crate) fn may_write(
    dir: &OwnedFd,
    path: &Path,
    name: &Path,
    exists: bool,
    if_exists: &IfExists,
) -> Result<(), FilesError> {
    let path = || path.to_owned();
    match if_exists {
        IfExists::Fail if exists => Err(FilesError::Exists { path: path() }),
        IfExists::ReplaceOnly(_) | IfExists::ReplaceStamped(_) if !exists => Err(FilesError::Changed { path: path() }),
        // Renaming needs no right to the old file itself, but whoever made it read-only meant it.
        _ if exists && accessat(dir, name, Access::WRITE_OK, AtFlags::EACCESS) == Err(Errno::ACCESS) => {
            Err(FilesError::io(&path(), "write", Errno::ACCESS.into()))
        }
        IfExists::Fail | IfExists::ReplaceOnly(_) | IfExists::ReplaceStamped(_) | IfExists::Replace => Ok(()),
    }
}

/// Makes sure that the old file is still the one that the change was made for.
pub(crate) fn unchanged(dir: &OwnedFd, path: &Path, name: &Path, if_exists: &IfExists) -> Result<(), FilesError> {
    let same = match if_exists {
        IfExists::Fail | IfExists::Replace => true,
        IfExists::ReplaceOnly(want) => match old_file(dir, path, name)? {
            Some(old) => holds(dir, path, name, &old, want)?,
            None => false,
        },
        IfExists::ReplaceStamped(want) => {
            old_file(dir, path, name)?.is_some_and(|old| want.looks_like(&Stamp::from_stat(&old, None)))
        }
    };
    if same { Ok(()) } else { Err(FilesError::Changed { path: path.to_owned() }) }
}

/// Whether the file holds exactly the bytes `want`.
fn holds(dir: &OwnedFd, path: &Path, name: &Path, old: &Stat, want: &[u8]) -> Result<bool, FilesError> {
    let want_len = want.len() as u64;
    if u64::try_from(old.st_size) != Ok(want_len) {
        return Ok(false);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(door::step(dir, name, flags).map_err(|errno| FilesError::at(path, "read", errno))?);
    let mut bytes = Vec::with_capacity(want.len());
    file.take(want_len + 1).read_to_end(&mut bytes).map_err(|error| FilesError::io(path, "read", error))?;
    Ok(bytes == want)
}

pub(crate) fn keep_owner_and_mode(file: impl AsFd, old: &Stat) -> Result<(), Errno> {
    let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
    // Who may not give a file away keeps it.
    let _ = fchown(&file, Some(owner), Some(group));
    // The right to run as somebody else was given to another content. The system takes it away too when an ordinary user
    // writes to such a file.
    fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o1777))
}

/// Names that nobody can guess: who could, might be there first.
pub(crate) fn passing_names() -> impl Iterator<Item = PathBuf> {
    // The keys of a hasher are random.
    let name = || format!(".haft-{:016x}.tmp", RandomState::new().build_hasher().finish()).into();
    std::iter::repeat_with(name).take(MAX_TEMP_NAMES)
}

/// A file under a passing name. It is gone again unless it takes a real one.
pub(crate) struct Temp<'a> {
    dir: &'a OwnedFd,
    name: PathBuf,
    file: File,
    kept: bool,
}

impl<'a> Temp<'a> {
    /// Makes it under the first of `names` that is free.
    pub(crate) fn make(
        dir: &'a OwnedFd,
        old: Option<&Stat>,
        names: impl Iterator<Item = PathBuf>,
    ) -> Result<Self, Errno> {
        // What replaces a file is nobody's business until it has that file's mode.
        Self::with_mode(dir, if old.is_some() { 0o600 } else { 0o666 }, names)
    }

    /// The same, with the mode `mode`, as far as the system's mask leaves it.
    pub(crate) fn with_mode(dir: &'a OwnedFd, mode: u32, names: impl Iterator<Item = PathBuf>) -> Result<Self, Errno> {
        let mode = door::rights(mode);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for name in names {
            match openat(dir, &name, flags, mode) {
                Ok(fd) => return Ok(Self { dir, name, file: File::from(fd), kept: false }),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Leaves it where it is, for the caller to rename or to remove.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.kept = true;
        std::mem::take(&mut self.name)
    }

    fn take_name(&mut self, name: &Path, if_exists: &IfExists) -> Result<(), Errno> {
        match if_exists {
            IfExists::Fail => rename_to_new(self.dir, &self.name, name)?,
            // A link that was put there just now is replaced itself; what it leads to is not touched.
            IfExists::Replace | IfExists::ReplaceOnly(_) | IfExists::ReplaceStamped(_) => {
                renameat(self.dir, &self.name, self.dir, name)?
            }
        }
        self.kept = true;
        Ok(())
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing can be done about it here, and the first error is the one to tell.
            let _ = unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

/// Renames, unless something has the new name already.
pub(crate) fn rename_to_new(dir: &OwnedFd, from: &Path, to: &Path) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    match rustix::fs::renameat_with(dir, from, dir, to, rustix::fs::RenameFlags::NOREPLACE) {
        // Not every file system can; that nothing was there has been looked at before.
        Err(Errno::INVAL | Errno::NOSYS) => {}
        other => return other,
    }
    renameat(dir, from, dir, to)
}

/// Has two files change their names. Where the system cannot, `one` takes the name of `other`, which is gone then; returns
/// whether it is still there.
pub(crate) fn exchange(dir: &OwnedFd, one: &Path, other: &Path) -> Result<bool, Errno> {
    #[cfg(target_os = "linux")]
    match rustix::fs::renameat_with(dir, one, dir, other, rustix::fs::RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS) => {}
        exchanged => return exchanged.map(|()| true),
    }
    renameat(dir, one, dir, other).map(|()| false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// An empty folder, and a handle on it.
    fn scene() -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        let dir = door::open(&fs::canonicalize(folder.path()).unwrap(), FOLDER).unwrap();
        (folder, dir)
    }

    #[test]
    fn a_write_that_fails_late_takes_its_file_away() {
        let (folder, dir) = scene();
        // A folder that appears after the look at what is there: the last step fails.
        fs::create_dir(folder.path().join("dir")).unwrap();
        for if_exists in [IfExists::Fail, IfExists::Replace] {
            let mut temp = Temp::make(&dir, None, passing_names()).unwrap();
            temp.file.write_all(b"x").unwrap();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
            assert!(temp.take_name(Path::new("dir"), &if_exists).is_err());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn so_many_names_are_tried_and_no_more() {
        let (folder, dir) = scene();
        let names: Vec<PathBuf> = passing_names().collect();
        assert_eq!(names.len(), MAX_TEMP_NAMES);
        for name in &names {
            fs::write(folder.path().join(name), "left by a crash").unwrap();
        }
        assert_eq!(Temp::make(&dir, None, names.clone().into_iter()).err(), Some(Errno::EXIST));
        fs::remove_file(folder.path().join(&names[MAX_TEMP_NAMES - 1])).unwrap();
        let temp = Temp::make(&dir, None, names.clone().into_iter()).unwrap();
        assert_eq!(temp.name, names[MAX_TEMP_NAMES - 1]);
    }
}
