//! Skills and commands, found and used by the real binary.

use serde_json::json;

use crate::support::Machine;

const DEMO: &str = "---\nname: demo\ndescription: Use it to: show a skill\n---\nDo it well. !`touch ran` $1\n";

fn machine() -> Machine {
    let machine = Machine::with(&[("a.txt", "a\n")]);
    machine.write(".claude/skills/demo/SKILL.md", DEMO);
    machine.write(".claude/skills/demo/ref/a.md", "more\n");
    machine.write("../home/.agents/skills/mine/SKILL.md", "---\nname: mine\n---\nOnly when called.\n");
    machine
}

#[test]
fn skills_are_found_checked_and_told_of() {
    let machine = machine();
    let listed = machine.haft(&["skill", "list", "--json"]).ok().json();
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|skill| skill["name"].as_str()).collect();
    assert_eq!(names, ["demo", "mine"]);
    let checked = machine.haft(&["skill", "check"]).ok().out;
    assert!(checked.contains("no description") && checked.ends_with("2 skills can be used; 0 cannot; 1 warnings\n"));
    machine.write(".haft/skill/broken/SKILL.md", "---\nname: x\n");
    let checked = machine.haft(&["skill", "check"]).ends(1).out;
    assert!(checked.contains("broken/SKILL.md") && checked.contains("never closed"), "{checked}");

    let model = machine.scenario(&[r#"{"answer":[{"text":"Fine."}]}"#]);
    let told = machine.haft(&["debug", "request", "go", "--model", &model]).ok().json().to_string();
    assert!(told.contains("<available_skills>") && told.contains("<name>demo</name>"), "{told}");
    assert!(!told.contains("<name>mine</name>"), "{told}");
    machine.write("opencode.json", r#"{"permission": {"skill": "deny"}}"#);
    let told = machine.haft(&["debug", "request", "go", "--model", &model]).ok().json().to_string();
    assert!(!told.contains("<available_skills>") && !told.contains("\"skill\""), "{told}");
}

#[test]
fn a_skill_is_loaded_and_its_files_may_be_read() {
    let machine = machine();
    machine.write("../home/.agents/skills/mine/more.md", "further words\n");
    let loaded = machine.haft(&["tool", "call", "skill", &json!({"name": "mine"}).to_string()]).ok().out;
    assert!(loaded.contains("<skill_content name=\"mine\">") && loaded.contains("more.md</file>"), "{loaded}");
    let file = machine.root().join("home/.agents/skills/mine/more.md");
    let arguments = json!({ "filePath": file }).to_string();
    let read = machine.haft(&["tool", "call", "read", &arguments]).ok().out;
    assert!(read.contains("further words"), "{read}");
}
