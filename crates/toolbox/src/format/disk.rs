//! What can be seen from a file, on the disk.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use haft_project::Files;

use super::choose::Eyes;

/// Most bytes of a file that are read to see whether it names a formatter.
const MAX_SIGN: u64 = 1024 * 1024;
/// How many folders above a file are looked at.
const MAX_FOLDERS: usize = 64;

/// The disk, seen from a folder.
pub(super) struct Disk {
    /// It and those above it up to the top of the work tree, nearest first.
    folders: Vec<PathBuf>,
    top: PathBuf,
    path: Vec<PathBuf>,
    read: RefCell<HashMap<String, Vec<String>>>,
}

impl Disk {
    /// From `folder`, which is in the project of `files` or is taken for its working folder.
    pub(super) fn new(files: &Files, folder: &Path) -> Self {
        let top = files.worktree().to_owned();
        let from = if folder.starts_with(&top) { folder } else { files.root() };
        let folders = from.ancestors().take_while(|one| one.starts_with(&top)).take(MAX_FOLDERS);
        let path = std::env::var_os("PATH").unwrap_or_default();
        // What is relative there is in whatever folder somebody is in.
        let path = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
        Self { folders: folders.map(Path::to_path_buf).collect(), top, path, read: RefCell::default() }
    }
}

impl Eyes for Disk {
    fn program(&self, name: &str) -> Option<PathBuf> {
        self.path.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
    }

    fn above(&self, path: &str) -> Option<PathBuf> {
        self.folders.iter().map(|folder| folder.join(path)).find(|path| is_program(path))
    }

    fn texts(&self, name: &str) -> Vec<String> {
        let mut read = self.read.borrow_mut();
        let texts = || self.folders.iter().filter_map(|folder| text(&folder.join(name))).collect();
        read.entry(name.to_owned()).or_insert_with(texts).clone()
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(&self.top) || path.canonicalize().is_ok_and(|real| real.starts_with(&self.top))
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn text(path: &Path) -> Option<String> {
    // What is no plain file may never end.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_SIGN).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_above_a_file_is_seen_up_to_the_top_of_the_work_tree() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let top = base.join("top");
        fs::create_dir_all(top.join("a/b/bin")).unwrap();
        fs::create_dir_all(top.join("bin")).unwrap();
        for (path, mode) in [("top/bin/f", 0o755), ("top/a/b/bin/f", 0o644), ("sign", 0o644), ("top/sign", 0o644)] {
            fs::write(base.join(path), path).unwrap();
            fs::set_permissions(base.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::write(top.join("a/sign"), "near").unwrap();
        // A folder is no sign.
        fs::create_dir(top.join("a/b/sign")).unwrap();
        let disk = Disk::new(&Files::new(top.join("a"), Some(top.clone())), &top.join("a/b"));
        assert_eq!(disk.texts("sign"), ["near", "top/sign"]);
        assert_eq!(disk.above("bin/f"), Some(top.join("bin/f")));
        assert!(disk.is_inside(&top.join("bin/f")) && !disk.is_inside(&base.join("sign")));
        // What is elsewhere is judged as in the working folder.
        let elsewhere = Disk::new(&Files::new(top.join("a"), Some(top.clone())), &base);
        assert_eq!(elsewhere.texts("sign"), ["near", "top/sign"]);
    }
}
