//! Skills and commands, found and used by the real binary.

mod shelf;
mod urls;

use serde_json::{Value, json};

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
    assert_eq!(names, ["customize-haft", "demo", "mine"]);
    let checked = machine.haft(&["skill", "check"]).ok().out;
    assert!(checked.contains("no description") && checked.ends_with("3 skills can be used; 0 cannot; 1 warnings\n"));
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

#[test]
fn each_mistake_in_a_skill_is_told_with_its_file() {
    let machine = Machine::with(&[]);
    let put = |folder: &str, header: &str| {
        machine.write(&format!(".haft/skills/{folder}/SKILL.md"), &format!("---\n{header}\n---\nDo it.\n"));
    };
    put("Bad_Name", "name: Bad_Name\ndescription: x");
    put("folder", "name: other\ndescription: x");
    put("long", &format!("name: long\ndescription: {}", "y".repeat(1025)));
    put("twice", "name: twice\ndescription: x");
    put("yaml", "name: [yaml");
    put("number", "name: 7\ndescription: x");
    machine.write(".claude/skills/twice/SKILL.md", "---\nname: twice\ndescription: x\n---\nDo it.\n");
    machine.write(".haft/skills/small/skill.md", "---\nname: small\n---\n");
    let told = machine.haft(&["skill", "check", "--json"]).ends(1).json();
    let has = |key: &str, file: &str, words: &str| {
        let lines = told[key].as_array().unwrap();
        let found =
            lines.iter().any(|line| line.as_str().is_some_and(|line| line.contains(file) && line.contains(words)));
        assert!(found, "{file}: {words}: {told:#}");
    };
    has("errors", ".haft/skills/yaml/SKILL.md, line ", "is no YAML");
    has("errors", ".haft/skills/number/SKILL.md", "write it in quotes: `name: \"7\"`");
    has("warnings", ".haft/skills/Bad_Name/SKILL.md", "small letters, digits and single hyphens");
    has("warnings", ".haft/skills/folder/SKILL.md", "its folder's \"folder\"");
    has("warnings", ".haft/skills/long/SKILL.md", "has 1025 characters; other programs take 1024");
    has("warnings", ".claude/skills/twice/SKILL.md", "does not count");
    has("warnings", ".haft/skills/small/skill.md", "call it SKILL.md");
    assert_eq!((told["skills"].as_u64(), told["warnings"].as_array().unwrap().len()), (Some(5), 5), "{told:#}");
}

#[test]
fn rules_decide_which_skills_a_model_is_told_of_and_may_load() {
    let machine = machine();
    machine.write(".haft/skills/internal-keys/SKILL.md", "---\nname: internal-keys\ndescription: Keys.\n---\nNo.\n");
    machine.write("opencode.json", r#"{"permission": {"skill": {"*": "allow", "internal-*": "deny", "demo": "ask"}}}"#);
    let answers = ["internal-keys", "demo", "mine"].map(|name| json!({"call": "skill", "args": {"name": name}}));
    let answers = [json!({"answer": answers}).to_string(), json!({"answer": [{"text": "Done."}]}).to_string()];
    let model = machine.scenario(&[&answers[0], &answers[1]]);
    let told = machine.haft(&["debug", "request", "go", "--model", &model]).ok().json().to_string();
    assert!(told.contains("<name>demo</name>") && !told.contains("internal-keys"), "{told}");
    machine.haft(&["run", "go", "--model", &model]).ok();
    let states: Vec<Value> = crate::support::parts(&machine.newest_session())
        .iter()
        .filter(|part| part["type"] == "tool")
        .map(|part| part["state"].clone())
        .collect();
    assert_eq!(states.len(), 3);
    assert!(states[0]["error"].as_str().is_some_and(|error| error.contains("internal-*")), "{:#}", states[0]);
    // Nobody is there to answer.
    assert_eq!(states[1]["status"], "error", "{:#}", states[1]);
    assert_eq!(states[2]["status"], "completed", "{:#}", states[2]);
}

#[test]
fn haft_can_tell_a_model_how_it_is_configured_when_asked() {
    let machine = Machine::with(&[]);
    let model = machine.scenario(&[
        r#"{"answer":[{"call":"skill","args":{"name":"customize-haft"}}]}"#,
        r#"{"answer":[{"text":"Done."}]}"#,
    ]);
    let request = machine.haft(&["debug", "request", "go", "--model", &model]).ok().json().to_string();
    assert!(request.contains("<location>&lt;built-in&gt;</location>"), "{request}");
    // Its text is not sent before somebody wants it.
    assert!(!request.contains("## Where settings stand"), "{request}");
    machine.haft(&["run", "go", "--model", &model]).ok();
    let parts = crate::support::parts(&machine.newest_session());
    let output = parts.iter().find_map(|part| part["state"]["output"].as_str()).unwrap();
    assert!(output.contains("## Where settings stand") && output.contains("| `sandbox` |"), "{output}");
    // One of the user's own takes its place, and a rule takes it away.
    machine
        .write(".haft/skills/customize-haft/SKILL.md", "---\nname: customize-haft\ndescription: Ours.\n---\nOurs.\n");
    let listed = machine.haft(&["skill", "list", "--json"]).ok().json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["description"]), (1, &json!("Ours.")));
    machine.write("opencode.json", r#"{"permission": {"skill": {"customize-*": "deny"}}}"#);
    let request = machine.haft(&["debug", "request", "go", "--model", &model]).ok().json().to_string();
    assert!(!request.contains("<available_skills>"), "{request}");
}
