use std::fs;
use std::sync::mpsc::channel;

use super::*;

#[test]
fn what_became_of_a_file_is_told_from_what_was_known() {
    let mut known = Known::default();
    let mut row = |path: &str, is_there: bool, want: Option<Happened>| {
        assert_eq!(known.now(Path::new(path), is_there), want, "{path} {is_there}");
    };
    row("/a", false, None);
    row("/a", true, Some(Happened::Added));
    row("/a", true, Some(Happened::Changed));
    row("/b", true, Some(Happened::Added));
    row("/a", false, Some(Happened::Removed));
    row("/a", false, None);
    row("/a", true, Some(Happened::Added));
}

#[test]
fn everything_is_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    for (root, home) in [(Path::new("/"), None), (&*home, Some(&*home)), (folder.path(), Some(&*home))] {
        let refused = Watcher::start(root, home, &[], |_, _| {}).unwrap_err();
        assert!(matches!(refused, NotWatched::TooMuch(_)), "{refused}");
    }
    let bad = Watcher::start(folder.path(), None, &["a{b".to_owned()], |_, _| {});
    assert!(matches!(bad, Err(NotWatched::Pattern(_))), "{bad:?}");
}

#[test]
fn who_watches_hears_of_files_that_count() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["src", "target", ".git", "own"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join(".gitignore"), "target\n").unwrap();
    fs::write(root.join("src/old"), "1").unwrap();
    let (told, heard) = channel();
    let tell = move |path: &Path, happened| drop(told.send((path.to_owned(), happened)));
    let watcher = Watcher::start(&root, None, &["own".to_owned(), "*.log".to_owned()], tell).unwrap();
    // Done again until it is heard: from the first time on all folders are watched.
    let wait = |name: &str, want: Happened, work: &dyn Fn(&Path)| loop {
        work(&root.join(name));
        while let Ok((path, happened)) = heard.recv_timeout(Duration::from_millis(200)) {
            let named = path.strip_prefix(&root).unwrap();
            let is_quiet = named.starts_with("quiet") || named.to_str().unwrap().contains(".haft-");
            assert!(!is_quiet && path.file_stem() != Some("quiet".as_ref()), "{} was told of", path.display());
            if named == Path::new(name) && happened == want {
                return;
            }
        }
    };
    let write = |path: &Path| fs::write(path, "x").unwrap();
    wait("first", Happened::Changed, &write);
    for name in ["target/quiet", ".git/quiet", "own/quiet", "src/quiet.log", ".haft-0123456789abcdef.tmp"] {
        fs::write(root.join(name), "x").unwrap();
    }
    wait("src/old", Happened::Changed, &write);
    wait("src/new", Happened::Added, &write);
    wait("src/new", Happened::Removed, &|path| drop(fs::remove_file(path)));
    // What takes the place of a file is a change of it.
    let replace = |path: &Path| {
        fs::write(root.join(".haft-0123456789abcdef.tmp"), "y").unwrap();
        fs::rename(root.join(".haft-0123456789abcdef.tmp"), path).unwrap();
    };
    wait("src/old", Happened::Changed, &replace);
    // Folders that are made are watched too, and what is in them by then is told of.
    fs::create_dir_all(root.join("deep/er")).unwrap();
    wait("deep/er/a", Happened::Added, &write);
    drop(watcher);
}
