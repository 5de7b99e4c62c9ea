//! Tasks as a person at the command line meets them.

use haft_protocol::ToolState;
use serde_json::{Value, json};

use crate::support::{Machine, Served, parts, server_config};

const LOOK: &str = r#"{"answer":[{"call":"task","args":{"description":"look","prompt":"Look into a.txt.","subagent_type":"explore"}}]}"#;
const DONE: &str = r#"{"answer":[{"text":"All done."}]}"#;
const READ: &str = r#"{"answer":[{"call":"read","args":{"filePath":"a.txt"}}]}"#;
const SAYS: &str = r#"{"answer":[{"text":"It says one."}]}"#;

/// A machine where the agent `explore` plays `answers`; `settings` are laid over.
pub(crate) fn machine(answers: &[&str], settings: Value) -> Machine {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let path = machine.root().join("explore.jsonl");
    let text = format!("{{\"haft\":\"scenario\",\"version\":1}}\n{}\n", answers.join("\n"));
    std::fs::write(&path, text).unwrap();
    let mut config = json!({"agent": {"explore": {"model": format!("script/{}", path.display())}}});
    config.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    machine.write("opencode.json", &config.to_string());
    machine
}

#[test]
fn a_run_tells_what_a_task_does_and_keeps_it_apart() {
    let machine = machine(&[READ, SAYS], json!({}));
    let model = machine.scenario(&[LOOK, DONE]);
    let ran = machine.haft(&["run", "go", "--model", &model]).ok();
    assert_eq!(ran.out, "All done.\n");
    let lines: Vec<&str> = ran.err.lines().filter(|line| line.contains('•') || line.contains('↳')).collect();
    assert_eq!(lines, ["• explore: look …", "  ↳ look: read a.txt", "• explore: look"], "{}", ran.err);
    let listed = machine.haft(&["session", "list", "--json"]).ok().json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "a task is no session of the person's: {listed}");

    let shown = machine.haft(&["session", "show"]).ok().out;
    let id = shown.split("haft session show ").nth(1).unwrap().split_whitespace().next().unwrap();
    let task = machine.haft(&["session", "show", id]).ok().out;
    assert!(task.contains("look (@explore subagent)") && task.contains("It says one."), "{task}");
    let record = machine.haft(&["session", "show", id, "--json"]).ok().json();
    assert_eq!(record["info"]["parentID"], listed[0]["id"]);
    // A run goes on with the session, not with its task.
    machine.haft(&["run", "more", "--continue", "--model", &machine.scenario(&[LOOK, DONE, DONE])]).ok();
    assert_eq!(machine.newest_session()["info"]["id"], listed[0]["id"]);
}

#[test]
fn lines_for_programs_are_those_of_the_session_alone() {
    let machine = machine(&[READ, SAYS], json!({}));
    let model = machine.scenario(&[LOOK, DONE]);
    let ran = machine.haft(&["run", "go", "--format", "json", "--model", &model]).ok();
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["step_start", "tool_use", "step_finish", "step_start", "text", "step_finish"]);
    assert!(lines.iter().all(|line| line["sessionID"] == lines[0]["sessionID"]), "{}", ran.out);
    let state = &lines[1]["part"]["state"];
    assert_eq!((&lines[1]["part"]["tool"], &state["title"]), (&json!("task"), &json!("look")));
    assert_ne!(state["metadata"]["sessionId"], lines[0]["sessionID"]);
    assert!(state["output"].as_str().unwrap().contains("<task_result>\nIt says one.\n</task_result>"));
}

#[test]
fn without_a_model_there_are_no_tasks_and_no_agent_to_change_to() {
    let machine = machine(&[], json!({}));
    let input = r#"{"description":"d","prompt":"p","subagent_type":"explore"}"#;
    let ran = machine.haft(&["tool", "call", "task", input, "--auto"]);
    assert!(ran.code == 1 && ran.err.contains("this needs a model"), "{ran:?}");
    let ran = machine.haft(&["tool", "call", "plan_exit", "{}", "--agent", "plan"]);
    assert!(ran.code == 1 && ran.err.contains("this needs a model"), "{ran:?}");
    let batch = r#"{"tool_calls":[{"tool":"read","parameters":{"filePath":"a.txt"}},{"tool":"nope","parameters":{}}]}"#;
    let ran = machine.haft(&["tool", "call", "batch", batch]).ok();
    assert!(ran.out.starts_with("1 of 2 calls succeeded."), "{}", ran.out);
}

#[test]
fn definitions_name_the_agents_and_what_was_switched_on() {
    let names = |machine: &Machine, agent: &str, plan: &str| {
        let mut command = machine.command(&["tool", "list", "--json", "--agent", agent]);
        let ran = crate::support::Ran::from(command.env("OPENCODE_EXPERIMENTAL_PLAN_MODE", plan).output().unwrap());
        let list = ran.ok().json();
        list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let has = |names: &[String], name: &str| names.iter().any(|one| one == name);
    let plain = machine(&[], json!({}));
    let default = names(&plain, "build", "0");
    assert!(has(&default, "task") && !has(&default, "batch") && !has(&default, "plan_enter"), "{default:?}");
    let build = names(&plain, "build", "1");
    assert!(has(&build, "plan_enter") && !has(&build, "plan_exit"), "{build:?}");
    let plan = names(&plain, "plan", "1");
    assert!(!has(&plan, "plan_enter") && has(&plan, "plan_exit"), "{plan:?}");
    let on = machine(&[], json!({"experimental": {"batch_tool": true}}));
    assert!(has(&names(&on, "build", "0"), "batch"));
    let off = machine(&[], json!({"experimental": {"batch_tool": true}, "tools": {"batch": false}}));
    assert!(!has(&names(&off, "build", "0"), "batch"));

    let task = |agent: &str| {
        let defined = plain.haft(&["tool", "definitions", "--model", "script/x", "--agent", agent]).ok().json();
        let tools = defined["tools"].as_array().unwrap().clone();
        let task = tools.into_iter().find(|tool| tool["function"]["name"] == "task");
        task.map_or(String::new(), |task| task["function"]["description"].as_str().unwrap().to_owned())
    };
    let build = task("build");
    assert!(build.contains("\n- explore: ") && build.contains("\n- general: "), "{build}");
    assert!(task("plan").contains("\n- explore: ") && !task("plan").contains("\n- general: "), "{}", task("plan"));
}

#[test]
fn a_command_that_is_a_task_shows_its_first_request() {
    let served = Served::plays(&[SAYS]);
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let mut config: Value = serde_json::from_str(&server_config(&served.url())).unwrap();
    config["command"] = json!({"see": {"template": "See $1.", "agent": "explore"}});
    machine.write("opencode.json", &config.to_string());
    let request = machine.haft(&["debug", "request", "/see @a.txt"]).ok().json();
    let text = request["messages"].to_string();
    assert!(text.contains("See @a.txt.") && text.contains("1: one"), "{text}");
    let tools: Vec<&str> =
        request["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert!(!tools.contains(&"edit") && !tools.contains(&"task") && tools.contains(&"grep"), "{tools:?}");
}

#[test]
fn a_run_killed_in_a_task_goes_on_and_leaves_nothing_open() {
    use std::io::Read;
    let working = r#"{"answer":[{"text":"Working now.","pieces":4},{"call":"read","args":{"filePath":"a.txt"}}]}"#;
    let hangs = r#"{"answer":[{"text":"Half"},{"hang":true}]}"#;
    let machine = machine(&[working, working, hangs], json!({}));
    machine.haft(&["run", "begin", "--model", &machine.scenario(&[DONE])]).ok();
    let model = machine.scenario(&[LOOK; 40]);
    for until in ["• explore", "↳ look: read", "• explore", "↳ look: read", "↳ look: read"] {
        let mut child = machine.start(&mut machine.command(&["run", "go on", "--continue", "--model", &model]));
        let mut stderr = child.stderr.take().unwrap();
        let (mut heard, mut byte) = (Vec::new(), [0]);
        while !heard.ends_with(until.as_bytes()) {
            stderr.read_exact(&mut byte).unwrap();
            heard.push(byte[0]);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let ends = machine.scenario(&[DONE; 40]);
    assert_eq!(machine.haft(&["run", "finish", "--continue", "--model", &ends]).ok().out, "All done.\n");
    let session = machine.newest_session();
    let mut tasks = 0;
    for part in parts(&session).into_iter().filter(|part| part["type"] == "tool") {
        let state: ToolState = serde_json::from_value(part["state"].clone()).unwrap();
        let ToolState::Error { metadata, .. } = state else { panic!("it was cut off: {part}") };
        let Some(id) = metadata.and_then(|told| told.get("sessionId").cloned()) else { continue };
        tasks += 1;
        let task = machine.haft(&["session", "show", id.as_str().unwrap(), "--json"]).ok().json();
        for message in task["messages"].as_array().unwrap() {
            let assistant = message["info"]["role"] == "assistant";
            assert!(!assistant || message["info"]["time"]["completed"].is_u64(), "left open: {message}");
        }
        for part in parts(&task) {
            let status = part["state"]["status"].as_str().unwrap_or("none");
            assert!(!["pending", "running"].contains(&status), "left open: {part}");
        }
    }
    assert!(tasks >= 2, "{tasks} runs were killed in a task");
}
