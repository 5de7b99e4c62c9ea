//! Whatever the agent and the person do to files in turn: undo leaves what the person left, and redo brings all of it back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use haft_llm::Step;
use haft_protocol::{Message, Turned};
use haft_session::{Prompt, Rewind, Session, SessionError, To};
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
    /// The agent writes a file while a command of the same answer does something to another one, or to the same.
    Both(usize, &'static str, usize),
    /// Two tasks write files side by side, and perhaps the same one.
    Tasks(usize, usize),
    /// The person goes back a turn.
    Undo,
    /// The person goes forth a turn.
    Redo,
    /// The person goes back to one of the prompts.
    Before(usize),
    /// The person writes a file.
    Mine(usize),
    /// The person changes a mode.
    Mode(usize),
    /// The person puts a link there.
    Link(usize),
    /// The person gives a file the name of another one.
    Move(usize, usize),
}

impl Deed {
    /// Whether it is a prompt.
    fn asks(&self) -> bool {
        matches!(self, Deed::Write(_) | Deed::Run(..) | Deed::Both(..) | Deed::Tasks(..))
    }

    /// Whether the person goes back or forth.
    fn rewinds(&self) -> Option<Rewind> {
        match self {
            Deed::Undo => Some(Rewind::to(To::Back)),
            Deed::Redo => Some(Rewind::to(To::Forth)),
            _ => None,
        }
    }

    /// The answers of the model, as the deed of this number, where it is a prompt; and what its tasks answer, by their prompts.
    fn answers(&self, number: usize) -> (Vec<Step>, Vec<(String, Step)>) {
        let write = |name: usize, who: &str| {
            call("write", json!({ "filePath": NAMES[name], "content": format!("{who} {number}\n") }))
        };
        let run = |command: &str, name: usize| {
            let command = format!("f={}; n={number}; {command}", NAMES[name]);
            call("bash", json!({ "command": command, "description": "change" }))
        };
        match self {
            Deed::Write(name) => (vec![write(*name, "agent")], Vec::new()),
            Deed::Run(command, name) => (vec![run(command, *name)], Vec::new()),
            Deed::Both(one, command, other) => (vec![write(*one, "agent"), run(command, *other)], Vec::new()),
            Deed::Tasks(one, other) => {
                let prompt = |which: &str| format!("<{number} {which}>");
                let task = |which: &str| {
                    let prompt = prompt(which);
                    call("task", json!({ "description": which, "prompt": prompt, "subagent_type": "explore" }))
                };
                let below = vec![(prompt("one"), write(*one, "one")), (prompt("other"), write(*other, "other"))];
                (vec![task("one"), task("other")], below)
            }
            _ => (Vec::new(), Vec::new()),
        }
    }
}

/// What a command does to `$f`, with `$n` to tell it apart. None fails where nothing is there.
const COMMANDS: [&str; 10] = [
    "mkdir -p \"$(dirname $f)\"; echo agent $n > $f",
    "rm -rf $f",
    "mkdir -p \"$(dirname $f)\"; rm -rf $f; ln -s agent-$n $f",
    "mkdir -p \"$(dirname $f)\"; printf 'agent\\000%s' $n > $f",
    "test -f $f && chmod 755 $f; true",
    "test -e $f && mv $f moved-$n; true",
    "test -f $f && mkdir -p whole && mv $f whole/$n; true",
    "rm -rf $f; mkdir -p $f; echo agent $n > $f/deep",
    "rm -rf $f; mkdir -p $f/more; echo agent $n > $f/more/deep",
    "d=${f%/*}; test -d $d && ! test -L $d && mv $d away-$n && ln -s away-$n $d; true",
];

fn agent(names: usize, commands: usize) -> impl Strategy<Value = Deed> {
    let run = move || (0..commands, 0..names).prop_map(|(command, name)| (COMMANDS[command], name));
    prop_oneof![
        3 => (0..names).prop_map(Deed::Write),
        4 => run().prop_map(|(command, name)| Deed::Run(command, name)),
        2 => (0..names, run()).prop_map(|(one, (command, other))| Deed::Both(one, command, other)),
        1 => (0..names, 0..names).prop_map(|(one, other)| Deed::Tasks(one, other)),
        1 => Just(Deed::Undo),
        1 => Just(Deed::Redo),
        1 => (0..4_usize).prop_map(Deed::Before),
    ]
}

fn person(names: usize) -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => (0..names).prop_map(Deed::Mine),
        1 => (0..names).prop_map(Deed::Mode),
        1 => (0..names).prop_map(Deed::Link),
        1 => (0..names, 0..names).prop_map(|(from, to)| Deed::Move(from, to)),
    ]
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
    scene.agents[2].mode = Some(haft_session::Mode::Subagent);
    for (number, deed) in deeds.iter().enumerate().filter(|(_, deed)| deed.asks()) {
        let (steps, below) = deed.answers(number);
        scene.model(steps).model(vec![says("Done.")]);
        for (prompt, step) in below {
            scene.other(&prompt, vec![vec![step], vec![says("Done below.")]]);
        }
    }
    let session = scene.session().await;
    let mut theirs: BTreeMap<PathBuf, String> =
        NAMES.iter().map(|name| (name.into(), state(&top.join(name)))).collect();
    let before = look(&top);
    let mut is_alone = true;
    for (number, deed) in deeds.iter().enumerate() {
        if deed.asks() {
            session.prompt(Prompt::text(format!("{number}"))).await.unwrap();
        } else if let Some(rewind) = rewind(&scene, &session, deed).await {
            match session.rewind(rewind).await {
                Ok(rewound) => prop_assert!(!is_alone || !rewound.is_partial(), "{:?}", rewound.files),
                Err(SessionError::NothingToUndo(_) | SessionError::NothingToRedo(_)) => {}
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        } else {
            is_alone = false;
            for name in work(&top, number, deed) {
                theirs.insert(name.into(), state(&top.join(name)));
            }
        }
    }
    let (after, is_whole) = (look(&top), scene.journal.session(session.id()).await.unwrap().unwrap().revert.is_none());
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
    if undone > 0 && is_whole {
        session.rewind(Rewind::to(To::End)).await.unwrap();
        prop_assert_eq!(look(&top), after, "after redo");
    }
    Ok(())
}

/// Where the person goes, if that is what they do.
async fn rewind(scene: &Scene, session: &Session, deed: &Deed) -> Option<Rewind> {
    let Deed::Before(number) = deed else { return deed.rewinds() };
    let history = scene.journal.history(session.id()).await.unwrap();
    let prompts: Vec<&Turned> =
        history.messages().iter().filter(|turned| matches!(turned.info, Message::User(_))).collect();
    let prompt = prompts.get(number % prompts.len().max(1));
    // Without a prompt there is nothing to go back to.
    Some(prompt.map_or(Rewind::to(To::Back), |turned| Rewind::to(To::Before(turned.info.id().clone(), None))))
}

/// The person does something, and which files that changed.
fn work(top: &Path, number: usize, deed: &Deed) -> Vec<&'static str> {
    let names = match deed {
        Deed::Mine(name) | Deed::Mode(name) | Deed::Link(name) => vec![NAMES[*name]],
        Deed::Move(from, to) => vec![NAMES[*from], NAMES[*to]],
        _ => Vec::new(),
    };
    let Some(path) = names.first().map(|name| top.join(name)) else { return names };
    let before: Vec<String> = names.iter().map(|name| state(&top.join(name))).collect();
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match deed {
        Deed::Mode(_) if is_file => {
            let mode = if state(&path).starts_with("700 ") { 0o600 } else { 0o700 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        Deed::Link(_) => {
            let _ = fs::remove_file(&path);
            symlink(format!("mine-{number}"), &path).unwrap();
        }
        Deed::Move(_, to) => {
            let to = top.join(NAMES[*to]);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            // What is not there cannot be moved.
            let _ = fs::rename(&path, &to);
        }
        _ => {
            // Not through a link.
            let _ = fs::remove_file(&path);
            fs::write(&path, format!("mine {number}\n")).unwrap();
        }
    }
    // What is as it was before is nothing that they did.
    let changed = names.into_iter().zip(before).filter(|(name, before)| state(&top.join(name)) != *before);
    changed.map(|(name, _)| name).collect()
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
