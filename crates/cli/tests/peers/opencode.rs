//! A session of OpenCode's own, taken over from the database that it really wrote, and gone on with.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::scene::STEPS;
use crate::support::{Machine, Ran, Served, parts, server_config};

/// One prompt to OpenCode, in the project and the home of `machine`.
fn opencode(program: &Path, machine: &Machine, prompt: &str) {
    let home = machine.root().join("theirs");
    std::fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(program);
    command.args(["run", "--title", "Theirs", "--model", "mock/m1", prompt]).current_dir(machine.project());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", &home);
    for (name, below) in [("DATA", "data"), ("CONFIG", "config"), ("STATE", "state"), ("CACHE", "cache")] {
        command.env(format!("XDG_{name}_HOME"), home.join(below));
    }
    // It is to ask nobody but the model.
    for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        command.env(format!("OPENCODE_DISABLE_{name}"), "1");
    }
    let ran = command.env("MOCK_KEY", "key").stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_session_of_its_database_is_listed_shown_and_gone_on_with() {
    let Some(program) = crate::install::opencode() else { return };
    let machine = Machine::with(&[("a.txt", "one\n")]);
    let server = Served::plays(&[&STEPS[..], &[r#"{"answer":[{"text":"As you saw, it says two."}]}"#]].concat());
    let mut settings: serde_json::Value = serde_json::from_str(&server_config(&server.url())).unwrap();
    settings.as_object_mut().unwrap().remove("limits");
    machine.write("opencode.json", &settings.to_string());
    opencode(&program, &machine, "change it");
    assert_eq!(machine.read("a.txt"), "two\n", "it did its work");
    let asked = server.bodies().len();

    let data = machine.root().join("theirs/data/opencode").display().to_string();
    assert!(Path::new(&data).join("opencode.db").is_file(), "it has a database");
    let import = ["import-opencode", "--from", &data];
    let would = machine.haft(&[&import[..], &["--dry-run"]].concat()).ok().out;
    assert!(would.starts_with("1 sessions with ") && would.contains("would be taken over"), "{would}");
    let told = machine.haft(&import).ok();
    assert!(told.out.starts_with("1 sessions with ") && !told.err.contains("not taken over"), "{told:?}");
    assert!(machine.haft(&import).ok().out.contains("1 were here already"));

    let listed = machine.haft(&["session", "list", "--all", "--json"]).ok().json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["title"]), (1, &json!("Theirs")), "{listed:#}");
    let id = listed[0]["id"].as_str().unwrap().to_owned();
    let shown = machine.haft(&["session", "show", &id]).ok().out;
    for words in ["change it", "I will look.", "a.txt", "All done."] {
        assert!(shown.contains(words), "{words} is not in {shown}");
    }
    let session = machine.haft(&["session", "show", &id, "--json"]).ok().json();
    let calls = parts(&session).into_iter().filter(|part| part["type"] == "tool");
    let calls: Vec<_> = calls.map(|part| (part["tool"].clone(), part["state"]["status"].clone())).collect();
    assert_eq!(calls, [(json!("read"), json!("completed")), (json!("edit"), json!("completed"))]);
    assert_eq!(session["info"]["tokens"]["output"], 100, "{session:#}");

    let mut more = machine.command(&["run", "what does it say?", "--session", &id]);
    let ran = Ran::from(more.env("MOCK_KEY", "key").output().unwrap()).ok();
    assert_eq!(ran.out, "As you saw, it says two.\n");
    let last = server.bodies()[asked..].last().unwrap().to_string();
    assert!(last.contains("change it") && last.contains("All done.") && last.contains("what does it say?"), "{last}");
    // What went on here stays as it is.
    assert!(machine.haft(&import).ok().out.contains("1 went on here and stay as they are"));
}
