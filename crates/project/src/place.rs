//! Where the code is: the folder, its work tree, and the project that both belong to.

use std::io;
use std::path::{Path, PathBuf};

/// Longest id that a `.git/opencode` file may give a project, in bytes.
const MAX_ID: usize = 64;

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
    /// # Errors
    ///
    /// When `directory` is not there, is not a folder or cannot be looked at.
    pub fn find(directory: &Path) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        if !directory.is_dir() {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let top = directory.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_path_buf);
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

fn project_id(worktree: &Path) -> String {
    let kept = repository(worktree);
    let named = std::fs::read_to_string(kept.join("opencode")).ok();
    let named = named
        .as_deref()
        .map(str::trim)
        .filter(|id| !id.is_empty() && id.len() <= MAX_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    named.map_or_else(|| format!("{:016x}", fnv(kept.as_os_str().as_encoded_bytes())), str::to_owned)
}

/// The folder in which the repository of `worktree` is kept; one for all its work trees.
fn repository(worktree: &Path) -> PathBuf {
    let git = worktree.join(".git");
    let Ok(pointer) = std::fs::read_to_string(&git) else { return git };
    // An added work tree has a file instead of a folder: `gitdir: <repository>/worktrees/<name>`.
    let Some(target) = pointer.strip_prefix("gitdir:").map(str::trim) else { return git };
    let target = worktree.join(target);
    let common = std::fs::read_to_string(target.join("commondir")).ok();
    let common = common.map_or(target.clone(), |common| target.join(common.trim()));
    common.canonicalize().unwrap_or(common)
}

/// FNV-1a: small, and stable between versions, which the standard library's hasher is not.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Place::find(&folder.path().join("none")).is_err());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(Place::find(&folder.path().join("file")).is_err());
    }
}
