//! Tasks in work trees of their own, as a person at the command line meets them.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::{Machine, Ran};

const APART: &str = r#"{"answer":[{"call":"task","args":{"description":"work","prompt":"Do it.","subagent_type":"general","worktree":true}}]}"#;
const DONE: &str = r#"{"answer":[{"text":"All done."}]}"#;
const EDITS: &str = r#"{"answer":[{"call":"edit","args":{"filePath":"a.txt","oldString":"two","newString":"TWO"}},{"call":"write","args":{"filePath":"sub/new.txt","content":"new\n"}},{"call":"bash","args":{"command":"rm gone.txt"}}]}"#;
const READY: &str = r#"{"answer":[{"text":"Ready."}]}"#;
const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\nthree\n"), ("gone.txt", "bye\n")];

/// A machine whose project is a repository with `FILES` in its last commit, and where the agent `general` plays
/// `answers`.
fn machine(answers: &[&str]) -> Machine {
    let machine = Machine::uncaged(FILES);
    plays(&machine, answers);
    machine.write(".gitignore", "/opencode.json\n");
    git(&machine, &["init", "-q"]);
    git(&machine, &["add", "."]);
    git(&machine, &["commit", "-qm", "first"]);
    machine
}

fn plays(machine: &Machine, answers: &[&str]) {
    let path = machine.root().join("general.jsonl");
    std::fs::write(&path, format!("{{\"haft\":\"scenario\",\"version\":1}}\n{}\n", answers.join("\n"))).unwrap();
    let model = format!("script/{}", path.display());
    machine.write("opencode.json", &json!({"agent": {"general": {"model": model}}}).to_string());
}

/// What git says in the project, with settings of nobody's.
fn git(machine: &Machine, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(machine.project()).env("HOME", machine.root()).env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(args);
    Ran::from(command.output().unwrap()).ok().out
}

/// A run in which the agent hands a task on that works apart.
fn run(machine: &Machine) -> Ran {
    machine.haft(&["run", "go", "--auto", "--model", &machine.scenario(&[APART, DONE])]).ok()
}

/// What the agent was told when the task had ended.
fn report(machine: &Machine) -> String {
    let parts = crate::support::parts(&machine.newest_session());
    let task = parts.iter().find(|part| part["tool"] == "task").unwrap();
    let state = &task["state"];
    state["output"].as_str().or(state["error"].as_str()).unwrap().to_owned()
}

/// The work trees that stand.
fn trees(machine: &Machine) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    below(machine.root().join("state/haft/worktrees")).into_iter().flat_map(below).collect()
}

/// The id of the task of the newest session.
fn task_id(machine: &Machine) -> String {
    let parts = crate::support::parts(&machine.newest_session());
    let task = parts.iter().find(|part| part["tool"] == "task").unwrap();
    task["state"]["metadata"]["sessionId"].as_str().unwrap().to_owned()
}

/// A further run of the newest session, in which the agent calls `task` with `args` after `answered` answers.
fn goes_on(machine: &Machine, answered: usize, args: serde_json::Value) -> Ran {
    let mut input = json!({"description": "work", "subagent_type": "general", "task_id": task_id(machine)});
    input.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
    let call = json!({"answer": [{"call": "task", "args": input}]}).to_string();
    let mut answers = vec![DONE; answered];
    answers.extend([call.as_str(), DONE]);
    machine.haft(&["run", "on", "--continue", "--auto", "--model", &machine.scenario(&answers)]).ok()
}

/// What the agent was told by its last call of `task`.
fn last_report(machine: &Machine) -> String {
    let parts = crate::support::parts(&machine.newest_session());
    let task = parts.iter().rfind(|part| part["tool"] == "task").unwrap();
    let state = &task["state"];
    state["output"].as_str().or(state["error"].as_str()).unwrap().to_owned()
}

#[test]
fn what_was_changed_behind_the_turn_waits_until_it_is_fetched() {
    let machine = machine(&[EDITS, READY]);
    let behind = APART.replace("true}", "true,\"background\":true}");
    let ran = machine.haft(&["run", "go", "--auto", "--model", &machine.scenario(&[&behind, DONE, DONE])]).ok();
    assert!(ran.err.contains("background task ended: work"), "{ran:?}");
    let session = machine.newest_session();
    let parts = crate::support::parts(&session);
    let notice = parts.iter().find(|part| part["metadata"]["task"].is_string()).unwrap()["text"].as_str().unwrap();
    let [tree] = trees(&machine).try_into().unwrap();
    assert!(ran.err.contains(&format!("they stand in {}\n", tree.display())), "{ran:?}");
    let want = format!("It worked apart, in {}. Nothing of it is in the project yet.", tree.display());
    assert!(notice.contains(&want), "{notice}");
    assert!(notice.contains("It changed there:\n- a.txt\n- gone.txt\n- sub/new.txt\n"), "{notice}");
    assert_eq!(files(&machine), FILES.iter().map(|(name, text)| (*name, (*text).to_owned())).collect::<Vec<_>>());
    goes_on(&machine, 3, json!({"prompt": ""}));
    let told = last_report(&machine);
    assert!(told.contains("Ready.\n\nIts changes were carried over:\n- a.txt"), "{told}");
    let text = |text: &str| text.to_owned();
    assert_eq!(files(&machine), [("a.txt", text("one\nTWO\nthree\n")), ("sub/new.txt", text("new\n"))]);
    assert!(trees(&machine).is_empty(), "{:?}", trees(&machine));
    machine.haft(&["session", "undo", "--yes"]).ok();
    assert_eq!(files(&machine).len(), 2, "the call that fetched them can be undone");
    assert_eq!(files(&machine)[1].0, "gone.txt");
}

#[test]
fn one_that_did_not_go_together_goes_on_where_it_stands() {
    let machine = machine(&[]);
    let theirs = format!("printf 'one\\n2\\nthree\\n' > {}", machine.project().join("a.txt").display());
    let meanwhile = json!({"answer": [{"call": "bash", "args": {"command": theirs}}]}).to_string();
    let mends = r#"{"answer":[{"call":"edit","args":{"filePath":"a.txt","oldString":"TWO","newString":"2"}}]}"#;
    plays(&machine, &[EDITS, &meanwhile, READY, mends, r#"{"answer":[{"text":"Mended."}]}"#]);
    run(&machine);
    let [tree] = trees(&machine).try_into().unwrap();
    assert!(report(&machine).contains("you may read them there"), "{}", report(&machine));
    // What stands there is inside the project for whoever looks.
    let look = json!({"answer": [{"call": "read", "args": {"filePath": tree.join("a.txt")}}]}).to_string();
    let model = machine.scenario(&[DONE, DONE, &look, DONE]);
    machine.haft(&["run", "look", "--continue", "--model", &model]).ok().says(&["a.txt"]);
    let parts = crate::support::parts(&machine.newest_session());
    let read = parts.iter().rfind(|part| part["tool"] == "read").unwrap();
    assert!(read["state"]["output"].as_str().unwrap().contains("TWO"), "{read:#}");
    // It goes on in its tree, though nobody said so again.
    goes_on(&machine, 4, json!({"prompt": "Take theirs."}));
    let told = last_report(&machine);
    assert!(told.contains("Mended.\n\nIts changes were carried over:\n- gone.txt\n- sub/new.txt"), "{told}");
    assert!(trees(&machine).is_empty() && !machine.project().join("gone.txt").exists());
    assert_eq!(machine.read("a.txt"), "one\n2\nthree\n");
    // And once more apart, in a new tree of the same name, with what stands in the project now.
    plays(
        &machine,
        &[DONE, DONE, DONE, DONE, DONE, r#"{"answer":[{"call":"bash","args":{"command":"pwd; cat a.txt"}}]}"#, READY],
    );
    goes_on(&machine, 6, json!({"prompt": "Look.", "worktree": true}));
    let told = last_report(&machine);
    assert!(told.contains("Ready.\n\nIt changed no files."), "{told}");
    assert!(trees(&machine).is_empty());
}

/// The files of the project, with what is in them.
fn files(machine: &Machine) -> Vec<(&'static str, String)> {
    let names = ["a.txt", "gone.txt", "notes.txt", "sub/new.txt"];
    let read = |name: &'static str| Some((name, std::fs::read_to_string(machine.project().join(name)).ok()?));
    names.into_iter().filter_map(read).collect()
}

#[test]
fn what_was_changed_apart_is_carried_over_and_can_be_undone() {
    let machine = machine(&[EDITS, READY]);
    let before = files(&machine);
    let ran = run(&machine);
    let told = report(&machine);
    assert!(told.contains("Ready.\n\nIts changes were carried over:\n- a.txt\n- gone.txt\n- sub/new.txt"), "{told}");
    assert!(!ran.err.contains("not in the project"), "{ran:?}");
    let text = |text: &str| text.to_owned();
    assert_eq!(files(&machine), [("a.txt", text("one\nTWO\nthree\n")), ("sub/new.txt", text("new\n"))]);
    assert!(trees(&machine).is_empty(), "{:?}", trees(&machine));
    assert_eq!(git(&machine, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&machine, &["status", "--porcelain"]), " M a.txt\n D gone.txt\n?? sub/\n", "nothing is staged");
    assert_eq!(git(&machine, &["branch", "--all"]).lines().count(), 1);
    machine.haft(&["session", "undo", "--yes"]).ok();
    assert_eq!(files(&machine), before);
    machine.haft(&["session", "redo", "--yes"]).ok();
    assert_eq!(files(&machine).len(), 2);
}

#[test]
fn it_begins_with_what_is_not_committed_yet() {
    let edits = r#"{"answer":[{"call":"edit","args":{"filePath":"a.txt","oldString":"zwei","newString":"TWO"}},{"call":"edit","args":{"filePath":"notes.txt","oldString":"mine","newString":"ours"}}]}"#;
    let machine = machine(&[edits, READY]);
    machine.write("a.txt", "one\nzwei\nthree\n");
    machine.write("notes.txt", "mine\n");
    std::fs::remove_file(machine.project().join("gone.txt")).unwrap();
    let large = std::fs::File::create(machine.project().join("large.bin")).unwrap();
    large.set_len(5 * 1024 * 1024).unwrap();
    git(&machine, &["add", "a.txt"]);
    let before = git(&machine, &["status", "--porcelain"]);
    run(&machine);
    let told = report(&machine);
    assert!(told.contains("Its changes were carried over:\n- a.txt\n- notes.txt\nIt worked without these"), "{told}");
    assert!(told.contains("\n- large.bin"), "{told}");
    let text = |text: &str| text.to_owned();
    assert_eq!(files(&machine), [("a.txt", text("one\nTWO\nthree\n")), ("notes.txt", text("ours\n"))]);
    // What is staged is still what the person staged.
    assert_eq!(git(&machine, &["show", ":a.txt"]), "one\nzwei\nthree\n");
    assert_eq!(git(&machine, &["status", "--porcelain"]), before.replace("M  a.txt", "MM a.txt"));
    assert_eq!(git(&machine, &["rev-list", "--all", "--count"]).trim(), "1");
}

#[test]
fn what_does_not_go_together_is_named_and_nothing_is_changed() {
    // The person changes the same line while the task works.
    let machine = machine(&[]);
    let theirs = format!("printf 'one\\n2\\nthree\\n' > {}", machine.project().join("a.txt").display());
    let meanwhile = json!({"answer": [{"call": "bash", "args": {"command": theirs}}]}).to_string();
    plays(&machine, &[EDITS, &meanwhile, READY]);
    let ran = run(&machine);
    let told = report(&machine);
    assert!(told.contains("1 do not go together with the project:\n- a.txt: both changed the same lines"), "{told}");
    let text = |text: &str| text.to_owned();
    assert_eq!(files(&machine), [("a.txt", text("one\n2\nthree\n")), ("gone.txt", text("bye\n"))]);
    let [tree] = trees(&machine).try_into().unwrap();
    ran.says(&[&format!("! its changes are not in the project; they stand in {}\n", tree.display())]);
    assert!(told.contains(&format!("They stand in {}", tree.display())), "{told}");
    assert_eq!(std::fs::read_to_string(tree.join("a.txt")).unwrap(), "one\nTWO\nthree\n");
    assert!(tree.join("sub/new.txt").exists() && !tree.join("gone.txt").exists());
}

#[test]
fn without_a_repository_or_git_no_task_is_begun() {
    let machine = machine(&[EDITS, READY]);
    let none = machine.root().join("none");
    std::fs::create_dir(&none).unwrap();
    let model = machine.scenario(&[APART, DONE]);
    let mut command = machine.command(&["run", "go", "--auto", "--model", &model]);
    Ran::from(command.env("PATH", &none).output().unwrap()).ok();
    assert!(report(&machine).contains("git cannot be started"), "{}", report(&machine));
    std::fs::remove_dir_all(machine.project().join(".git")).unwrap();
    run(&machine);
    let told = report(&machine);
    assert!(told.contains("this folder is in no git repository") && told.contains("leave `worktree` out"), "{told}");
    assert_eq!(files(&machine), FILES.iter().map(|(name, text)| (*name, (*text).to_owned())).collect::<Vec<_>>());
    assert!(trees(&machine).is_empty());
}

#[test]
fn what_a_killed_run_left_is_swept_once_it_is_old() {
    use std::io::Read;
    let machine = machine(&[EDITS, r#"{"answer":[{"text":"Half"},{"hang":true}]}"#]);
    let model = machine.scenario(&[APART, DONE]);
    let mut child = machine.start(&mut machine.command(&["run", "go", "--auto", "--model", &model]));
    let mut stderr = child.stderr.take().unwrap();
    let (mut heard, mut byte) = (Vec::new(), [0]);
    while !heard.ends_with(b"rm gone.txt") {
        stderr.read_exact(&mut byte).unwrap();
        heard.push(byte[0]);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let [left] = trees(&machine).try_into().unwrap();
    assert_eq!(git(&machine, &["worktree", "list"]).lines().count(), 2);
    plays(&machine, &[EDITS, READY]);
    run(&machine);
    assert!(left.exists(), "somebody may still look into it");
    let old = SystemTime::now() - Duration::from_secs(8 * 24 * 3600);
    std::fs::File::open(&left).unwrap().set_modified(old).unwrap();
    plays(&machine, &[READY]);
    run(&machine);
    assert!(trees(&machine).is_empty(), "{:?}", trees(&machine));
    assert_eq!(git(&machine, &["worktree", "list"]).lines().count(), 1);
}
