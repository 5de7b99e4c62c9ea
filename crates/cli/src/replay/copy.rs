//! A copy of a project, to run something in again.

use std::fs::{create_dir_all, symlink_metadata};
use std::path::Path;

use anyhow::{Context, Result, bail};
use ignore::WalkBuilder;

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

/// Copies the folder `from` to `to`, which is made: all that is not ignored, and the repository. What is neither a file, a
/// folder nor a link is left out. Where the file system can, contents are shared.
///
/// # Errors
///
/// When it is larger than [`MAX_ENTRIES`] or [`MAX_BYTES`], or something cannot be read or written.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<Copied> {
    if from.parent().is_none() || std::env::home_dir().is_some_and(|home| home == *from) {
        bail!("{} is no project of its own, so it is not copied; replay in another folder with --dir", from.display());
    }
    let mut copied = Copied::default();
    let within = to.to_owned();
    let walk = WalkBuilder::new(from)
        .hidden(false)
        .require_git(false)
        .filter_entry(move |entry| entry.path() != within)
        .build();
    for entry in walk {
        let entry = entry.with_context(|| format!("cannot read all of {}", from.display()))?;
        let below = entry.path().strip_prefix(from)?;
        let target = to.join(below);
        let meta =
            symlink_metadata(entry.path()).with_context(|| format!("cannot look at {}", entry.path().display()))?;
        copied.entries += 1;
        copied.bytes += if meta.is_file() { meta.len() } else { 0 };
        if copied.entries > MAX_ENTRIES || copied.bytes > MAX_BYTES {
            bail!(
                "{} is too large to copy (at most {MAX_ENTRIES} files and {} MiB); replay in a smaller copy of your own with --dir",
                from.display(),
                MAX_BYTES / 1024 / 1024
            );
        }
        let told = || format!("cannot copy {}", entry.path().display());
        if below == Path::new(".git") && meta.is_file() {
            copied.without_repository = true;
        } else if meta.is_dir() {
            create_dir_all(&target).with_context(told)?;
        } else if meta.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, &target).with_context(told)?;
        } else if meta.is_file() {
            std::fs::copy(entry.path(), &target).map(drop).with_context(told)?;
        }
    }
    Ok(copied)
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
}
