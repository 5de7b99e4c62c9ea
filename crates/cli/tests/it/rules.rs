//! Rules and agents as `haft debug`, `haft agent` and `haft permission` show them.

use serde_json::{Value, json};

use crate::support::Machine;

const SETTINGS: &str = r#"{
    "permission": {"bash": {"git *": "allow"}, "edit": {"secret/*": "deny"}},
    "agent": {"plan": {"permission": {"edit": {"docs/*": "allow"}}}, "writer": {"description": "Writes", "steps": 3}}
}"#;

/// What is decided about `permission` for `pattern`, as `ACTION RULE'S PATTERN`.
fn decided(machine: &Machine, agent: &[&str], questions: &[(&str, &str)]) -> Vec<String> {
    let lines: Vec<String> = questions
        .iter()
        .map(|(permission, pattern)| json!({"permission": permission, "pattern": pattern}).to_string())
        .collect();
    let told = machine.piped(&[&["debug", "rules", "--jsonl"], agent].concat(), &lines.join("\n")).ok();
    let answers = told.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers
        .map(|answer| format!("{} {}", answer["action"].as_str().unwrap(), answer["rule"]["pattern"]).replace('"', ""))
        .collect()
}

#[test]
fn each_agent_has_its_rules_under_the_users() {
    let machine = Machine::uncaged(&[("opencode.json", SETTINGS)]);
    let questions = [
        ("bash", "git log"),
        ("bash", "git log; rm x"),
        ("bash", "ls"),
        ("edit", "a"),
        ("write", "secret/a"),
        ("edit", "docs/a"),
        ("edit", ".git/config"),
        ("doom_loop", "read"),
    ];
    let build = decided(&machine, &[], &questions);
    assert_eq!(
        build,
        ["allow git *", "ask git *", "ask *", "allow *", "deny secret/*", "allow *", "ask *.git/*", "ask *"]
    );
    let plan = decided(&machine, &["--agent", "plan"], &questions[3..6]);
    assert_eq!(plan, ["deny *", "deny secret/*", "allow docs/*"]);
    assert_eq!(
        decided(&machine, &["--agent", "title"], &[("read", "a"), ("bash", "git log")]),
        ["deny *", "allow git *"]
    );
}

#[test]
fn one_question_and_all_rules_are_answered_too() {
    let machine = Machine::uncaged(&[("opencode.json", SETTINGS)]);
    let one = machine.haft(&["debug", "rules", "edit", "secret/a"]).ok().json();
    assert_eq!(one, json!({"action": "deny", "rule": {"permission": "edit", "pattern": "secret/*", "action": "deny"}}));
    let all = machine.haft(&["debug", "rules"]).ok().json();
    assert_eq!(all["agent"], "build");
    assert_eq!(all["rules"][0], json!({"permission": "*", "pattern": "*", "action": "allow"}));
    assert_eq!(all["guard"][0], json!({"permission": "bash", "pattern": "*", "action": "ask"}));
    let broken = machine.piped(&["debug", "rules", "--jsonl"], "{\n\n[1]\n").ok();
    assert_eq!(broken.out.lines().filter(|line| line.contains("\"error\"")).count(), 2, "{}", broken.out);
}

#[test]
fn agents_are_listed_and_described() {
    let machine = Machine::with(&[("opencode.json", SETTINGS)]);
    let listed = machine.haft(&["agent", "list"]).ok().out;
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["build", "explore", "general", "plan", "writer"], "{listed}");
    let all = machine.haft(&["agent", "list", "--json"]).ok().json();
    let names: Vec<&str> = all.as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["build", "compaction", "explore", "general", "plan", "summary", "title", "writer"]);
    let writer = machine.haft(&["debug", "agents", "writer"]).ok().json();
    assert_eq!((&writer["mode"], &writer["native"], &writer["steps"]), (&json!("all"), &json!(false), &json!(3)));
    machine.haft(&["debug", "agents", "nobody"]).ends(2).says(&["no agent \"nobody\""]);
}

#[test]
fn an_agent_that_cannot_answer_gives_way_and_says_so() {
    let machine = Machine::with(&[("opencode.json", r#"{"default_agent": "general"}"#)]);
    let listed = machine.haft(&["agent", "list"]).ok();
    assert!(listed.out.starts_with("build ") && listed.err.contains("is a subagent"), "{listed:?}");
}

#[test]
fn nobody_is_told_the_rules_of_another_agent() {
    let machine = Machine::with(&[]);
    let asked = machine.haft(&["debug", "rules", "edit", "a.rs", "--agent", "explore"]).ok();
    assert_eq!(asked.json()["action"], "deny", "an agent for tasks has rules of its own");
    for words in [["debug", "rules"], ["tool", "list"], ["tool", "definitions"]] {
        machine.haft(&[&words[..], &["--agent", "nope"]].concat()).ends(2).says(&["no agent \"nope\"", "plan"]);
    }
    machine.haft(&["tool", "call", "glob", r#"{"pattern": "*"}"#, "--agent", "nope"]).ends(2).says(&["\"nope\""]);
    let offered = machine.haft(&["tool", "list", "--json", "--agent", "explore"]).ok();
    assert!(!offered.out.contains("\"edit\""), "{offered:?}");
}

#[test]
fn nothing_is_kept_at_first() {
    let machine = Machine::with(&[]);
    assert_eq!(machine.haft(&["permission", "list", "--json"]).ok().json(), json!([]));
    machine.haft(&["permission", "list"]).ok().says(&["nothing was allowed for always in this project"]);
    machine.haft(&["permission", "revoke", "bash"]).ends(2).says(&["haft permission list"]);
    machine.haft(&["permission", "revoke", "--all"]).ok();
}
