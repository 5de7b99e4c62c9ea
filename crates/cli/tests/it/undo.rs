//! `haft session undo`, `redo`, `diff` and `fork`.

use serde_json::json;

use crate::support::{Machine, Ran, wait_for};

/// A session whose only turn changes `a.txt`, makes a file in a folder and removes `gone.txt` by a command.
fn changed() -> Machine {
    let machine = Machine::with(&[("a.txt", "one\n"), ("gone.txt", "bye\n")]);
    let model = machine.scenario(
        &[
            r#"{"answer":[{"call":"edit","args":{"filePath":"a.txt","oldString":"one","newString":"two"}},
           {"call":"write","args":{"filePath":"new/b.txt","content":"b\n"}}]}"#,
            r#"{"answer":[{"call":"bash","args":{"command":"rm gone.txt","description":"remove"}}]}"#,
            r#"{"answer":[{"text":"Done."}]}"#,
        ]
        .map(|line| line.replace('\n', " "))
        .each_ref()
        .map(String::as_str),
    );
    machine.haft(&["run", "change things", "--auto", "--model", &model]).ok();
    assert_eq!(files(&machine), "a.txt=two new/b.txt=b");
    machine
}

fn files(machine: &Machine) -> String {
    let there = ["a.txt", "gone.txt", "new/b.txt"].into_iter().filter_map(|name| {
        let text = std::fs::read_to_string(machine.project().join(name)).ok()?;
        Some(format!("{name}={}", text.trim()))
    });
    there.collect::<Vec<_>>().join(" ")
}

#[test]
fn files_are_listed_first_and_nothing_is_done_without_a_yes() {
    let machine = changed();
    let look = machine.haft(&["session", "undo", "--dry-run"]).ok();
    for shown in [
        "would undo: change things",
        "M a.txt  +1 -1\n",
        "A gone.txt  +1 -0  *\n",
        "D new/b.txt  +0 -1\n",
        "* found after",
    ] {
        assert!(look.out.contains(shown), "{shown:?} is not in {}", look.out);
    }
    let asked = machine.haft(&["session", "undo"]).ends(2);
    assert!(asked.err.contains("--yes"), "{}", asked.err);
    assert_eq!(files(&machine), "a.txt=two new/b.txt=b");
    // Broken settings are not in the way of it.
    machine.write("haft.json", "{ broken");
    machine.haft(&["session", "undo", "--yes"]).ok();
    assert_eq!(files(&machine), "a.txt=one gone.txt=bye");
    assert!(!machine.project().join("new").exists());
    let shown = machine.haft(&["session", "show"]).ok().out;
    assert!(shown.contains("taken back") && !shown.contains("Done."), "{shown}");
    machine.haft(&["session", "undo", "--yes"]).ends(1);
    machine.haft(&["session", "redo", "--yes"]).ok();
    assert_eq!(files(&machine), "a.txt=two new/b.txt=b");
    machine.haft(&["session", "redo", "--yes"]).ends(1);
}

#[test]
fn what_was_changed_since_is_left_named_and_forced() {
    let machine = changed();
    machine.write("a.txt", "mine\n");
    let left = machine.haft(&["session", "undo", "--yes"]).ends(1);
    assert!(left.out.contains("a.txt  it was changed since") && left.out.contains("--force"), "{}", left.out);
    assert_eq!(files(&machine), "a.txt=mine gone.txt=bye");
    machine.haft(&["session", "redo", "--yes"]).ok();
    let json = machine.haft(&["session", "undo", "--yes", "--json", "--force", "a.txt"]).ok().json();
    assert_eq!((json["done"].as_bool(), json["prompts"][0].as_str()), (Some(true), Some("change things")));
    assert_eq!(files(&machine), "a.txt=one gone.txt=bye");
    machine.haft(&["session", "redo", "--yes"]).ok();
    assert_eq!(files(&machine), "a.txt=mine new/b.txt=b");
}

#[test]
fn what_a_session_did_to_files_is_shown_and_a_copy_can_begin_anywhere() {
    let machine = changed();
    let text = machine.haft(&["session", "diff"]).ok().out;
    assert!(text.contains("-one\n+two\n") && text.contains("+++ new/b.txt"), "{text}");
    let rows = machine.haft(&["session", "diff", "--last", "--json"]).ok().json();
    let named: Vec<String> =
        rows.as_array().unwrap().iter().map(|row| format!("{} {}", row["file"], row["status"])).collect();
    assert_eq!(named, [r#""a.txt" "modified""#, r#""gone.txt" "deleted""#, r#""new/b.txt" "added""#]);
    let session = machine.newest_session();
    let (id, second) =
        (session["info"]["id"].as_str().unwrap(), session["messages"][2]["info"]["id"].as_str().unwrap());
    let copy = machine.haft(&["session", "fork", id, "--at", second]).ok().out;
    let shown = machine.haft(&["session", "show", copy.trim(), "--json"]).ok().json();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 2);
    machine.haft(&["session", "undo", copy.trim(), "--to", "msg_none", "--yes"]).ends(1);
    machine.haft(&["session", "undo", copy.trim(), "--to", "no id", "--yes"]).ends(2);
}

#[test]
fn modes_that_changed_are_shown_and_names_stay_on_their_line() {
    let machine = Machine::with(&[("a.sh", "one\n"), ("b.sh", "one\n")]);
    let command = "chmod 755 a.sh b.sh; echo two >> b.sh; printf x > \"$(printf 'new\\nline\\033[2J')\"";
    let call = json!({"answer": [{"call": "bash", "args": {"command": command, "description": "x"}}]}).to_string();
    let model = machine.scenario(&[&call, r#"{"answer":[{"text":"Done."}]}"#]);
    machine.haft(&["run", "go", "--auto", "--model", &model]).ok();
    let text = machine.haft(&["session", "diff"]).ok().out;
    let rule = "=".repeat(67);
    let modes = "old mode 100644\nnew mode 100755\n";
    assert!(text.contains(&format!("Index: a.sh\n{rule}\n{modes}Index: b.sh\n{rule}\n{modes}--- b.sh\n")), "{text}");
    assert!(text.contains(r#"+++ "new\nline\033[2J""#) && !text.contains('\u{1b}'), "{text}");
    let undone = machine.haft(&["session", "undo", "--dry-run"]).ok().out;
    assert!(undone.contains(r"new\nline\u{1b}[2J") && !undone.contains('\u{1b}'), "{undone}");
}

#[test]
fn what_was_taken_back_before_a_command_that_is_killed_is_not_named_with_it() {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let call = |tool: &str, args: serde_json::Value| json!({ "answer": [{ "call": tool, "args": args }] }).to_string();
    let (bash, done) =
        (|command: &str| call("bash", json!({ "command": command })), r#"{"answer":[{"text":"Done."}]}"#);
    let write = call("write", json!({ "filePath": "made.txt", "content": "made" }));
    let model = machine.scenario(&[&write, done, &bash("true"), done]);
    let run = ["run", "go on", "--continue", "--auto", "--model", &model];
    machine.haft(&["run", "make it", "--auto", "--model", &model]).ok();
    machine.haft(&run).ok();
    for _ in 0..2 {
        machine.haft(&["session", "undo", "--yes"]).ok();
    }
    assert!(!machine.project().join("made.txt").exists());
    machine.scenario(&[&bash("echo begun > begun.txt; while :; do :; done")]);
    let mut child = machine.start(&mut machine.command(&run));
    wait_for(&machine.project().join("begun.txt"), "\n");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = machine.haft(&["session", "undo", "--yes"]).ends(1);
    let named: Vec<&str> = left.out.lines().filter(|line| line.starts_with("  ! ")).collect();
    assert!(matches!(named[..], [one] if one.contains("begun.txt  it stays: haft was ended")), "{}", left.out);
}

#[test]
fn an_undo_does_not_go_forth_nor_a_redo_back() {
    let machine = Machine::with(&[]);
    let write =
        |name: &str| json!({"answer": [{"call": "write", "args": {"filePath": name, "content": "x"}}]}).to_string();
    let done = r#"{"answer":[{"text":"Done."}]}"#;
    let (a, b) = (write("a.txt"), write("new/b.txt"));
    let model = machine.scenario(&[&a, done, &b, done]);
    machine.haft(&["run", "one", "--auto", "--model", &model]).ok();
    machine.haft(&["run", "two", "--auto", "--continue", "--model", &model]).ok();
    let session = machine.newest_session();
    let prompts = session["messages"].as_array().unwrap().iter().filter(|message| message["info"]["role"] == "user");
    let ids: Vec<&str> = prompts.map(|message| message["info"]["id"].as_str().unwrap()).collect();
    let [one, two] = ids[..] else { panic!("{session:#}") };
    machine
        .haft(&["session", "redo", "--to", one, "--yes"])
        .ends(2)
        .says(&["is not taken back", "haft session undo ses_"]);
    machine.haft(&["session", "undo", "--to", one, "--yes"]).ok();
    assert_eq!(files(&machine), "");
    machine
        .haft(&["session", "undo", "--to", two, "--yes"])
        .ends(2)
        .says(&["taken back already", "haft session redo ses_"]);
    assert_eq!(files(&machine), "");
    machine.haft(&["session", "redo", "--to", two, "--yes"]).ok();
    assert_eq!(files(&machine), "a.txt=x");
    machine.haft(&["session", "redo", "--to", one, "--yes"]).ends(2).says(&["is not taken back"]);
    assert_eq!(files(&machine), "a.txt=x");
}

#[test]
fn a_project_that_was_moved_says_what_to_do() {
    let machine = changed();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let moved = machine.root().join("moved");
    std::fs::rename(machine.project(), &moved).unwrap();
    let undo = |folder: &std::path::Path| {
        let mut command = machine.command(&["session", "undo", &id, "--yes"]);
        Ran::from(command.current_dir(folder).output().unwrap())
    };
    undo(&moved).ends(1).says(&["is gone", "move it back there"]);
    std::fs::rename(&moved, machine.project()).unwrap();
    undo(&machine.project()).ok();
    assert_eq!(files(&machine), "a.txt=one gone.txt=bye");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_name_is_no_unicode_says_why_nothing_is_taken_back() {
    use std::os::unix::ffi::OsStrExt;
    let machine = Machine::with(&[]);
    let folder = machine.root().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).unwrap();
    let haft = |args: &[&str]| Ran::from(machine.command(args).current_dir(&folder).output().unwrap());
    let answer = r#"{"answer":[{"call":"write","args":{"filePath":"a.txt","content":"x"}}]}"#;
    let model = machine.scenario(&[answer, r#"{"answer":[{"text":"Done."}]}"#]);
    haft(&["run", "go", "--auto", "--model", &model]).ok();
    haft(&["session", "undo", "--yes"]).ends(1).says(&["no UTF-8", "another name"]);
}
