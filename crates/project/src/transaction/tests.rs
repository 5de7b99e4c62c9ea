//! All or nothing, on temporary folders: what can fail is made to fail, and then nothing may have changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::Located;
use haft_permission::{Access, Action, Answerer, Asker, Effect, Gate, Rule, Rules};
use haft_protocol::Clock;

struct Scene {
    base: tempfile::TempDir,
    files: Files,
}

impl Scene {
    /// With the files `a` and `b`, which hold their names.
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        let files = Files::new(base.path().to_owned(), None);
        let scene = Self { base, files };
        scene.put("a", "a");
        scene.put("b", "b");
        scene
    }

    fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    fn target(&self, name: &str) -> Target {
        match self.files.locate(name).unwrap() {
            Located::Inside(target) => target,
            Located::Outside(_) => panic!("{name} is outside"),
        }
    }

    fn write(&self, name: &str, text: &str, if_exists: IfExists) -> Change {
        let what = Becomes::Written { bytes: text.into(), if_exists, like: None };
        Change { target: self.target(name), what }
    }

    fn make(&self, name: &str, text: &str) -> Change {
        self.write(name, text, IfExists::Fail)
    }

    fn replace(&self, name: &str, old: &str, new: &str) -> Change {
        self.write(name, new, IfExists::ReplaceOnly(old.into()))
    }

    fn remove(&self, name: &str, old: &str) -> Change {
        Change { target: self.target(name), what: Becomes::Removed { only: old.into() } }
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<Vec<Option<Stamp>>, FilesError> {
        let effects = changes.iter().map(|change| Effect::Write(change.target.path().to_owned()));
        let effects = effects.chain([Effect::Write(self.target("a").path().to_owned())]).collect();
        self.files.apply(&grant(effects).await, changes).await
    }

    /// Everything that there is, folders among it.
    fn all(&self) -> BTreeMap<String, Option<String>> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.base.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.base.path()).unwrap().to_str().unwrap().to_owned();
                let folder = path.symlink_metadata().unwrap().is_dir();
                all.insert(name, (!folder).then(|| fs::read_to_string(&path).unwrap()));
                if folder {
                    folders.push(path);
                }
            }
        }
        all
    }

    #[track_caller]
    fn check(&self, want: &[(&str, &str)]) {
        let all = self.all();
        let files: Vec<_> = all.iter().filter_map(|(name, text)| Some((name.as_str(), text.as_deref()?))).collect();
        assert_eq!(files, want);
    }

    /// `last` fails after `a` was replaced, `b` removed and `new/deep/c` made, and nothing has changed.
    async fn fails(&self, last: Change) -> FilesError {
        let before = self.all();
        let inode = fs::metadata(self.at("a")).unwrap().ino();
        let changes = vec![self.replace("a", "a", "A"), self.remove("b", "b"), self.make("new/deep/c", "c"), last];
        let error = self.apply(changes).await.unwrap_err();
        assert_eq!(self.all(), before, "{error}");
        assert_eq!(fs::metadata(self.at("a")).unwrap().ino(), inode, "{error}");
        error
    }
}

async fn grant(effects: Vec<Effect>) -> Grant {
    let clock = Clock::scripted(1);
    let asker = Asker { session: clock.mint(), call: None };
    let gate = Gate::new(clock, Answerer::Nobody, |_| {});
    let rules = Rules::from(vec![Rule::new("*", "*", Action::Allow)]);
    gate.ask(&asker, &rules, Access { effects, ..Access::new("test", "*") }).await.unwrap()
}

#[tokio::test]
async fn all_are_made_and_nothing_else_is_left() {
    let scene = Scene::new();
    let changes = vec![scene.replace("a", "a", "A"), scene.remove("b", "b"), scene.make("new/deep/c", "c")];
    let stamps = scene.apply(changes).await.unwrap();
    scene.check(&[("a", "A"), ("new/deep/c", "c")]);
    let content = |text: &str| Some(ContentHash::of(text.as_bytes()));
    assert_eq!(
        stamps.iter().map(|stamp| stamp.and_then(|stamp| stamp.content)).collect::<Vec<_>>(),
        [content("A"), None, content("c")]
    );
    assert_eq!(stamps[0].unwrap().inode, fs::metadata(scene.at("a")).unwrap().ino());
    assert!(scene.apply(Vec::new()).await.unwrap().is_empty());
}

#[tokio::test]
async fn there_may_be_more_files_than_a_process_may_have_open() {
    let scene = Scene::new();
    let names: Vec<String> = (0..1100).map(|at| format!("many/{at}")).collect();
    scene.apply(names.iter().map(|name| scene.make(name, name)).collect()).await.unwrap();
    assert!(names.iter().all(|name| fs::read_to_string(scene.at(name)).unwrap() == *name));
    assert_eq!(fs::read_dir(scene.at("many")).unwrap().count(), names.len());
}

#[tokio::test]
async fn what_fails_while_it_is_prepared_changes_nothing() {
    let scene = Scene::new();
    fs::create_dir(scene.at("dir")).unwrap();
    scene.put("d", "d");
    let error = scene.fails(scene.make("dir", "x")).await;
    assert!(matches!(error, FilesError::Folder { .. }), "{error}");
    let error = scene.fails(scene.make("d/below", "x")).await;
    assert!(matches!(error, FilesError::NotAFolder { .. }), "{error}");
    let error = scene.fails(scene.make("d", "x")).await;
    assert!(matches!(error, FilesError::Exists { .. }), "{error}");
    let error = scene.fails(scene.replace("none", "x", "y")).await;
    assert!(matches!(error, FilesError::Changed { .. }), "{error}");
    let error = scene.fails(scene.remove("none", "x")).await;
    assert!(matches!(error, FilesError::Missing { .. }), "{error}");
    let error = scene.fails(scene.remove("dir", "x")).await;
    assert!(matches!(error, FilesError::Folder { .. }), "{error}");
    let error = scene.fails(scene.make("new", "a file where a folder is made for another")).await;
    assert!(matches!(error, FilesError::Folder { .. }), "{error}");
    let error = scene.fails(scene.make(&format!("also/{}/x", "n".repeat(300)), "x")).await;
    assert!(matches!(error, FilesError::Io { .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_somebody_changed_meanwhile_changes_nothing() {
    let scene = Scene::new();
    scene.put("d", "theirs");
    let error = scene.fails(scene.replace("d", "mine", "new")).await;
    assert!(matches!(error, FilesError::Changed { .. }), "{error}");
    let error = scene.fails(scene.remove("d", "other!")).await;
    assert!(matches!(error, FilesError::Changed { .. }), "{error}");
}

#[tokio::test]
async fn what_fails_at_the_last_step_takes_back_those_before_it() {
    let scene = Scene::new();
    // While it is prepared nothing has this name yet; when it is to be taken, the change before it has.
    let error = scene.fails(scene.make("new/deep/c", "twice")).await;
    assert!(matches!(error, FilesError::Exists { .. }), "{error}");
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_named() {
    let scene = Scene::new();
    let mut made = Folders::default();
    let changes = [scene.replace("a", "a", "A"), scene.make("c", "c")];
    let prepared = prepare(&changes, &mut made).unwrap();
    // The old file is gone from where it was put.
    let ready = prepared[0].0.as_ref().unwrap();
    let backup = step(ready).unwrap().unwrap();
    fs::remove_file(scene.at(backup.to_str().unwrap())).unwrap();
    let error = take_back(ready, Some(&backup)).unwrap_err();
    assert_eq!(error, ready.path);
    let torn = FilesError::Torn { paths: vec![error], source: Box::new(FilesError::Exists { path: "c".into() }) };
    assert!(torn.to_string().contains("could not be taken back in"), "{torn}");
}

#[tokio::test]
async fn a_file_put_in_the_place_of_a_new_one_is_not_taken_away() {
    let scene = Scene::new();
    let changes = [scene.make("c", "mine")];
    let prepared = prepare(&changes, &mut Folders::default()).unwrap();
    let ready = prepared[0].0.as_ref().unwrap();
    assert_eq!(step(ready).unwrap(), None);
    fs::remove_file(scene.at("c")).unwrap();
    scene.put("c", "theirs");
    take_back(ready, None).unwrap();
    assert_eq!(scene.all()["c"].as_deref(), Some("theirs"));
}

#[tokio::test]
async fn a_moved_file_keeps_its_mode() {
    let scene = Scene::new();
    for (mode, over) in [(0o755, false), (0o600, true)] {
        scene.put("a", "a");
        fs::set_permissions(scene.at("a"), fs::Permissions::from_mode(mode)).unwrap();
        let if_exists = if over { IfExists::ReplaceOnly("a".into()) } else { IfExists::Fail };
        let what = Becomes::Written { bytes: "a".into(), if_exists, like: Some(scene.target("a")) };
        let to = Change { target: scene.target("to"), what };
        scene.apply(vec![scene.remove("a", "a"), to]).await.unwrap();
        assert_eq!(fs::metadata(scene.at("to")).unwrap().permissions().mode() & 0o7777, mode);
        scene.check(&[("b", "b"), ("to", "a")]);
    }
}

#[tokio::test]
async fn each_path_needs_leave() {
    let scene = Scene::new();
    let leave = grant(vec![Effect::Write(scene.target("a").path().to_owned())]).await;
    let like = Becomes::Written { bytes: Vec::new(), if_exists: IfExists::Fail, like: Some(scene.target("b")) };
    for last in [scene.remove("b", "b"), Change { target: scene.target("a"), what: like }] {
        let changes = vec![scene.replace("a", "a", "A"), last];
        let error = scene.files.apply(&leave, changes).await.unwrap_err();
        assert!(matches!(error, FilesError::NotGranted { .. }), "{error}");
        scene.check(&[("a", "a"), ("b", "b")]);
    }
}

#[tokio::test]
async fn a_link_put_there_after_the_grant_is_refused() {
    let scene = Scene::new();
    let change = scene.replace("a", "a", "A");
    let gone = scene.remove("b", "b");
    fs::remove_file(scene.at("b")).unwrap();
    symlink("a", scene.at("b")).unwrap();
    let error = scene.apply(vec![change, gone]).await.unwrap_err();
    assert!(matches!(error, FilesError::Link { .. }), "{error}");
    assert_eq!(scene.all()["a"].as_deref(), Some("a"));
}

#[tokio::test]
async fn several_locks_are_taken_in_one_order() {
    let scene = Scene::new();
    let (one, other) = ([scene.target("a"), scene.target("b")], [scene.target("b"), scene.target("a")]);
    let held = scene.files.lock_all(&one).await;
    assert_eq!(held.len(), 2);
    // Both wait, and neither holds what the other wants.
    let both = async { tokio::join!(scene.files.lock_all(&other), async { drop(held) }) };
    assert_eq!(both.await.0.len(), 2);
    assert_eq!(scene.files.lock_all(&[scene.target("a"), scene.target("./a")]).await.len(), 1);
}

#[test]
fn a_name_that_is_a_link_is_known_as_one() {
    let scene = Scene::new();
    fs::create_dir(scene.at("dir")).unwrap();
    scene.put("dir/c", "c");
    symlink("a", scene.at("to_file")).unwrap();
    symlink("dir", scene.at("to_dir")).unwrap();
    let row = |name: &str, want: bool| assert_eq!(scene.target(name).by_link(), want, "{name}");
    row("a", false);
    row("none", false);
    row("to_file", true);
    row("to_dir/c", false);
    row("to_dir/none", false);
    row("to_dir", true);
}
