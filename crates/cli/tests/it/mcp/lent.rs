//! What a server is lent, and what of it goes with a prompt: the session's model, its resources.

use serde_json::{Value, json};

use crate::support::{Machine, parts};

/// A project with the server `notes`, whose entry also says `more`.
fn machine(more: &Value, permission: &Value) -> Machine {
    let machine = Machine::uncaged(&[]);
    let server = machine.root().join("shares.py");
    std::fs::write(&server, include_str!("shares.py")).unwrap();
    let command = json!(["python3", server, machine.root().join("started")]);
    let mut notes = json!({"type": "local", "command": command, "sandbox": {"mode": "off"}});
    notes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    machine.write("opencode.json", &json!({"mcp": {"notes": notes}, "permission": permission}).to_string());
    machine
}

const THINKS: &str = r#"{"answer":[{"call":"notes_think","args":{"question":"Why?"},"id":"c1"}]}"#;
const DONE: &str = r#"{"answer":[{"text":"Done."}]}"#;
const LENT: &str = r#"{"for":"sampling","answer":[{"text":"Because."},{"usage":{"input":10,"output":5}}]}"#;

/// What the server's tool came to.
fn thought(machine: &Machine, args: &[&str]) -> String {
    let model = machine.scenario(&[THINKS, DONE, LENT]);
    machine.haft(&[&["run", "--model", &model, "think"], args].concat()).ok();
    let parts = parts(&machine.newest_session());
    let call = parts.iter().find(|part| part["type"] == "tool").unwrap();
    call["state"]["output"].as_str().unwrap_or_else(|| panic!("{call}")).to_owned()
}

#[test]
fn a_server_borrows_the_model_only_where_the_settings_and_the_person_say_so() {
    let allowed = json!({"mcp_sampling": "allow"});
    assert!(thought(&machine(&json!({}), &allowed), &["--auto"]).starts_with("I think: no: "));
    let lends = json!({"sampling": true});
    assert_eq!(thought(&machine(&lends, &json!({})), &[]), "I think: no: the user did not agree");
    assert_eq!(thought(&machine(&lends, &json!({})), &["--auto"]), "I think: Because.");
    assert_eq!(thought(&machine(&lends, &allowed), &[]), "I think: Because.");
    let denied = json!({"mcp_sampling": {"notes": "deny"}});
    assert_eq!(thought(&machine(&lends, &denied), &["--auto"]), "I think: no: the user did not agree");
}

#[test]
fn what_a_server_borrows_is_paid_by_the_session() {
    let machine = machine(&json!({"sampling": true}), &json!({"mcp_sampling": "allow"}));
    let step = |text: &str| format!(r#"{{"answer":[{text},{{"usage":{{"input":100,"output":10}}}}]}}"#);
    let think = step(r#"{"call":"notes_think","args":{"question":"Why?"},"id":"c1"}"#);
    let done = step(r#"{"text":"Done."}"#);
    let model = machine.scenario(&[&think, &done, LENT]);
    machine.haft(&["run", "--model", &model, "think"]).ok();
    let session = machine.newest_session();
    assert_eq!((&session["info"]["tokens"]["input"], &session["info"]["tokens"]["output"]), (&json!(210), &json!(25)));
    let counted = machine.haft(&["stats", "--json"]).ok().json();
    assert_eq!((&counted["tokens"]["input"], &counted["tokens"]["output"]), (&json!(210), &json!(25)), "{counted}");
}

#[test]
fn a_resource_is_offered_behind_an_at_without_starting_its_server() {
    let machine = machine(&json!({}), &json!({}));
    machine.haft(&["mcp", "list"]).ok();
    let starts = || std::fs::read_to_string(machine.root().join("started")).unwrap().lines().count();
    let mut terminal = crate::chat::chat(&machine, &[DONE], &[]);
    let before = starts();
    terminal.type_text("see @today");
    terminal.wait_for("> @notes:notes://today");
    terminal.wait_for("resource: today");
    assert_eq!(starts(), before);
    terminal.type_text("\t");
    terminal.wait_for("build › see @notes:notes://today");
    terminal.type_text("\r");
    terminal.wait_for("Done.");
    assert_eq!(starts(), before + 1);
    terminal.type_text(crate::terminal::CTRL_D);
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    let shown = parts(&machine.newest_session());
    assert!(shown.iter().any(|part| part["text"] == "Resource: notes://today\nMIME: text/plain\nBuy a new haft.\n"));
}

#[test]
fn a_resource_that_a_prompt_names_goes_with_it() {
    let machine = machine(&json!({}), &json!({"read": {"mcp:notes:notes://secret": "deny"}}));
    let model = machine.scenario(&[DONE]);
    machine.haft(&["run", "--model", &model, "see @notes:notes://today."]).ok();
    let found = parts(&machine.newest_session());
    let texts: Vec<&str> = found.iter().filter_map(|part| part["text"].as_str()).collect();
    let want = [
        "see @notes:notes://today.",
        "Reading MCP resource: notes (notes://today)",
        "Resource: notes://today\nMIME: text/plain\nBuy a new haft.\n",
    ];
    assert_eq!(texts[..3], want, "{texts:?}");
    let file = found.iter().find(|part| part["type"] == "file").unwrap();
    assert_eq!((&file["url"], &file["mime"]), (&json!("notes://today"), &json!("text/plain")));
    let source = json!({"type": "resource", "clientName": "notes", "uri": "notes://today",
                        "text": {"value": "@notes:notes://today", "start": 4, "end": 24}});
    assert_eq!(file["source"], source);
    // The person's own word is the leave, as it is for files. What is not there is said, and stops nothing.
    machine.haft(&["run", "--model", &model, "and @notes:notes://none here"]).ok();
    let none = parts(&machine.newest_session());
    assert!(
        none.iter().any(|part| part["text"].as_str().is_some_and(|text| text.contains("returned no contents"))),
        "{none:?}"
    );
    // Whoever is no server is only a word.
    machine.haft(&["run", "--model", &model, "mail @other:notes://today"]).ok();
    assert!(!parts(&machine.newest_session()).iter().any(|part| part["type"] == "file"));
}
