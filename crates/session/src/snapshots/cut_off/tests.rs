use std::fs;
use std::process::Command;

use haft_permission::Asker;
use haft_project::Recorder;
use haft_protocol::{Clock, SessionId};
use haft_snapshot::Hash;

use super::super::around::MAX_LOOSE;
use super::super::{Recorded, Snapshots};
use super::*;

struct Scene {
    folder: tempfile::TempDir,
    session: SessionId,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap(), session: Clock::scripted(1).mint() };
        fs::create_dir(scene.at("top")).unwrap();
        scene
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.at("top").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// As a process that starts sees it.
    fn snapshots(&self, memory: bool) -> Snapshots {
        let memory = memory.then(|| self.at("trees/one.jsonl"));
        let ground = Ground { root: self.at("top"), memory, ..Ground::default() };
        Snapshots::with_commands(Keep::new(self.at("keep")), self.at("pending"), ground)
    }

    fn asker(&self) -> Asker {
        Asker { session: self.session.clone(), call: None }
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(self.at("top")).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        let done = git.output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Goes on when the file system's clock tells what happens now from what happened before.
    fn wait(&self) {
        let time = || {
            fs::write(self.at("probe"), "").unwrap();
            self.at("probe").metadata().unwrap().modified().unwrap()
        };
        let begun = time();
        while time() < begun + std::time::Duration::from_millis(25) {
            std::thread::yield_now();
        }
    }

    /// What is found of commands that were cut off, as `NAME BEFORE`.
    fn settled(&self, snapshots: &Snapshots) -> Vec<String> {
        let keep = snapshots.keep();
        let text = |hash: &Hash| String::from_utf8(keep.get(hash).unwrap()).unwrap();
        let told = |change: Change| {
            let before = match &change.before {
                State::Absent => "-".to_owned(),
                State::File { content, .. } => text(content),
                State::Link { to } => format!("@{}", text(to)),
                other => format!("{other:?}"),
            };
            assert!(matches!(&change.after, State::Unkept { why } if why.contains("nobody knows who")), "{change:?}");
            format!("{} {before}", change.path.strip_prefix(self.at("top")).unwrap().display())
        };
        let lists = snapshots.settle(&self.session, &[], &[]);
        lists.iter().flat_map(|list| keep.changes(&list.hash).unwrap()).map(told).collect()
    }
}

#[test]
fn what_was_there_when_a_command_began_that_was_cut_off_is_found_again() {
    for memory in [true, false] {
        let scene = Scene::new();
        for name in ["clean", "dirty", "removed", "same", "run"] {
            scene.put(name, "committed");
        }
        scene.put(".gitignore", "ignored\n");
        scene.wait();
        scene.git(&["init", "-q"]);
        scene.git(&["add", "."]);
        scene.git(&["commit", "-qm", "all"]);
        scene.wait();
        for (name, text) in [("dirty", "dirty"), ("mine", "mine"), ("lost", "lost"), ("dir/deep", "deep")] {
            scene.put(name, text);
        }
        scene.put("ignored", "1");
        scene.wait();
        scene.put("just now", "now");
        let snapshots = scene.snapshots(memory);
        snapshots.before_command(&scene.asker());
        // What a kill leaves nothing of: the command goes on by itself.
        drop(snapshots);
        for name in ["clean", "dirty", "mine", "just now", "new", "ignored"] {
            scene.put(name, "changed");
        }
        scene.put("same", "committed");
        for name in ["removed", "lost"] {
            fs::remove_file(scene.at("top").join(name)).unwrap();
        }
        fs::remove_dir_all(scene.at("top/dir")).unwrap();
        let want = [
            "clean committed",
            "dir/deep deep",
            "dirty dirty",
            "just now now",
            "lost lost",
            "mine mine",
            "new -",
            "removed committed",
        ];
        let mut settled = scene.settled(&scene.snapshots(memory));
        settled.sort();
        assert_eq!(settled, want, "{memory}");
        // It is looked for once: what comes later is not the command's.
        scene.put("later", "1");
        assert_eq!(scene.settled(&scene.snapshots(memory)).len(), want.len());
    }
}

#[test]
fn of_what_was_too_much_to_be_written_down_nothing_is_guessed() {
    let scene = Scene::new();
    scene.put("z", "committed");
    scene.git(&["init", "-q"]);
    scene.git(&["add", "."]);
    scene.git(&["commit", "-qm", "all"]);
    for number in 0..MAX_LOOSE {
        scene.put(&format!("{number:04}"), "mine");
    }
    scene.put("z", "mine");
    // Nobody but the command itself remembers anything.
    let snapshots = scene.snapshots(false);
    snapshots.before_command(&scene.asker());
    drop(snapshots);
    for name in ["0000", "new", "z"] {
        scene.put(name, "changed");
    }
    let unknown = State::unkept("it is not known what it was");
    let want = ["0000 mine".to_owned(), format!("new {unknown:?}"), format!("z {unknown:?}")];
    assert_eq!(scene.settled(&scene.snapshots(false)), want);
}

#[test]
fn what_was_gone_already_when_a_command_began_is_not_named() {
    for memory in [true, false] {
        let scene = Scene::new();
        scene.put("tracked", "committed");
        scene.put("deep/in/it", "committed");
        scene.git(&["init", "-q"]);
        scene.git(&["add", "."]);
        scene.git(&["commit", "-qm", "all"]);
        for name in ["mine", "stays", "made/one", "seen to go"] {
            scene.put(name, name);
        }
        scene.wait();
        let remove = |name: &str| fs::remove_file(scene.at("top").join(name)).unwrap();
        let snapshots = scene.snapshots(memory);
        snapshots.survey().unwrap().unwrap();
        remove("seen to go");
        snapshots.survey().unwrap().unwrap();
        drop(snapshots);
        // Nobody looks while these go.
        for name in ["tracked", "mine", "made/one", "deep/in/it"] {
            remove(name);
        }
        fs::remove_dir_all(scene.at("top/deep")).unwrap();
        let snapshots = scene.snapshots(memory);
        snapshots.before_command(&scene.asker());
        drop(snapshots);
        scene.put("stays", "changed");
        scene.put("made/one", "again");
        assert_eq!(scene.settled(&scene.snapshots(memory)), ["made/one -", "stays stays"], "{memory}");
    }
}

#[test]
fn what_came_back_before_a_command_began_and_went_with_it_is_named() {
    for memory in [true, false] {
        let scene = Scene::new();
        scene.put("tracked", "committed");
        scene.wait();
        scene.git(&["init", "-q"]);
        scene.git(&["add", "."]);
        scene.git(&["commit", "-qm", "all"]);
        fs::remove_file(scene.at("top/tracked")).unwrap();
        let snapshots = scene.snapshots(memory);
        snapshots.survey().unwrap().unwrap();
        scene.wait();
        scene.git(&["checkout", "-q", "tracked"]);
        scene.wait();
        // Git has doubts about what it wrote at the same time as its index.
        scene.git(&["update-index", "--refresh"]);
        snapshots.before_command(&scene.asker());
        drop(snapshots);
        fs::remove_file(scene.at("top/tracked")).unwrap();
        assert_eq!(scene.settled(&scene.snapshots(memory)), ["tracked committed"], "{memory}");
    }
}

#[test]
fn what_another_process_saw_to_be_gone_only_after_a_command_began_is_named() {
    let scene = Scene::new();
    scene.put("mine", "mine");
    scene.wait();
    let snapshots = scene.snapshots(true);
    snapshots.before_command(&scene.asker());
    fs::remove_file(scene.at("top/mine")).unwrap();
    scene.wait();
    scene.snapshots(true).survey().unwrap().unwrap();
    drop(snapshots);
    assert_eq!(scene.settled(&scene.snapshots(true)), ["mine mine"]);
}

#[test]
fn a_memory_that_is_shortened_meanwhile_still_tells_what_there_was() {
    let scene = Scene::new();
    scene.put("mine", "mine");
    scene.wait();
    let snapshots = scene.snapshots(true);
    snapshots.before_command(&scene.asker());
    let memory = scene.at("trees/one.jsonl");
    let line = fs::read_to_string(&memory).unwrap();
    fs::write(&memory, line.repeat(1100)).unwrap();
    scene.put("mine", "changed");
    scene.snapshots(true).survey().unwrap().unwrap();
    assert!(fs::read_to_string(&memory).unwrap().len() < 5 * line.len());
    drop(snapshots);
    assert_eq!(scene.settled(&scene.snapshots(true)), ["mine mine"]);
}

#[test]
fn a_command_that_ended_leaves_nothing_behind() {
    let scene = Scene::new();
    scene.put("a", "1");
    let snapshots = scene.snapshots(true);
    let number = snapshots.before_command(&scene.asker());
    snapshots.after_command(number, true);
    scene.put("a", "mine");
    assert_eq!(scene.settled(&scene.snapshots(true)), [""; 0]);
}

#[test]
fn what_is_as_somebody_was_seen_to_leave_it_is_not_named() {
    let scene = Scene::new();
    scene.put("a", "1");
    let snapshots = scene.snapshots(true);
    let job = snapshots.before_command(&scene.asker());
    scene.put("a", "2");
    snapshots.after_command(job, false);
    let told = snapshots.take_all(&scene.session);
    drop(snapshots);
    let next = scene.snapshots(true);
    let left = next.settle(&scene.session, &[told[0].hash], &[]);
    assert_eq!(left, told);
}

#[test]
fn what_was_seen_to_happen_is_not_judged_by_what_stands_there_now() {
    let scene = Scene::new();
    scene.put("a", "1");
    scene.wait();
    let snapshots = scene.snapshots(true);
    snapshots.before_command(&scene.asker());
    scene.put("a", "2");
    let second = snapshots.before_command(&scene.asker());
    scene.put("a", "1");
    snapshots.after_command(second, true);
    drop(snapshots);
    // It went there and back: there is nothing to take back.
    assert_eq!(scene.settled(&scene.snapshots(true)), [""; 0]);
}

#[test]
fn what_is_taken_back_while_a_command_runs_is_not_its_doing() {
    let scene = Scene::new();
    scene.put("a", "agent");
    scene.put("b", "agent");
    scene.wait();
    let snapshots = scene.snapshots(true);
    let keep = snapshots.keep();
    let file = |text: &str| State::File { content: keep.put(text.as_bytes()).unwrap(), size: 5, mode: 0o644 };
    let back = |name: &str| Change::new(scene.at("top").join(name), file("agent"), file("first"));
    let job = snapshots.before_command(&scene.asker());
    let other = Clock::scripted(99).mint();
    // One of them is not done, and then done by the command.
    snapshots.rewinding(&other, vec![back("a"), back("b")], || scene.put("a", "first"));
    scene.put("b", "other");
    snapshots.after_command(job, true);
    let told = snapshots.take_all(&scene.session);
    let changed: Vec<PathBuf> = told.into_iter().flat_map(|list| list.files).collect();
    assert_eq!(changed, [scene.at("top").join("b")]);
}

#[test]
fn what_another_session_did_meanwhile_is_not_named() {
    for is_stored in [false, true] {
        let scene = Scene::new();
        scene.put("a", "1");
        scene.put("b", "1");
        scene.wait();
        let snapshots = scene.snapshots(true);
        snapshots.before_command(&scene.asker());
        scene.put("a", "2");
        let other = Asker { session: Clock::scripted(99).mint(), call: None };
        let theirs = snapshots.before_command(&other);
        scene.put("b", "2");
        snapshots.after_command(theirs, true);
        let told = snapshots.take_all(&other.session);
        if is_stored {
            told.iter().for_each(|list| snapshots.stored(&other.session, &list.hash));
        }
        drop(snapshots);
        let beside: Vec<Hash> = told.iter().filter(|_| is_stored).map(|list| list.hash).collect();
        let next = scene.snapshots(true);
        assert!(next.was_cut_off(&scene.session));
        let left = next.settle(&scene.session, &[], &beside);
        let files = |lists: &[Recorded]| -> Vec<PathBuf> {
            lists.iter().flat_map(|list| list.files.clone()).map(|path| path.file_name().unwrap().into()).collect()
        };
        assert_eq!((files(&told), files(&left)), (vec!["b".into()], vec!["a".into()]), "{is_stored}");
        assert!(!next.was_cut_off(&scene.session));
    }
}

#[test]
fn what_nobody_had_looked_at_is_not_taken_for_new() {
    let scene = Scene::new();
    scene.put(".gitignore", "*.env\n");
    scene.put("my.env", "mine");
    scene.wait();
    let snapshots = scene.snapshots(true);
    snapshots.before_command(&scene.asker());
    drop(snapshots);
    fs::remove_file(scene.at("top/.gitignore")).unwrap();
    // By itself, and changed as well.
    scene.put("my.env", "changed");
    scene.put("new", "new");
    let unknown = "it is older than the command, and nobody looked at it before";
    let want = [format!("my.env Unkept {{ why: {unknown:?} }}"), "new -".to_owned(), ".gitignore *.env\n".to_owned()];
    assert_eq!(scene.settled(&scene.snapshots(true)), want);
}

#[test]
fn a_folder_in_the_place_of_a_file_is_found() {
    let scene = Scene::new();
    scene.put("a", "mine");
    scene.wait();
    let snapshots = scene.snapshots(true);
    snapshots.before_command(&scene.asker());
    drop(snapshots);
    fs::remove_file(scene.at("top/a")).unwrap();
    scene.put("a/b", "b");
    assert_eq!(scene.settled(&scene.snapshots(true)), ["a/b -", "a mine"]);
}

#[test]
fn without_a_memory_that_can_be_written_nothing_is_taken_for_new() {
    let scene = Scene::new();
    // Nothing can be written there.
    fs::write(scene.at("trees"), "").unwrap();
    scene.put("mine", "mine");
    scene.wait();
    let snapshots = scene.snapshots(true);
    snapshots.before_command(&scene.asker());
    drop(snapshots);
    scene.put("mine", "changed");
    let want = "mine Unkept { why: \"it is not known what it was\" }";
    assert_eq!(scene.settled(&scene.snapshots(true)), [want]);
}
