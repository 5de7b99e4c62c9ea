//! A project as its OpenCode users left it, unchanged: settings with agents, commands, rules and instructions.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Machine, Ran, Served, parts};

/// The project of `tests/fixtures/ledger` in a repository of its own, and the gateway that it names.
struct Ledger {
    machine: Machine,
    served: Served,
}

impl Ledger {
    fn played(answers: &[&str]) -> Self {
        let machine = Machine::with(&[]);
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ledger"), &machine.project());
        for args in [&["init", "-q"][..], &["add", "-A"]] {
            assert!(Command::new("git").args(args).current_dir(machine.project()).status().unwrap().success());
        }
        Self { machine, served: Served::plays(answers) }
    }

    fn haft(&self, args: &[&str]) -> Ran {
        let mut command = self.machine.command(args);
        command.env("LEDGER_GATEWAY", self.served.url()).env("LEDGER_USER", "somebody").env("TRACKER_TOKEN", "t");
        Ran::from(command.output().unwrap())
    }

    /// What the model was told before the conversation, in its `n`th request.
    fn system(&self, n: usize) -> String {
        self.steps()[n]["messages"][0]["content"].as_str().unwrap().to_owned()
    }

    /// The requests that offer tools. A title is asked for beside them.
    fn steps(&self) -> Vec<Value> {
        self.served.bodies().into_iter().filter(|body| body["tools"].is_array()).collect()
    }

    /// The words of the person in the first request.
    fn asked(&self) -> String {
        let content = self.steps()[0]["messages"][1]["content"].clone();
        match &content {
            Value::String(text) => text.clone(),
            parts => parts.as_array().unwrap().iter().filter_map(|part| part["text"].as_str()).collect(),
        }
    }

    /// The names of the tools in the first request.
    fn tools(&self) -> Vec<String> {
        let body = self.steps()[0].clone();
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

const FINE: &str = r#"{"answer":[{"text":"Fine."}]}"#;

#[test]
fn it_runs_unchanged() {
    let ledger = Ledger::played(&[
        r#"{"answer":[{"call":"read","args":{"filePath":"packages/api/src/entry.ts"},"id":"c1"},{"call":"grep","args":{"pattern":"reversed"},"id":"c2"},{"call":"list","args":{},"id":"c3"}]}"#,
        r#"{"answer":[{"call":"edit","args":{"filePath":"packages/api/src/entry.ts","oldString":"reverses ","newString":"reversal of "},"id":"c4"}]}"#,
        r#"{"answer":[{"call":"bash","args":{"command":"ls packages && git diff --stat"},"id":"c5"},{"call":"bash","args":{"command":"git push origin main"},"id":"c6"}]}"#,
        r#"{"answer":[{"text":"Renamed."}]}"#,
    ]);
    let ran = ledger.haft(&["run", "say", "what", "a", "reversal", "is"]).ok();
    assert_eq!(ran.out, "Renamed.\n");
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    assert!(ledger.machine.read("packages/api/src/entry.ts").contains("`reversal of ${entry.id}"));

    let session = ledger.machine.newest_session();
    let states: Vec<(String, String)> = parts(&session)
        .iter()
        .filter(|part| part["type"] == "tool")
        .map(|part| (part["tool"].as_str().unwrap().to_owned(), part["state"]["status"].as_str().unwrap().to_owned()))
        .collect();
    let states: Vec<(&str, &str)> = states.iter().map(|(tool, state)| (tool.as_str(), state.as_str())).collect();
    assert_eq!(
        states,
        [
            ("read", "completed"),
            ("grep", "completed"),
            ("list", "completed"),
            ("edit", "completed"),
            ("bash", "completed"),
            ("bash", "error")
        ]
    );
    let all = parts(&session);
    let refused = all.iter().find(|part| part["callID"] == "c6").unwrap();
    assert!(refused["state"]["error"].as_str().unwrap().contains("git push *"), "{refused}");
    let read = all.iter().find(|part| part["callID"] == "c1").unwrap();
    assert!(read["state"]["output"].as_str().unwrap().contains("# The API"), "the package's own instructions: {read}");

    let body = &ledger.steps()[0];
    assert_eq!((&body["model"], &body["temperature"]), (&json!("large"), &json!(0.2)));
    assert_eq!(body["parallel_tool_calls"], true);
    assert_eq!(ledger.served.header("authorization").as_deref(), Some("Bearer key-of-the-gateway"));
    assert_eq!(ledger.served.header("x-team").as_deref(), Some("ledger"));
    assert!(ledger.tools().contains(&"list".to_owned()), "switched on: {:?}", ledger.tools());
}

#[test]
fn its_instructions_are_told_once_each() {
    let ledger = Ledger::played(&[FINE]);
    ledger.haft(&["run", "hello"]).ok();
    let system = ledger.system(0);
    for told in [
        "A double-entry bookkeeping service",
        "A bug fix starts with the test",
        "Floats lose money",
        "nothing is updated in place",
        "one pool of ten connections",
        "No default exports",
    ] {
        assert_eq!(system.matches(told).count(), 1, "{told:?} in {system}");
    }
    assert!(!system.contains("# The API"), "a package's own instructions are told when something there is read");
}

#[test]
fn its_agents_answer_as_they_are_written() {
    let ledger = Ledger::played(&[FINE]);
    let ran = ledger.haft(&["run", "--agent", "reviewer", "look"]).ok();
    assert!(ran.err.contains("> reviewer · gateway/small"), "{}", ran.err);
    assert!(ledger.system(0).starts_with("You review changes to a bookkeeping service."), "{}", ledger.system(0));
    let body = &ledger.steps()[0];
    assert_eq!((&body["model"], &body["temperature"]), (&json!("small"), &json!(0.1)));
    assert_eq!(body["reasoning_effort"], "high", "what is no field of an agent goes to the model");
    for closed in ["write", "edit", "bash"] {
        assert!(!ledger.tools().contains(&closed.to_owned()), "{:?}", ledger.tools());
    }
    assert!(ledger.tools().contains(&"read".to_owned()));
}

#[test]
fn a_variant_of_its_model_can_be_chosen() {
    for record in [&[][..], &["--record", "answers.jsonl"]] {
        let ledger = Ledger::played(&[FINE]);
        let args = [&["run", "--variant", "high", "--agent", "plan", "look"], record].concat();
        ledger.haft(&args).ok();
        let body = &ledger.steps()[0];
        assert_eq!((&body["model"], &body["reasoning_effort"]), (&json!("large"), &json!("high")));
        assert_eq!(ledger.machine.project().join("answers.jsonl").exists(), !record.is_empty());
    }
}

#[test]
fn a_mode_is_an_agent_and_a_sub_agent_is_not_chosen() {
    let ledger = Ledger::played(&[FINE, FINE]);
    let ran = ledger.haft(&["run", "--agent", "careful", "look"]).ok();
    assert!(ran.err.contains("> careful · "), "{}", ran.err);
    let ran = ledger.haft(&["run", "--agent", "migrator", "look"]).ok();
    assert!(ran.err.contains("migrator") && ran.err.contains("> build · "), "{}", ran.err);
    let names = ledger.haft(&["agent", "list"]).ok().out;
    for (name, there) in [
        ("explain", true),
        ("migrator", true),
        ("reviewer", true),
        ("careful", true),
        ("plan", true),
        ("general", false),
    ] {
        assert_eq!(names.lines().any(|line| line.starts_with(name)), there, "{name} in {names}");
    }
}

#[test]
fn its_commands_are_filled_in() {
    let ledger = Ledger::played(&[FINE]);
    ledger.haft(&["run", "--command", "check", "packages/api", "the", "migrations"]).ok();
    assert_eq!(
        ledger.asked(),
        "Run `npm run check` in the package packages/api and mend what fails. Leave the migrations alone."
    );

    let ledger = Ledger::played(&[FINE]);
    ledger.haft(&["run", "/release 1.4.0 v1.3.2"]).ok();
    let asked = ledger.asked();
    assert!(asked.starts_with("Write release notes for version 1.4.0 from the commits since v1.3.2."), "{asked}");
    assert!(asked.contains("Arguments as given: 1.4.0 v1.3.2"), "{asked}");
    assert!(asked.contains("A bug fix starts with the test"), "the file that it mentions: {asked}");
    assert_eq!(ledger.steps()[0]["model"], "small", "its agent's model");

    let ledger = Ledger::played(&[FINE]);
    ledger.machine.write("new.txt", "");
    ledger.haft(&["run", "/changed"]).ok();
    assert!(ledger.asked().contains("?? new.txt"), "{}", ledger.asked());
}

#[test]
fn its_rules_decide() {
    let ledger = Ledger::played(&[]);
    let home = ledger.machine.root().join("home").display().to_string();
    let rows: Vec<(&str, String, &str)> = vec![
        ("bash", "git status --short".into(), "allow"),
        ("bash", "npm test -- --watch".into(), "allow"),
        ("bash", "make".into(), "ask"),
        ("bash", "git push".into(), "deny"),
        ("bash", "rm -rf dist".into(), "deny"),
        ("edit", "docs/adr/0003.md".into(), "ask"),
        ("edit", "packages/api/migrations/1.sql".into(), "deny"),
        ("edit", "packages/api/src/a.ts".into(), "allow"),
        ("read", "certs/a.pem".into(), "deny"),
        ("external_directory", format!("{home}/ledger-exports/*"), "allow"),
        ("external_directory", "/etc/*".into(), "ask"),
        ("tracker_delete_issue", "*".into(), "ask"),
        ("tracker_list", "*".into(), "ask"),
        ("websearch", "anything".into(), "allow"),
    ];
    let lines: String = rows
        .iter()
        .map(|(permission, pattern, _)| format!("{}\n", json!({"permission": permission, "pattern": pattern})))
        .collect();
    let ran = Ran::from({
        let mut command = ledger.machine.command(&["debug", "rules", "--jsonl"]);
        command.env("LEDGER_GATEWAY", ledger.served.url()).stdin(std::process::Stdio::piped());
        let mut child = ledger.machine.start(&mut command);
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), lines.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    })
    .ok();
    for ((permission, pattern, want), got) in rows.iter().zip(ran.lines()) {
        assert_eq!(got["action"], *want, "{permission} {pattern}: {got}");
    }
    assert_eq!(ran.lines().len(), rows.len());
}

#[test]
fn its_settings_can_be_looked_at() {
    let ledger = Ledger::played(&[]);
    let shown = ledger.haft(&["debug", "config"]).ok().json();
    assert_eq!(shown["config"]["model"], "gateway/large");
    assert_eq!(shown["config"]["username"], "somebody");
    assert_eq!(shown["config"]["permission"]["bash"]["npm test *"], "allow");
    let shown_text = shown.to_string();
    assert!(!shown_text.contains("key-of-the-gateway"), "a key is not shown: {shown_text}");
    let from = shown["sources"]["/permission/bash/npm test *"].as_str().unwrap();
    assert!(from.ends_with(".opencode/opencode.jsonc"), "{from}");
}
