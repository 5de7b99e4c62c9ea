//! Making again what was there, and taking away what was not. By handles and without following links, since a program
//! that did the damage may still be at it.

use std::fs::Permissions;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, mkdirat, renameat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::shape::{self, Shape};
use crate::door::{self, FOLDER, kind};
use crate::files::READ;
use crate::write::{Temp, passing_names};

/// Most files and folders that are taken away in one place.
const MAX_TAKEN: usize = 200_000;
/// Deepest folder that is taken away.
const MAX_DEPTH: usize = 256;

/// Makes `name` in `dir` what `shape` says. What is there goes.
pub(super) fn make(dir: &OwnedFd, name: &Path, shape: &Shape) -> Result<(), Errno> {
    match shape {
        Shape::File(held) => {
            let content = held.content.as_ref().ok_or(Errno::FBIG)?;
            write(dir, name, content, held.mode)
        }
        Shape::Link(target) => {
            let passing = passing_names().next().ok_or(Errno::EXIST)?;
            symlinkat(target, dir, &passing)?;
            put(dir, &passing, name)
        }
        Shape::Folder(folder) => {
            if !is_folder(dir, name) {
                take(dir, name)?;
                match mkdirat(dir, name, Mode::from_raw_mode(0o700)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno),
                }
            }
            let inner = enter(dir, name)?;
            for (name, shape) in &folder.entries {
                make(&inner, Path::new(name), shape)?;
            }
            fchmod(&inner, door::rights(folder.mode))
        }
        // Nobody could have put anything in it.
        Shape::Other => Ok(()),
    }
}

/// Makes `name` in `dir` a plain file with this content. What is there goes.
pub(super) fn write(dir: &OwnedFd, name: &Path, content: &[u8], mode: u32) -> Result<(), Errno> {
    let mut temp = Temp::make(dir, None, passing_names())?;
    let written = temp.file().write_all(content);
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    fchmod(temp.file(), door::rights(mode))?;
    let passing = temp.keep();
    put(dir, &passing, name)
}

/// Gives what has a passing name its real one.
fn put(dir: &OwnedFd, passing: &Path, name: &Path) -> Result<(), Errno> {
    let mut put = renameat(dir, passing, dir, name);
    if matches!(put, Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST)) {
        take(dir, name)?;
        put = renameat(dir, passing, dir, name);
    }
    if put.is_err() {
        let _ = unlinkat(dir, passing, AtFlags::empty());
    }
    put
}

/// Takes `name` out of `dir`, with all that is in it. That nothing is there is no error.
pub(super) fn take(dir: &OwnedFd, name: &Path) -> Result<(), Errno> {
    let mut left = MAX_TAKEN;
    taken(dir, name, MAX_DEPTH, &mut left)
}

fn taken(dir: &OwnedFd, name: &Path, depth: usize, left: &mut usize) -> Result<(), Errno> {
    *left = left.checked_sub(1).ok_or(Errno::FBIG)?;
    if !is_folder(dir, name) {
        return match unlinkat(dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        };
    }
    if depth == 0 {
        return Err(Errno::FBIG);
    }
    let inner = enter(dir, name)?;
    for name in shape::names(&inner)? {
        taken(&inner, Path::new(&name), depth - 1, left)?;
    }
    unlinkat(dir, name, AtFlags::REMOVEDIR)
}

pub(super) fn is_folder(dir: &OwnedFd, name: &Path) -> bool {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| kind(&stat) == FileType::Directory)
}

/// Opens the folder `name` so that what is in it can be changed, though its own rights may not allow that.
pub(super) fn enter(dir: &OwnedFd, name: &Path) -> Result<OwnedFd, Errno> {
    let folder = door::step(dir, name, FOLDER)?;
    let stat = rustix::fs::fstat(&folder)?;
    if stat.st_mode & 0o700 != 0o700 {
        // By the handle: the name may be a link in the meantime.
        let by_handle = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let _ = std::fs::set_permissions(by_handle, Permissions::from_mode(door::mode(&stat) | 0o700));
    }
    door::step(&folder, Path::new("."), READ | OFlags::DIRECTORY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn so_deep_a_folder_is_taken_away_and_no_deeper() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let dir = door::open(&base, FOLDER).unwrap();
        // The folder itself counts, and so does what is in the last one.
        let deep = |depth: usize| base.join("x").join("d/".repeat(depth - 1));
        fs::create_dir_all(deep(MAX_DEPTH)).unwrap();
        fs::write(deep(MAX_DEPTH).join("file"), "").unwrap();
        assert_eq!(take(&dir, Path::new("x")), Ok(()));
        fs::create_dir_all(deep(MAX_DEPTH + 1)).unwrap();
        assert_eq!(take(&dir, Path::new("x")), Err(Errno::FBIG));
        assert_eq!(take(&dir, Path::new("none")), Ok(()));
    }

    #[test]
    fn so_much_is_taken_away_and_no_more() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let dir = door::open(&base, FOLDER).unwrap();
        fs::create_dir(base.join("x")).unwrap();
        (0..5).for_each(|name| fs::write(base.join(format!("x/{name}")), "").unwrap());
        assert_eq!(taken(&dir, Path::new("x"), MAX_DEPTH, &mut 5), Err(Errno::FBIG));
        assert_eq!(taken(&dir, Path::new("x"), MAX_DEPTH, &mut 6), Ok(()));
    }

    #[test]
    fn rights_that_are_in_the_way_are_no_hindrance() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let dir = door::open(&base, FOLDER).unwrap();
        fs::create_dir_all(base.join("x/y")).unwrap();
        fs::write(base.join("x/y/z"), "").unwrap();
        fs::set_permissions(base.join("x/y"), Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(base.join("x"), Permissions::from_mode(0o500)).unwrap();
        assert_eq!(take(&dir, Path::new("x")), Ok(()));
        assert!(!base.join("x").exists());
    }
}
