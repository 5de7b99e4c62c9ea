//! The files below a folder, with a limit on everything.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How deep folders are gone into.
const MAX_DEPTH: usize = 16;

/// How many entries are looked at below one folder.
const MAX_ENTRIES: usize = 10_000;

/// How many files are taken from below one folder.
const MAX_FILES: usize = 1_000;

/// Which folders below are gone into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// None.
    Flat,
    /// All.
    Deep,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Each with its path below the folder, `/` between its parts, in order of that.
    pub files: Vec<(String, PathBuf)>,
    /// Whether there was more than the limits allow.
    pub cut: bool,
}

/// The files below `folder` whose names `wanted` wants. Links are followed, to folders as well, but never in a circle.
/// A folder that cannot be read is as good as empty.
pub(crate) fn files(folder: &Path, depth: Depth, wanted: fn(&str) -> bool) -> Found {
    let mut walk = Walk { wanted, depth, entries: 0, above: Vec::new(), found: Found::default() };
    walk.folder(folder, "");
    walk.found.files.sort();
    walk.found
}

struct Walk {
    wanted: fn(&str) -> bool,
    depth: Depth,
    entries: usize,
    /// Device and number of the folders that lead here.
    above: Vec<(u64, u64)>,
    found: Found,
}

impl Walk {
    fn folder(&mut self, folder: &Path, below: &str) {
        let Ok(meta) = fs::metadata(folder) else { return };
        let id = (meta.dev(), meta.ino());
        if !meta.is_dir() || self.above.contains(&id) {
            return;
        }
        if self.above.len() > MAX_DEPTH {
            self.found.cut = true;
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        self.above.push(id);
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES || self.found.files.len() >= MAX_FILES {
                self.found.cut = true;
                break;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            let below = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            let kind = entry.file_type().ok();
            // Looks through links; most entries are none and need no second look.
            let meta = kind.filter(|kind| kind.is_symlink()).and_then(|_| fs::metadata(&path).ok());
            let is = |plain: fn(&fs::FileType) -> bool| match &meta {
                Some(meta) => plain(&meta.file_type()),
                None => kind.as_ref().is_some_and(plain),
            };
            if is(fs::FileType::is_dir) && self.depth == Depth::Deep {
                self.folder(&path, &below);
            } else if is(fs::FileType::is_file) && (self.wanted)(&name) {
                self.found.files.push((below, path));
            }
        }
        self.above.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn is_markdown(name: &str) -> bool {
        name.ends_with(".md")
    }

    fn names(folder: &Path, depth: Depth) -> Vec<String> {
        files(folder, depth, is_markdown).files.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn links_are_followed_and_circles_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/deep")).unwrap();
        for file in ["a/deep/x.md", "a/.hidden.md", "a/y.MD", "a/y.txt"] {
            fs::write(root.join(file), "").unwrap();
        }
        symlink(root.join("a"), root.join("a/deep/circle")).unwrap();
        symlink(root.join("a/deep"), root.join("a/again")).unwrap();
        symlink(root.join("a/deep/x.md"), root.join("a/link.md")).unwrap();
        symlink(root.join("nowhere"), root.join("a/dead.md")).unwrap();
        assert_eq!(names(&root.join("a"), Depth::Deep), [".hidden.md", "again/x.md", "deep/x.md", "link.md"]);
        assert_eq!(names(&root.join("a"), Depth::Flat), [".hidden.md", "link.md"]);
        assert_eq!(names(&root.join("none"), Depth::Deep), Vec::<String>::new());
    }

    #[test]
    fn depth_and_numbers_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join(vec!["d"; MAX_DEPTH + 1].join("/"));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("too-deep.md"), "").unwrap();
        fs::write(deep.parent().unwrap().join("just.md"), "").unwrap();
        let found = files(folder.path(), Depth::Deep, is_markdown);
        assert_eq!((found.files.len(), found.cut), (1, true));

        let folder = tempfile::tempdir().unwrap();
        for n in 0..=MAX_FILES {
            fs::write(folder.path().join(format!("{n}.md")), "").unwrap();
        }
        let found = files(folder.path(), Depth::Flat, is_markdown);
        assert_eq!((found.files.len(), found.cut), (MAX_FILES, true));
    }
}
