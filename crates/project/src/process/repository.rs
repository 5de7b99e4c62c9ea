//! The repository of a work tree that is kept somewhere else.

use std::path::{Path, PathBuf};

use crate::place::pointer;

/// The folder that the repository of `worktree` is kept in, where its `.git` is a file that points there and the
/// repository points back. Without the second anybody could write such a file, and name a folder that is none of the
/// work tree's.
pub(super) fn of(worktree: &Path) -> Option<PathBuf> {
    let named = pointer(&worktree.join(".git"))?;
    let own = worktree.join(named.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let same = |path: PathBuf, wanted: &Path| path.canonicalize().is_ok_and(|path| path == wanted);
    // An added work tree: `<repository>/worktrees/<name>`, with `gitdir` and `commondir` in it.
    if let (Some(back), Some(common)) = (pointer(&own.join("gitdir")), pointer(&own.join("commondir"))) {
        let common = own.join(common.trim()).canonicalize().ok()?;
        let whole = own.starts_with(common.join("worktrees")) && common.join("HEAD").is_file();
        return (whole && same(own.join(back.trim()), &worktree.join(".git").canonicalize().ok()?)).then_some(common);
    }
    // A submodule: its settings name the work tree.
    let settings = pointer(&own.join("config"))?;
    let back =
        settings.lines().find_map(|line| line.trim().strip_prefix("worktree")?.trim_start().strip_prefix('='))?;
    (own.join("HEAD").is_file() && same(own.join(back.trim().trim_matches('"')), worktree)).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(top: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
            fs::write(top.join(path), text.replace("TOP", top.to_str().unwrap())).unwrap();
        }
    }

    #[track_caller]
    fn check(files: &[(&str, &str)], want: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        put(&top, files);
        assert_eq!(of(&top.join("tree")), want.map(|want| top.join(want)));
    }

    #[test]
    fn an_added_work_tree_has_the_repository_that_knows_it() {
        let there: &[(&str, &str)] = &[
            ("tree/.git", "gitdir: TOP/main/.git/worktrees/tree\n"),
            ("main/.git/worktrees/tree/gitdir", "TOP/tree/.git\n"),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("main/.git/HEAD", "ref: refs/heads/main\n"),
        ];
        check(there, Some("main/.git"));
        let elsewhere =
            [there, &[("main/.git/worktrees/tree/gitdir", "TOP/other/.git\n"), ("other/.git", "")]].concat();
        check(&elsewhere, None);
        let anything = [there, &[("main/.git/worktrees/tree/commondir", "../../..\n")]].concat();
        check(&anything, None);
    }

    #[test]
    fn a_submodule_has_the_repository_that_names_it() {
        let there: &[(&str, &str)] = &[
            ("tree/.git", "gitdir: ../.git/modules/tree\n"),
            (".git/modules/tree/config", "[core]\n\tbare = false\n\tworktree = ../../../tree\n"),
            (".git/modules/tree/HEAD", "x"),
        ];
        check(there, Some(".git/modules/tree"));
        check(&[there, &[(".git/modules/tree/config", "[core]\n\tworktree = ../../../other\n")]].concat(), None);
    }

    #[test]
    fn a_file_that_points_anywhere_else_is_not_believed() {
        check(&[("tree/.git", "gitdir: TOP/home\n"), ("home/HEAD", ""), ("home/config", "")], None);
        check(&[("tree/.git", "gitdir: /\n")], None);
        check(&[("tree/.git", "nothing")], None);
        check(&[("tree/.git/HEAD", "")], None);
        check(&[("tree/x", "")], None);
    }
}
