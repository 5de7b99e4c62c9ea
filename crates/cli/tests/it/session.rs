//! `haft session`.

use std::io::{BufRead, BufReader};

use crate::support::Machine;

const HELLO: &str = r#"{"answer":[{"text":"Hello."}]}"#;

#[test]
fn sessions_are_listed_newest_first_and_by_folder() {
    let machine = Machine::with(&[("sub/x", "")]);
    let model = machine.scenario(&[HELLO]);
    machine.haft(&["run", "first", "--model", &model]).ok();
    machine.haft(&["run", "second", "--model", &model, "--title", "The second"]).ok();
    machine.haft(&["run", "elsewhere", "--model", &model, "--dir", "sub"]).ok();
    let titles = |args: &[&str]| -> Vec<String> {
        let rows = machine.haft(args).ok().json();
        rows.as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&["session", "list", "--json"]), ["The second", "first"]);
    assert_eq!(titles(&["session", "list", "--json", "--all"]), ["elsewhere", "The second", "first"]);
    assert_eq!(titles(&["session", "list", "--json", "-n", "1"]), ["The second"]);
    let text = machine.haft(&["session", "list"]).ok().out;
    assert!(text.lines().count() == 4 && text.contains("The second"), "{text}");
}

#[test]
fn a_session_is_shown_with_what_was_said_and_done() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let model = machine.scenario(&[
        r#"{"answer":[{"text":"Reading."},{"call":"read","args":{"filePath":"a.txt"}}]}"#,
        r#"{"answer":[{"text":"It says one."}]}"#,
    ]);
    machine.haft(&["run", "what does a.txt say?", "--model", &model]).ok();
    let text = machine.haft(&["session", "show"]).ok().out;
    for shown in ["what does a.txt say?", "Reading.", "→ Read a.txt", "It says one."] {
        assert!(text.contains(shown), "{shown:?} is not in: {text}");
    }
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    assert_eq!(machine.haft(&["session", "show", &id]).ok().out, text);
}

#[test]
fn broken_settings_are_not_in_the_way_of_looking() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[HELLO]);
    machine.haft(&["run", "first", "--model", &model]).ok();
    machine.write("opencode.json", "{ broken");
    assert!(machine.haft(&["session", "list"]).ok().out.contains("first"));
    assert!(machine.haft(&["session", "show"]).ok().out.contains("Hello."));
    // A session is gone on with under the settings of its own folder, wherever that is said.
    machine.write("opencode.json", r#"{"permision": {}}"#);
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let elsewhere = machine.root().join("home");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("opencode.json"), "{ broken").unwrap();
    let more = machine.scenario(&[HELLO, HELLO]);
    let mut command = machine.command(&["run", "more", "--session", &id, "--model", &more]);
    let ran = crate::support::Ran::from(command.current_dir(&elsewhere).output().unwrap()).ok();
    assert_eq!(ran.err.matches("there is no key \"permision\"").count(), 1, "{}", ran.err);
}

#[test]
fn a_session_that_is_not_there_is_named() {
    let machine = Machine::with(&[]);
    machine.haft(&["session", "show"]).ends(1).says(&["no session of this folder yet"]);
    machine.haft(&["session", "show", "ses_none"]).ends(1).says(&["there is no session ses_none"]);
    machine.haft(&["session", "show", "nonsense"]).ends(2).says(&["not an id that starts with ses_"]);
    assert_eq!(machine.haft(&["session", "list"]).ok().out, "");
}

#[test]
fn what_a_model_says_cannot_drive_the_terminal() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[r#"{"answer":[{"text":"a\u001b]0;owned\u0007b\u001b[2Jc"}]}"#]);
    machine.haft(&["run", "hi", "--model", &model]).ok();
    let text = machine.haft(&["session", "show"]).ok().out;
    assert!(text.contains("abc") && !text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_copy_goes_its_own_way() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[HELLO, r#"{"answer":[{"text":"Again."}]}"#]);
    machine.haft(&["run", "first", "--model", &model]).ok();
    let id = machine.newest_session()["info"]["id"].as_str().unwrap().to_owned();
    let copy = machine.haft(&["session", "fork", &id]).ok().out.trim().to_owned();
    assert_ne!(copy, id);
    machine.haft(&["run", "second", "--session", &copy, "--model", &model]).ok();
    let count = |id: &str| {
        let session = machine.haft(&["session", "show", id, "--json"]).ok().json();
        session["messages"].as_array().unwrap().len()
    };
    assert_eq!((count(&id), count(&copy)), (2, 4));
    machine.haft(&["session", "fork", &id]).ok();
    let title = |session: serde_json::Value| session["info"]["title"].as_str().unwrap().to_owned();
    assert!(title(machine.newest_session()).ends_with(" (fork #2)"), "{}", title(machine.newest_session()));
    machine.haft(&["session", "fork", "nonsense"]).ends(2);
    machine.haft(&["session", "fork", "ses_ffe5dff0ca8efffeAwyJ4KXeIR"]).ends(1);
}

#[test]
fn a_call_that_still_runs_is_shown() {
    let machine = Machine::with(&[]);
    let waits = r#"{"answer":[{"call":"bash","args":{"command":"until [ -e go ]; do sleep 0.02; done"}}]}"#;
    let model = machine.scenario(&[waits, HELLO]);
    let mut run = machine.start(&mut machine.command(&["run", "wait", "--auto", "--model", &model]));
    let mut told = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|line| line.starts_with("$ until")), "the command began");
    let during = machine.haft(&["session", "show"]).ok().out;
    machine.write("go", "");
    told.for_each(drop);
    assert!(run.wait().unwrap().success());
    assert!(during.contains("$ until [ -e go ]") && during.contains("(has not ended)"), "{during}");
    let after = machine.haft(&["session", "show"]).ok().out;
    assert!(after.contains("$ until [ -e go ]") && !after.contains("(has not ended)"), "{after}");
}

#[test]
fn a_session_is_summed_up_named_and_gone_on_with() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[
        r#"{"answer":[{"text":"One."}]}"#,
        r#"{"answer":[{"error":{"kind":"too_long","message":"too much"}}]}"#,
        r#"{"answer":[{"text":"Two."}]}"#,
        r#"{"for":"compaction","answer":[{"text":"The first notes."}]}"#,
        r#"{"for":"compaction","answer":[{"text":"The second notes."}]}"#,
        r#"{"for":"title","answer":[{"text":"Login fails"}]}"#,
    ]);
    machine.haft(&["run", "the login fails since yesterday", "--model", &model]).ok();
    assert!(machine.haft(&["session", "list"]).ok().out.contains("Login fails"));
    // A request that was too long is made again, shorter; the summary is not the answer.
    let ran = machine.haft(&["run", "go on", "--continue", "--model", &model]).ok();
    assert_eq!(ran.out, "Two.\n");
    assert!(ran.err.contains("summed up to make room"), "{}", ran.err);
    let ran = machine.haft(&["session", "compact", "--focus", "the tests"]).ok();
    assert_eq!(ran.out, "The second notes.\n");
    let shown = machine.haft(&["session", "show"]).ok().out;
    for shown_still in ["the login fails since yesterday", "One.", "The first notes.", "Two.", "The second notes."] {
        assert!(shown.contains(shown_still), "{shown_still:?} is not in: {shown}");
    }
    // Nothing was said since.
    machine.haft(&["session", "compact"]).ends(1).says(&["there is nothing to sum up"]);
}

#[test]
fn a_run_that_goes_in_circles_fails_and_says_why() {
    let machine = Machine::with(&[]);
    let look = r#"{"answer":[{"call":"glob","args":{"pattern":"*"}}]}"#;
    let model = machine.scenario(&[look, look, look, r#"{"answer":[{"text":"never"}]}"#]);
    let ran = machine.haft(&["run", "go", "--model", &model]).ends(1);
    ran.says(&["same call of glob over and over", "doom_loop"]);
}
