//! Putting back what stood at a path: a file, a link, a folder, or nothing. Thin doors, each checks its grant.
//!
//! Unlike the doors for tools they take whatever stands there, and no link is followed: one that stands at the path is
//! replaced itself, and one on the way is refused.

use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use haft_permission::{Done, Grant};
use rustix::fs::{AtFlags, FileType, Gid, Mode, Uid, fchmod, fchown, mkdirat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use crate::door::{self, FOLDER, kind};
use crate::files::{READ, for_writing};
use crate::target::spelled;
use crate::write::{Temp, exchange, make_folder, passing_names, rename_to_new, split};
use crate::{Files, FilesError, Standing};

/// What is to stand at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put<'a> {
    /// Nothing.
    Nothing,
    /// A plain file.
    File {
        /// All of it.
        content: &'a [u8],
        /// The last twelve bits of its mode. The right to run as somebody else is not given.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads: any bytes.
        to: &'a [u8],
    },
    /// A folder.
    Folder {
        /// The last twelve bits of its mode.
        mode: u32,
    },
}

impl Files {
    /// What stands at the absolute `path`, which the grant must let be changed. Blocks.
    ///
    /// On a disk that knows no capitals, a file that is written otherwise is another one.
    ///
    /// # Errors
    ///
    /// [`FilesError::NotGranted`].
    pub fn standing(&self, grant: &Grant, path: &Path) -> Result<Standing, FilesError> {
        Ok(standing(&for_writing(grant, path)?))
    }

    /// Makes `put` stand at the absolute `path`, whole or not at all, if `is_still` says of what stands there that it may go.
    /// It is asked just before, and of what was taken away once more: what somebody else put there in between gets its place
    /// back. Missing folders are made; a folder goes only when nothing is in it. Blocks.
    ///
    /// # Errors
    ///
    /// [`FilesError::NotGranted`], [`FilesError::Changed`] where it may not go, or the others that concern writing.
    pub fn put(
        &self,
        grant: &Grant,
        path: &Path,
        put: Put<'_>,
        is_still: impl Fn(Standing) -> bool,
    ) -> Result<(), FilesError> {
        let path = for_writing(grant, path)?;
        let still = Still { path: &path, is_still: &is_still };
        let done = match put {
            Put::Nothing => remove(&path, &still),
            Put::File { content, mode } => file(&path, content, mode, &still),
            Put::Link { to } => link(&path, to, &still),
            Put::Folder { mode } => folder(&path, mode, &still),
        };
        self.wrote(done.is_ok().then_some(path.as_path()));
        done?;
        grant.note(if put == Put::Nothing { Done::Removed(path) } else { Done::Wrote(path) });
        Ok(())
    }
}

fn standing(path: &Path) -> Standing {
    let other = path.symlink_metadata().is_ok_and(|meta| spelled(path, &meta).is_some());
    if other { Standing::Nothing } else { Standing::at(path) }
}

/// What may go.
struct Still<'a> {
    path: &'a Path,
    is_still: &'a dyn Fn(Standing) -> bool,
}

impl Still<'_> {
    /// Whether what stands at the path may go.
    fn here(&self) -> Result<(), FilesError> {
        self.of(standing(self.path))
    }

    /// Whether what was taken from there, and stands beside it under `name` now, may go.
    fn away(&self, name: &Path) -> Result<(), FilesError> {
        self.of(Standing::at(&self.path.with_file_name(name)))
    }

    fn of(&self, standing: Standing) -> Result<(), FilesError> {
        if (self.is_still)(standing) { Ok(()) } else { Err(FilesError::Changed { path: self.path.to_owned() }) }
    }
}

fn remove(path: &Path, still: &Still<'_>) -> Result<(), FilesError> {
    let (above, name) = split(path)?;
    let dir = door::open(above, FOLDER).map_err(|errno| FilesError::at(path, "remove", errno))?;
    still.here()?;
    match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| kind(&stat)) {
        // Of a folder nothing can be lost: one with something in it stays.
        Ok(FileType::Directory) | Err(_) => clear(&dir, path, name),
        Ok(_) => take_away(&dir, path, name, still),
    }
}

/// Removes the file or link `name`, which goes under a passing name first.
fn take_away(dir: &OwnedFd, path: &Path, name: &Path, still: &Still<'_>) -> Result<(), FilesError> {
    let failed = |errno: Errno| FilesError::io(path, "remove", errno.into());
    for passing in passing_names() {
        match rename_to_new(dir, name, &passing) {
            Err(Errno::EXIST) => continue,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(failed(errno)),
            Ok(()) => {}
        }
        return match still.away(&passing) {
            Ok(()) => unlinkat(dir, &passing, AtFlags::empty()).map_err(failed),
            Err(changed) => {
                // Where something else has come there by now, theirs stays under the passing name.
                rename_to_new(dir, &passing, name).map_err(failed)?;
                Err(changed)
            }
        };
    }
    Err(failed(Errno::EXIST))
}

/// Takes away what `name` is. Nothing is fine too.
fn clear(dir: &OwnedFd, path: &Path, name: &Path) -> Result<(), FilesError> {
    let flags = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        Ok(stat) if kind(&stat) == FileType::Directory => AtFlags::REMOVEDIR,
        Ok(_) => AtFlags::empty(),
        Err(errno) => return Err(FilesError::at(path, "look at", errno)),
    };
    unlinkat(dir, name, flags).map_err(|errno| FilesError::io(path, "remove", errno.into()))
}

fn file(path: &Path, content: &[u8], mode: u32, still: &Still<'_>) -> Result<(), FilesError> {
    let (above, name) = split(path)?;
    let dir = make_folder(above)?;
    let failed = |errno: Errno| FilesError::io(path, "write", errno.into());
    // Nobody's business until it has its mode.
    let mut temp = Temp::with_mode(&dir, 0o600, passing_names()).map_err(failed)?;
    temp.file().write_all(content).map_err(|error| FilesError::io(path, "write", error))?;
    if let Ok(old) = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        // Who may not give a file away keeps it.
        let _ = fchown(temp.file().as_fd(), Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
    }
    fchmod(temp.file().as_fd(), door::rights(mode & 0o1777)).map_err(failed)?;
    place(&dir, path, name, temp.keep(), still)
}

fn link(path: &Path, to: &[u8], still: &Still<'_>) -> Result<(), FilesError> {
    let (above, name) = split(path)?;
    let dir = make_folder(above)?;
    for passing in passing_names() {
        match symlinkat(OsStr::from_bytes(to), &dir, &passing) {
            Ok(()) => return place(&dir, path, name, passing, still),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(FilesError::io(path, "write", errno.into())),
        }
    }
    Err(FilesError::io(path, "write", Errno::EXIST.into()))
}

/// Gives what stands under a passing name its own.
fn place(dir: &OwnedFd, path: &Path, name: &Path, passing: PathBuf, still: &Still<'_>) -> Result<(), FilesError> {
    let failed = |errno: Errno| FilesError::io(path, "write", errno.into());
    let named =
        still.here().and_then(|()| match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| kind(&stat)) {
            Ok(FileType::Directory) => {
                clear(dir, path, name)?;
                rename_to_new(dir, &passing, name).map_err(failed)
            }
            // A link is replaced itself.
            Ok(_) => swap(dir, path, name, &passing, still),
            Err(_) => rename_to_new(dir, &passing, name).map_err(|errno| match errno {
                Errno::EXIST => FilesError::Changed { path: path.to_owned() },
                errno => failed(errno),
            }),
        });
    if named.is_err() {
        // The first error is the one to tell.
        let _ = unlinkat(dir, &passing, AtFlags::empty());
    }
    named
}

/// Replaces the file or link `name` by what stands under the passing name.
fn swap(dir: &OwnedFd, path: &Path, name: &Path, passing: &Path, still: &Still<'_>) -> Result<(), FilesError> {
    let failed = |errno: Errno| match errno {
        Errno::NOENT => FilesError::Changed { path: path.to_owned() },
        errno => FilesError::io(path, "write", errno.into()),
    };
    if !exchange(dir, passing, name).map_err(failed)? {
        return Ok(());
    }
    match still.away(passing) {
        Ok(()) => unlinkat(dir, passing, AtFlags::empty()).map_err(failed),
        Err(changed) => {
            exchange(dir, passing, name).map_err(failed)?;
            Err(changed)
        }
    }
}

fn folder(path: &Path, mode: u32, still: &Still<'_>) -> Result<(), FilesError> {
    let (above, name) = split(path)?;
    let dir = make_folder(above)?;
    let failed = |errno: Errno| FilesError::io(path, "make the folder", errno.into());
    still.here()?;
    match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| kind(&stat)) {
        Ok(FileType::Directory) | Err(_) => clear(&dir, path, name)?,
        Ok(_) => take_away(&dir, path, name, still)?,
    }
    mkdirat(&dir, name, Mode::from_raw_mode(0o700)).map_err(failed)?;
    let made = door::step(&dir, name, READ).map_err(failed)?;
    fchmod(made, door::rights(mode & 0o1777)).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use haft_permission::{Access, Action, Answerer, Asker, Effect, Gate, Rule, Rules};
    use haft_protocol::Clock;

    struct Scene {
        _folder: tempfile::TempDir,
        top: PathBuf,
        files: Files,
    }

    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        Scene { files: Files::new(top.clone(), None), top, _folder: folder }
    }

    impl Scene {
        async fn put(&self, name: &str, put: Put<'_>, may_go: bool) -> Result<(), FilesError> {
            let path = self.top.join(name);
            self.files.put(&self.grant(name).await, &path, put, |_| may_go)
        }

        async fn grant(&self, name: &str) -> Grant {
            let clock = Clock::scripted(1);
            let gate = Gate::new(clock.clone(), Answerer::Nobody, |_| {});
            let rules = Rules::from(vec![Rule::new("*", "*", Action::Allow)]);
            let asker = Asker { session: clock.mint(), call: None };
            let access = Access::new("undo", name).with(Effect::Write(self.top.join(name)));
            gate.ask(&asker, &rules, access).await.unwrap()
        }

        /// What is in the folder: names with `/`, `@` and where it leads, or `:`, the mode and the content.
        fn shown(&self) -> Vec<String> {
            let mut rows = Vec::new();
            show(&self.top, "", &mut rows);
            rows.sort();
            rows
        }
    }

    fn show(folder: &Path, before: &str, rows: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{before}{}", path.file_name().unwrap().display());
            let meta = path.symlink_metadata().unwrap();
            let mode = meta.permissions().mode() & 0o7777;
            if meta.is_dir() {
                rows.push(format!("{name}/ {mode:o}"));
                show(&path, &format!("{name}/"), rows);
            } else if meta.is_symlink() {
                rows.push(format!("{name}@{}", fs::read_link(&path).unwrap().display()));
            } else {
                rows.push(format!("{name}:{mode:o}:{}", fs::read_to_string(&path).unwrap()));
            }
        }
    }

    const FILE: Put<'_> = Put::File { content: b"new", mode: 0o4750 };
    const LINK: Put<'_> = Put::Link { to: b"nowhere" };
    const MADE: Put<'_> = Put::Folder { mode: 0o711 };

    #[tokio::test]
    async fn each_kind_takes_the_place_of_each_other() {
        for (put, want) in
            [(Put::Nothing, None), (FILE, Some("x:750:new")), (LINK, Some("x@nowhere")), (MADE, Some("x/ 711"))]
        {
            for old in ["nothing", "file", "link", "folder"] {
                let scene = scene();
                let path = scene.top.join("x");
                match old {
                    "file" => fs::write(&path, "old").unwrap(),
                    "link" => symlink("/etc/passwd", &path).unwrap(),
                    "folder" => fs::create_dir(&path).unwrap(),
                    _ => {}
                }
                let before = scene.shown();
                assert!(matches!(scene.put("x", put, false).await, Err(FilesError::Changed { .. })), "{old} {put:?}");
                assert_eq!(scene.shown(), before, "{old} {put:?}");
                scene.put("x", put, true).await.unwrap();
                assert_eq!(scene.shown(), want.into_iter().collect::<Vec<_>>(), "{old} {put:?}");
            }
        }
    }

    #[tokio::test]
    async fn what_comes_between_the_last_look_and_the_change_gets_its_place_back() {
        for put in [Put::Nothing, FILE, LINK, MADE] {
            for theirs in ["file", "link"] {
                let scene = scene();
                let path = scene.top.join("x");
                fs::write(&path, "old").unwrap();
                let grant = scene.grant("x").await;
                // They are faster than whoever has looked just now.
                let looks = std::cell::Cell::new(0);
                let is_still = |standing: Standing| {
                    looks.set(looks.get() + 1);
                    let is_old = matches!(standing, Standing::File { size: 3, .. });
                    if looks.get() == 1 {
                        fs::remove_file(&path).unwrap();
                        match theirs {
                            "file" => fs::write(&path, "theirs").unwrap(),
                            _ => symlink("theirs", &path).unwrap(),
                        }
                    }
                    is_old
                };
                let done = scene.files.put(&grant, &path, put, is_still);
                assert!(matches!(done, Err(FilesError::Changed { .. })), "{put:?} {theirs}: {done:?}");
                let want = if theirs == "file" { "x:644:theirs" } else { "x@theirs" };
                assert_eq!(scene.shown(), [want], "{put:?}");
            }
        }
    }

    #[tokio::test]
    async fn folders_on_the_way_are_made_and_links_there_are_refused() {
        let scene = scene();
        scene.put("a/b/x", FILE, true).await.unwrap();
        assert_eq!(fs::read(scene.top.join("a/b/x")).unwrap(), b"new");
        symlink("a", scene.top.join("round")).unwrap();
        for put in [Put::Nothing, FILE, LINK, MADE] {
            assert!(matches!(scene.put("round/b/x", put, true).await, Err(FilesError::Link { .. })), "{put:?}");
        }
        assert_eq!(fs::read(scene.top.join("a/b/x")).unwrap(), b"new");
    }

    #[tokio::test]
    async fn a_folder_with_something_in_it_stays() {
        let scene = scene();
        fs::create_dir(scene.top.join("x")).unwrap();
        fs::write(scene.top.join("x/theirs"), "").unwrap();
        for put in [Put::Nothing, FILE, LINK] {
            let error = scene.put("x", put, true).await.unwrap_err();
            let FilesError::Io { source, .. } = error else { panic!("{error}") };
            assert_eq!(source.kind(), std::io::ErrorKind::DirectoryNotEmpty);
        }
        assert_eq!(scene.shown().len(), 2);
    }
}
