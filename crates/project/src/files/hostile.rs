//! What somebody who works in the same folders at the same time may try, and what may lie there.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_permission::Effect;
use rustix::io::Errno;

use super::tests::{Scene, fifo, grant, scene};
use super::*;
use crate::{Becomes, Change, Find, Grep, LinePattern, Order, Want};

/// What must never be read; everything in the project says something else.
const MARKER: &str = "outside-marker";

/// Swaps the folder `dir` of the project with the link `link`, which leads out, as fast as it can until it is dropped.
struct Racer {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<usize>>,
}

impl Racer {
    fn start(scene: &Scene) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (flag, one, other) = (Arc::clone(&stop), scene.at("dir"), scene.at("link"));
        let thread = std::thread::spawn(move || {
            let mut swaps = 0;
            while !flag.load(Ordering::Relaxed) {
                exchange(&one, &other);
                swaps += 1;
            }
            swaps
        });
        Self { stop, thread: Some(thread) }
    }

    fn end(mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Racer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) {
    use rustix::fs::{RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[cfg(not(target_os = "linux"))]
fn exchange(one: &Path, other: &Path) {
    let passing = one.with_extension("passing");
    fs::rename(one, &passing).unwrap();
    fs::rename(other, one).unwrap();
    fs::rename(passing, other).unwrap();
}

/// `dir` with files, and beside it a link to a folder outside that has files of the same names.
fn swapped() -> Scene {
    let scene = scene();
    fs::create_dir_all(scene.at("dir/sub")).unwrap();
    fs::create_dir(scene.base.path().join("outside/sub")).unwrap();
    for name in ["a", "b", "sub/c"] {
        scene.put(&format!("dir/{name}"), "inside");
        fs::write(scene.base.path().join("outside").join(name), MARKER).unwrap();
    }
    fs::remove_file(scene.base.path().join("outside/secret")).unwrap();
    symlink("../outside", scene.at("link")).unwrap();
    scene
}

/// All that is outside, with its content.
fn outside(scene: &Scene) -> Vec<(String, String)> {
    let base = scene.base.path().join("outside");
    let mut all: Vec<_> = ["", "sub"]
        .iter()
        .flat_map(|folder| fs::read_dir(base.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.strip_prefix(&base).unwrap().display().to_string(), fs::read_to_string(&path).unwrap()))
        .collect();
    all.sort();
    all
}

#[tokio::test]
async fn a_folder_that_turns_into_a_link_and_back_lets_nobody_out() {
    let scene = swapped();
    let (dir, a, b, c, new) = (
        scene.reach("dir").await,
        scene.reach("dir/a").await,
        scene.reach("dir/b").await,
        scene.reach("dir/sub/c").await,
        scene.reach("dir/made/new").await,
    );
    let reading = grant(Effect::Read(dir.path().to_owned())).await;
    let mut writing = grant(Effect::Write(a.path().to_owned())).await;
    for target in [&b, &c, &new] {
        writing = writing.and(grant(Effect::Write(target.path().to_owned())).await);
    }
    let untouched = outside(&scene);
    let racer = Racer::start(&scene);
    let (mut done, mut refused) = (0, 0);
    let mut note = |worked: bool| if worked { done += 1 } else { refused += 1 };
    for round in 0..2000 {
        let read = scene.files.read(&reading, &a, 1000).await;
        note(read.is_ok());
        assert_ne!(read.ok().as_deref(), Some(MARKER.as_bytes()));
        match scene.files.open(&reading, &c).await {
            Ok(Opened::File(mut file)) => {
                let all = file.pour(Vec::new(), |all, piece| {
                    all.extend_from_slice(piece);
                    ControlFlow::Continue(())
                });
                assert_ne!(all.await.unwrap(), MARKER.as_bytes());
            }
            Ok(Opened::Folder(_)) => panic!("a file"),
            Err(_) => {}
        }
        note(scene.files.write(&writing, &a, "written", IfExists::Replace).await.is_ok());
        note(scene.files.write(&writing, &new, "written", IfExists::Replace).await.is_ok());
        let written = |target: &Target| Change {
            target: target.clone(),
            what: Becomes::Written { bytes: b"patched".to_vec(), if_exists: IfExists::Replace, like: None },
        };
        note(scene.files.apply(&writing, vec![written(&b), written(&c)]).await.is_ok());
        if round % 20 == 0 {
            let pattern = LinePattern::new(".").unwrap();
            let want = Want::Lines { context: 0 };
            let grep = Grep { pattern, names: None, may_read: Arc::new(|_| true), want, max: 100 };
            let found = scene.files.grep(&reading, &dir, grep).await;
            let lines = found.iter().flat_map(|found| &found.files).flat_map(|file| &file.lines);
            assert!(lines.map(|line| format!("{line:?}")).all(|line| !line.contains(MARKER)));
            let find = Find { names: None, left_out: Vec::new(), order: Order::Newest, max: 100 };
            let _ = scene.files.find(&reading, &dir, find).await;
        }
    }
    let swaps = racer.end();
    assert_eq!(outside(&scene), untouched);
    assert!(swaps > 1000 && done > 0 && refused > 0, "{swaps} swaps, {done} done, {refused} refused");
}

/// The way that is taken where the system cannot open a path at once.
#[test]
fn neither_does_the_way_folder_by_folder() {
    let scene = swapped();
    let path = scene.at("dir/sub/c").canonicalize().unwrap();
    let racer = Racer::start(&scene);
    let (mut opened, mut refused) = (0, 0);
    while opened < 1000 || refused < 1000 {
        match door::walk(&path, READ) {
            Ok(fd) => {
                let mut text = String::new();
                File::from(fd).read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside");
                opened += 1;
            }
            Err(errno) => {
                // It may be a folder again by the time it is asked what it is.
                assert!(matches!(errno, Errno::LOOP | Errno::NOTDIR), "{errno}");
                refused += 1;
            }
        }
    }
    racer.end();
}

/// The same for taking away, which needs what is there to be made again.
#[tokio::test]
async fn nothing_outside_is_removed_either() {
    let scene = swapped();
    let (a, writing) = scene.writable("dir/a").await;
    let untouched = outside(&scene);
    let racer = Racer::start(&scene);
    for _ in 0..1000 {
        let _ = scene.files.remove(&writing, &a).await;
        let gone = Change { target: a.clone(), what: Becomes::Removed { only: MARKER.as_bytes().to_vec() } };
        assert!(scene.files.apply(&writing, vec![gone]).await.is_err());
    }
    racer.end();
    assert_eq!(outside(&scene), untouched);
}

#[tokio::test]
async fn a_file_with_a_second_name_outside_loses_it_and_does_not_change_it() {
    let scene = scene();
    let secret = scene.base.path().join("outside/secret");
    fs::hard_link(&secret, scene.at("joined")).unwrap();
    scene.write("joined", "new", IfExists::Replace).await.unwrap();
    assert_eq!(
        (fs::read_to_string(&secret).unwrap().as_str(), scene.read("joined").await.unwrap().as_str()),
        ("secret", "new")
    );
    fs::hard_link(&secret, scene.at("again")).unwrap();
    let (target, writing) = scene.writable("again").await;
    let what =
        Becomes::Written { bytes: b"new".to_vec(), if_exists: IfExists::ReplaceOnly(b"secret".to_vec()), like: None };
    scene.files.apply(&writing, vec![Change { target, what }]).await.unwrap();
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(fs::metadata(&secret).unwrap().nlink(), 1);
}

#[tokio::test]
async fn the_right_to_run_as_another_does_not_stay_with_another_content() {
    let scene = scene();
    scene.put("run", "old");
    for mode in [0o4755, 0o2755, 0o6711] {
        let before = || fs::set_permissions(scene.at("run"), fs::Permissions::from_mode(mode)).unwrap();
        let after = || fs::metadata(scene.at("run")).unwrap().mode() & 0o7777;
        before();
        scene.write("run", "new", IfExists::Replace).await.unwrap();
        assert_eq!(after(), mode & 0o777);
        before();
        let (target, writing) = scene.writable("run").await;
        let what = Becomes::Written { bytes: b"x".to_vec(), if_exists: IfExists::Replace, like: None };
        scene.files.apply(&writing, vec![Change { target, what }]).await.unwrap();
        assert_eq!(after(), mode & 0o777);
    }
}

#[tokio::test]
async fn what_is_no_plain_file_is_not_opened() {
    let scene = scene();
    fifo(&scene.at("pipe"));
    let _socket = UnixListener::bind(scene.at("socket")).unwrap();
    for name in ["pipe", "socket", "/dev/null", "/dev/zero"] {
        let (target, reading) = scene.readable(name).await;
        let read = scene.files.read(&reading, &target, 10).await;
        assert!(matches!(read, Err(FilesError::Special { .. })), "{name}: {read:?}");
        let wrote = scene.write(name, "x", IfExists::Replace).await;
        assert!(matches!(wrote, Err(FilesError::Special { .. })), "{name}: {wrote:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_the_system_shows_of_processes_is_closed_even_with_leave() {
    let scene = scene();
    symlink("/proc/self", scene.at("own")).unwrap();
    for name in ["/proc/self/environ", "/proc/self/mem", "/proc/1/environ", "own/environ", "/proc/thread-self/environ"]
    {
        assert!(matches!(scene.files.locate(name).unwrap(), Located::Outside(_)), "{name}");
        let error = scene.read(name).await.unwrap_err();
        assert!(matches!(error, FilesError::Special { .. } | FilesError::Io { .. }), "{name}: {error}");
        let (target, reading) = scene.readable(name).await;
        let all = LinePattern::new(".").unwrap();
        let grep = Grep { pattern: all, names: None, may_read: Arc::new(|_| true), want: Want::Names, max: 9 };
        assert!(scene.files.grep(&reading, &target, grep).await.is_err(), "{name}");
    }
    // Through another process's eyes the root is still the root.
    let Located::Outside(root) = scene.files.locate("/proc/self/root/etc/passwd").unwrap() else { panic!("inside") };
    assert_eq!(root.path(), Path::new("/etc/passwd"));
    assert!(scene.read("/proc/version").await.is_ok());
    assert!(scene.write("/proc/self/comm", "x", IfExists::Replace).await.is_err());
    // A search that begins above does not go in.
    let (target, reading) = scene.readable("/proc").await;
    let names = Some(crate::Names::list(target.path(), "environ").unwrap());
    let pattern = LinePattern::new(".").unwrap();
    let grep = Grep { pattern, names, may_read: Arc::new(|_| true), want: Want::Names, max: 9 };
    let found = scene.files.grep(&reading, &target, grep).await.unwrap();
    assert_eq!(found.total, 0);
    assert!(found.gaps.folders > 0);
}

#[tokio::test]
async fn names_that_nobody_can_guess_are_used_in_passing() {
    let one: Vec<PathBuf> = crate::write::passing_names().collect();
    let mut different = one.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), one.len());
    let own = std::process::id().to_string();
    assert!(one.iter().all(|name| !name.display().to_string().contains(&format!("-{own}-"))));
    // What is put in the place of the new file is not what is written to.
    let scene = scene();
    scene.write("a", "1", IfExists::Fail).await.unwrap();
    assert_eq!(scene.names(), ["a"]);
}

#[tokio::test]
async fn in_a_folder_of_everybody_only_ones_own_files_change() {
    let scene = scene();
    fs::create_dir(scene.at("shared")).unwrap();
    fs::set_permissions(scene.at("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
    scene.put("shared/a", "old");
    scene.write("shared/a", "new", IfExists::Replace).await.unwrap();
    assert_eq!(scene.read("shared/a").await.unwrap(), "new");
    assert_eq!(fs::metadata(scene.at("shared")).unwrap().mode() & 0o7777, 0o1777);
}

#[tokio::test]
async fn other_letters_are_no_other_name() {
    let scene = scene();
    scene.put(".env", "");
    // As on a disk that knows no capitals, as far as that can be had here: two names of one file, told apart.
    fs::hard_link(scene.at(".env"), scene.at(".ENV")).unwrap();
    assert_eq!(scene.reach(".ENV").await.title(), ".ENV");
    assert_eq!(scene.reach(".env").await.title(), ".env");
    fs::remove_file(scene.at(".ENV")).unwrap();
    assert_eq!(scene.reach(".Env").await.found(), Found::Nothing);
}

#[tokio::test]
async fn protected_files_that_are_written_with_leave_are_not_taken_for_damage() {
    let scene = scene();
    let root = scene.at("").canonicalize().unwrap();
    let protection = crate::Protection::new(None);
    scene.files.tell(&protection);
    scene.put(".exrc", "old");
    let guarded = protection.guard(&[root.components().collect()], None);
    scene.write(".envrc", "mine", IfExists::Fail).await.unwrap();
    let (target, writing) = scene.writable(".mcp.json").await;
    let what = Becomes::Written { bytes: b"mine".to_vec(), if_exists: IfExists::Fail, like: None };
    scene.files.apply(&writing, vec![Change { target, what }]).await.unwrap();
    let (target, writing) = scene.writable(".exrc").await;
    scene.files.remove(&writing, &target).await.unwrap();
    scene.put(".vimrc", "not mine");
    let repaired: Vec<PathBuf> = guarded.put_back(crate::Held::Nothing).into_iter().map(|repair| repair.path).collect();
    assert_eq!(repaired, [root.join(".vimrc")]);
    assert_eq!(scene.names(), [".envrc", ".mcp.json"]);
}
