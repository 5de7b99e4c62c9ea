//! `haft demo`.

use std::process::Command;

use crate::support::Machine;

#[test]
fn the_demo_mends_the_project_it_made() {
    let machine = Machine::with(&[]);
    let root = machine.root().join("demo");
    let ran = machine.haft(&["demo", "--fast", "--dir", root.to_str().unwrap()]).ok();
    assert!(ran.out.contains("Only the model's words are played"), "{}", ran.out);
    for shown in ["→ Read leap.sh", "← Edit leap.sh +1 -1", "$ sh test.sh", "FAIL  1900 is common", "exit code 1"] {
        assert!(ran.err.contains(shown), "{shown:?} is not in: {}", ran.err);
    }
    let test = Command::new("sh").arg("test.sh").current_dir(root.join("project")).output().unwrap();
    assert!(test.status.success(), "{}", String::from_utf8_lossy(&test.stdout));
    let edited = std::fs::read_to_string(root.join("project/leap.sh")).unwrap();
    assert!(edited.contains("% 400"), "{edited}");
}

#[test]
fn the_demo_needs_no_settings_and_writes_over_nothing() {
    let machine = Machine::with(&[]);
    let root = machine.root().join("config/haft");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("haft.json"), r#"{"permission": "deny"}"#).unwrap();
    let demo = machine.root().join("demo");
    machine.haft(&["demo", "--fast", "--dir", demo.to_str().unwrap()]).ok();
    let again = machine.haft(&["demo", "--fast", "--dir", demo.to_str().unwrap()]).ends(1);
    again.says(&["cannot make the scratch project", "--dir"]);
}

#[test]
fn the_demo_allows_its_own_commands_and_no_others() {
    // The rules are in the source: what the recording runs and what is allowed must be the same.
    let recording = include_str!("../../src/demo/recording.jsonl");
    let source = include_str!("../../src/commands/demo.rs");
    let commands: Vec<String> = recording
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|line| {
            let call = &line["chunk"]["tool_call"];
            let arguments = call["arguments"].as_str().filter(|_| call["name"] == "bash")?;
            let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
            Some(arguments["command"].as_str()?.to_owned())
        })
        .collect();
    assert!(!commands.is_empty());
    for command in commands {
        assert!(source.contains(&format!("{command:?}")), "{command} is not among the demo's rules");
    }
}
