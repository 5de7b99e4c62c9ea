//! Where the code is: the folder, its work tree, and the project that both belong to.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::files::READ;

/// Longest id that a `.git/opencode` file may give a project, in bytes.
const MAX_ID: usize = 64;
/// Longest file that git points with, in bytes: more than any path takes.
const MAX_POINTER: u64 = 16 * 1024;

/// A folder to work in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder, absolute and without links.
    pub directory: PathBuf,
    /// The top of the git work tree it belongs to, if it belongs to one.
    pub worktree: Option<PathBuf>,
    /// Names the project: what OpenCode called it where that was here, else a name made from where its repository
    /// is kept (so that all work trees of one repository are one project), else `global`.
    pub project_id: String,
}

impl Place {
    /// Looks at `directory` and upwards. Runs no program.
    ///
    /// A `.git` counts if it belongs to this user, to the owner of `directory` or to the superuser. Else whoever can
    /// write to `/tmp` could make all of it one project, with settings of theirs, for everybody who works below.
    ///
    /// # Errors
    ///
    /// When `directory` is not there, is not a folder or cannot be looked at.
    pub fn find(directory: &Path) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        let meta = directory.metadata()?;
        if !meta.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let own = [rustix::process::geteuid().as_raw(), meta.uid(), 0];
        let top = directory.ancestors().find(|folder| has_repository(folder, &own)).map(Path::to_path_buf);
        let project_id = top.as_deref().map_or_else(|| "global".to_owned(), project_id);
        Ok(Self { directory, worktree: top, project_id })
    }

    /// The folder relative to the work tree with `/`; empty at its top.
    pub fn relative(&self) -> String {
        let base = self.worktree.as_deref().unwrap_or(Path::new("/"));
        self.directory.strip_prefix(base).unwrap_or(&self.directory).to_string_lossy().replace('\\', "/")
    }

    /// The top of the work tree, or `/`.
    pub fn root(&self) -> &Path {
        self.worktree.as_deref().unwrap_or(Path::new("/"))
    }
}

/// Whether `folder` has a `.git` that one of the users `owners` made.
fn has_repository(folder: &Path, owners: &[u32]) -> bool {
    let git = folder.join(".git");
    // Of a link, the link itself: who made it could have named anybody's repository.
    git.exists() && git.symlink_metadata().is_ok_and(|meta| owners.contains(&meta.uid()))
}

fn project_id(worktree: &Path) -> String {
    let kept = repository(worktree);
    let named = pointer(&kept.join("opencode"));
    let named = named
        .as_deref()
        .map(str::trim)
        .filter(|id| !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    named.map_or_else(|| format!("{:016x}", fnv(kept.as_os_str().as_encoded_bytes())), str::to_owned)
}

/// The folder in which the repository of `worktree` is kept; one for all its work trees.
pub(crate) fn repository(worktree: &Path) -> PathBuf {
    let git = worktree.join(".git");
    // An added work tree has a file instead of a folder: `gitdir: <repository>/worktrees/<name>`.
    let named = pointer(&git);
    let Some(target) = named.as_deref().and_then(|named| named.strip_prefix("gitdir:")) else { return git };
    let target = worktree.join(target.trim());
    let common = pointer(&target.join("commondir"));
    let common = common.map_or(target.clone(), |common| target.join(common.trim()));
    common.canonicalize().unwrap_or(common)
}

/// What a small plain file says. Anything else there, a pipe or a device that never ends, says nothing.
pub(crate) fn pointer(path: &Path) -> Option<String> {
    let file = File::from(rustix::fs::open(path, READ | OFlags::CLOEXEC, Mode::empty()).ok()?);
    let mut text = String::new();
    let plain = file.metadata().is_ok_and(|meta| meta.is_file());
    (plain && file.take(MAX_POINTER).read_to_string(&mut text).is_ok()).then_some(text)
}

/// FNV-1a: small, and stable between versions, which the standard library's hasher is not.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_without_a_repository_is_global() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::find(folder.path()).unwrap();
        assert_eq!((place.worktree.as_deref(), place.project_id.as_str()), (None, "global"));
        assert_eq!(place.root(), Path::new("/"));
    }

    #[test]
    fn the_work_tree_is_found_from_below() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join(".git")).unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        let place = Place::find(&top.join("a/b")).unwrap();
        assert_eq!(place.worktree.as_deref(), Some(top.as_path()));
        assert_eq!(place.relative(), "a/b");
        assert_eq!(Place::find(&top).unwrap().relative(), "");
    }

    #[test]
    fn work_trees_of_one_repository_are_one_project() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("main/.git/worktrees/side")).unwrap();
        fs::write(top.join("main/.git/worktrees/side/commondir"), "../..\n").unwrap();
        fs::create_dir_all(top.join("side")).unwrap();
        fs::write(top.join("side/.git"), format!("gitdir: {}\n", top.join("main/.git/worktrees/side").display()))
            .unwrap();
        let id = |name: &str| Place::find(&top.join(name)).unwrap().project_id;
        assert_eq!(id("main"), id("side"));
        fs::write(top.join("main/.git/opencode"), "0123abcd\n").unwrap();
        assert_eq!((id("main").as_str(), id("side").as_str()), ("0123abcd", "0123abcd"));
        fs::write(top.join("main/.git/opencode"), "../../etc").unwrap();
        assert_ne!(id("main"), "../../etc");
        for (length, taken) in [(MAX_ID, true), (MAX_ID + 1, false)] {
            let long = "a".repeat(length);
            fs::write(top.join("main/.git/opencode"), &long).unwrap();
            assert_eq!(id("main") == long, taken, "{length}");
        }
    }

    #[test]
    fn no_more_is_read_than_a_path_takes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pointer");
        let length = |size: u64| {
            fs::File::create(&file).unwrap().set_len(size).unwrap();
            pointer(&file).unwrap().len() as u64
        };
        assert_eq!((length(MAX_POINTER), length(1 << 40)), (MAX_POINTER, MAX_POINTER));
    }

    #[test]
    fn a_strangers_repository_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (me, stranger) = (top.metadata().unwrap().uid(), 12345);
        fs::create_dir_all(top.join("mine/.git")).unwrap();
        fs::create_dir_all(top.join("linked")).unwrap();
        symlink("../mine/.git", top.join("linked/.git")).unwrap();
        symlink("nowhere", top.join(".git")).unwrap();
        assert!(has_repository(&top.join("mine"), &[stranger, me]));
        assert!(!has_repository(&top.join("mine"), &[stranger]));
        assert!(has_repository(&top.join("linked"), &[me]));
        assert!(!has_repository(&top.join("linked"), &[stranger]));
        assert!(!has_repository(&top, &[me]));
    }

    #[test]
    fn what_git_points_with_may_be_anything() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let fifo = |path: &Path| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        fifo(&top.join("pipe/.git"));
        fifo(&top.join("id/.git/opencode"));
        fs::create_dir_all(top.join("endless/.git")).unwrap();
        symlink("/dev/zero", top.join("endless/.git/opencode")).unwrap();
        fs::create_dir_all(top.join("device")).unwrap();
        symlink("/dev/zero", top.join("device/.git")).unwrap();
        fs::create_dir_all(top.join("round")).unwrap();
        fs::write(top.join("round/.git"), "gitdir: .git\n").unwrap();
        for name in ["pipe", "id", "endless", "device", "round"] {
            let place = Place::find(&top.join(name)).unwrap();
            assert_eq!((place.worktree, place.project_id.len()), (Some(top.join(name)), 16), "{name}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Place::find(&folder.path().join("none")).is_err());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(Place::find(&folder.path().join("file")).is_err());
    }
}
