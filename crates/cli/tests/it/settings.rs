//! `haft debug config`, `paths` and `schema`.

use crate::support::Machine;

#[test]
fn each_setting_is_shown_with_its_file_and_without_secrets() {
    let machine = Machine::with(&[
        ("opencode.json", r#"{"model": "a/b", "provider": {"a": {"options": {"apiKey": "sk-secret"}}}, "modle": 1}"#),
        (".haft/haft.jsonc", "{\"model\": \"a/c\", // nearer\n}"),
        (".opencode/agent/mine.md", "---\nmode: subagent\n---\nMine."),
    ]);
    let shown = machine.haft(&["debug", "config"]).ok().says(&["opencode.json, line 1: there is no key \"modle\""]);
    let value = shown.json();
    assert_eq!(value["config"]["model"], "a/c");
    assert_eq!(value["config"]["agent"]["mine"]["prompt"], "Mine.");
    assert_eq!(value["config"]["provider"]["a"]["options"]["apiKey"], "(hidden)");
    let file = |pointer: &str| value["sources"][pointer].as_str().unwrap().to_owned();
    assert!(file("/model").ends_with(".haft/haft.jsonc"));
    assert!(file("/agent/mine/mode").ends_with("mine.md"));
    assert!(file("/provider/a/options/apiKey").ends_with("/opencode.json"));
    let open = machine.haft(&["debug", "config", "--show-secrets"]).ok().json();
    assert_eq!(open["config"]["provider"]["a"]["options"]["apiKey"], "sk-secret");
}

#[test]
fn paths_and_the_schema_are_json() {
    let machine = Machine::with(&[]);
    let paths = machine.haft(&["debug", "paths"]).ok().json();
    assert!(paths["config"].as_str().unwrap().ends_with("/haft"));
    assert!(paths["directories"].as_array().unwrap().len() >= 6);
    let schema = machine.haft(&["debug", "schema"]).ok().json();
    assert_eq!(schema["properties"]["model"]["type"], "string");
}
