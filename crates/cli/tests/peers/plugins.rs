//! Plug-ins of others, as they are published for OpenCode: installed from the registry, and used by a scripted model.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Machine, Ran, Served, fault, parts, server_config};

const DONE: &str = r#"{"answer":[{"text":"All done."}]}"#;

/// A machine with `spec` installed, or `None` where no registry can be reached. Some wait for a Node.
fn with(spec: &str, files: &[(&str, &str)]) -> Option<Machine> {
    let machine = Machine::uncaged(files);
    let ran = machine.haft(&["plugin", "install", spec]);
    let node = Command::new("node").arg("--version").output().is_ok_and(|ran| ran.status.success());
    if ran.code == 0 && node {
        return Some(machine);
    }
    assert!(std::env::var_os("HAFT_NEEDS_PEERS").is_none(), "{spec} cannot be tried, node there: {node}, {ran:?}");
    eprintln!("not tested, because {spec} cannot be tried: {}", ran.err);
    None
}

/// What a scripted model is given that calls `tool`.
fn called(machine: &Machine, tool: &str, args: &Value, path: Option<&str>) -> (Ran, String) {
    let call = json!({ "answer": [{ "call": tool, "args": args }] }).to_string();
    let model = machine.scenario(&[&call, DONE]);
    let mut command = machine.command(&["run", "go", "--auto", "--model", &model]);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let ran = Ran::from(command.output().unwrap()).ok();
    let session = machine.newest_session();
    let state = parts(&session).into_iter().find(|part| part["type"] == "tool").unwrap()["state"].clone();
    let text = state["output"].as_str().or(state["error"].as_str()).unwrap_or_default().to_owned();
    (ran, text)
}

#[test]
fn tools_of_published_plug_ins_are_called() {
    let rows = [
        // TypeScript as it is, in the engine.
        (
            "@sureshsankaran/opencode-destructive-check@1.0.5",
            "destructive-check-status",
            json!({}),
            "permissionsRequested",
        ),
        // One file with a zod of its own in it, in the engine.
        (
            "opencode-heartbeat-approval@0.4.0",
            "request_human_input",
            json!({ "type": "approval", "prompt": "may I?" }),
            "APPROVAL_PORT",
        ),
        ("opencode-supermemory@2.0.10", "supermemory", json!({ "mode": "help" }), "SUPERMEMORY_API_KEY not set"),
        ("opencode-orchestrator@1.7.22", "list_agents", json!({}), "Commander"),
        (
            "oh-my-opencode-slim@2.2.24",
            "ast_grep_search",
            json!({ "pattern": "x($A)", "lang": "javascript" }),
            "No matches found",
        ),
    ];
    for (spec, tool, args, want) in rows {
        let Some(machine) = with(spec, &[]) else { return };
        let (ran, text) = called(&machine, tool, &args, None);
        assert!(text.contains(want), "{spec}: {text}\n{}", ran.err);
        assert!(!ran.err.contains(&format!("the plug-in {spec} is left out")), "{spec}: {}", ran.err);
    }
}

#[test]
fn skills_and_pruning_are_offered() {
    let skill =
        "---\nname: demo-skill\ndescription: Says how demonstrations are done in this project\n---\nDo it well.\n";
    for (spec, tool, want) in [
        ("opencode-skills@0.1.7", "skills_demo_skill", "demonstrations"),
        ("@tarquinen/opencode-dcp@3.1.14", "compress", "Collapse a range"),
    ] {
        let Some(machine) = with(spec, &[(".opencode/skills/demo-skill/SKILL.md", skill)]) else { return };
        let shown = machine.haft(&["tool", "show", tool]).ok();
        assert!(shown.out.contains(want), "{spec}: {shown:?}");
    }
}

#[test]
fn a_skill_of_a_published_plug_in_reaches_the_model() {
    let skill =
        "---\nname: demo-skill\ndescription: Says how demonstrations are done in this project\n---\nBring an orange.\n";
    let Some(machine) = with("opencode-skills@0.1.7", &[(".opencode/skills/demo-skill/SKILL.md", skill)]) else {
        return;
    };
    let served = Served::plays(&[r#"{"answer":[{"call":"skills_demo_skill","args":{}}]}"#, DONE]);
    let mut settings: Value = serde_json::from_str(&server_config(&served.url())).unwrap();
    settings["sandbox"] = json!({ "mode": "off" });
    std::fs::write(machine.root().join("config/opencode/opencode.json"), settings.to_string()).unwrap();
    let ran = machine.haft(&["run", "go", "--auto"]).ok();
    let bodies = served.bodies();
    let last = bodies.iter().rfind(|body| !body["tools"].is_null()).unwrap();
    assert_eq!(fault(last), None, "{last}");
    let messages = last["messages"].as_array().unwrap();
    let result = messages.iter().position(|message| message["role"] == "tool").unwrap();
    assert!(messages[result].to_string().contains("Launching skill: demo-skill"), "{last}\n{}", ran.err);
    let behind: Vec<String> = messages[result + 1..].iter().map(Value::to_string).collect();
    assert!(behind.len() == 2 && behind.iter().all(|message| message.contains(r#""role":"user""#)), "{behind:?}");
    assert!(behind[0].contains("skill is loading") && behind[1].contains("Bring an orange."), "{behind:?}");
}

#[test]
fn hooks_of_published_plug_ins_let_a_turn_pass() {
    for spec in [
        "opencode-wakatime@1.3.9",
        "opencode-image-compress@0.3.2",
        "opencode-prompt-recorder@1.9.9",
        "opencode-beads@0.3.2",
    ] {
        let Some(machine) = with(spec, &[("a.txt", "one\n")]) else { return };
        let (ran, text) = called(&machine, "read", &json!({ "filePath": "a.txt" }), None);
        assert!(
            text.contains("one") && !ran.err.contains(&format!("the plug-in {spec} is left out")),
            "{spec}: {text}\n{}",
            ran.err
        );
    }
}

/// A Bun, from its own package.
fn bun() -> Option<PathBuf> {
    let cpu = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x64" };
    cfg!(target_os = "linux").then_some(())?;
    crate::install::bun(&format!("@oven/bun-linux-{cpu}"))
}

#[test]
fn what_needs_bun_runs_in_one() {
    let Some(bun) = bun() else { return };
    let Some(machine) = with("opencode-pty@0.1.3", &[]) else { return };
    let path = format!("{}:{}", bun.display(), std::env::var("PATH").unwrap());
    let args = json!({ "command": "echo", "args": ["hi"], "title": "t", "description": "Says hi" });
    let (ran, text) = called(&machine, "pty_spawn", &args, Some(&path));
    assert!(text.contains("pty_") && ran.err.contains("runs in bun"), "{text}\n{}", ran.err);
}
