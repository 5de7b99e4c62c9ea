//! A key goes to its vendor and nowhere else, whichever way it came in.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{file, store};
use crate::support::{Machine, Ran, Served};

/// Stands in every key of these tests, and in nothing else.
const MARKER: &str = "mark3r-9f2c";

/// The model looks for keys in its environment, and says what it found.
const CALL: &str = r#"{"answer":[{"call":"bash","args":{"command":"env; cat /proc/self/environ"}}]}"#;
const DONE: &str = r#"{"answer":[{"text":"All done."}]}"#;

/// Settings for a model of `vendor` at `url`, with these further options.
fn settings(vendor: &str, url: &str, options: Value) -> String {
    let mut all = json!({ "baseURL": url });
    all.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let provider = json!({ "npm": "@ai-sdk/openai-compatible", "options": all, "models": { "m1": {} } });
    json!({ "model": format!("{vendor}/m1"), "limits": { "retries": 0 }, "provider": { vendor: provider } }).to_string()
}

/// All files below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.symlink_metadata().unwrap() {
                meta if meta.is_dir() => folders.push(path),
                meta if meta.is_file() => all.push(path),
                _ => {}
            }
        }
    }
    all
}

/// One way in which a key comes to haft.
struct Way {
    name: &'static str,
    vendor: &'static str,
    options: Value,
    variable: Option<(&'static str, String)>,
    stored: Option<Value>,
}

fn ways() -> Vec<Way> {
    let way = |name| Way { name, vendor: "mock", options: json!({}), variable: None, stored: None };
    let key = format!("{MARKER}-key");
    let oauth = json!({"type": "oauth", "refresh": key, "access": key, "expires": 0});
    vec![
        Way {
            options: json!({"apiKey": "{env:MOCK_KEY}"}),
            variable: Some(("MOCK_KEY", key.clone())),
            ..way("a variable of the settings")
        },
        Way { vendor: "groq", variable: Some(("GROQ_API_KEY", key.clone())), ..way("a variable of the vendor") },
        Way { options: json!({ "apiKey": key }), ..way("the settings themselves") },
        Way { options: json!({"apiKey": "{file:./key.txt}"}), ..way("a file that the settings name") },
        Way { vendor: "groq", stored: Some(json!({"groq": {"type": "api", "key": key}})), ..way("the store") },
        Way { vendor: "poe", stored: Some(json!({ "poe": oauth })), ..way("a sign-in") },
        Way {
            vendor: "groq",
            variable: Some(("HAFT_AUTH_CONTENT", json!({"groq": {"type": "api", "key": key}}).to_string())),
            ..way("a text that stands for the store")
        },
        Way {
            options: json!({"apiKey": "{env:ORG_TOKEN}"}),
            stored: Some(json!({"https://org.example": {"type": "wellknown", "key": "ORG_TOKEN", "token": key}})),
            ..way("an organisation")
        },
    ]
}

struct Scene {
    machine: Machine,
    way: Way,
}

impl Scene {
    fn new(way: Way, url: &str) -> Self {
        let machine = Machine::with(&[]);
        // The user's own settings: a project's may hold no key that it was not given.
        let folder = machine.root().join("config/haft");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("haft.json"), settings(way.vendor, url, way.options.clone())).unwrap();
        std::fs::write(folder.join("key.txt"), format!("{MARKER}-key\n")).unwrap();
        if let Some(stored) = &way.stored {
            store(&machine, stored);
        }
        Self { machine, way }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.machine.command(args);
        command.env("HAFT_LOG", "trace");
        if let Some((name, value)) = &self.way.variable {
            command.env(name, value);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// Nothing that haft wrote or said holds the marker.
    #[track_caller]
    fn is_tight(&self, said: &[&Ran]) {
        let name = self.way.name;
        for Ran { out, err, .. } in said {
            assert!(!out.contains(MARKER) && !err.contains(MARKER), "{name}: {out}\n{err}");
        }
        let root = self.machine.root();
        let written: Vec<PathBuf> =
            files(&root).into_iter().filter(|path| !path.starts_with(root.join("config"))).collect();
        assert!(written.iter().any(|path| path.ends_with("haft.log")), "{name}: the log is looked at, too");
        for path in written.iter().filter(|path| **path != file(&self.machine)) {
            let bytes = std::fs::read(path).unwrap();
            let found = bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes());
            assert!(!found, "{name}: {} holds the key", path.display());
        }
    }
}

#[test]
fn whichever_way_a_key_came_in_it_goes_to_its_vendor_alone() {
    for way in ways() {
        let served = Served::plays(&[CALL, DONE]);
        let scene = Scene::new(way, &served.url());
        let record = scene.machine.root().join("recording.jsonl");
        let ran = scene.run(&["run", "--auto", "--print-logs", "--record", record.to_str().unwrap(), "look around"]);
        let name = scene.way.name;
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        assert_eq!(served.header("authorization").as_deref(), Some(&*format!("Bearer {MARKER}-key")), "{name}");
        for body in served.bodies() {
            assert!(!body.to_string().contains(MARKER), "{name}: the model was told: {body}");
        }
        let shown = scene.run(&["session", "show", "--json"]);
        let told = shown.out.clone();
        assert!(told.contains("PATH="), "{name}: the command did look: {told}");
        let config = scene.run(&["debug", "config"]);
        let listed = scene.run(&["auth", "list", "--json"]);
        let request = scene.run(&["debug", "request", "hi"]);
        scene.is_tight(&[&ran, &shown, &config, &listed, &request]);
    }
}

#[test]
fn a_vendor_that_repeats_the_key_gets_it_no_further() {
    for way in ways() {
        let body = r#"{"error": {"message": "Incorrect API key provided: mark3r-9f2c-key. Get another."}}"#;
        let served = Served::canned(401, "application/json", body);
        let scene = Scene::new(way, &served.url());
        let ran = scene.run(&["run", "--print-logs", "hi"]).ends(1);
        assert!(ran.err.contains("Incorrect API key provided: …"), "{}: {}", scene.way.name, ran.err);
        let shown = scene.run(&["session", "show", "--json"]);
        scene.is_tight(&[&ran, &shown]);
    }
}

#[test]
fn the_tools_do_not_read_the_store_without_a_question() {
    let machine = Machine::with(&[]);
    store(&machine, &json!({"groq": {"type": "api", "key": MARKER}}));
    let path = file(&machine);
    for (tool, input) in [
        ("read", json!({ "filePath": path })),
        ("grep", json!({ "pattern": "key", "path": path.parent().unwrap() })),
        ("write", json!({ "filePath": path, "content": "{}" })),
    ] {
        let ran = machine.haft(&["tool", "call", tool, &input.to_string()]);
        assert!(ran.code != 0 && !ran.out.contains(MARKER) && !ran.err.contains(MARKER), "{tool}: {ran:?}");
    }
    assert!(std::fs::read_to_string(&path).unwrap().contains(MARKER));
}

#[cfg(target_os = "linux")]
#[test]
fn no_command_in_a_cage_reads_the_store() {
    let mut held = 0;
    for rung in ["namespaces", "landlock"] {
        let machine = Machine::with(&[]);
        store(&machine, &json!({"groq": {"type": "api", "key": MARKER}}));
        let path = file(&machine);
        let call = |command: &str| {
            let input = json!({ "command": command }).to_string();
            let mut call = machine.command(&["tool", "call", "bash", &input, "--json"]);
            Ran::from(call.env(crate::support::RUNG, rung).output().unwrap())
        };
        if call("true").json()["metadata"]["sandbox"]["rung"] != rung {
            continue;
        }
        held += 1;
        let shown = path.display();
        for command in [
            format!("cat {shown}"),
            format!("cp {shown} stolen"),
            // What no reading of the command line sees.
            format!("python3 -c 'print(open(\"{shown}\").read())'"),
            format!("python3 -c 'import shutil; shutil.copy(\"{shown}\", \"stolen\")'"),
        ] {
            let ran = call(&command);
            assert!(!ran.out.contains(MARKER) && !ran.err.contains(MARKER), "{rung}: {command}: {ran:?}");
            let stolen = std::fs::read_to_string(machine.project().join("stolen")).unwrap_or_default();
            assert!(!stolen.contains(MARKER), "{rung}: {command}");
        }
    }
    assert!(held > 0, "no rung holds here");
}
