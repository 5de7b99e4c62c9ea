//! How a chat is talked in: what waits, how it looks, what is summed up, what ends behind it.

use std::io::Write;

use serde_json::json;

use crate::chat::{chat, enter, leave_drawn};
use crate::support::Machine;
use crate::terminal::{DONE, gate};

const HI: &str = r#"{"answer":[{"text":"Hi there."}]}"#;
const CTRL_Q: &str = "\u{11}";

/// The words of the newest session, each with who says them, without those of the program.
fn said(machine: &Machine) -> Vec<String> {
    let session = machine.newest_session();
    let mut said = Vec::new();
    for message in session["messages"].as_array().unwrap() {
        for part in message["parts"].as_array().unwrap() {
            if part["type"] == "text" && part["synthetic"] != true {
                said.push(format!("{}: {}", message["info"]["role"].as_str().unwrap(), part["text"].as_str().unwrap()));
            }
        }
    }
    said
}

#[test]
fn what_is_queued_is_read_once_the_turn_has_ended() {
    let settings = json!({"permission": {"bash": "allow"}}).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings)]);
    let mut gate = gate(&machine);
    let pause = json!({"answer": [{"call": "bash", "args": {"command": "echo begun; read line < gate"}}]}).to_string();
    let first = r#"{"answer":[{"text":"First."}]}"#;
    let mut terminal = chat(&machine, &[&pause, first, HI, DONE], &[]);
    enter(&mut terminal, "/queue");
    terminal.wait_for("say what is to be read later: /queue WORDS");
    enter(&mut terminal, "go");
    terminal.wait_for("begun\nbuild › what you say now is read after this step");
    enter(&mut terminal, "/queue and look");
    terminal.wait_for("queued: it is read once this turn has ended");
    terminal.type_text(&format!("and then stop{CTRL_Q}"));
    terminal.wait_for_times("queued: it is read once this turn has ended", 2);
    gate.write_all(b"go\n").unwrap();
    terminal.wait_for("All done.");
    terminal.wait_for("\nbuild · script/");
    leave_drawn(&mut terminal);
    let want = ["user: go", "assistant: First.", "user: and look", "assistant: Hi there.", "user: and then stop"];
    assert_eq!(said(&machine)[..5], want);
}

#[test]
fn a_theme_holds_at_once_and_none_takes_all_colours() {
    let machine = Machine::uncaged(&[]);
    let mut terminal = chat(&machine, &[HI, DONE], &[]);
    enter(&mut terminal, "/theme nonsense");
    terminal.wait_for("a theme is auto, dark, light or none");
    enter(&mut terminal, "/theme light");
    terminal.wait_for("what comes from now on is painted so");
    enter(&mut terminal, "hello");
    terminal.wait_for("\nbuild · script/");
    assert!(terminal.bytes().contains("\u{1b}[90mwhat comes from now on"), "{:?}", terminal.bytes());
    enter(&mut terminal, "/theme none");
    terminal.wait_for("colours are off");
    let before = terminal.bytes().len();
    enter(&mut terminal, "more");
    terminal.wait_for("All done.");
    terminal.wait_for_times("\nbuild · script/", 2);
    let after = terminal.bytes()[before..].to_owned();
    for colour in ["\u{1b}[2m", "\u{1b}[1m", "\u{1b}[90m"] {
        assert!(!after.contains(colour), "{after:?}");
    }
    leave_drawn(&mut terminal);
}

#[test]
fn a_turn_is_summed_up_when_the_person_asks() {
    let machine = Machine::uncaged(&[]);
    let summary = r#"{"for":"summary","answer":[{"text":"A greeting\n\nThe two of them said hello."}]}"#;
    let mut terminal = chat(&machine, &[HI, summary], &[]);
    enter(&mut terminal, "/summary");
    terminal.wait_for("there is nothing to sum up yet");
    enter(&mut terminal, "hello");
    terminal.wait_for("\nbuild · script/");
    enter(&mut terminal, "/summary");
    terminal.wait_for("A greeting\nThe two of them said hello.");
    leave_drawn(&mut terminal);
    let kept = machine.newest_session()["messages"][0]["info"]["summary"].clone();
    assert_eq!((&kept["title"], &kept["body"]), (&json!("A greeting"), &json!("The two of them said hello.")));
    // The same without a chat.
    let model = machine.scenario(&[HI, summary]);
    let told = machine.haft(&["session", "summary", "--model", &model]).ok();
    assert_eq!(told.out, "A greeting\nThe two of them said hello.\n");
    let told =
        machine.haft(&["session", "summary", "--all", "--json", "--model", &machine.scenario(&[HI])]).ok().json();
    assert_eq!(told["title"], "A greeting", "what is known is not asked for again");
    let shown = machine.haft(&["session", "show"]).ok().out;
    assert!(shown.contains("(what came of it: A greeting · The two of them said hello.)"), "{shown}");
    let nobody = machine.haft(&["session", "summary", "--model", &machine.scenario(&[HI])]).ends(1);
    assert!(nobody.err.contains("the turn was not summed up: no model is there for it"), "{nobody:?}");
}

#[test]
fn the_end_of_a_task_in_the_background_is_told() {
    let wait = "read line < gate";
    let settings = json!({"permission": {"bash": {wait: "allow"}}});
    let waits = json!({"answer": [{"call": "bash", "args": {"command": wait}}]}).to_string();
    let machine = crate::task::machine(&[&waits, HI], settings);
    let mut gate = gate(&machine);
    let behind = r#"{"answer":[{"call":"task","args":{"description":"look around","prompt":"Look.","subagent_type":"explore","background":true}}]}"#;
    let mut terminal = chat(&machine, &[behind, DONE], &[]);
    enter(&mut terminal, "go");
    terminal.wait_for("\nbuild · script/");
    assert_eq!(terminal.times("background task"), 0);
    gate.write_all(b"go\n").unwrap();
    terminal.wait_for("◆ background task ended: look around");
    leave_drawn(&mut terminal);
}
