//! haft's tools in other agents: with what docs/mcp.md says to put into their settings, their model calls them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::service::{Service, free_port};
use crate::support::{Machine, Ran, Served, server_config};

const DOCS: &str = include_str!("../../../../docs/mcp.md");

/// What the models do.
const CALLS: [(&str, &str); 3] = [
    ("read", r#"{"filePath":"a.txt"}"#),
    ("edit", r#"{"filePath":"a.txt","oldString":"one","newString":"two"}"#),
    ("bash", r#"{"command":"cat a.txt"}"#),
];

/// The settings that the documents show behind the line `head`, up to the next such line or the end of the block.
fn shown(head: &str) -> String {
    let lines = DOCS.lines().skip_while(|line| *line != head).skip(1);
    let settings: Vec<&str> = lines.take_while(|line| !line.starts_with("```") && !line.starts_with("// ")).collect();
    assert!(!settings.is_empty(), "docs/mcp.md has no {head:?}");
    settings.join("\n")
}

/// A project, and a user of haft who lets one command run.
fn machine() -> Machine {
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let own = machine.root().join("home/.config/haft");
    std::fs::create_dir_all(&own).unwrap();
    let settings = json!({"sandbox": {"mode": "off"}, "permission": {"bash": {"cat a.txt": "allow"}}});
    std::fs::write(own.join("haft.json"), settings.to_string()).unwrap();
    // As it is installed: found by its name.
    let programs = machine.root().join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_haft"), programs.join("haft")).unwrap();
    machine
}

/// `program` with `args` in the project, with an environment that holds nothing of this machine's.
fn run(machine: &Machine, program: &Path, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(
        std::iter::once(machine.root().join("bin")).chain(std::env::split_paths(&path)).collect::<Vec<PathBuf>>(),
    );
    let mut command = Command::new(program);
    command.args(args).current_dir(machine.project()).env_clear().env("PATH", path.unwrap());
    command.env("HOME", machine.root().join("home")).envs(variables.iter().copied());
    Ran::from(command.stdin(Stdio::null()).output().unwrap())
}

/// The answers of a scenario, whose tools are called with `prefix` before their names.
fn answers(prefix: &str) -> Vec<String> {
    let call = |(name, args): &(&str, &str)| {
        let args: Value = serde_json::from_str(args).unwrap();
        json!({"answer": [{"call": format!("{prefix}{name}"), "args": args, "id": name}]}).to_string()
    };
    CALLS.iter().map(call).chain([r#"{"answer":[{"text":"All done."}]}"#.to_owned()]).collect()
}

fn served(prefix: &str) -> Served {
    let answers = answers(prefix);
    Served::plays(&answers.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What it told has the results of all calls, and the work was done.
#[track_caller]
fn did_all(machine: &Machine, ran: Ran) {
    let Ran { out, err, .. } = ran.ok();
    for result in ["1: one", "(lines: +1 -1)", "two\\n", "All done."] {
        assert!(out.contains(result), "{result} is not in {out}{err}");
    }
    assert_eq!(machine.read("a.txt"), "two\n");
}

#[test]
fn claude_code_calls_them() {
    let (Some(program), Some(aimock)) = (crate::install::claude(), crate::install::aimock()) else { return };
    let machine = machine();
    machine.write(".mcp.json", &shown("// Claude Code, .mcp.json"));
    let call = |(at, (name, args)): (usize, &(&str, &str))| {
        let calls = json!([{"name": format!("mcp__haft__{name}"), "arguments": args}]);
        json!({"match": {"turnIndex": at}, "response": {"toolCalls": calls}})
    };
    let last = json!({"match": {"turnIndex": CALLS.len()}, "response": {"content": "All done."}});
    let all: Vec<Value> = CALLS.iter().enumerate().map(call).chain([last]).collect();
    let written = machine.root().join("answers.json");
    std::fs::write(&written, json!({ "fixtures": all }).to_string()).unwrap();
    let port = free_port();
    let model = Service::at(port, Command::new(aimock).args(["-p", &port.to_string(), "-f"]).arg(&written));
    let variables = [
        ("ANTHROPIC_BASE_URL", model.url.as_str()),
        ("ANTHROPIC_API_KEY", "key"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ];
    let args = ["-p", "change it", "--allowedTools", "mcp__haft", "--output-format", "stream-json", "--verbose"];
    did_all(&machine, run(&machine, &program, &args, &variables));
    // The other way to say it.
    std::fs::remove_file(machine.project().join(".mcp.json")).unwrap();
    run(&machine, &program, &["mcp", "add", "haft", "--", "haft", "mcp", "serve"], &variables).ok();
    let listed = run(&machine, &program, &["mcp", "list"], &variables).ok().out;
    assert!(listed.contains("haft: haft mcp serve") && listed.contains("Connected"), "{listed}");
}

#[test]
fn codex_calls_them() {
    let Some(program) = crate::install::codex() else { return };
    let (machine, model) = (machine(), served("mcp__haft/"));
    let home = machine.root().join("codex");
    std::fs::create_dir_all(&home).unwrap();
    let vendor = format!("name = \"mock\"\nbase_url = \"{}\"\nwire_api = \"responses\"\n", model.url());
    let settings = format!(
        "model = \"m1\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n[model_providers.mock]\n{vendor}{}\n",
        shown("# Codex, ~/.codex/config.toml")
    );
    std::fs::write(home.join("config.toml"), settings).unwrap();
    let home = home.display().to_string();
    let args = ["exec", "--skip-git-repo-check", "--json", "change it"];
    did_all(&machine, run(&machine, &program, &args, &[("CODEX_HOME", &home)]));
}

#[test]
fn opencode_calls_them() {
    let Some(program) = crate::install::opencode() else { return };
    let (machine, model) = (machine(), served("haft_"));
    let mut settings: Value = serde_json::from_str(&server_config(&model.url())).unwrap();
    settings.as_object_mut().unwrap().remove("limits");
    let entry: Value = serde_json::from_str(&shown("// OpenCode, opencode.json")).unwrap();
    settings["mcp"] = entry["mcp"].clone();
    machine.write("opencode.json", &settings.to_string());
    let names = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"];
    let off: Vec<String> = names.iter().map(|name| format!("OPENCODE_DISABLE_{name}")).collect();
    // The project is trusted, so haft reads the entry for itself there, too.
    let mut variables = vec![("MOCK_KEY", "key"), ("HAFT_TRUST", "1")];
    variables.extend(off.iter().map(|name| (name.as_str(), "1")));
    let args = ["run", "--title", "Theirs", "--format", "json", "--model", "mock/m1", "change it"];
    did_all(&machine, run(&machine, &program, &args, &variables));
}
