use std::fs;

use haft_permission::Asker;
use haft_project::{Planned, Recorder, Standing};
use haft_protocol::{AskedBy, Clock, MessageId, SessionId};
use haft_snapshot::{Change, Hash, Keep, State};

use super::Snapshots;

struct Scene {
    folder: tempfile::TempDir,
    session: SessionId,
    message: MessageId,
}

impl Scene {
    fn new() -> Self {
        let clock = Clock::scripted(1);
        let folder = tempfile::tempdir().unwrap();
        Self { folder, session: clock.mint(), message: clock.mint() }
    }

    /// As a process that starts sees it.
    fn snapshots(&self) -> Snapshots {
        let at = |name: &str| self.folder.path().join(name);
        Snapshots::new(Keep::new(at("keep")), at("pending"))
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn asker(&self, call: &str) -> Asker {
        let call = Some(AskedBy { message_id: self.message.clone(), call_id: call.to_owned() });
        Asker { session: self.session.clone(), call }
    }

    /// Announces that `call` writes `text`, writes it, and says so, as far as `until` goes.
    fn write(&self, snapshots: &Snapshots, call: &str, name: &str, text: Option<&str>, until: Until) {
        let path = self.path(name);
        let planned = Planned { path: &path, before: Standing::at(&path), after: text.map(str::as_bytes) };
        let announced = snapshots.before_files(&self.asker(call), vec![planned]);
        if until == Until::Announced {
            return;
        }
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        if until == Until::Said {
            snapshots.after_files(announced, true, vec![Standing::at(&path)]);
        }
    }

    /// The changes of a list as `NAME BEFORE AFTER`.
    fn told(&self, snapshots: &Snapshots, hash: &Hash) -> Vec<String> {
        let text = |state: &State| match state {
            State::Absent => "-".to_owned(),
            State::File { content, .. } => String::from_utf8(snapshots.keep().get(content).unwrap()).unwrap(),
            State::Link { .. } => "link".to_owned(),
            State::Folder { .. } => "folder".to_owned(),
            State::Unkept { why } => format!("unkept: {why}"),
        };
        let told = |change: Change| {
            format!("{} {} {}", change.path.file_name().unwrap().display(), text(&change.before), text(&change.after))
        };
        snapshots.keep().changes(hash).unwrap().into_iter().map(told).collect()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Until {
    Announced,
    Written,
    Said,
}

#[test]
fn what_a_call_changed_is_handed_out_as_one_list() {
    let scene = Scene::new();
    let snapshots = scene.snapshots();
    fs::write(scene.path("a"), "1").unwrap();
    for text in ["2", "3"] {
        scene.write(&snapshots, "one", "a", Some(text), Until::Said);
    }
    scene.write(&snapshots, "one", "b", Some("new"), Until::Said);
    scene.write(&snapshots, "other", "a", None, Until::Said);
    let one = snapshots.take(&scene.session, &scene.message, "one").unwrap();
    assert_eq!(scene.told(&snapshots, &one.hash), ["a 1 3", "b - new"]);
    assert_eq!(one.files, [scene.path("a"), scene.path("b")]);
    assert_eq!(snapshots.take(&scene.session, &scene.message, "one"), None);
    let other = snapshots.take_all(&scene.session).pop().unwrap();
    assert_eq!(scene.told(&snapshots, &other.hash), ["a 3 -"]);
    assert_eq!(other.by.unwrap().call_id, "other");
}

#[test]
fn what_a_program_made_of_a_file_that_the_call_wrote_is_the_calls() {
    let scene = Scene::new();
    let snapshots = scene.snapshots();
    fs::write(scene.path("a"), "1").unwrap();
    fs::write(scene.path("b"), "other").unwrap();
    scene.write(&snapshots, "one", "a", Some("2"), Until::Said);
    let reworked = |call: &str, name: &str| {
        let path = scene.path(name);
        snapshots.reworked(&scene.asker(call), &path, Standing::at(&path));
    };
    fs::write(scene.path("a"), "2 tidy").unwrap();
    reworked("one", "a");
    // Told twice it is the same; what the call had not written, or another call has, is not its own.
    reworked("one", "a");
    reworked("one", "b");
    reworked("other", "a");
    fs::remove_file(scene.path("a")).unwrap();
    reworked("one", "a");
    scene.write(&snapshots, "one", "a", Some("3"), Until::Said);
    let one = snapshots.take(&scene.session, &scene.message, "one").unwrap();
    assert_eq!(scene.told(&snapshots, &one.hash), ["a 1 3"]);
    assert_eq!(snapshots.take_all(&scene.session), []);
}

#[test]
fn what_comes_to_nothing_is_no_change() {
    let scene = Scene::new();
    let snapshots = scene.snapshots();
    scene.write(&snapshots, "one", "a", Some("1"), Until::Said);
    scene.write(&snapshots, "one", "a", None, Until::Said);
    assert_eq!(snapshots.take(&scene.session, &scene.message, "one"), None);
    assert_eq!(scene.snapshots().settle(&scene.session, &[], &[]), []);
}

#[test]
fn what_a_killed_process_left_is_settled() {
    for (until, meanwhile, want) in [
        (Until::Announced, None, None),
        (Until::Written, None, Some("a 1 2")),
        (Until::Said, None, Some("a 1 2")),
        // Undoing it will find that the file is not what the agent left.
        (Until::Written, Some("user"), Some("a 1 2")),
        (Until::Announced, Some("user"), Some("a 1 2")),
    ] {
        let scene = Scene::new();
        fs::write(scene.path("a"), "1").unwrap();
        scene.write(&scene.snapshots(), "one", "a", Some("2"), until);
        if let Some(text) = meanwhile {
            fs::write(scene.path("a"), text).unwrap();
        }
        let snapshots = scene.snapshots();
        let left = snapshots.settle(&scene.session, &[], &[]);
        let told: Vec<String> = left.iter().flat_map(|left| scene.told(&snapshots, &left.hash)).collect();
        assert_eq!(told.first().map(String::as_str), want);
        assert!(told.len() < 2);
        // It is handed out until the session remembers it.
        assert_eq!(scene.snapshots().settle(&scene.session, &[], &[]), left);
        left.iter().for_each(|left| snapshots.stored(&scene.session, &left.hash));
        assert_eq!(scene.snapshots().settle(&scene.session, &[], &[]), []);
    }
}

#[test]
fn a_line_that_was_cut_off_is_no_change() {
    let scene = Scene::new();
    scene.write(&scene.snapshots(), "one", "a", Some("1"), Until::Said);
    let file = fs::read_dir(scene.folder.path().join("pending")).unwrap().next().unwrap().unwrap().path();
    let mut text = fs::read(&file).unwrap();
    text.extend_from_within(..text.len() / 2);
    fs::write(&file, text).unwrap();
    assert_eq!(scene.snapshots().settle(&scene.session, &[], &[]).len(), 1);
}

#[test]
fn what_cannot_be_kept_is_said_to_be_not_kept() {
    let scene = Scene::new();
    let keep = Keep::with_quota(scene.folder.path().join("keep"), 0);
    let snapshots = Snapshots::new(keep, scene.folder.path().join("pending"));
    scene.write(&snapshots, "one", "a", Some("1"), Until::Said);
    let list = snapshots.take(&scene.session, &scene.message, "one").unwrap();
    let [change] = snapshots.keep().changes(&list.hash).unwrap().try_into().unwrap();
    assert_eq!(change.before, State::Absent);
    assert!(matches!(change.after, State::Unkept { why } if why.contains("snapshot.quota")));
}

#[test]
fn what_was_half_written_goes_and_nothing_that_only_has_such_a_name() {
    let scene = Scene::new();
    fs::write(scene.path("a"), "old words").unwrap();
    scene.write(&scene.snapshots(), "one", "a", Some("new words"), Until::Announced);
    let name = |number: u32| format!(".haft-{number:016x}.tmp");
    let rows = [
        (name(1), "old words", true),
        (name(2), "new words", true),
        (name(3), "new w", true),
        (name(4), "", true),
        (name(5), "old w", false),
        (name(6), "mine", false),
        ("notes.tmp".to_owned(), "new words", false),
        (".haft-1.tmp".to_owned(), "new words", false),
    ];
    for (name, text, _) in &rows {
        fs::write(scene.path(name), text).unwrap();
    }
    std::os::unix::fs::symlink(scene.path("a"), scene.path(&name(7))).unwrap();
    // Nobody else's session is asked about.
    scene.snapshots().settle(&Clock::scripted(9).mint(), &[], &[]);
    assert!(rows.iter().all(|(name, ..)| scene.path(name).exists()));
    scene.snapshots().settle(&scene.session, &[], &[]);
    for (name, text, goes) in &rows {
        assert_eq!(scene.path(name).exists(), !goes, "{name} {text}");
    }
    assert!(scene.path(&name(7)).is_symlink());
}

#[test]
fn what_was_half_taken_back_goes_too() {
    let scene = Scene::new();
    fs::write(scene.path("a"), "new").unwrap();
    let snapshots = scene.snapshots();
    let file = |text: &str| {
        let content = snapshots.keep().put(text.as_bytes()).unwrap();
        State::File { content, size: text.len() as u64, mode: 0o644 }
    };
    let link = State::Link { to: snapshots.keep().put(b"nowhere").unwrap() };
    let changes = vec![
        Change::new(scene.path("a"), file("new"), file("old words")),
        Change::new(scene.path("l"), State::Absent, link),
    ];
    let name = |number: u32| scene.path(&format!(".haft-{number:016x}.tmp"));
    // Killed in the middle: nothing that would be done at the end of it is done.
    let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        snapshots.rewinding(&scene.session, changes, || {
            fs::write(name(1), "old wo").unwrap();
            std::os::unix::fs::symlink("nowhere", name(2)).unwrap();
            std::os::unix::fs::symlink("mine", name(3)).unwrap();
            panic!("killed");
        })
    }));
    assert!(killed.is_err());
    let again = scene.snapshots();
    assert_eq!(again.settle(&scene.session, &[], &[]), [], "the session itself knows what is taken back");
    assert_eq!([1, 2, 3].map(|number| name(number).is_symlink() || name(number).exists()), [false, false, true]);
    assert_eq!(fs::read_dir(scene.folder.path().join("pending")).unwrap().count(), 0);
    again.rewinding(&scene.session, Vec::new(), || ());
    assert_eq!(fs::read_dir(scene.folder.path().join("pending")).unwrap().count(), 0);
}

#[test]
fn what_sessions_left_that_nobody_opens_goes_when_it_is_old_and_in_the_same_tree() {
    let scene = Scene::new();
    scene.write(&scene.snapshots(), "one", "a", Some("new words"), Until::Announced);
    let name = scene.path(&format!(".haft-{:016x}.tmp", 1));
    fs::write(&name, "new w").unwrap();
    let at = |name: &str| scene.folder.path().canonicalize().unwrap().join(name);
    let works_in = |root: &str| {
        let ground = crate::Ground { root: at(root), ..crate::Ground::default() };
        Snapshots::with_commands(Keep::new(at("keep")), at("pending"), ground)
    };
    let age = std::time::Duration::from_secs(600);
    works_in("").sweep_left(age);
    assert!(name.exists(), "somebody may be writing it");
    let old = std::time::SystemTime::now() - 2 * age;
    fs::File::options().append(true).open(&name).unwrap().set_modified(old).unwrap();
    works_in("elsewhere").sweep_left(age);
    assert!(name.exists(), "it is another tree's");
    works_in("").sweep_left(age);
    assert!(!name.exists());
    // What was announced is still settled by whoever opens the session.
    fs::write(scene.path("a"), "new words").unwrap();
    assert_eq!(scene.snapshots().settle(&scene.session, &[], &[]).len(), 1);
}

#[test]
fn a_write_that_failed_is_not_blamed_for_what_somebody_else_wrote() {
    let scene = Scene::new();
    let snapshots = scene.snapshots();
    fs::write(scene.path("a"), "1").unwrap();
    let path = scene.path("a");
    let planned = Planned { path: &path, before: Standing::at(&path), after: Some(b"2") };
    let announced = snapshots.before_files(&scene.asker("one"), vec![planned]);
    fs::write(&path, "user").unwrap();
    snapshots.after_files(announced, false, vec![Standing::at(&path)]);
    assert_eq!(snapshots.take(&scene.session, &scene.message, "one"), None);
    // And one that worked not for what came right after it.
    let planned = Planned { path: &path, before: Standing::at(&path), after: Some(b"2") };
    let announced = snapshots.before_files(&scene.asker("two"), vec![planned]);
    fs::remove_file(&path).unwrap();
    snapshots.after_files(announced, true, vec![Standing::at(&path)]);
    let two = snapshots.take(&scene.session, &scene.message, "two").unwrap();
    assert_eq!(scene.told(&snapshots, &two.hash), ["a user 2"]);
}

#[test]
fn no_announcement_is_lost_while_another_call_of_the_session_is_remembered() {
    let scene = Scene::new();
    let snapshots = scene.snapshots();
    // One call after the other is remembered, which writes the file anew or takes it away, while others are announced.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..300 {
                let call = format!("remembered-{number}");
                scene.write(&snapshots, &call, &format!("r{number}"), Some("x"), Until::Said);
                let taken = snapshots.take(&scene.session, &scene.message, &call).unwrap();
                snapshots.stored(&scene.session, &taken.hash);
            }
        });
        for number in 0..300 {
            scene.write(&snapshots, "announced", &format!("a{number}"), Some("x"), Until::Written);
        }
    });
    // As it is after a kill.
    let settled = scene.snapshots().settle(&scene.session, &[], &[]);
    assert_eq!(settled.iter().map(|recorded| recorded.files.len()).sum::<usize>(), 300);
}
