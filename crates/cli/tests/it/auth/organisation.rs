//! Organisations that share settings.

use serde_json::{Value, json};

use super::server::SignIn;
use super::{file, store, stored};
use crate::support::{Machine, Ran};
use crate::terminal::{Terminal, WIDE};

/// What an organisation says whose command leaves a trace in the project.
fn said(command: &[&str]) -> Value {
    json!({
        "auth": {"command": command, "env": "ORG_TOKEN"},
        "config": {
            "model": "company/m1",
            "provider": {"company": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": "http://127.0.0.1:9/v1", "apiKey": "{env:ORG_TOKEN}"},
                "models": {"m1": {}}
            }}
        }
    })
}

const LOGIN: [&str; 3] = ["sh", "-c", "touch made; env > seen; echo org-$(echo marker)"];

#[test]
fn its_command_runs_only_after_a_yes() {
    let machine = Machine::with(&[]);
    let server = SignIn::plays(vec![said(&LOGIN)]);
    let ran = machine.haft(&["auth", "login", server.url()]).ends(2);
    ran.says(&[
        "wants to run a command on this machine",
        "touch made; env > seen; echo org-$(echo marker)",
        "--yes",
        "company/m1",
    ]);
    assert!(!machine.project().join("made").exists() && !file(&machine).exists());
    let mut terminal = Terminal::open(&machine.command(&["auth", "login", server.url()]), WIDE);
    terminal.wait_for("run this command now, and keep the settings?");
    terminal.type_text("n\n");
    assert_eq!(terminal.wait_exit(), 3, "{}", terminal.screen());
    assert!(!machine.project().join("made").exists() && !file(&machine).exists());
    let mut terminal = Terminal::open(&machine.command(&["auth", "login", server.url()]), WIDE);
    terminal.wait_for("run this command now, and keep the settings?");
    terminal.type_text("y\n");
    terminal.wait_for("signed in to http://127.0.0.1");
    assert_eq!(terminal.wait_exit(), 0, "{}", terminal.screen());
    assert!(machine.project().join("made").exists());
    assert!(!terminal.bytes().contains("org-marker"), "what it prints is kept, and not shown");
}

#[test]
fn its_token_and_settings_count_without_asking_it_again() {
    let machine = Machine::with(&[]);
    store(&machine, &json!({"groq": {"type": "api", "key": "groq-marker"}}));
    let server = SignIn::plays(vec![said(&LOGIN)]);
    let url = format!("{}/", server.url());
    let mut login = machine.command(&["auth", "login", &url, "--yes"]);
    login.env("OTHER", "groq-marker").env("HAFT_AUTH_CONTENT", "").env("ANTHROPIC_API_KEY", "other-marker");
    Ran::from(login.output().unwrap()).ok();
    let entry = stored(&machine)[server.url()].clone();
    assert_eq!(
        (&entry["type"], &entry["key"], &entry["token"]),
        (&json!("wellknown"), &json!("ORG_TOKEN"), &json!("org-marker"))
    );
    let seen = machine.read("seen");
    assert!(!seen.contains("groq-marker") && !seen.contains("other-marker"), "its command gets no other key: {seen}");
    let asked = server.paths().len();
    let shown = machine.haft(&["debug", "config"]).ok();
    let config = shown.json();
    assert_eq!(config["config"]["model"], "company/m1");
    assert_eq!(config["sources"]["/model"], server.url());
    assert!(!shown.out.contains("org-marker"), "{}", shown.out);
    // The weakest of all: the user's own settings win.
    machine.write("opencode.json", r#"{"model": "company/m2"}"#);
    assert_eq!(machine.haft(&["debug", "config"]).ok().json()["config"]["model"], "company/m2");
    // No command of the agent gets the token, wherever it stands.
    let call = json!({"command": "env"}).to_string();
    let mut call = machine.command(&["tool", "call", "bash", &call, "--auto"]);
    let ran = Ran::from(call.env("ORG_TOKEN", "mine").env("COPY", "org-marker").output().unwrap()).ok();
    assert!(!ran.out.contains("ORG_TOKEN") && !ran.out.contains("org-marker"), "{}", ran.out);
    assert_eq!(server.paths().len(), asked, "no start asks it");
    machine.haft(&["auth", "logout", &url]).ok();
    assert_eq!(machine.haft(&["debug", "config"]).ok().json()["config"].get("provider"), None);
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_runs() {
    let with = |config: Value| {
        let mut said = said(&LOGIN);
        said["config"] = config;
        said
    };
    for (said, want) in [
        (with(json!({"model": 5})), "cannot be used"),
        (with(json!({"instructions": ["{file:~/.ssh/id_rsa}"]})), "would read files of yours"),
        (json!({"auth": {"command": ["sh"], "env": "PATH"}}), "something that is not"),
        (json!("hello"), "something that is not"),
    ] {
        let machine = Machine::with(&[]);
        let server = SignIn::plays(vec![said]);
        let ran = machine.haft(&["auth", "login", server.url(), "--yes"]).ends(1);
        assert!(ran.err.contains(want), "{}", ran.err);
        assert!(!machine.project().join("made").exists() && !file(&machine).exists());
    }
    let machine = Machine::with(&[]);
    machine.haft(&["auth", "login", "http://org.example", "--yes"]).ends(2).says(&["begins with https://"]);
    for (command, want) in [
        (vec!["sh", "-c", "echo a b"], "printed no token"),
        (vec!["sh", "-c", "exit 3"], "failed"),
        (vec!["no-such-program-x"], "cannot start"),
    ] {
        let server = SignIn::plays(vec![said(&command)]);
        machine.haft(&["auth", "login", server.url(), "--yes"]).ends(1).says(&[want]);
        assert!(!file(&machine).exists());
    }
}
