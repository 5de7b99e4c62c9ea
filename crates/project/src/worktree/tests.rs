use std::process::Command;

use super::*;

struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    /// A repository whose commit has `files`.
    fn with(files: &[(&str, &str)]) -> Self {
        let ground = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(ground.top()).unwrap();
        ground.git(&["init", "-q"]);
        for (name, text) in files {
            ground.put(&ground.top(), name, text);
        }
        ground.git(&["add", "."]);
        ground.git(&["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first"]);
        ground
    }

    fn top(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("top")
    }

    fn git(&self, args: &[&str]) {
        assert!(Command::new("git").arg("-C").arg(self.top()).args(args).status().unwrap().success(), "{args:?}");
    }

    fn put(&self, top: &Path, name: &str, text: &str) {
        let path = top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn tree(&self, name: &str) -> Worktree {
        Worktree::add(&self.top(), &self.folder.path().join("trees"), name).unwrap()
    }
}

fn lines(changed: &[(usize, &str)]) -> String {
    let line =
        |at: usize| changed.iter().find(|(n, _)| *n == at).map_or(at.to_string(), |(_, text)| (*text).to_owned());
    (0..20).map(|at| line(at) + "\n").collect()
}

#[test]
fn each_file_is_merged_with_what_stands_in_the_project() {
    let plain = lines(&[]);
    let names = ["same", "theirs", "both", "apart", "gone", "gone-here", "gone-both"];
    let ground = Ground::with(&names.map(|name| (name, plain.as_str())));
    let tree = ground.tree("one");
    assert_eq!(tree.merge().unwrap(), Merge::default());
    let (top, there) = (ground.top(), tree.path().to_owned());
    ground.put(&there, "theirs", &lines(&[(1, "x")]));
    ground.put(&there, "sub/new", "new\n");
    ground.put(&there, "both", &lines(&[(1, "x")]));
    ground.put(&top, "both", &lines(&[(18, "y")]));
    ground.put(&there, "apart", &lines(&[(1, "x")]));
    ground.put(&top, "apart", &lines(&[(1, "y")]));
    std::fs::remove_file(there.join("gone")).unwrap();
    std::fs::remove_file(there.join("gone-here")).unwrap();
    ground.put(&top, "gone-here", &lines(&[(3, "y")]));
    for top in [&top, &there] {
        std::fs::remove_file(top.join("gone-both")).unwrap();
    }
    ground.put(&there, "raw", "a\u{0}b");
    let Merge { take, conflicts } = tree.merge().unwrap();
    let take: Vec<_> = take.iter().map(|(path, text)| (path.to_str().unwrap(), text.as_deref())).collect();
    let both = lines(&[(1, "x"), (18, "y")]);
    let theirs = lines(&[(1, "x")]);
    let want = [("both", Some(&*both)), ("gone", None), ("sub/new", Some("new\n")), ("theirs", Some(&*theirs))];
    assert_eq!(take, want);
    let conflicts: Vec<_> = conflicts.iter().map(|(path, why)| (path.to_str().unwrap(), why.as_str())).collect();
    let want = [
        ("apart", "both changed the same lines"),
        ("gone-here", "it was removed, and changed in the project"),
        ("raw", "it is no text, so it is not carried over"),
    ];
    assert_eq!(conflicts, want);
    // What was committed there counts too.
    let commit = ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qam", "second"];
    assert!(Command::new("git").arg("-C").arg(&there).args(commit).status().unwrap().success());
    assert_eq!(tree.merge().unwrap().take.len(), 4);
    tree.remove().unwrap();
    assert!(!there.exists() && top.join("apart").exists());
}

#[test]
fn one_that_stands_is_found_again_with_what_it_began_with() {
    let ground = Ground::with(&[("a", "1\n")]);
    ground.put(&ground.top(), "a", "2\n");
    let (folder, tree) = (ground.folder.path().join("trees"), ground.tree("one"));
    ground.put(tree.path(), "a", "3\n");
    let again = Worktree::standing(&ground.top(), &folder, "one").unwrap().unwrap();
    assert_eq!(again.merge().unwrap(), tree.merge().unwrap());
    assert_eq!(again.changed().unwrap(), [PathBuf::from("a")]);
    assert!(Worktree::standing(&ground.top(), &folder, "other").unwrap().is_none());
    // A folder that only looks like one, and one that was put in its place.
    std::fs::create_dir(folder.join("other")).unwrap();
    assert!(Worktree::standing(&ground.top(), &folder, "other").unwrap().is_none());
    again.remove().unwrap();
    assert!(Worktree::standing(&ground.top(), &folder, "one").unwrap().is_none());
}

#[test]
fn what_its_git_file_is_made_to_say_counts_for_nothing() {
    let ground = Ground::with(&[("a", "1\n")]);
    let other = Ground::with(&[("b", "1\n")]);
    let tree = ground.tree("one");
    ground.put(tree.path(), "a", "2\n");
    std::fs::write(tree.path().join(".git"), format!("gitdir: {}\n", other.top().join(".git").display())).unwrap();
    assert_eq!(tree.changed().unwrap(), [PathBuf::from("a")]);
}

#[test]
fn nothing_of_the_repositorys_is_run() {
    let ground = Ground::with(&[("a", "a\n"), (".gitattributes", "* filter=evil diff=evil\n")]);
    let ran = ground.folder.path().join("ran");
    let run = format!("touch {}; cat", ran.display());
    for key in ["filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.command", "core.fsmonitor"]
    {
        ground.git(&["config", key, &run]);
    }
    ground.git(&["config", "filter.evil.required", "true"]);
    for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
        let path = ground.top().join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{run}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    }
    let tree = ground.tree("one");
    ground.put(tree.path(), "a", "b\n");
    assert_eq!(tree.merge().unwrap().take, [(PathBuf::from("a"), Some("b\n".to_owned()))]);
    tree.remove().unwrap();
    assert!(!ran.exists());
}

#[test]
fn there_are_bounds_and_what_is_old_goes() {
    let ground = Ground::with(&[("a", "a\n")]);
    let folder = ground.folder.path().join("trees");
    for n in 0..MAX_TREES {
        std::fs::create_dir_all(folder.join(n.to_string())).unwrap();
    }
    let error = Worktree::add(&ground.top(), &folder, "x").unwrap_err().to_string();
    assert!(error.starts_with("32 work trees stand in "), "{error}");
    let old = SystemTime::now() - 2 * OLD;
    std::fs::File::open(folder.join("3")).unwrap().set_modified(old).unwrap();
    let tree = Worktree::add(&ground.top(), &folder, "x").unwrap();
    assert!(!folder.join("3").exists() && tree.path().join("a").exists());
}

#[test]
fn without_a_commit_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let error = Worktree::add(folder.path(), &folder.path().join("trees"), "x").unwrap_err().to_string();
    assert!(error.contains("has no commit yet"), "{error}");
}
