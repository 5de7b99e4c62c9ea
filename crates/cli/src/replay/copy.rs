//! A copy of a project, to run something in again.

use std::fs::{Metadata, create_dir_all, symlink_metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use haft_project::Tracked;
use ignore::WalkBuilder;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

/// Most files and folders of a copy.
pub(crate) const MAX_ENTRIES: usize = 100_000;
/// Most bytes of a copy.
pub(crate) const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// What was copied.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    pub entries: usize,
    pub bytes: u64,
    /// The project's repository is kept elsewhere, and stays there.
    pub without_repository: bool,
}

/// Copies the folder `from` to `to`, which is made: all that is not ignored or that git tracks all the same, and the
/// repository, with the times of all. What is neither a file, a folder nor a link is left out. Where the file system can,
/// contents are shared.
///
/// # Errors
///
/// When it is larger than [`MAX_ENTRIES`] or [`MAX_BYTES`], or something cannot be read or written.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<Copied> {
    if from.parent().is_none() || std::env::home_dir().is_some_and(|home| home == *from) {
        bail!("{} is no project of its own, so it is not copied; replay in another folder with --dir", from.display());
    }
    let mut copying = Copying { from, to, copied: Copied::default(), folders: Vec::new() };
    let within = to.to_owned();
    let walk = WalkBuilder::new(from)
        .hidden(false)
        .require_git(false)
        .filter_entry(move |entry| entry.path() != within)
        .build();
    for entry in walk {
        let entry = entry.with_context(|| format!("cannot read all of {}", from.display()))?;
        copying.entry(entry.path())?;
    }
    for path in Tracked::read(from).iter().flat_map(Tracked::paths) {
        copying.tracked(&path)?;
    }
    Ok(copying.end())
}

/// A copy that is being made.
struct Copying<'a> {
    from: &'a Path,
    to: &'a Path,
    copied: Copied,
    /// Folders that were made, with those that they are copies of.
    folders: Vec<(PathBuf, Metadata)>,
}

impl Copying<'_> {
    /// Copies what stands at `path`, without what is below it.
    fn entry(&mut self, path: &Path) -> Result<()> {
        let below = path.strip_prefix(self.from)?;
        let target = self.to.join(below);
        let meta = symlink_metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
        self.copied.entries += 1;
        self.copied.bytes += if meta.is_file() { meta.len() } else { 0 };
        if self.copied.entries > MAX_ENTRIES || self.copied.bytes > MAX_BYTES {
            bail!(
                "{} is too large to copy (at most {MAX_ENTRIES} files and {} MiB); replay in a smaller copy of your own with --dir",
                self.from.display(),
                MAX_BYTES / 1024 / 1024
            );
        }
        let told = || format!("cannot copy {}", path.display());
        if below == Path::new(".git") && meta.is_file() {
            self.copied.without_repository = true;
        } else if meta.is_dir() {
            create_dir_all(&target).with_context(told)?;
            self.folders.push((target, meta));
        } else if meta.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(path)?, &target).with_context(told)?;
            same_time(&target, &meta);
        } else if meta.is_file() {
            std::fs::copy(path, &target).map(drop).with_context(told)?;
            same_time(&target, &meta);
        }
        Ok(())
    }

    /// Copies the file at `path`, which git tracks, and the folders on the way to it, as far as that is not done.
    fn tracked(&mut self, path: &Path) -> Result<()> {
        let Ok(below) = path.strip_prefix(self.from) else { return Ok(()) };
        let Ok(meta) = symlink_metadata(path) else { return Ok(()) };
        let mut way: Vec<&Path> = below.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        way.reverse();
        // What git knew by that name may be something else now.
        let is_folder = |above: &&Path| symlink_metadata(self.from.join(above)).is_ok_and(|meta| meta.is_dir());
        if meta.is_dir() || !way.iter().all(is_folder) {
            return Ok(());
        }
        for one in way.into_iter().chain([below]) {
            if symlink_metadata(self.to.join(one)).is_err() {
                self.entry(&self.from.join(one))?;
            }
        }
        Ok(())
    }

    /// Gives folders their times, which changed with each entry.
    fn end(self) -> Copied {
        self.folders.iter().rev().for_each(|(folder, meta)| same_time(folder, meta));
        self.copied
    }
}

/// Gives `target` the times of what it is a copy of: tools sort by them.
fn same_time(target: &Path, meta: &Metadata) {
    let at = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let times = Timestamps {
        last_access: at(meta.atime(), meta.atime_nsec() as _),
        last_modification: at(meta.mtime(), meta.mtime_nsec() as _),
    };
    // One that cannot be set is no reason not to replay.
    let _ = utimensat(CWD, target, &times, AtFlags::SYMLINK_NOFOLLOW);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_copied_but_what_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for (path, text) in
            [(".gitignore", "out/\n"), ("src/a.rs", "a"), (".git/HEAD", "ref"), ("out/big", "b"), (".env", "e")]
        {
            let path = from.join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("src/a.rs", from.join("link")).unwrap();
        let copied = copy(&from, &to).unwrap();
        let there = |path: &str| to.join(path).symlink_metadata().is_ok();
        assert!(there("src/a.rs") && there(".git/HEAD") && there(".env") && !there("out/big"));
        assert_eq!(std::fs::read_link(to.join("link")).unwrap(), Path::new("src/a.rs"));
        assert!(!copied.without_repository && copied.bytes == 10, "{copied:?}");
        std::fs::remove_dir_all(from.join(".git")).unwrap();
        std::fs::write(from.join(".git"), "gitdir: /elsewhere").unwrap();
        let again = folder.path().join("again");
        assert!(copy(&from, &again).unwrap().without_repository && !again.join(".git").exists());
        assert!(copy(Path::new("/"), &again).unwrap_err().to_string().contains("no project of its own"));
    }

    #[test]
    fn times_are_copied_and_what_git_tracks_is_though_it_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for (path, text) in [(".gitignore", "out/\n"), ("out/kept/a", "a"), ("out/b", "b"), ("c", "c")] {
            let path = from.join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("c", from.join("link")).unwrap();
        for args in [&["init", "-q"][..], &["add", "-f", "out/kept/a", "c"]] {
            assert!(std::process::Command::new("git").args(args).current_dir(&from).status().unwrap().success());
        }
        let old = Timespec { tv_sec: 1_000_000_000, tv_nsec: 5 };
        let times = Timestamps { last_access: old, last_modification: old };
        for path in ["c", "link", "out/kept/a", "out"] {
            utimensat(CWD, from.join(path), &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        }
        copy(&from, &to).unwrap();
        for path in ["c", "link", "out/kept/a", "out"] {
            let meta = to.join(path).symlink_metadata().unwrap();
            assert_eq!((meta.mtime(), meta.mtime_nsec()), (1_000_000_000, 5), "{path}");
        }
        assert!(!to.join("out/b").exists());
    }
}
