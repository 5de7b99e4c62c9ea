//! Planning before doing: an agent that may change nothing but its plan, and the person who lets another one carry it out.

use serde_json::json;

use crate::chat::{chat, command, enter, leave_drawn};
use crate::support::{Machine, RUNG, parts};
use crate::terminal::{DONE, Terminal, WIDE};

/// When the chat begins: equal clocks make equal names of plans.
const CLOCK: (&str, &str) = ("HAFT_CLOCK", "1790000000000");

/// A chat in which there are the tools of planning, on a machine that can hold a cage.
fn planning(machine: &Machine, answers: &[&str]) -> Terminal {
    let mut command = command(machine, answers, &[]);
    command.env(CLOCK.0, CLOCK.1).env("OPENCODE_EXPERIMENTAL_PLAN_MODE", "1").env(RUNG, crate::replay::rung());
    let terminal = Terminal::open(&command, WIDE);
    terminal.wait_for("build › ");
    terminal
}

/// Where the plan of the first session of a chat will stand.
fn plan_file() -> String {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let mut terminal = planning(&machine, &[DONE]);
    enter(&mut terminal, "hello");
    terminal.wait_for("All done.");
    leave_drawn(&mut terminal);
    let info = machine.newest_session()["info"].clone();
    format!(".haft/plans/{}-{}.md", info["time"]["created"], info["slug"].as_str().unwrap())
}

fn call(tool: &str, args: serde_json::Value) -> String {
    json!({"answer": [{"call": tool, "args": args}]}).to_string()
}

#[test]
fn a_plan_is_made_in_a_cage_and_carried_out_once_the_person_agrees() {
    let plan = plan_file();
    let top = Machine::with(&[("a.txt", "one\n")]);
    // Without a repository plans would stand elsewhere.
    std::fs::create_dir(top.project().join(".git")).unwrap();
    let answers = [
        call("plan_enter", json!({})),
        json!({"answer": [
            {"call": "write", "args": {"filePath": "made", "content": "too early\n"}},
            {"call": "bash", "args": {"command": "cat a.txt"}},
            {"call": "write", "args": {"filePath": plan, "content": "# Plan\n1. write made\n"}},
        ]})
        .to_string(),
        call("plan_exit", json!({})),
        call("write", json!({"filePath": "made", "content": "as planned\n"})),
        json!({"answer": [{"text": "Carried out."}]}).to_string(),
    ];
    let mut terminal = planning(&top, &answers.iter().map(String::as_str).collect::<Vec<_>>());
    enter(&mut terminal, "make it, but plan first");
    terminal.wait_for("Let the plan agent plan this first? Nothing changes meanwhile but .haft/plans/");
    terminal.wait_for("answer › ");
    enter(&mut terminal, "1");
    terminal.wait_for("? The plan at .haft/plans/");
    assert!(!top.project().join("made").exists(), "nothing is changed before: {}", terminal.screen());
    assert_eq!(top.read(&plan), "# Plan\n1. write made\n");
    terminal.wait_for_times("answer › ", 2);
    enter(&mut terminal, "1");
    terminal.wait_for("Carried out.");
    assert_eq!(top.read("made"), "as planned\n");
    leave_drawn(&mut terminal);
    let parts = parts(&top.newest_session());
    let outcome = |tool: &str| {
        let of = parts.iter().filter(|part| part["tool"] == tool);
        of.map(|part| part["state"]["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(outcome("write"), ["error", "completed", "completed"], "the first one came too early");
    let bash = parts.iter().find(|part| part["tool"] == "bash").unwrap();
    let told = bash["state"].to_string();
    assert!(told.contains("one"), "it may look: {told}");
}

#[test]
fn whoever_goes_on_answers_the_next_prompt_and_the_person_can_switch_back() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let answers = [
        call("plan_enter", json!({})),
        r#"{"answer":[{"text":"What colour?"}]}"#.to_owned(),
        DONE.to_owned(),
        DONE.to_owned(),
    ];
    let mut terminal = planning(&machine, &answers.iter().map(String::as_str).collect::<Vec<_>>());
    enter(&mut terminal, "go");
    terminal.wait_for("answer › ");
    enter(&mut terminal, "1");
    terminal.wait_for("What colour?");
    // The one who asks hears the answer.
    terminal.wait_for("\nplan › ");
    enter(&mut terminal, "blue");
    terminal.wait_for("All done.");
    terminal.type_text("\t");
    terminal.wait_for("build answers from your next prompt on");
    terminal.wait_for_times("build › ", 2);
    enter(&mut terminal, "do it");
    terminal.wait_for_times("All done.", 2);
    leave_drawn(&mut terminal);
    let session = machine.newest_session();
    let said = session["messages"].as_array().unwrap().iter().filter(|one| {
        one["info"]["role"] == "user" && one["parts"].as_array().unwrap().iter().any(|part| part["synthetic"] != true)
    });
    let agents: Vec<&str> = said.map(|one| one["info"]["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["build", "plan", "build"]);
}

#[test]
fn tab_chooses_who_answers_where_nothing_is_typed() {
    let machine = Machine::with(&[]);
    let mut terminal = chat(&machine, &[DONE], &[]);
    terminal.type_text("\t");
    terminal.wait_for("\nplan › ");
    terminal.type_text("\u{1b}[Z");
    terminal.wait_for("build answers from your next prompt on");
    // What is typed stays, and Tab completes it.
    terminal.type_text("/exi\t");
    terminal.wait_for("build › /exit");
    terminal.type_text("\r");
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
}
