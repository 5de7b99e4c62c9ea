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
