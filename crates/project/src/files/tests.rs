//! The doors on temporary folders, and what hostile folders try.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::reading::{PIECE, POURED};
use super::*;
use haft_permission::{Access, Action, Answerer, Asker, Effect, Gate, Rule, Rules};
use haft_protocol::Clock;

pub(super) struct Scene {
    pub(super) base: tempfile::TempDir,
    pub(super) files: Files,
}

/// `base/project` and, beside it, `base/outside/secret`.
pub(super) fn scene() -> Scene {
    let base = tempfile::tempdir().unwrap();
    fs::create_dir(base.path().join("project")).unwrap();
    fs::create_dir(base.path().join("outside")).unwrap();
    fs::write(base.path().join("outside/secret"), "secret").unwrap();
    let files = Files::new(base.path().join("project"), None);
    Scene { base, files }
}

pub(super) async fn grant(effect: Effect) -> Grant {
    let clock = Clock::scripted(1);
    let asker = Asker { session: clock.mint(), call: None };
    let gate = Gate::new(clock, Answerer::Nobody, |_| {});
    let rules = Rules::from(vec![Rule::new("*", "*", Action::Allow)]);
    gate.ask(&asker, &rules, Access::new("test", "*").with(effect)).await.unwrap()
}

impl Scene {
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.base.path().join("project").join(name)
    }

    pub(super) fn put(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    /// What is in the project folder, temporary files among it.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.at("")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Where `name` leads, with leave to go there if it is outside.
    pub(super) async fn reach(&self, name: &str) -> Target {
        match self.files.locate(name).unwrap() {
            Located::Inside(target) => target,
            Located::Outside(outside) => {
                let grant = grant(Effect::Enter(outside.home().to_owned())).await;
                outside.enter(&grant).unwrap()
            }
        }
    }

    pub(super) async fn readable(&self, name: &str) -> (Target, Grant) {
        let target = self.reach(name).await;
        let grant = grant(Effect::Read(target.path().to_owned())).await;
        (target, grant)
    }

    pub(super) async fn writable(&self, name: &str) -> (Target, Grant) {
        let target = self.reach(name).await;
        let grant = grant(Effect::Write(target.path().to_owned())).await;
        (target, grant)
    }

    pub(super) async fn read(&self, name: &str) -> Result<String, FilesError> {
        let (target, grant) = self.readable(name).await;
        let bytes = self.files.read(&grant, &target, 1000).await?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    pub(super) async fn write(&self, name: &str, text: &str, if_exists: IfExists) -> Result<Stamp, FilesError> {
        let (target, grant) = self.writable(name).await;
        self.files.write(&grant, &target, text, if_exists).await
    }
}

/// Makes a named pipe.
pub(super) fn fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

macro_rules! assert_err {
    ($result:expr, $pattern:pat) => {
        match $result {
            Err($pattern) => {}
            other => panic!("wanted {}, got {other:?}", stringify!($pattern)),
        }
    };
}

#[tokio::test]
async fn a_file_is_read_up_to_the_limit() {
    let scene = scene();
    scene.put("a", "text");
    assert_eq!(scene.read("a").await.unwrap(), "text");
    let (target, grant) = scene.readable("a").await;
    assert_err!(scene.files.read(&grant, &target, 3).await, FilesError::TooBig { size: 4, max: 3, .. });
    assert_err!(scene.read("none").await, FilesError::Missing { .. });
    assert_err!(scene.read("a/b").await, FilesError::Missing { .. });
    assert_err!(scene.read("").await, FilesError::Folder { .. });
}

#[tokio::test]
async fn a_huge_file_comes_in_small_pieces() {
    let scene = scene();
    let file = fs::File::create(scene.at("huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    let (target, grant) = scene.readable("huge").await;
    let Opened::File(mut reading) = scene.files.open(&grant, &target).await.unwrap() else { panic!("no file") };
    assert_eq!(reading.len(), 1 << 40);
    let piece = reading.next().await.unwrap().unwrap();
    assert!(!piece.is_empty() && piece.len() <= PIECE);
}

#[tokio::test]
async fn pieces_make_up_the_file_and_end() {
    let scene = scene();
    let text = "0123456789".repeat(20_000);
    scene.put("a", &text);
    let (target, grant) = scene.readable("a").await;
    let Opened::File(mut reading) = scene.files.open(&grant, &target).await.unwrap() else { panic!("no file") };
    let mut all = Vec::new();
    while let Some(piece) = reading.next().await.unwrap() {
        all.extend(piece);
    }
    assert_eq!(all, text.as_bytes());
}

#[tokio::test]
async fn a_file_is_poured_whole_or_until_there_is_enough() {
    let scene = scene();
    let text = "0123456789".repeat(100_000);
    scene.put("a", &text);
    let (target, grant) = scene.readable("a").await;
    let open = async || match scene.files.open(&grant, &target).await.unwrap() {
        Opened::File(reading) => reading,
        Opened::Folder(_) => panic!("no file"),
    };
    let whole = scene.files.read_stamped(&grant, &target, u64::MAX).await.unwrap().1;
    let all = |bytes: &mut Vec<u8>, piece: &[u8]| {
        assert!(!piece.is_empty() && piece.len() <= POURED);
        bytes.extend_from_slice(piece);
        ControlFlow::Continue(())
    };
    let mut reading = open().await;
    assert!(reading.pour(Vec::new(), all).await.unwrap() == text.as_bytes());
    // There is no more of it, and it is known as if it had been read otherwise.
    assert_eq!(reading.pour(Vec::new(), all).await.unwrap(), b"");
    assert_eq!(reading.finish().await.unwrap(), whole);
    // After a first piece, the rest; after enough, what was left.
    let mut reading = open().await;
    let first = reading.next().await.unwrap().unwrap();
    let some = reading.pour(0, |size, piece: &[u8]| {
        *size += piece.len();
        ControlFlow::Break(())
    });
    let some = some.await.unwrap();
    assert_eq!((first.len(), some), (PIECE, POURED));
    let rest = reading.pour(Vec::new(), all).await.unwrap();
    assert!(rest == text.as_bytes()[PIECE + POURED..]);
    assert_eq!(reading.finish().await.unwrap(), whole);
}

#[tokio::test]
async fn pouring_ends_with_its_future() {
    let scene = scene();
    fs::File::create(scene.at("endless")).unwrap().set_len(1 << 40).unwrap();
    let (target, grant) = scene.readable("endless").await;
    let Opened::File(mut reading) = scene.files.open(&grant, &target).await.unwrap() else { panic!("no file") };
    let (alive, ended) = std::sync::mpsc::channel::<()>();
    let (begun, begins) = tokio::sync::oneshot::channel();
    let pouring = async {
        let mut begun = Some(begun);
        let take = move |_: &mut (), _: &[u8]| {
            let _alive = &alive;
            begun.take().map(|begun| begun.send(()));
            ControlFlow::Continue(())
        };
        reading.pour((), take).await
    };
    tokio::select! {
        _ = pouring => panic!("it has no end"),
        _ = begins => {}
    }
    // A terabyte of zeros takes minutes; the thread lets go of it at once.
    assert!(ended.recv().is_err());
}

#[tokio::test]
async fn a_folder_is_listed_and_links_to_folders_count_as_such() {
    let scene = scene();
    fs::create_dir(scene.at("dir")).unwrap();
    scene.put("a", "");
    symlink("dir", scene.at("link")).unwrap();
    symlink("nowhere", scene.at("dangling")).unwrap();
    let (target, grant) = scene.readable("").await;
    let mut listing = scene.files.list_home(&grant, &target).await.unwrap();
    listing.entries.sort();
    let got: Vec<_> = listing.entries.iter().map(|entry| (entry.name.as_str(), entry.folder)).collect();
    assert_eq!(got, [("a", false), ("dangling", false), ("dir", true), ("link", true)]);
    assert!(listing.complete);
    let Opened::Folder(opened) = scene.files.open(&grant, &target).await.unwrap() else { panic!("no folder") };
    assert_eq!(opened.entries.len(), 4);
}

#[tokio::test]
async fn the_folder_of_a_file_is_listed_with_leave_for_the_folder() {
    let scene = scene();
    scene.put("a", "");
    let (none, may_read_none) = scene.readable("none").await;
    assert_err!(scene.files.list_home(&may_read_none, &none).await, FilesError::NotGranted { .. });
    let may_read_home = grant(Effect::Read(none.home().to_owned())).await;
    assert_eq!(scene.files.list_home(&may_read_home, &none).await.unwrap().entries.len(), 1);
    let below = scene.reach("a/b").await;
    let may_read_a = grant(Effect::Read(below.home().to_owned())).await;
    assert_err!(scene.files.list_home(&may_read_a, &below).await, FilesError::NotAFolder { .. });
}

#[test]
fn no_more_entries_are_taken_than_allowed() {
    let scene = scene();
    for name in ["a", "b", "c"] {
        scene.put(name, "");
    }
    let path = fs::canonicalize(scene.at("")).unwrap();
    let taken = |max| {
        let listing = list(&path, &door::open(&path, READ).unwrap(), max).unwrap();
        (listing.entries.len(), listing.complete)
    };
    assert_eq!((taken(2), taken(3), taken(MAX_ENTRIES)), ((2, false), (3, true), (3, true)));
}

#[tokio::test]
async fn outside_the_project_leave_for_that_very_folder_opens_the_way() {
    let scene = scene();
    symlink("../outside", scene.at("link")).unwrap();
    let outside = fs::canonicalize(scene.base.path().join("outside")).unwrap();
    for name in ["../outside", "../outside/secret", "../outside/new", "link", "link/secret"] {
        let Located::Outside(there) = scene.files.locate(name).unwrap() else { panic!("{name} is inside") };
        assert_eq!(there.home(), outside, "{name}");
        assert!(there.path().starts_with(&outside) && there.title().starts_with("../outside"), "{name}");
        let others = [
            Effect::Enter(outside.parent().unwrap().to_owned()),
            Effect::Enter(outside.join("secret")),
            Effect::Read(outside.clone()),
            Effect::Write(outside.clone()),
        ];
        for other in others {
            let grant = grant(other).await;
            assert_err!(there.clone().enter(&grant), FilesError::NotGranted { .. });
        }
        let may_enter = grant(Effect::Enter(outside.clone())).await;
        let target = there.enter(&may_enter).unwrap();
        // Going there is not reading there.
        assert_err!(scene.files.open(&may_enter, &target).await, FilesError::NotGranted { .. });
    }
    assert_eq!(scene.read("link/secret").await.unwrap(), "secret");
}

#[tokio::test]
async fn each_door_wants_a_grant_for_its_path() {
    let scene = scene();
    scene.put("a", "old");
    scene.put("b", "old");
    let (a, read_a) = scene.readable("a").await;
    let (b, write_b) = scene.writable("b").await;
    assert_err!(scene.files.read(&read_a, &b, 9).await, FilesError::NotGranted { .. });
    assert_err!(scene.files.open(&read_a, &b).await, FilesError::NotGranted { .. });
    assert_err!(scene.files.list_home(&write_b, &a).await, FilesError::NotGranted { .. });
    assert_err!(scene.files.write(&read_a, &a, "x", IfExists::Replace).await, FilesError::NotGranted { .. });
    assert_err!(scene.files.write(&write_b, &a, "x", IfExists::Replace).await, FilesError::NotGranted { .. });
    assert_err!(scene.files.remove(&write_b, &a).await, FilesError::NotGranted { .. });
    assert_eq!(fs::read_to_string(scene.at("a")).unwrap(), "old");
}

#[tokio::test]
async fn writing_makes_folders_and_replaces_as_told() {
    let scene = scene();
    scene.write("new/deep/a", "1", IfExists::Fail).await.unwrap();
    assert_eq!(scene.read("new/deep/a").await.unwrap(), "1");
    assert_err!(scene.write("new/deep/a", "2", IfExists::Fail).await, FilesError::Exists { .. });
    let other = IfExists::ReplaceOnly(b"x".to_vec());
    assert_err!(scene.write("new/deep/a", "2", other).await, FilesError::Changed { .. });
    scene.write("new/deep/a", "2", IfExists::ReplaceOnly(b"1".to_vec())).await.unwrap();
    scene.write("new/deep/a", "3", IfExists::Replace).await.unwrap();
    assert_eq!(scene.read("new/deep/a").await.unwrap(), "3");
    let gone = IfExists::ReplaceOnly(Vec::new());
    assert_err!(scene.write("new/deep/none", "2", gone).await, FilesError::Changed { .. });
}

#[tokio::test]
async fn what_is_no_plain_file_is_not_written() {
    let scene = scene();
    fs::create_dir(scene.at("dir")).unwrap();
    scene.put("a", "");
    assert_err!(scene.write("dir", "x", IfExists::Replace).await, FilesError::Folder { .. });
    assert_err!(scene.write("/", "x", IfExists::Replace).await, FilesError::Folder { .. });
    assert_err!(scene.write("a/b", "x", IfExists::Replace).await, FilesError::NotAFolder { .. });
    assert_eq!(scene.names(), ["a", "dir"]);
}

#[tokio::test]
async fn the_mode_of_the_old_file_stays() {
    let scene = scene();
    for mode in [0o755, 0o600, 0o664] {
        scene.put("run", "old");
        fs::set_permissions(scene.at("run"), fs::Permissions::from_mode(mode)).unwrap();
        scene.write("run", "new", IfExists::Replace).await.unwrap();
        assert_eq!(fs::metadata(scene.at("run")).unwrap().permissions().mode() & 0o7777, mode);
    }
}

#[tokio::test]
async fn no_other_file_is_left_behind() {
    let scene = scene();
    scene.write("a", "1", IfExists::Fail).await.unwrap();
    scene.write("a", "2", IfExists::Fail).await.unwrap_err();
    scene.write("a", "2", IfExists::Replace).await.unwrap();
    assert_eq!(scene.names(), ["a"]);
}

#[tokio::test]
async fn writing_to_a_link_writes_what_it_leads_to() {
    let scene = scene();
    scene.put("real", "old");
    symlink("real", scene.at("link")).unwrap();
    scene.write("link", "new", IfExists::Replace).await.unwrap();
    assert_eq!(fs::read_to_string(scene.at("real")).unwrap(), "new");
    assert!(fs::symlink_metadata(scene.at("link")).unwrap().is_symlink());
    symlink("made", scene.at("dangling")).unwrap();
    scene.write("dangling", "new", IfExists::Fail).await.unwrap();
    assert_eq!(fs::read_to_string(scene.at("made")).unwrap(), "new");
}

#[tokio::test]
async fn a_file_swapped_for_a_link_after_the_grant_is_refused() {
    let scene = scene();
    scene.put("a", "mine");
    let (target, may_read) = scene.readable("a").await;
    let may_write = grant(Effect::Write(target.path().to_owned())).await;
    fs::remove_file(scene.at("a")).unwrap();
    symlink("../outside/secret", scene.at("a")).unwrap();
    let error = scene.files.read(&may_read, &target, 100).await.unwrap_err();
    assert!(error.to_string().contains("turned into a link"), "{error}");
    assert_err!(scene.files.open(&may_read, &target).await, FilesError::Link { .. });
    assert_err!(scene.files.write(&may_write, &target, "x", IfExists::Replace).await, FilesError::Link { .. });
    assert_err!(scene.files.remove(&may_write, &target).await, FilesError::Link { .. });
    assert_eq!(fs::read_to_string(scene.base.path().join("outside/secret")).unwrap(), "secret");
}

#[tokio::test]
async fn a_folder_swapped_for_a_link_after_the_grant_is_refused() {
    let scene = scene();
    fs::create_dir(scene.at("dir")).unwrap();
    scene.put("dir/secret", "mine");
    let (old, may_read) = scene.readable("dir/secret").await;
    let (new, may_write) = scene.writable("dir/x/new").await;
    fs::rename(scene.at("dir"), scene.at("moved")).unwrap();
    symlink("../outside", scene.at("dir")).unwrap();
    assert_err!(scene.files.read(&may_read, &old, 100).await, FilesError::Link { .. });
    assert_err!(scene.files.write(&may_write, &new, "x", IfExists::Fail).await, FilesError::Link { .. });
    assert_eq!(fs::read_dir(scene.base.path().join("outside")).unwrap().count(), 1);
}

#[tokio::test]
async fn pipes_sockets_and_devices_are_refused_at_once() {
    let scene = scene();
    fifo(&scene.at("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(scene.at("socket")).unwrap();
    for name in ["fifo", "socket", "/dev/null"] {
        assert_err!(scene.read(name).await, FilesError::Special { .. });
        let (target, grant) = scene.readable(name).await;
        assert_err!(scene.files.open(&grant, &target).await, FilesError::Special { .. });
        assert_err!(scene.write(name, "x", IfExists::Replace).await, FilesError::Special { .. });
    }
}

#[tokio::test]
async fn what_the_system_forbids_is_said_with_the_path() {
    if rustix::process::geteuid().is_root() {
        // Root is forbidden nothing; the wording is the same for a file system that is read-only.
        let error = scene().write("/proc/haft-test", "x", IfExists::Fail).await.unwrap_err();
        assert!(error.to_string().contains("/proc/haft-test"), "{error}");
        return;
    }
    let scene = scene();
    scene.put("a", "old");
    fs::set_permissions(scene.at("a"), fs::Permissions::from_mode(0o400)).unwrap();
    assert_err!(scene.write("a", "new", IfExists::Replace).await, FilesError::Io { .. });
    fs::create_dir(scene.at("shut")).unwrap();
    fs::set_permissions(scene.at("shut"), fs::Permissions::from_mode(0o000)).unwrap();
    assert_err!(scene.files.locate("shut/a"), FilesError::Io { .. });
    fs::set_permissions(scene.at("shut"), fs::Permissions::from_mode(0o500)).unwrap();
    assert_err!(scene.write("shut/a", "new", IfExists::Fail).await, FilesError::Io { .. });
}

#[tokio::test]
async fn a_file_is_removed_and_nothing_else_is() {
    let scene = scene();
    scene.put("a", "");
    fs::create_dir(scene.at("dir")).unwrap();
    let (a, may_a) = scene.writable("a").await;
    let (dir, may_dir) = scene.writable("dir").await;
    scene.files.remove(&may_a, &a).await.unwrap();
    assert_err!(scene.files.remove(&may_a, &a).await, FilesError::Missing { .. });
    assert_err!(scene.files.remove(&may_dir, &dir).await, FilesError::Folder { .. });
    assert_eq!(scene.names(), ["dir"]);
}

#[tokio::test]
async fn edits_of_one_file_queue_and_those_of_another_do_not() {
    let scene = scene();
    let (a, b) = (scene.reach("a").await, scene.reach("b").await);
    let first = scene.files.lock(&a).await;
    let _other = scene.files.lock(&b).await;
    let mut second = Box::pin(scene.files.lock(&a));
    assert!(futures_poll(&mut second).is_pending());
    drop(first);
    drop(second.await);
    let _third = scene.files.lock(&a).await;
    assert_eq!(scene.files.inner.locks.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn locks_nobody_holds_are_forgotten() {
    let scene = scene();
    for n in 0..1000 {
        drop(scene.files.lock(&scene.reach(&n.to_string()).await).await);
    }
    assert!(scene.files.inner.locks.lock().unwrap().len() <= 1);
}

/// Polls once.
fn futures_poll<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}
