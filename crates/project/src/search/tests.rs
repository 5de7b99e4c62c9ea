//! Searches on temporary folders, and what hostile folders try.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, SystemTime};

use haft_permission::{Access, Action, Answerer, Asker, Effect, Gate, Rule};
use haft_protocol::Clock;

use super::*;
use crate::Located;

/// `base/project` and, beside it, `base/outside`.
struct Scene {
    base: tempfile::TempDir,
    files: Files,
}

fn scene() -> Scene {
    let base = tempfile::tempdir().unwrap();
    fs::create_dir(base.path().join("project")).unwrap();
    fs::create_dir(base.path().join("outside")).unwrap();
    let files = Files::new(base.path().join("project"), None);
    Scene { base, files }
}

async fn grant(effect: Effect) -> Grant {
    let clock = Clock::scripted(1);
    let asker = Asker { session: clock.mint(), call: None };
    let gate = Gate::new(clock, Answerer::Nobody, |_| {});
    let rules = vec![Rule::new("*", "*", Action::Allow)].into();
    gate.ask(&asker, &rules, Access::new("test", "*").with(effect)).await.unwrap()
}

impl Scene {
    fn at(&self, name: &str) -> PathBuf {
        self.base.path().join("project").join(name)
    }

    /// Writes files, the earlier ones of them newer.
    fn put(&self, files: &[(&str, &str)]) {
        for (age, (name, text)) in files.iter().enumerate() {
            let path = self.at(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age as u64);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
    }

    async fn target(&self, name: &str) -> (Target, Grant) {
        let Located::Inside(target) = self.files.locate(name).unwrap() else { panic!("{name} is outside") };
        let grant = grant(Effect::Read(target.path().to_owned())).await;
        (target, grant)
    }

    async fn try_find(&self, name: &str, find: Find) -> Result<FoundFiles, FilesError> {
        let (target, grant) = self.target(name).await;
        self.files.find(&grant, &target, find).await
    }

    /// Titles of what is found below `name`, joined.
    async fn find(&self, name: &str, pattern: &str) -> String {
        let names = Names::new(&self.files.root().join(name), pattern).unwrap();
        let found = self.try_find(name, Find { names: Some(names), ..newest(100) }).await.unwrap();
        assert_eq!(found.total, found.paths.len());
        self.titles(&found.paths)
    }

    fn titles(&self, paths: &[PathBuf]) -> String {
        paths.iter().map(|path| self.files.title(path)).collect::<Vec<_>>().join(" ")
    }

    async fn grep(&self, name: &str, grep: Grep) -> Matches {
        let (target, grant) = self.target(name).await;
        self.files.grep(&grant, &target, grep).await.unwrap()
    }

    /// What is found below `name`, one `TITLE:NUMBER` a line.
    async fn lines(&self, name: &str, pattern: &str) -> String {
        let matches = self.grep(name, grep(pattern, 100)).await;
        let lines = matches.files.iter().flat_map(|file| file.lines.iter().map(move |line| (&file.path, line.number)));
        lines.map(|(path, number)| format!("{}:{number}", self.files.title(path))).collect::<Vec<_>>().join(" ")
    }
}

fn newest(max: usize) -> Find {
    Find { names: None, left_out: Vec::new(), order: Order::Newest, max }
}

fn grep(pattern: &str, max: usize) -> Grep {
    let want = Want::Lines { context: 0 };
    Grep { pattern: LinePattern::new(pattern).unwrap(), names: None, may_read: Arc::new(|_| true), want, max }
}

#[tokio::test]
async fn files_come_newest_first_and_hidden_ones_too() {
    let scene = scene();
    scene.put(&[
        ("z.rs", ""),
        (".hidden/a.rs", ""),
        ("src/b.rs", ""),
        ("c.txt", ""),
        (".git/d.rs", ""),
        ("x/.git/e.rs", ""),
    ]);
    assert_eq!(scene.find("", "*.rs").await, "z.rs .hidden/a.rs src/b.rs");
    assert_eq!(scene.find("", "").await, "z.rs .hidden/a.rs src/b.rs c.txt");
    assert_eq!(scene.find("src", "*").await, "src/b.rs");
}

#[tokio::test]
async fn files_of_one_age_come_by_path() {
    let scene = scene();
    for name in ["b", "a", "c/a", "B"] {
        scene.put(&[(name, "")]);
    }
    assert_eq!(scene.find("", "").await, "B a b c/a");
}

#[tokio::test]
async fn no_more_are_given_than_wanted_and_all_are_counted() {
    let scene = scene();
    for number in 0..3000 {
        scene.put(&[(&format!("d{}/f{number:04}", number % 7), "x\n")]);
    }
    let found = scene.try_find("", newest(3)).await.unwrap();
    assert_eq!((found.total, scene.titles(&found.paths).as_str()), (3000, "d0/f0000 d0/f0007 d0/f0014"));
    let shallow = scene.try_find("", Find { order: Order::Shallowest, ..newest(2) }).await.unwrap();
    assert_eq!(scene.titles(&shallow.paths), "d0/f0000 d0/f0007");
    let matches = scene.grep("", grep("x", 2)).await;
    assert_eq!((matches.total, matches.files.len()), (3000, 2));
    assert_eq!(scene.files.title(&matches.files[1].path), "d0/f0007");
}

#[tokio::test]
async fn what_the_project_ignores_is_left_alone() {
    let scene = scene();
    scene.put(&[
        ("a.log", "x\n"),
        ("keep.log", "x\n"),
        ("target/b", "x\n"),
        ("src/c.tmp", "x\n"),
        ("src/target", "x\n"),
        ("src/d", "x\n"),
        ("other/c.tmp", "x\n"),
        (".gitignore", "*.log\n!keep.log\ntarget/\n"),
        ("src/.gitignore", "*.tmp\n"),
    ]);
    let want = "keep.log src/target src/d other/c.tmp .gitignore src/.gitignore";
    assert_eq!(scene.find("", "").await, want);
    assert_eq!(scene.lines("", "x").await, "keep.log:1 src/target:1 src/d:1 other/c.tmp:1");
    // What folders above say counts below them, and a folder that is named is searched although it is ignored.
    scene.put(&[("src/e.log", "")]);
    assert_eq!(scene.find("src", "*.log").await, "");
    assert_eq!(scene.find("target", "").await, "target/b");
}

#[tokio::test]
async fn an_ignore_file_brings_back_what_a_gitignore_hides() {
    let scene = scene();
    scene.put(&[
        ("build/a", "x\n"),
        ("b.log", "x\n"),
        ("c.log", "x\n"),
        ("d", "x\n"),
        (".gitignore", "build/\n*.log\n"),
        (".ignore", "!build/\n!b.log\nd\n"),
    ]);
    assert_eq!(scene.lines("", "x").await, "build/a:1 b.log:1");
    assert_eq!(scene.find("", "*").await, "build/a b.log .gitignore .ignore");
}

#[tokio::test]
async fn a_list_for_searches_alone_has_the_first_word() {
    let scene = scene();
    scene.put(&[
        ("a.log", "x\n"),
        ("b.log", "x\n"),
        ("c", "x\n"),
        ("sub/c", "x\n"),
        (".gitignore", "*.log\n"),
        (".ignore", "!*.log\n"),
        (".rgignore", "b.log\nc\n"),
        ("sub/.ignore", "!c\n"),
    ]);
    assert_eq!(scene.lines("", "x").await, "a.log:1");
    assert_eq!(scene.lines("sub", "x").await, "");
}

#[tokio::test]
async fn of_files_with_matches_so_many_are_named_and_all_counted() {
    let scene = scene();
    scene.put(&[("a", "x\nx\n"), ("b", "y\n"), ("c", "x\n"), ("d", "x\nx\nx\n")]);
    let found = |want: Want| Grep { want, ..grep("x", 2) };
    let counts = scene.grep("", found(Want::Counts)).await;
    let by_file: Vec<usize> = counts.files.iter().map(|file| file.count).collect();
    assert_eq!((by_file.as_slice(), counts.total, counts.in_files), (&[2, 1][..], 6, 3));
    let names = scene.grep("", found(Want::Names)).await;
    let paths: Vec<PathBuf> = names.files.into_iter().map(|file| file.path).collect();
    assert_eq!((scene.titles(&paths).as_str(), names.total, names.in_files), ("a c", 3, 3));
}

#[tokio::test]
async fn a_repository_inside_answers_to_nobody_above() {
    let scene = scene();
    scene.put(&[
        ("sub/a.log", ""),
        ("sub/b.tmp", ""),
        ("sub/.git/info/exclude", "*.tmp\n"),
        (".gitignore", "*.log\n"),
        ("c.tmp", ""),
    ]);
    assert_eq!(scene.find("", "").await, "sub/a.log .gitignore c.tmp");
    assert_eq!(scene.find("sub", "").await, "sub/a.log");
}

#[tokio::test]
async fn patterns_of_the_caller_are_left_out() {
    let scene = scene();
    scene.put(&[("a.md", ""), ("dist/b", ""), ("src/dist/c", ""), ("d", "")]);
    let find =
        |left_out: &[&str]| Find { left_out: left_out.iter().map(|one| (*one).to_owned()).collect(), ..newest(9) };
    let found = scene.try_find("", find(&["*.md", "/dist/"])).await.unwrap();
    assert_eq!(scene.titles(&found.paths), "src/dist/c d");
    let error = scene.try_find("", find(&["{a"])).await.unwrap_err();
    assert!(error.to_string().contains("\"{a\" is no pattern"), "{error}");
}

#[tokio::test]
async fn deep_folders_are_gone_through_like_others() {
    let scene = scene();
    let names: Vec<String> = (0..60).map(|depth| format!("{}f{depth}", "d/".repeat(depth))).collect();
    scene.put(&names.iter().map(|name| (name.as_str(), "x\n")).collect::<Vec<_>>());
    assert_eq!(scene.find("", "").await, names.join(" "));
    let deep: Vec<String> = names.into_iter().filter(|name| name.ends_with('9')).collect();
    assert_eq!(scene.find("d/d", "*9").await, deep.join(" "));
}

#[tokio::test]
async fn links_are_not_followed() {
    let scene = scene();
    fs::write(scene.base.path().join("outside/secret"), "x\n").unwrap();
    scene.put(&[("a", "x\n")]);
    symlink("../outside", scene.at("dir")).unwrap();
    symlink("../outside/secret", scene.at("file")).unwrap();
    symlink(".", scene.at("round")).unwrap();
    assert_eq!(scene.find("", "").await, "a");
    assert_eq!(scene.lines("", "x").await, "a:1");
}

#[tokio::test]
async fn a_folder_that_turned_into_a_link_is_not_entered() {
    let scene = scene();
    fs::write(scene.base.path().join("outside/secret"), "x\n").unwrap();
    fs::create_dir(scene.at("dir")).unwrap();
    let (target, grant) = scene.target("dir").await;
    fs::remove_dir(scene.at("dir")).unwrap();
    symlink("../outside", scene.at("dir")).unwrap();
    assert!(matches!(scene.files.find(&grant, &target, newest(9)).await, Err(FilesError::Link { .. })));
    assert!(matches!(scene.files.grep(&grant, &target, grep("x", 9)).await, Err(FilesError::Link { .. })));
    let stop = AtomicBool::new(false);
    let find = newest(9);
    let visit = Finding::new(target.path(), &find);
    let walked = scene.files.walk(target.path(), &Gitignore::empty(), &stop, &visit);
    assert_eq!((walked.unread, visit.found(walked).total), (1, 0));
}

#[tokio::test]
async fn rules_in_pipes_devices_and_links_are_none() {
    let scene = scene();
    scene.put(&[("a", "x\n"), ("sub/b", "x\n"), ("other/c", "x\n")]);
    for name in [".gitignore", "sub/.ignore"] {
        assert!(std::process::Command::new("mkfifo").arg(scene.at(name)).status().unwrap().success());
    }
    symlink("/dev/zero", scene.at("sub/.gitignore")).unwrap();
    fs::create_dir_all(scene.at("other/.gitignore")).unwrap();
    fs::write(scene.at("other/.git"), "gitdir: /dev/zero\n").unwrap();
    assert_eq!(scene.find("", "").await, "a b".replace('b', "sub/b") + " other/c");
    assert_eq!(scene.find("sub", "").await, "sub/b");
    assert_eq!(scene.lines("", "x").await, "a:1 sub/b:1 other/c:1");
}

#[tokio::test]
async fn files_that_may_not_be_read_are_counted_and_not_opened() {
    let scene = scene();
    scene.put(&[
        ("a", "key\n"),
        (".env", "key\n"),
        ("x/.env", "nothing\n"),
        ("y/.env", ""),
        ("z/.env", ""),
        ("b.env", "key\n"),
    ]);
    let names = |pattern: &str| Some(Names::new(scene.files.root(), pattern).unwrap());
    let careful = |pattern: &str| Grep {
        names: names(pattern),
        may_read: Arc::new(|title| !title.ends_with(".env")),
        ..grep("key", 9)
    };
    let matches = scene.grep("", careful("")).await;
    assert_eq!((matches.total, matches.files.len()), (1, 1));
    // Whether they match is not told either: the count is the same for every pattern.
    let titles = [".env", "b.env", "x/.env"].map(str::to_owned).to_vec();
    assert_eq!(matches.denied, SomeFiles { count: 5, titles });
    assert_eq!(scene.grep("", careful("b*")).await.denied.count, 1);
    let one = scene.grep("b.env", careful("")).await;
    assert_eq!((one.total, one.denied.count), (0, 1));
}

#[tokio::test]
async fn a_single_file_is_searched_whatever_it_is() {
    let scene = scene();
    scene.put(&[("a.log", "1\nx\n"), ("b", "x\n"), (".gitignore", "*.log\n")]);
    assert_eq!(scene.lines("a.log", "x").await, "a.log:2");
    let (target, grant) = scene.target("none").await;
    assert!(matches!(scene.files.grep(&grant, &target, grep("x", 9)).await, Err(FilesError::Missing { .. })));
    let (target, grant) = scene.target("a.log").await;
    assert!(matches!(scene.files.find(&grant, &target, newest(9)).await, Err(FilesError::NotAFolder { .. })));
}

#[tokio::test]
async fn a_search_wants_a_grant_for_its_folder() {
    let scene = scene();
    scene.put(&[("sub/a", "x\n")]);
    let (target, _) = scene.target("").await;
    let (_, other) = scene.target("sub").await;
    assert!(matches!(scene.files.find(&other, &target, newest(9)).await, Err(FilesError::NotGranted { .. })));
    assert!(matches!(scene.files.grep(&other, &target, grep("x", 9)).await, Err(FilesError::NotGranted { .. })));
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_is_told() {
    if rustix::process::geteuid().is_root() {
        // Root reads everything; the test above covers a folder that cannot be opened.
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let scene = scene();
    scene.put(&[("a", ""), ("shut/b", "")]);
    fs::set_permissions(scene.at("shut"), fs::Permissions::from_mode(0o000)).unwrap();
    let found = scene.try_find("", newest(9)).await.unwrap();
    fs::set_permissions(scene.at("shut"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!((found.total, found.gaps.folders), (1, 1));
}

#[test]
fn so_many_entries_are_looked_at_and_no_more() {
    let scene = scene();
    for number in 0..20 {
        scene.put(&[(&format!("d{}/{number}", number % 3), "")]);
    }
    let walked = |max_entries: usize| {
        let find = newest(100);
        let root = scene.files.root();
        let visit = Finding::new(root, &find);
        let stop = AtomicBool::new(false);
        let ignored = Ignored::everywhere(root);
        let walked = Walk { ignored, left_out: None, stop: &stop, max_entries }.run(root, &visit);
        (visit.found(walked).total, walked.complete)
    };
    assert_eq!(walked(23), (20, true));
    assert_eq!(walked(22), (19, false));
    assert_eq!(walked(3), (0, false));
}

/// Stops the search at its second file.
struct Stopping<'a> {
    stop: &'a AtomicBool,
    seen: AtomicUsize,
}

impl Visit for Stopping<'_> {
    type Worker = ();

    fn worker(&self) -> Self::Worker {}

    fn wants(&self, _path: &Path) -> bool {
        true
    }

    fn file(&self, _worker: &mut (), _dir: &OwnedFd, _name: &Path, _path: &Path) {
        if self.seen.fetch_add(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn end(&self, _worker: ()) {}
}

#[test]
fn a_stop_ends_a_walk_before_the_next_file() {
    let scene = scene();
    for number in 0..50 {
        scene.put(&[(&format!("d{}/{number}", number % 3), "")]);
    }
    let stop = AtomicBool::new(false);
    let visit = Stopping { stop: &stop, seen: AtomicUsize::new(0) };
    let walked = scene.files.walk(scene.files.root(), &Gitignore::empty(), &stop, &visit);
    assert_eq!((visit.seen.into_inner(), walked.complete), (2, false));
}

#[tokio::test]
async fn a_search_that_nobody_waits_for_is_stopped() {
    let (told, mut hears) = tokio::sync::oneshot::channel();
    let mut search = Box::pin(stoppable(move |stop| {
        while !stop.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let _ = told.send(());
    }));
    assert!(futures_poll(&mut search).is_pending());
    assert!(hears.try_recv().is_err());
    drop(search);
    hears.await.unwrap();
}

/// Polls once.
fn futures_poll<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}
