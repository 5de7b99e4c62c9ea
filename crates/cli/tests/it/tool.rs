//! `haft tool`.

use serde_json::{Value, json};

use crate::support::Machine;

#[test]
fn without_a_command_there_is_help() {
    let machine = Machine::with(&[]);
    let help = machine.haft(&[]).ok().out;
    for command in ["demo", "run", "tool", "session"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in: {help}");
    }
    machine.haft(&["fly"]).ends(2).says(&["neither a folder nor a command called \"fly\""]);
}

#[test]
fn the_tools_are_listed_and_described() {
    let machine = Machine::with(&[]);
    let listed = machine.haft(&["tool", "list"]).ok();
    let names: Vec<&str> = listed.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(
        names.is_sorted() && ["bash", "edit", "read", "write"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    let json = machine.haft(&["tool", "list", "--json"]).ok().json();
    let described: Vec<&str> = json.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(described, names);
    let shown = machine.haft(&["tool", "show", "READ"]).ok();
    assert!(shown.out.starts_with("read\n") && shown.out.contains("\"filePath\""), "{}", shown.out);
    machine
        .haft(&["tool", "show", "reed"])
        .ends(2)
        .says(&["there is no tool called \"reed\"", "Call one of: apply_patch, bash, edit,"]);
}

#[test]
fn what_no_session_remembers_is_not_kept() {
    let machine = Machine::with(&[("a.txt", "old")]);
    let call = |tool: &str, args: Value| {
        machine.haft(&["tool", "call", tool, &args.to_string(), "--auto"]).ok();
    };
    call("write", json!({"filePath": "a.txt", "content": "new"}));
    call("bash", json!({"command": "echo more >> a.txt"}));
    assert_eq!(std::fs::read_to_string(machine.project().join("a.txt")).unwrap(), "newmore\n");
    for folder in ["pending", "trees"] {
        let kept = std::fs::read_dir(machine.data().join("snapshots").join(folder));
        assert_eq!(kept.map_or(0, Iterator::count), 0, "{folder}");
    }
}

#[test]
fn what_a_rule_denies_altogether_is_not_offered() {
    let machine = Machine::with(&[("opencode.json", r#"{"permission": {"edit": "deny"}}"#)]);
    let listed = machine.haft(&["tool", "list"]).ok().out;
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(
        names,
        [
            "bash",
            "glob",
            "grep",
            "job_kill",
            "job_output",
            "question",
            "read",
            "skill",
            "task",
            "todowrite",
            "webfetch"
        ]
    );
}

#[test]
fn definitions_come_with_their_size() {
    let machine = Machine::with(&[]);
    let told = machine.haft(&["tool", "definitions", "--model", "openai/any"]).ok().json();
    let tools = told["tools"].as_array().unwrap();
    assert_eq!(tools[0]["type"], "function");
    assert_eq!(tools[0]["function"]["name"], "bash");
    let bytes = told["tools"].to_string().len();
    assert_eq!(told["bytes"], bytes);
    assert_eq!(told["tokens"], (bytes as f64 / 3.6).ceil() as u64);
    let per_tool: u64 = told["per_tool"].as_object().unwrap().values().map(|one| one["bytes"].as_u64().unwrap()).sum();
    // The tools themselves, the commas between them and the brackets around them.
    assert_eq!(per_tool + tools.len() as u64 + 1, bytes as u64);
}

#[test]
fn one_tool_runs_without_a_model() {
    let machine = Machine::with(&[("a.txt", "one\ntwo\n")]);
    let ran = machine.haft(&["tool", "call", "read", r#"{"filePath": "a.txt"}"#]).ok();
    assert!(ran.out.contains("2: two"), "{}", ran.out);
    let json = machine.haft(&["tool", "call", "read", r#"{"filePath": "a.txt"}"#, "--json"]).ok().json();
    assert_eq!(json["error"], Value::Null);
    assert_eq!(json["title"], "a.txt");
    let piped = machine.piped(&["tool", "call", "read", "-"], r#"{"filePath": "a.txt", "offset": "2"}"#).ok();
    assert!(piped.out.contains("2: two") && !piped.out.contains("1: one"), "{}", piped.out);
}

#[test]
fn how_a_call_ended_is_in_the_exit_code() {
    let machine = Machine::uncaged(&[]);
    machine.haft(&["tool", "call", "read", r#"{"filePath": "none"}"#]).ends(1).says(&["none"]);
    machine.haft(&["tool", "call", "read", r#"{"path": "a"}"#]).ends(2).says(&["filePath is missing"]);
    machine.haft(&["tool", "call", "read", "{"]).ends(2).says(&["not valid JSON"]);
    machine.haft(&["tool", "call", "reed"]).ends(2).says(&["no tool called"]);
    machine.haft(&["tool", "call", "bash", r#"{"command": "true"}"#]).ends(3).says(&["nobody is there"]);
    machine.haft(&["tool", "call", "bash", r#"{"command": "true"}"#, "--auto"]).ok();
    machine.haft(&["tool", "call"]).ends(2);
}

#[test]
fn auto_does_not_undo_a_denial() {
    let machine = Machine::with(&[("opencode.json", r#"{"permission": {"bash": {"*": "allow", "rm *": "deny"}}}"#)]);
    machine.haft(&["tool", "call", "bash", r#"{"command": "rm x"}"#, "--auto"]).ends(3).says(&["rm *"]);
    machine.haft(&["tool", "call", "bash", r#"{"command": "echo a"}"#]).ok();
    // A denial holds for each part of a line, and may be meant for one that nobody can take apart.
    machine.haft(&["tool", "call", "bash", r#"{"command": "true; rm x"}"#, "--auto"]).ends(3).says(&["rm *"]);
    machine.haft(&["tool", "call", "bash", r#"{"command": "$(echo rm) x"}"#]).ends(3).says(&["nobody is there"]);
    machine.haft(&["tool", "call", "bash", r#"{"command": "$(echo rm) x"}"#, "--auto"]).ends(3).says(&["rm *"]);
}

#[test]
fn lines_are_answered_in_order_and_a_bad_one_by_itself() {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let call = |tool: &str, args: Value| json!({ "tool": tool, "args": args }).to_string();
    let input = [
        call("read", json!({"filePath": "a.txt"})),
        "nonsense".to_owned(),
        String::new(),
        call("write", json!({"filePath": "b.txt", "content": "two\n"})),
        call("read", json!({"filePath": "b.txt"})),
        call("bash", json!({"command": "true"})),
        call("reed", json!({})),
        call("edit", json!({"filePath": "a.txt", "oldString": "none", "newString": "x"})),
    ];
    let ran = machine.piped(&["tool", "call", "--jsonl"], &input.join("\n")).ok();
    let lines = ran.lines();
    let kinds: Vec<&Value> = lines.iter().map(|line| &line["error"]["kind"]).collect();
    assert_eq!(
        kinds,
        [
            &Value::Null,
            &json!("bad_input"),
            &Value::Null,
            &Value::Null,
            &json!("denied"),
            &json!("bad_input"),
            &json!("failed")
        ]
    );
    assert!(lines[3]["output"].as_str().unwrap().contains("1: two"));
    for line in &lines {
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["title", "output", "metadata", "attachments", "error"]);
    }
    assert_eq!(machine.read("b.txt"), "two\n");
}

#[test]
fn between_lines_a_polite_kill_ends_it() {
    use std::io::{BufRead, Write};
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let mut child = machine.start(machine.command(&["tool", "call", "--jsonl"]).stdin(std::process::Stdio::piped()));
    let mut input = child.stdin.take().unwrap();
    writeln!(input, r#"{{"tool":"read","args":{{"filePath":"a.txt"}}}}"#).unwrap();
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("1: one"), "{line}");
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    // Its input stays open: only the signal can end it.
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
}

#[test]
fn a_line_that_is_too_long_is_answered_and_the_next_one_too() {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let long = format!("{{\"tool\":\"read\",\"args\":{{\"filePath\":\"{}\"}}}}", "x".repeat(17 * 1024 * 1024));
    let good = r#"{"tool":"read","args":{"filePath":"a.txt"}}"#;
    let lines = machine.piped(&["tool", "call", "--jsonl"], &format!("{long}\n{good}\n")).ok().lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[0]["error"]["message"].as_str().unwrap().contains("longer than 16 MiB"));
    assert_eq!(lines[1]["error"], Value::Null);
}

#[test]
fn a_long_output_is_cut_and_kept_whole() {
    let machine = Machine::with(&[]);
    let args = r#"{"command": "seq 1 5000"}"#;
    let json = machine.haft(&["tool", "call", "bash", args, "--auto", "--json"]).ok().json();
    assert_eq!(json["metadata"]["truncated"], true);
    let kept = json["metadata"]["outputPath"].as_str().unwrap();
    assert!(kept.starts_with(machine.data().join("output").to_str().unwrap()), "{kept}");
    let whole = std::fs::read_to_string(kept).unwrap();
    assert_eq!(whole.lines().count(), 5000);
    // The folder is outside the project, and still free to read.
    let read = json!({ "filePath": kept, "offset": 4000, "limit": 1 }).to_string();
    assert!(machine.haft(&["tool", "call", "read", &read]).ok().out.contains("4000: 4000"));
}

#[test]
fn a_person_is_told_how_to_say_yes_beforehand() {
    let machine = Machine::with(&[("opencode.json", r#"{"permission": {"bash": {"*": "ask", "rm *": "deny"}}}"#)]);
    machine.haft(&["tool", "call", "bash", r#"{"command": "true"}"#]).ends(3).says(&["leave", "--auto"]);
    let denied = machine.haft(&["tool", "call", "bash", r#"{"command": "rm x"}"#]).ends(3);
    assert!(!denied.err.contains("--auto"), "it would not help: {denied:?}");
}

/// The definitions that `haft tool definitions` tells with `arguments`: their names, and their size in bytes.
fn defined(machine: &Machine, arguments: &[&str]) -> (Vec<String>, usize) {
    let told = machine.haft(&[&["tool", "definitions"], arguments].concat()).ok().json();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    (told["tools"].as_array().unwrap().iter().map(name).collect(), told["tools"].to_string().len())
}

#[test]
fn tools_and_prompt_stay_within_their_budget() {
    let machine = Machine::with(&[]);
    let agent = haft_session::Agent::new("build", haft_permission::Rules::default());
    let models = [
        "openai/any",
        "anthropic/claude-sonnet-4-5",
        "openai/gpt-5",
        "openai/gpt-5-codex",
        "google/gemini-3",
        "groq/kimi-k2",
    ];
    for model in models {
        let prompt = agent.voice_on(model, haft_session::Toolset::Full);
        let (names, bytes) = defined(&machine, &["--model", model]);
        assert!(names.len() <= 13, "{model}: {names:?}");
        let tokens = (bytes + prompt.len()) as f64 / 3.6;
        assert!(tokens < 3_500.0, "{model}: {tokens} tokens");
    }
}

#[test]
fn a_model_that_patches_is_offered_no_edit_and_an_agent_what_it_may() {
    let machine = Machine::with(&[]);
    let has = |arguments: &[&str], name: &str| defined(&machine, arguments).0.iter().any(|one| one == name);
    for (model, patches) in [("openai/gpt-5", true), ("openai/gpt-4o", false), ("anthropic/claude-opus-4-1", false)] {
        let arguments = ["--model", model];
        assert_eq!(has(&arguments, "apply_patch"), patches, "{model}");
        assert_eq!(has(&arguments, "edit"), !patches, "{model}");
        assert_eq!(has(&arguments, "write"), !patches, "{model}");
    }
    assert!(!has(&["--model", "openai/any", "--agent", "explore"], "write"));
    assert!(!has(&["--model", "openai/any"], "list"));
    machine.write("opencode.json", r#"{"tools": {"list": true}}"#);
    assert!(has(&["--model", "openai/any"], "list"));
}

#[test]
fn what_was_read_and_what_runs_stays_from_line_to_line() {
    let machine = Machine::uncaged(&[("a.txt", "one\n")]);
    let call = |tool: &str, args: Value| json!({ "tool": tool, "args": args }).to_string();
    let input = [
        call("read", json!({"filePath": "a.txt"})),
        call("bash", json!({"command": "printf changed > a.txt"})),
        call("edit", json!({"filePath": "a.txt", "oldString": "one", "newString": "two"})),
        call("bash", json!({"command": "echo $$ > pid; exec sleep 1000", "background": true})),
        call("bash", json!({"command": "until [ -s pid ]; do :; done"})),
        call("job_output", json!({})),
        call("task", json!({"description": "d", "prompt": "p", "subagent_type": "general"})),
        "{\"tool\": \"read\", \"args\": [1]}".to_owned(),
    ];
    let ran = machine.piped(&["tool", "call", "--jsonl", "--auto"], &input.join("\n")).ok();
    let lines = ran.lines();
    let kinds: Vec<Option<&str>> = lines.iter().map(|line| line["error"]["kind"].as_str()).collect();
    assert_eq!(kinds, [None, None, Some("failed"), None, None, None, Some("failed"), Some("bad_input")], "{lines:?}");
    let message = |line: usize| lines[line]["error"]["message"].as_str().unwrap();
    assert!(message(2).contains("has changed on disk"), "{}", message(2));
    assert!(lines[5]["output"].as_str().unwrap().contains("sleep 1000"), "{}", lines[5]);
    assert!(message(6).contains("model"), "{}", message(6));
    assert!(message(7).contains("must be an object"), "{}", message(7));
    // What ran was ended with the process. Nobody need have asked for its end yet.
    let pid = machine.read("pid");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

#[test]
fn a_weak_model_is_offered_few_tools_in_few_words() {
    let machine = Machine::with(&[]);
    let (all, large) = defined(&machine, &["--model", "openrouter/some/model"]);
    let (few, small) = defined(&machine, &["--model", "ollama/qwen3:4b"]);
    assert_eq!(few, ["bash", "edit", "glob", "grep", "read", "write"]);
    assert!(all.len() > 10 && small * 3 < large, "{small} of {large}");
    // The user's word counts more than what is guessed, and what they switch on is there.
    machine.write("opencode.json", r#"{"tool_profile": "full"}"#);
    assert_eq!(defined(&machine, &["--model", "ollama/qwen3:4b"]).0, all);
    machine.write("opencode.json", r#"{"tool_profile": "small", "tools": {"list": true, "glob": false}}"#);
    assert_eq!(
        defined(&machine, &["--model", "openrouter/some/model"]).0,
        ["bash", "edit", "grep", "list", "read", "write"]
    );
    // One that is said to have little room is weak too.
    let models = serde_json::json!({"m": {"limit": {"context": 8_192, "output": 2_048}}});
    let own =
        serde_json::json!({"provider": {"own": {"options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": models}}});
    machine.write("opencode.json", &own.to_string());
    assert_eq!(defined(&machine, &["--model", "own/m"]).0, few);
}
