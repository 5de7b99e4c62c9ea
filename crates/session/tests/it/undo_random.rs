//! Whatever the agent and the person do to files in turn: undo leaves what the person left, and redo brings all of it back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use haft_session::{Prompt, Rewind, SessionError, To};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::json;

use crate::scene::{Scene, call, says};

/// Files that may be changed, by their number. The last one is only touched where the person does nothing: there a file may
/// go and a folder of its name come later.
const NAMES: [&str; 5] = ["a", "b", "sub/c", "new/d", "a/in"];

/// One thing that somebody does.
#[derive(Debug, Clone)]
enum Deed {
    /// The agent writes a file with its tool.
    Write(usize),
    /// The agent runs a command that does something to a file.
    Run(&'static str, usize),
    /// The person writes a file.
    Mine(usize),
    /// The person changes a mode.
    Mode(usize),
    /// The person puts a link there.
    Link(usize),
}

/// What a command does to `$f`, with `$n` to tell it apart. None fails where nothing is there.
const COMMANDS: [&str; 8] = [
    "mkdir -p \"$(dirname $f)\"; echo agent $n > $f",
    "rm -rf $f",
    "mkdir -p \"$(dirname $f)\"; rm -rf $f; ln -s agent-$n $f",
    "mkdir -p \"$(dirname $f)\"; printf 'agent\\000%s' $n > $f",
    "test -f $f && chmod 755 $f; true",
    "test -e $f && mv $f moved-$n; true",
    "test -f $f && mkdir -p whole && mv $f whole/$n; true",
    "rm -rf $f; mkdir -p $f; echo agent $n > $f/deep",
];

fn agent(names: usize, commands: usize) -> impl Strategy<Value = Deed> {
    prop_oneof![
        (0..names).prop_map(Deed::Write),
        (0..commands, 0..names).prop_map(|(command, name)| Deed::Run(COMMANDS[command], name)),
    ]
}

fn person(names: usize) -> impl Strategy<Value = Deed> {
    prop_oneof![(0..names).prop_map(Deed::Mine), (0..names).prop_map(Deed::Mode), (0..names).prop_map(Deed::Link)]
}

/// What stands below `top`, without what version control keeps.
fn look(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut seen = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git") {
                continue;
            }
            let name = path.strip_prefix(top).unwrap().to_owned();
            seen.insert(name, state(&path));
            if path.symlink_metadata().unwrap().is_dir() {
                folders.push(path);
            }
        }
    }
    seen
}

fn state(path: &Path) -> String {
    let Ok(meta) = path.symlink_metadata() else { return "nothing".to_owned() };
    if meta.is_dir() {
        "a folder".to_owned()
    } else if meta.is_symlink() {
        format!("to {}", fs::read_link(path).unwrap().display())
    } else {
        format!("{:o} {}", meta.permissions().mode() & 0o777, String::from_utf8_lossy(&fs::read(path).unwrap()))
    }
}

fn git(top: &Path, args: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.current_dir(top).args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=m"]);
    let ran = git.args(args).output().unwrap();
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Plays `deeds`, each of the agent's in a turn of its own, undoes all of it and does it again.
async fn play(deeds: &[Deed], in_git: bool) -> Result<(), TestCaseError> {
    let mut scene = Scene { remembers: true, ..Scene::with(&[("a", "first a\n"), ("b", "first b\n")]) };
    let top = scene.project();
    fs::create_dir(top.join("sub")).unwrap();
    fs::write(top.join("sub/c"), "first c\n").unwrap();
    if in_git {
        fs::write(top.join(".gitignore"), "ignored\n").unwrap();
        git(&top, &["init", "-q"]);
        git(&top, &["add", "-A"]);
        git(&top, &["commit", "-qm", "first"]);
        // One is dirty, one is not tracked, one is ignored.
        fs::write(top.join("b"), "dirty b\n").unwrap();
        fs::write(top.join("untracked"), "untracked\n").unwrap();
        fs::write(top.join("ignored"), "ignored\n").unwrap();
    }
    for (number, deed) in deeds.iter().enumerate() {
        let step = match deed {
            Deed::Write(name) => {
                call("write", json!({ "filePath": NAMES[*name], "content": format!("agent {number}\n") }))
            }
            Deed::Run(command, name) => {
                let command = format!("f={}; n={number}; {command}", NAMES[*name]);
                call("bash", json!({ "command": command, "description": "change" }))
            }
            Deed::Mine(_) | Deed::Mode(_) | Deed::Link(_) => continue,
        };
        scene.model(vec![step]).model(vec![says("Done.")]);
    }
    let session = scene.session().await;
    let mut theirs: BTreeMap<PathBuf, String> =
        NAMES.iter().map(|name| (name.into(), state(&top.join(name)))).collect();
    let is_alone = deeds.iter().all(|deed| matches!(deed, Deed::Write(_) | Deed::Run(..)));
    let before = look(&top);
    for (number, deed) in deeds.iter().enumerate() {
        let name = match deed {
            Deed::Write(_) | Deed::Run(..) => {
                session.prompt(Prompt::text(format!("{number}"))).await.unwrap();
                continue;
            }
            Deed::Mine(name) | Deed::Mode(name) | Deed::Link(name) => NAMES[*name],
        };
        let path = top.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match deed {
            Deed::Mode(_) if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) => {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            }
            Deed::Link(_) => {
                let _ = fs::remove_file(&path);
                symlink(format!("mine-{number}"), &path).unwrap();
            }
            _ => {
                // Not through a link.
                let _ = fs::remove_file(&path);
                fs::write(&path, format!("mine {number}\n")).unwrap();
            }
        }
        theirs.insert(name.into(), state(&path));
    }
    let after = look(&top);
    let mut undone = 0;
    loop {
        match session.undo().await {
            Ok(rewound) => {
                undone += 1;
                prop_assert!(!is_alone || !rewound.is_partial(), "{:?}", rewound.files);
            }
            Err(SessionError::NothingToUndo(_)) => break,
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }
    for (name, state) in &theirs {
        prop_assert_eq!(&self::state(&top.join(name)), state, "{} after undo", name.display());
    }
    if is_alone {
        prop_assert_eq!(look(&top), before, "after undo");
    }
    if undone > 0 {
        session.rewind(Rewind::to(To::End)).await.unwrap();
        prop_assert_eq!(look(&top), after, "after redo");
    }
    Ok(())
}

fn check(cases: u32, deeds: impl Strategy<Value = (Vec<Deed>, bool)>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    runner.run(&deeds, |(deeds, in_git)| runtime.block_on(play(&deeds, in_git))).unwrap();
}

#[test]
fn where_the_agent_is_alone_all_of_it_goes_and_comes_back() {
    check(24, (proptest::collection::vec(agent(NAMES.len(), COMMANDS.len()), 1..4), any::<bool>()));
}

#[test]
fn what_the_person_left_is_what_undo_leaves() {
    // Without folders in the place of files: what the person keeps in one of those stays, and the file cannot come back.
    let deeds = prop_oneof![2 => agent(4, 5), 1 => person(4)];
    check(24, (proptest::collection::vec(deeds, 1..7), any::<bool>()));
}
