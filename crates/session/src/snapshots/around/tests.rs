use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use haft_protocol::{Clock, SessionId};

use super::*;

struct Scene {
    folder: tempfile::TempDir,
    around: Around,
    asker: Asker,
}

impl Scene {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let session: SessionId = Clock::scripted(1).mint();
        let keep = Keep::new(at("keep"));
        let ground = Ground { root: at("top"), memory: Some(at("trees/one.jsonl")), ..Ground::default() };
        fs::create_dir(at("top")).unwrap();
        let scene = Self { around: Around::new(keep, ground), folder, asker: Asker { session, call: None } };
        files.iter().for_each(|(name, text)| scene.put(name, text));
        scene
    }

    /// As another process sees it that starts now.
    fn again(self) -> Self {
        let at = |name: &str| self.folder.path().canonicalize().unwrap().join(name);
        let ground = Ground { root: at("top"), memory: Some(at("trees/one.jsonl")), ..Ground::default() };
        Self { around: Around::new(Keep::new(at("keep")), ground), ..self }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("top").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn state(&self, name: &str) -> State {
        let Standing::File { file, mode, .. } = Standing::at(&self.path(name)) else { panic!("{name}") };
        let (content, size) = self.around.keep.put_file(file, MAX_FILE).unwrap();
        State::File { content, size, mode }
    }

    /// As a tool changes a file.
    fn edit(&self, name: &str, text: &str) {
        let content = self.around.keep.put(text.as_bytes()).unwrap();
        let after = State::File { content, size: text.len() as u64, mode: 0o644 };
        let change = Change::new(self.path(name), self.state(name), after);
        self.around.edits().announced(7, std::slice::from_ref(&change));
        self.put(name, text);
        self.around.edits().happened(7, &[Change { after: self.state(name), ..change }]);
    }

    /// A repository in which all that is there is committed, with times that leave no doubt.
    fn commit(&self) {
        let git = |args: &[&str]| {
            let done = Command::new("git").args(args).current_dir(self.path("")).output().unwrap();
            assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q"]);
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 5);
        for entry in fs::read_dir(self.path("")).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                fs::File::options().append(true).open(entry.path()).unwrap().set_modified(old).unwrap();
            }
        }
        settle(self);
        git(&["add", "."]);
        git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
    }

    /// What a command changed that does `work`, as `NAME BEFORE AFTER`.
    fn command(&self, work: impl FnOnce(&Self)) -> Vec<String> {
        let (number, _) = self.around.before(&self.asker, |_| 1);
        work(self);
        self.told(self.around.after(number, true).unwrap().1)
    }

    fn told(&self, changes: Vec<Change>) -> Vec<String> {
        let text = |hash: &Hash| String::from_utf8(self.around.keep.get(hash).unwrap()).unwrap();
        let state = |state: &State| match state {
            State::Absent => "-".to_owned(),
            State::File { content, size, .. } => {
                let text = text(content);
                assert_eq!(text.len() as u64, *size);
                text
            }
            State::Link { to } => format!("@{}", text(to)),
            State::Folder { .. } => "/".to_owned(),
            State::Unkept { why } => format!("({why})"),
        };
        let told = |change: &Change| {
            let name = change.path.strip_prefix(self.path("")).unwrap().display().to_string();
            format!("{name} {} {}", state(&change.before), state(&change.after))
        };
        changes.iter().map(told).collect()
    }
}

/// Goes on when the file system's clock tells what happens now from what happened before.
fn settle(scene: &Scene) {
    let probe = scene.folder.path().join("probe");
    let time = || {
        fs::write(&probe, "").unwrap();
        probe.metadata().unwrap().modified().unwrap()
    };
    let begun = time();
    while time() < begun + std::time::Duration::from_millis(25) {
        std::thread::yield_now();
    }
}

#[test]
fn a_file_that_is_another_when_it_is_read_counts_once() {
    // The second and the third have other sizes; an edit puts each in place of the one before.
    for (seen, read) in [("two!", "three"), ("three", "two!")] {
        let scene = Scene::new(&[("a", "one")]);
        let (number, _) = scene.around.before(&scene.asker, |_| 1);
        let mut inner = scene.around.lock();
        scene.put("a", seen);
        let look = inner.tree.as_mut().unwrap().look().unwrap();
        fs::remove_file(scene.path("a")).unwrap();
        scene.put("a", read);
        let first = scene.around.found(&mut inner, look, true);
        assert_eq!(scene.told(first), [format!("a one {read}")]);
        drop(inner);
        let (_, rest) = scene.around.after(number, true).unwrap();
        assert_eq!(scene.told(rest), Vec::<String>::new());
        // Nor is it remembered as what it was not.
        let scene = scene.again();
        assert_eq!(scene.command(|scene| scene.put("a", "four")), [format!("a {read} four")]);
    }
}

#[test]
fn what_a_command_changes_is_told_with_what_it_was() {
    let scene = Scene::new(&[("a", "1"), ("b", "2"), ("dir/c", "3"), (".gitignore", "*.log\n"), ("x.log", "x")]);
    let changed = scene.command(|scene| {
        scene.put("a", "one");
        fs::remove_file(scene.path("b")).unwrap();
        scene.put("new/d", "4");
        scene.put("x.log", "ignored");
        symlink("a", scene.path("link")).unwrap();
    });
    assert_eq!(changed, ["a 1 one", "b 2 -", "link - @a", "new - /", "new/d - 4"]);
    assert_eq!(scene.command(|_| {}), [""; 0]);
}

#[test]
fn what_the_user_changes_between_commands_is_the_users() {
    let scene = Scene::new(&[("a", "1")]);
    assert_eq!(scene.command(|scene| scene.put("a", "2")), ["a 1 2"]);
    scene.put("a", "user");
    scene.put("b", "user");
    assert_eq!(scene.command(|scene| scene.put("a", "3")), ["a user 3"]);
    fs::remove_file(scene.path("b")).unwrap();
    assert_eq!(scene.command(|scene| scene.put("b", "4")), ["b - 4"]);
}

#[test]
fn many_files_keep_each_its_own_content() {
    let names: Vec<String> = (0..10 * ALONE).map(|number| format!("{}/{number}", number % 7)).collect();
    let scene = Scene::new(&[]);
    names.iter().for_each(|name| scene.put(name, name));
    symlink("0/0", scene.path("link")).unwrap();
    // More than one piece.
    let long = "long ".repeat(100_000);
    scene.put("long", &long);
    let told = scene.command(|scene| {
        names.iter().for_each(|name| fs::remove_file(scene.path(name)).unwrap());
        fs::remove_file(scene.path("link")).unwrap();
        fs::remove_file(scene.path("long")).unwrap();
    });
    let mut want: Vec<String> = names.iter().map(|name| format!("{name} {name} -")).collect();
    want.extend(["link @0/0 -".to_owned(), format!("long {long} -")]);
    want.sort();
    assert_eq!(told, want);
}

#[test]
fn what_is_committed_comes_out_of_the_repository() {
    let scene = Scene::new(&[("clean", "as committed"), ("dirty", "committed"), ("gone", "committed too")]);
    scene.commit();
    scene.put("dirty", "the user's");
    scene.put("untracked", "the user's too");
    settle(&scene);
    let survey = scene.around.survey().unwrap();
    assert_eq!((survey.files, survey.in_repository, survey.kept, survey.not_kept), (4, 2, 2, 0));
    let changed = scene.command(|scene| {
        ["clean", "dirty", "untracked"].into_iter().for_each(|name| scene.put(name, "x"));
        fs::remove_file(scene.path("gone")).unwrap();
    });
    let want = ["clean as committed x", "dirty the user's x", "gone committed too -", "untracked the user's too x"];
    assert_eq!(changed, want);
}

#[test]
fn a_change_that_looks_like_none_is_found() {
    let scene = Scene::new(&[("a", "1")]);
    // Within the clock's grain, with the same size.
    for (before, after) in [("1", "2"), ("2", "3"), ("3", "4")] {
        assert_eq!(scene.command(|scene| scene.put("a", after)), [format!("a {before} {after}")]);
    }
    assert_eq!(scene.command(|scene| scene.put("a", "4")), [""; 0]);
}

#[test]
fn what_is_too_large_is_said_to_be_not_kept() {
    let scene = Scene::new(&[("small", "1")]);
    let file = fs::File::create(scene.path("large")).unwrap();
    file.set_len(MAX_FILE + 1).unwrap();
    let survey = scene.around.survey().unwrap();
    assert_eq!(survey.uncovered, [(scene.path("large"), "it is larger than 10 MB")]);
    let changed = scene.command(|scene| scene.put("large", "now small"));
    assert_eq!(changed, ["large (it is larger than 10 MB) now small"]);
    // What was not known before cannot be told to be the same.
    let changed = scene.command(|_| file.set_len(5).unwrap());
    assert_eq!(changed, ["large now small now s"]);
}

#[test]
fn what_was_ignored_is_not_taken_for_new() {
    let scene = Scene::new(&[(".gitignore", "*.log\n"), ("x.log", "the user's")]);
    let changed = scene.command(|scene| scene.put(".gitignore", "nothing\n"));
    assert_eq!(
        changed,
        [
            ".gitignore *.log\n nothing\n",
            "x.log (it was ignored, or could not be read, before the command ran) the user's"
        ]
    );
}

#[test]
fn what_a_command_changes_and_makes_ignored_is_told() {
    let scene = Scene::new(&[("a", "1"), ("dir/b", "1"), ("dir/c", "1")]);
    let changed = scene.command(|scene| {
        scene.put(".gitignore", "a\ndir\n");
        scene.put("a", "2");
        scene.put("dir/b", "2");
        fs::remove_file(scene.path("dir/c")).unwrap();
    });
    assert_eq!(changed, [".gitignore - a\ndir\n", "a 1 2", "dir/b 1 2", "dir/c 1 -"]);
    assert_eq!(scene.command(|scene| scene.put("a", "3")), [""; 0]);
}

#[test]
fn what_is_tracked_and_ignored_is_covered() {
    let scene = Scene::new(&[(".gitignore", "*.log\nout\n"), ("a.log", "1"), ("out/b", "1")]);
    settle(&scene);
    git(&scene.path(""), &["init", "-q"]);
    git(&scene.path(""), &["add", "-f", "."]);
    git(&scene.path(""), &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
    settle(&scene);
    let survey = scene.around.survey().unwrap();
    assert_eq!((survey.files, survey.in_repository), (3, 3), "{survey:?}");
    let changed = scene.command(|scene| ["a.log", "out/b", "out/c"].iter().for_each(|name| scene.put(name, "2")));
    assert_eq!(changed, ["a.log 1 2", "out/b 1 2"]);
    // What is tracked only now.
    scene.put("b.log", "mine");
    scene.command(|_| {});
    git(&scene.path(""), &["add", "-f", "b.log"]);
    assert_eq!(scene.command(|scene| fs::remove_file(scene.path("b.log")).unwrap()), ["b.log mine -"]);
}

#[test]
fn what_a_tool_changes_meanwhile_is_not_the_commands() {
    let scene = Scene::new(&[("a", "1"), ("b", "1"), ("c", "1")]);
    let changed = scene.command(|scene| {
        scene.edit("a", "tool");
        scene.edit("b", "tool");
        scene.put("b", "command");
        scene.put("c", "command");
        scene.edit("c", "tool");
    });
    assert_eq!(changed, ["b tool command", "c 1 command"]);
}

#[test]
fn what_a_tool_writes_before_a_file_is_kept_is_no_commands() {
    let scene = Scene::new(&[("a", "1"), ("b", "1")]);
    scene.around.edits().command_begins();
    let mut inner = scene.around.lock();
    let Inner { tree: Ok(tree), repositories, known, loose, .. } = &mut *inner else { panic!() };
    tree.look().unwrap();
    let found = tree.found_in(0);
    let eyes = Eyes {
        keep: &scene.around.keep,
        edits: &scene.around.edits,
        tree,
        repositories,
        known,
        loose,
        at: 0,
        since: i64::MIN,
        moved: HashSet::new(),
    };
    let mut finding = Finding { eyes, is_commands: false, changes: Vec::new(), unkept: Vec::new(), more: 0 };
    found.into_iter().for_each(|diff| finding.take(diff));
    scene.edit("a", "tool");
    finding.keep();
    scene.edit("b", "tool");
    let is_open = |name: &str| scene.around.edits().has(&scene.path(name));
    assert!(!is_open("a"), "what is kept is what the tool wrote");
    assert!(is_open("b"), "what is kept is what was there before");
}

#[test]
fn a_job_is_blamed_for_what_changes_while_it_runs() {
    let scene = Scene::new(&[("a", "1")]);
    let (job, others) = scene.around.before(&scene.asker, |_| 1);
    assert!(others.is_none());
    scene.put("a", "2");
    assert_eq!(scene.told(scene.around.after(job, false).unwrap().1), ["a 1 2"]);
    // It runs on in the background: somebody else may have done it.
    let maybe = format!("({MAYBE_THEIRS})");
    scene.put("a", "3");
    let (command, others) = scene.around.before(&scene.asker, |_| 2);
    assert_eq!(scene.told(others.unwrap().1), [format!("a 2 {maybe}")]);
    scene.put("b", "of the second");
    let (third, others) = scene.around.before(&scene.asker, |_| 3);
    assert_eq!(scene.told(others.unwrap().1), ["b - of the second"]);
    assert_eq!(scene.told(scene.around.after(third, true).unwrap().1), [""; 0]);
    scene.put("a", "4");
    assert_eq!(scene.told(scene.around.after(command, true).unwrap().1), ["a 3 4"]);
    scene.put("a", "5");
    assert_eq!(scene.told(scene.around.after(job, true).unwrap().1), [format!("a 4 {maybe}")]);
    assert!(scene.around.after(job, true).is_none());
}

#[test]
fn a_job_runs_in_the_background_once_its_call_has_ended() {
    let scene = Scene::new(&[("a", "1")]);
    let (job, _) = scene.around.before(&scene.asker, |_| 1);
    scene.put("a", "2");
    assert!(scene.around.ended(|asker| asker.call.is_some()).is_none(), "that is another's");
    assert_eq!(scene.told(scene.around.ended(|_| true).unwrap().1), ["a 1 2"]);
    assert!(scene.around.ended(|_| true).is_none());
    scene.put("a", "3");
    assert_eq!(scene.told(scene.around.after(job, true).unwrap().1), [format!("a 2 ({MAYBE_THEIRS})")]);
}

#[test]
fn what_was_kept_is_known_in_another_run() {
    let scene = Scene::new(&[("a", "1")]);
    settle(&scene);
    assert_eq!(scene.around.survey().unwrap().kept, 1);
    let kept = |scene: &Scene| {
        let hash = Hash::of(b"1").to_string();
        scene.folder.path().join("keep").join(&hash[..2]).join(&hash[2..])
    };
    let before = kept(&scene).metadata().unwrap().modified().unwrap();
    let scene = scene.again();
    assert_eq!(scene.around.survey().unwrap().kept, 1);
    assert_eq!(kept(&scene).metadata().unwrap().modified().unwrap(), before);
    // A memory of a content that is gone is not believed.
    fs::remove_file(kept(&scene)).unwrap();
    let scene = scene.again();
    assert_eq!(scene.command(|scene| scene.put("a", "2")), ["a 1 2"]);
    // Nor one that is damaged.
    fs::write(scene.folder.path().join("trees/one.jsonl"), b"[\xff\n[1,2]\n{}").unwrap();
    let scene = scene.again();
    assert_eq!(scene.command(|scene| scene.put("a", "3")), ["a 2 3"]);
}

#[test]
fn a_home_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let ground = Ground { root: top.clone(), home: Some(top.join("me")), ..Ground::default() };
    let around = Around::new(Keep::new(top.join("keep")), ground);
    assert_eq!(around.survey(), Err(Refused::Home(top.clone())));
    let asker = Asker { session: Clock::scripted(1).mint(), call: None };
    let (number, _) = around.before(&asker, |_| 1);
    // Who takes it back hears of it.
    let (_, changes) = around.after(number, true).unwrap();
    let [Change { path, before: State::Unkept { why }, after: State::Unkept { .. }, .. }] = &changes[..] else {
        panic!("{changes:?}")
    };
    assert!(*path == top && why.contains("holds everything of the user's"), "{changes:?}");
}

/// A repository in `top` with all that is there committed.
fn repository(top: &Path) {
    git(top, &["init", "-q"]);
    git(top, &["add", "."]);
    git(top, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]);
}

fn git(top: &Path, args: &[&str]) {
    let done = Command::new("git").args(args).current_dir(top).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn repositories_in_a_repository_give_the_contents_of_their_own_files() {
    let scene = Scene::new(&[("a", "1"), ("nested/b", "2"), ("lib/c", "3")]);
    settle(&scene);
    for name in ["lib", "nested"] {
        repository(&scene.path(name));
    }
    fs::create_dir(scene.path("outer")).unwrap();
    let url = scene.path("lib").display().to_string();
    git(&scene.path(""), &["init", "-q"]);
    git(&scene.path(""), &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "outer/sub"]);
    settle(&scene);
    git(&scene.path("outer/sub"), &["status"]);
    let survey = scene.around.survey().unwrap();
    assert!(survey.in_repository >= 3, "{survey:?}");
    assert_eq!(survey.not_kept, 0, "{survey:?}");
    let changed = scene.command(|scene| {
        for name in ["a", "nested/b", "lib/c", "outer/sub/c"] {
            scene.put(name, "changed");
        }
    });
    assert_eq!(changed, ["a 1 changed", "lib/c 3 changed", "nested/b 2 changed", "outer/sub/c 3 changed"]);
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_gone_and_comes_as_new() {
    let scene = Scene::new(&[("in/a", "1"), ("out/b", "2"), ("top", "3")]);
    settle(&scene);
    repository(&scene.path(""));
    git(&scene.path(""), &["sparse-checkout", "set", "--sparse-index", "in"]);
    assert!(!scene.path("out/b").exists());
    settle(&scene);
    assert_eq!(scene.command(|scene| scene.put("in/a", "changed")), ["in/a 1 changed"]);
    let changed = scene.command(|scene| git(&scene.path(""), &["sparse-checkout", "disable"]));
    assert_eq!(changed, ["out - /", "out/b - 2"]);
}
