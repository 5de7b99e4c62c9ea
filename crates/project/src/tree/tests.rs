use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

struct Scene {
    folder: tempfile::TempDir,
    tree: Tree<u32>,
}

impl Scene {
    /// Files as `NAME` or `NAME=TEXT`; a name that ends with `/` is a folder.
    fn new(files: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let tree = Tree::new(top.join("top"), Some(Path::new("/home/nobody")), vec![top.join("top/own")]).unwrap();
        fs::create_dir(top.join("top")).unwrap();
        let scene = Self { folder, tree };
        files.iter().for_each(|file| scene.put(file));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("top").join(name)
    }

    fn put(&self, file: &str) {
        let (name, text) = file.split_once('=').unwrap_or((file, ""));
        let path = self.path(name);
        if name.ends_with('/') {
            return fs::create_dir_all(path).unwrap();
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What a look tells: `+` for what is new, `-` for what is gone, `~` for what changed, `?` for what was not looked at.
    /// What is in doubt is not told.
    fn look(&mut self) -> Vec<String> {
        let top = self.path("");
        let mut look = self.tree.look().unwrap();
        if look.is_first {
            assert!(look.diffs.is_empty());
            look.diffs = (0..self.tree.places()).flat_map(|place| self.tree.found_in(place)).collect();
        }
        let told = look.diffs.iter().filter_map(|diff| {
            let sign = match (&diff.was, &diff.now) {
                (Was::Doubtful(..), _) => return None,
                (Was::Absent, Some(_)) => '+',
                (Was::Unknown, Some(_)) => '?',
                (Was::Seen(..), Some(_)) => '~',
                (_, None) => '-',
            };
            let name = diff.path.strip_prefix(&top).unwrap().display();
            let folder = diff.now.or(match &diff.was {
                Was::Seen(seen, _) => Some(*seen),
                _ => None,
            });
            Some(format!("{sign}{name}{}", if folder.unwrap().is_folder() { "/" } else { "" }))
        });
        told.collect()
    }

    /// What the first look tells, which has no order.
    fn first_look(&mut self) -> Vec<String> {
        let mut told = self.look();
        told.sort();
        told
    }
}

#[test]
fn each_change_is_told_once() {
    let mut scene =
        Scene::new(&["a", "dir/b", "dir/deep/c", ".gitignore=*.log\nout/\n", "x.log", "out/y", ".git/HEAD", "own/x"]);
    assert_eq!(scene.first_look(), ["?.gitignore", "?a", "?dir/b", "?dir/deep/c"]);
    assert_eq!(scene.look(), [""; 0]);
    scene.put("a=1");
    scene.put("dir/deep/new");
    scene.put("dir/other/new");
    scene.put("out/z");
    scene.put("z.log");
    symlink("a", scene.path("link")).unwrap();
    fs::remove_file(scene.path("dir/b")).unwrap();
    assert_eq!(scene.look(), ["~a", "-dir/b", "+dir/deep/new", "+dir/other/", "+dir/other/new", "+link"]);
    assert_eq!(scene.look(), [""; 0]);
    fs::remove_dir_all(scene.path("dir")).unwrap();
    scene.put("dir=file");
    let gone = ["-dir/deep/", "-dir/deep/c", "-dir/deep/new", "-dir/other/", "-dir/other/new"];
    assert_eq!(scene.look(), [&["~dir"], gone.as_slice()].concat());
    fs::remove_file(scene.path("dir")).unwrap();
    scene.put("dir/in");
    assert_eq!(scene.look(), ["~dir/", "+dir/in"]);
}

#[test]
fn a_folder_that_goes_goes_with_all_in_it() {
    let mut scene = Scene::new(&["dir/b", "dir/deep/c", "stays"]);
    scene.look();
    fs::remove_dir_all(scene.path("dir")).unwrap();
    assert_eq!(scene.look(), ["-dir/", "-dir/b", "-dir/deep/", "-dir/deep/c"]);
    fs::create_dir_all(scene.path("dir/deep")).unwrap();
    assert_eq!(scene.look(), ["+dir/", "+dir/deep/"]);
    fs::rename(scene.path("dir"), scene.path("moved")).unwrap();
    scene.put("moved/x");
    assert_eq!(scene.look(), ["-dir/", "-dir/deep/", "+moved/", "+moved/deep/", "+moved/x"]);
}

#[test]
fn what_was_ignored_is_not_new() {
    let mut scene = Scene::new(&[".gitignore=*.log\nout\n", "a.log", "b", "out/c", "dir/d.log"]);
    scene.look();
    scene.put(".gitignore=b\n");
    assert_eq!(scene.look(), ["~.gitignore", "?a.log", "?dir/d.log", "?out/c"]);
    // It is ignored now, and not gone.
    assert_eq!(scene.look(), [""; 0]);
    fs::remove_file(scene.path(".gitignore")).unwrap();
    assert_eq!(scene.look(), ["-.gitignore", "?b"]);
}

#[test]
fn what_is_written_beside_its_place_is_no_part_of_it() {
    let name = ".haft-0123456789abcdef.tmp";
    let mut scene = Scene::new(&["a", name, ".haft-notes.tmp"]);
    assert_eq!(scene.first_look(), ["?.haft-notes.tmp", "?a"]);
    fs::remove_file(scene.path(name)).unwrap();
    assert_eq!(scene.look(), [""; 0]);
    scene.put(name);
    assert_eq!(scene.look(), [""; 0]);
}

#[test]
fn modes_and_times_count() {
    let mut scene = Scene::new(&["a=1", "b=1"]);
    scene.look();
    fs::set_permissions(scene.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
    // The same size and the same time as before: only the system's own time tells.
    let time = Timespec { tv_sec: 1000, tv_nsec: 5 };
    fs::write(scene.path("b"), "2").unwrap();
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, scene.path("b"), &times, AtFlags::empty()).unwrap();
    assert_eq!(scene.look(), ["~a", "~b"]);
}

#[test]
fn what_is_known_of_a_file_lasts_until_it_changes() {
    let mut scene = Scene::new(&["a=1", "b=1"]);
    assert!(scene.tree.look().unwrap().is_first);
    for (number, diff) in (7..).zip(scene.tree.found_in(0)) {
        *scene.tree.source_mut(diff.spot.unwrap()).unwrap() = number;
    }
    scene.put("a=22");
    scene.put("c");
    let look = scene.tree.look().unwrap();
    let changed = look.diffs.iter().find(|diff| diff.path == scene.path("a")).unwrap();
    assert!(matches!(changed.was, Was::Seen(_, 7)));
    let mut known = Vec::new();
    scene.tree.each(|path, _, source| known.push((path.file_name().unwrap().to_owned(), *source)));
    known.sort();
    assert_eq!(known, [("a".into(), 0), ("b".into(), 8), ("c".into(), 0)]);
}

#[test]
fn special_files_are_no_part_of_it_and_links_are_not_followed() {
    let mut scene = Scene::new(&["dir/a"]);
    assert!(std::process::Command::new("mkfifo").arg(scene.path("pipe")).status().unwrap().success());
    symlink("/", scene.path("root")).unwrap();
    symlink("dir", scene.path("round")).unwrap();
    assert_eq!(scene.first_look(), ["?dir/a", "?root", "?round"]);
}

#[test]
fn what_was_in_a_folder_that_is_a_link_now_is_gone() {
    let mut scene = Scene::new(&["dir/a", "dir/deep/c", "dir/deep/er/d"]);
    scene.look();
    fs::rename(scene.path("dir"), scene.path("other")).unwrap();
    // All of it is still to be found under the old names, and stands elsewhere.
    symlink("other", scene.path("dir")).unwrap();
    let told = scene.look();
    assert_eq!(
        told,
        [
            "~dir",
            "-dir/a",
            "-dir/deep/",
            "-dir/deep/c",
            "-dir/deep/er/",
            "-dir/deep/er/d",
            "+other/",
            "+other/a",
            "+other/deep/",
            "+other/deep/c",
            "+other/deep/er/",
            "+other/deep/er/d",
        ]
    );
}

#[test]
fn a_home_and_what_is_too_large_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let home = top.join("home");
    for root in [Path::new("/"), &top, &home] {
        assert!(matches!(Tree::<u32>::new(root.to_owned(), Some(&home), vec![]), Err(Refused::Home(_))), "{root:?}");
    }
    assert!(Tree::<u32>::new(home.join("project"), Some(&home), vec![]).is_ok());
    let mut scene = Scene::new(&["a", "b", "c/d"]);
    scene.tree.max = 4;
    scene.look();
    scene.put("e");
    assert!(matches!(scene.tree.look(), Err(Refused::TooLarge(_))));
    fs::remove_dir_all(scene.path("")).unwrap();
    assert!(matches!(scene.tree.look(), Err(Refused::Unreadable(_))));
}

#[test]
#[cfg(target_os = "linux")]
fn silence_is_not_believed_where_a_file_has_another_name() {
    let mut scene = Scene::new(&["a", "dir/b"]);
    let other = scene.folder.path().join("other");
    fs::hard_link(scene.path("dir/b"), &other).unwrap();
    for _ in 0..3 {
        scene.look();
        assert!(!scene.tree.is_quiet());
    }
    fs::write(&other, "theirs").unwrap();
    assert_eq!(scene.look(), ["~dir/b"]);
    fs::remove_file(&other).unwrap();
    for _ in 0..3 {
        scene.look();
    }
    assert!(scene.tree.is_quiet());
}

#[test]
fn names_of_any_bytes_are_told() {
    let mut scene = Scene::new(&["a"]);
    scene.look();
    let name = OsStr::from_bytes(b"\xff\n\x1b");
    fs::write(scene.path("").join(name), "").unwrap();
    let look = scene.tree.look().unwrap();
    assert!(look.diffs.iter().any(|diff| diff.path.file_name() == Some(name) && diff.was == Was::Absent));
}

/// A way to change something.
#[cfg(target_os = "linux")]
type Change = fn(&Scene);

#[test]
#[cfg(target_os = "linux")]
fn silence_is_believed_and_every_change_is_heard() {
    let mut scene = Scene::new(&["a", "dir/b", "dir/deep/c"]);
    assert!(!scene.tree.is_quiet());
    scene.look();
    // The folders were not watched yet when they were looked at.
    assert!(!scene.tree.is_quiet());
    scene.look();
    assert!(scene.tree.is_quiet());
    let changes: [(&str, Change); 8] = [
        ("write", |scene| scene.put("dir/deep/c=1")),
        ("make", |scene| scene.put("dir/new")),
        ("remove", |scene| fs::remove_file(scene.path("a")).unwrap()),
        ("rename", |scene| fs::rename(scene.path("dir/b"), scene.path("b")).unwrap()),
        ("mode", |scene| fs::set_permissions(scene.path("b"), fs::Permissions::from_mode(0o600)).unwrap()),
        ("folder", |scene| scene.put("dir/x/")),
        ("in it", |scene| scene.put("dir/x/y")),
        ("again", |scene| {
            fs::remove_dir_all(scene.path("dir/x")).unwrap();
            scene.put("dir/x/z");
        }),
    ];
    for (name, change) in changes {
        change(&scene);
        assert!(!scene.tree.is_quiet(), "{name}");
        assert_ne!(scene.look(), [""; 0], "{name}");
        scene.look();
        assert!(scene.tree.is_quiet(), "{name}");
    }
    scene.put("dir/x/z=1");
    assert!(!scene.tree.is_quiet());
}

#[test]
fn a_folder_that_can_be_read_no_more_is_told_once_and_counts_as_it_was() {
    let mut scene = Scene::new(&["a", "dir/b=1"]);
    scene.look();
    let mode = |scene: &Scene, mode| fs::set_permissions(scene.path("dir"), fs::Permissions::from_mode(mode)).unwrap();
    mode(&scene, 0);
    // Who may do everything reads it all the same.
    let want = if fs::read_dir(scene.path("dir")).is_err() { vec![scene.path("dir")] } else { Vec::new() };
    let look = scene.tree.look().unwrap();
    assert!(look.diffs.iter().all(|diff| matches!(diff.was, Was::Doubtful(..))), "{look:?}");
    assert_eq!(look.unread, want);
    assert_eq!(scene.tree.look().unwrap().unread, [""; 0].map(PathBuf::from));
    mode(&scene, 0o755);
    scene.put("dir/b=22");
    assert_eq!(scene.look(), ["~dir/b"]);
}

fn git(scene: &Scene, args: &[&str]) {
    let done = std::process::Command::new("git").args(args).current_dir(scene.path("")).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn what_git_tracks_is_looked_at_though_it_is_ignored() {
    let mut scene = Scene::new(&[
        ".gitignore=out\n*.log\n",
        ".ignore=big\n",
        "a.log",
        "b.log",
        "big/a",
        "big/b",
        "out/a",
        "out/b",
        "out/none/c",
        "out/deep/in/d",
    ]);
    git(&scene, &["init", "-q"]);
    git(&scene, &["add", "-f", ".gitignore", ".ignore", "a.log", "big/a", "out/a", "out/deep"]);
    let found = scene.look();
    assert_eq!(found, ["?.gitignore", "?.ignore", "?a.log", "?big/a", "?out/a", "?out/deep/in/d"]);
    for name in ["a.log", "b.log", "big/a", "big/b", "out/a", "out/b", "out/new", "out/none/c", "out/deep/in/d"] {
        scene.put(&format!("{name}=changed"));
    }
    assert_eq!(scene.look(), ["~a.log", "~big/a", "~out/a", "~out/deep/in/d"]);
    // Tracked from now on, and there before.
    git(&scene, &["add", "-f", "b.log", "out/none"]);
    assert_eq!(scene.look(), ["?b.log", "?out/none/c"]);
    scene.put("new");
    assert_eq!(scene.look(), ["+new"]);
    git(&scene, &["rm", "-q", "--cached", "b.log"]);
    scene.put("b.log=more");
    assert_eq!(scene.look(), ["~b.log"], "for the last time");
    scene.put("b.log=and more");
    assert_eq!(scene.look(), [""; 0]);
    fs::remove_file(scene.path("out/a")).unwrap();
    fs::remove_dir_all(scene.path("big")).unwrap();
    assert_eq!(scene.look(), ["-big/", "-big/a", "-out/a"]);
}

#[test]
fn what_is_ignored_from_now_on_is_looked_at_once_more() {
    let mut scene = Scene::new(&["a", "b", "dir/c", "dir/d", "dir/deep/e", "gone/f", "x"]);
    scene.look();
    scene.put(".gitignore=a\nb\ndir\ngone\n");
    ["a=1", "dir/c=1", "dir/deep/e=1", "dir/new=1"].into_iter().for_each(|file| scene.put(file));
    fs::remove_dir_all(scene.path("gone")).unwrap();
    fs::remove_file(scene.path("dir/d")).unwrap();
    let want = ["+.gitignore", "~a", "~dir/c", "-dir/d", "~dir/deep/e", "-gone/", "-gone/f"];
    assert_eq!(scene.look(), want);
    ["a=22", "dir/c=22"].into_iter().for_each(|file| scene.put(file));
    assert_eq!(scene.look(), [""; 0]);
}
