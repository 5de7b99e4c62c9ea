//! One small piece of work, done through each dialect: a file is read and changed, and that is told.

use serde_json::{Value, json};

use crate::support::{Machine, Ran, parts};

/// The drivers by which settings name the dialects.
pub(crate) const CHAT: &str = "@ai-sdk/openai-compatible";
pub(crate) const RESPONSES: &str = "@ai-sdk/openai";
pub(crate) const MESSAGES: &str = "@ai-sdk/anthropic";
pub(crate) const GEMINI: &str = "@ai-sdk/google";
pub(crate) const CONVERSE: &str = "@ai-sdk/amazon-bedrock";

/// What the model does, for whoever plays it.
pub(crate) const STEPS: [&str; 3] = [
    r#"{"answer":[{"text":"I will look."},{"call":"read","args":{"filePath":"a.txt"},"id":"call_1"},{"usage":{"input":800,"output":40}}]}"#,
    r#"{"answer":[{"call":"edit","args":{"filePath":"a.txt","oldString":"one","newString":"two"},"id":"call_2"},{"usage":{"input":900,"output":50}}]}"#,
    r#"{"answer":[{"text":"All done."},{"usage":{"input":1000,"output":10}}]}"#,
];

/// A project with a vendor `peer` that is asked with the driver `npm` and these options.
pub(crate) fn machine(npm: &str, model: &str, options: Value) -> Machine {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let settings = json!({
        "model": format!("peer/{model}"),
        "limits": {"retries": 0},
        "provider": {"peer": {
            "npm": npm,
            "options": options,
            "models": {model: {"limit": {"context": 100_000, "output": 4_000}}},
        }},
    });
    machine.write("opencode.json", &settings.to_string());
    machine
}

/// Runs the piece of work and looks at what came of it.
#[track_caller]
pub(crate) fn works(machine: &Machine, what: &str) {
    let ran = machine.haft(&["run", "change it"]);
    let Ran { code, out, err } = &ran;
    assert_eq!((*code, out.as_str()), (0, "All done.\n"), "{what}: {err}");
    assert_eq!(machine.read("a.txt"), "two\n", "{what}");
    let parts = parts(&machine.newest_session());
    let calls: Vec<_> = parts
        .iter()
        .filter(|part| part["type"] == "tool")
        .map(|part| (&part["tool"], &part["state"]["status"]))
        .collect();
    assert_eq!(calls, [(&json!("read"), &json!("completed")), (&json!("edit"), &json!("completed"))], "{what}");
}
