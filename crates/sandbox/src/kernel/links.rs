//! Where paths lead.

use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Where `path`, which is absolute, leads with all links followed, as [`std::fs::canonicalize`] says; but in one call
/// where there is no link, which is almost always, instead of one for each part of it.
///
/// # Errors
///
/// What the system said.
pub(crate) fn without_links(path: &Path) -> io::Result<PathBuf> {
    let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(is_plain) {
        return std::fs::canonicalize(path);
    }
    match rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(_) => Ok(path.components().collect()),
        // No link leads there, so nothing does.
        Err(Errno::NOENT) => Err(Errno::NOENT.into()),
        // A link, a kernel or a cage around this one without the call, or a failure that must be told as always.
        Err(_) => std::fs::canonicalize(path),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn it_says_what_following_each_link_says() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("real/deep")).unwrap();
        std::fs::write(base.join("real/file"), "").unwrap();
        symlink("real", base.join("link")).unwrap();
        symlink("nowhere", base.join("broken")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        for path in [
            "",
            "real",
            "real/deep/",
            "real/file",
            "real//deep",
            "real/./deep",
            "real/deep/..",
            "link",
            "link/deep",
            "link/file",
            "broken",
            "broken/x",
            "loop",
            "real/missing",
            "real/file/x",
            "link/missing",
            "missing/x",
        ] {
            let path = base.join(path);
            let (got, want) = (without_links(&path), std::fs::canonicalize(&path));
            match (&got, &want) {
                (Ok(got), Ok(want)) => assert_eq!(got.as_os_str(), want.as_os_str(), "{}", path.display()),
                (Err(got), Err(want)) => assert_eq!(got.kind(), want.kind(), "{}", path.display()),
                _ => panic!("{}: {got:?}, {want:?}", path.display()),
            }
        }
    }
}
