//! The record of what was asked, decided and done.

use serde_json::{Value, json};

use crate::support::Machine;

/// What the record says, as words: kind, permission or deed, and who decided.
fn recorded(machine: &Machine) -> Vec<String> {
    let entries = machine.haft(&["audit", "show", "--json"]).ok().json();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let line = |entry: &Value| {
        let about = format!("{}{}", text(entry, "permission"), text(entry, "did"));
        format!("{} {about} {}", text(entry, "kind"), text(entry, "by")).trim_end().to_owned()
    };
    entries.as_array().unwrap().iter().map(line).collect()
}

fn call(name: &str, args: &Value) -> String {
    json!({"answer": [{"call": name, "args": args}]}).to_string()
}

const SETTINGS: &str = r#"{"permission": {"bash": {"*": "allow", "rm *": "deny"}}}"#;

#[test]
fn what_a_run_was_allowed_and_did_is_recorded() {
    let machine = Machine::with(&[("opencode.json", SETTINGS), ("a.txt", "one\n")]);
    let model = machine.scenario(&[
        &call("bash", &json!({"command": "echo secret-text; exit 3"})),
        &call("bash", &json!({"command": "rm a.txt"})),
        &call("write", &json!({"filePath": "b.txt", "content": "hidden-content\n"})),
        &call("read", &json!({"filePath": "/etc/hostname"})),
        r#"{"answer":[{"text":"Done."}]}"#,
    ]);
    machine.haft(&["run", "go", "--model", &model]).ok();
    let told = recorded(&machine);
    for want in [
        "grant bash rule",
        "effect started",
        "effect ended",
        "denial bash rule",
        "grant edit rule",
        "effect wrote",
        "denial external_directory nobody there",
    ] {
        assert!(told.iter().any(|line| line == want), "{want:?} is not in {told:#?}");
    }
    let place = |want: &str| told.iter().position(|line| line == want).unwrap();
    assert!(place("grant bash rule") < place("effect started") && place("grant edit rule") < place("effect wrote"));
    let entries = machine.haft(&["audit", "show", "--json"]).ok();
    assert!(!entries.out.contains("hidden-content"), "what is in files is nobody's business: {}", entries.out);
    let ended = entries.json().as_array().unwrap().iter().find(|entry| entry["did"] == "ended").unwrap().clone();
    assert_eq!((&ended["exit"], &ended["command"]), (&json!(3), &json!("echo secret-text; exit 3")));
    let session = ended["session"].as_str().unwrap();
    assert_eq!(machine.newest_session()["info"]["id"], session);
    let of_it = machine.haft(&["audit", "show", "--json", "--session", session]).ok().json();
    assert!(of_it.as_array().unwrap().iter().all(|entry| entry["session"] == session));
    assert_eq!(machine.haft(&["audit", "show", "--json", "--last", "2"]).ok().json().as_array().unwrap().len(), 2);
    let verified = machine.haft(&["audit", "verify"]).ok();
    assert!(verified.out.starts_with("intact: "), "{verified:?}");
}

#[test]
fn what_was_tampered_with_is_named() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let verified = machine.haft(&["audit", "verify"]).ok();
    assert_eq!(verified.out, "intact: nothing is recorded yet\n");
    for _ in 0..3 {
        machine.haft(&["tool", "call", "write", r#"{"filePath":"b.txt","content":"x"}"#]).ok();
    }
    let path = machine.haft(&["audit", "path"]).ok().out.trim_end().to_owned();
    let text = std::fs::read_to_string(&path).unwrap();
    let many = text.lines().count();
    assert_eq!(many, 7, "{text}");
    std::fs::write(&path, text.replacen("b.txt", "c.txt", 1)).unwrap();
    let broken = machine.haft(&["audit", "verify"]).ends(1);
    assert!(broken.out.contains("line 2: entry 2 was changed"), "{broken:?}");
    let short: String = text.lines().take(many - 1).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, short).unwrap();
    let broken = machine.haft(&["audit", "verify", "--json"]).ends(1).json();
    assert_eq!(
        (&broken["ok"], &broken["faults"][0]["why"]),
        (&json!(false), &json!("entry 7 is missing at the end of the log"))
    );
}

#[test]
fn equal_runs_write_equal_records() {
    let record = || {
        let machine = Machine::with(&[("opencode.json", SETTINGS)]);
        let model = machine.scenario(&[
            &call("write", &json!({"filePath": "b.txt", "content": "x"})),
            r#"{"answer":[{"text":"Done."}]}"#,
        ]);
        let mut run = machine.command(&["run", "go", "--model", &model]);
        assert!(run.env("HAFT_CLOCK", "1800000000000").output().unwrap().status.success());
        let path = machine.haft(&["audit", "path"]).ok().out.trim_end().to_owned();
        let root = machine.root().display().to_string();
        let lines = std::fs::read_to_string(path).unwrap();
        // Folders have names of their own, and so hashes differ.
        let bare = |line: &str| {
            let mut value: Value = serde_json::from_str(&line.replace(&root, "")).unwrap();
            for key in ["prev", "hash", "before"] {
                value.as_object_mut().unwrap().remove(key);
            }
            value
        };
        lines.lines().map(bare).collect::<Vec<_>>()
    };
    let first = record();
    assert!(first.len() > 2, "{first:?}");
    assert_eq!(first, record());
}

#[test]
fn nothing_is_recorded_where_it_is_not_wanted() {
    let machine = Machine::with(&[]);
    let settings = machine.root().join("config/opencode");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("opencode.json"), r#"{"audit": false}"#).unwrap();
    machine.haft(&["tool", "call", "write", r#"{"filePath":"b.txt","content":"x"}"#]).ok();
    assert!(!machine.data().join("audit.jsonl").exists());
}

#[test]
fn a_record_that_cannot_be_written_is_told_once_and_stops_nobody() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    std::fs::create_dir_all(machine.data().join("audit.jsonl")).unwrap();
    let model = machine.scenario(&[
        &call("write", &json!({"filePath": "b.txt", "content": "x"})),
        &call("write", &json!({"filePath": "c.txt", "content": "x"})),
        r#"{"answer":[{"text":"Done."}]}"#,
    ]);
    let run = machine.haft(&["run", "go", "--model", &model]).ok();
    assert_eq!(run.err.matches("is not recorded").count(), 1, "{}", run.err);
    assert_eq!(machine.read("c.txt"), "x");
}
