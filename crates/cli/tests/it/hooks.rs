//! Commands of the settings that are told what happens, through the binary.

use serde_json::json;

use crate::support::{Machine, Ran};

/// A project that has its own hook told of each reading.
fn machine() -> Machine {
    let command = "echo 'not that file' >&2; exit 2";
    let hooks = json!({ "PreToolUse": [{ "matcher": "Read", "hooks": [{ "type": "command", "command": command }] }] });
    let settings = json!({ "hooks": hooks }).to_string();
    Machine::uncaged(&[("opencode.json", &settings), ("a.txt", "one\n")])
}

const READ: [&str; 4] = ["tool", "call", "read", r#"{"filePath": "a.txt"}"#];

#[test]
fn a_hook_stops_a_call_once_its_project_is_trusted() {
    let machine = machine();
    Ran::from(machine.wary(&READ).output().unwrap()).ok().says(&["not trusted"]);
    machine.haft(&READ).ends(3).says(&["does not allow this: not that file"]);
    // Others are none of its business.
    machine.haft(&["tool", "call", "glob", r#"{"pattern": "*.txt"}"#]).ok();
}

#[test]
fn a_hook_that_nobody_knows_is_named() {
    let settings = json!({ "hooks": { "Sometimes": [] } }).to_string();
    let machine = Machine::uncaged(&[("opencode.json", &settings), ("a.txt", "one\n")]);
    machine.haft(&READ).ok().says(&["hooks.Sometimes is left out"]);
}
