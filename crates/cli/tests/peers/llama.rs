//! llama.cpp's server with a model of random weights: it says noise, and calls tools in the form that they are offered.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::scene::{CHAT, MESSAGES, RESPONSES};
use crate::service::Service;
use crate::support::{Machine, parts};

const MAKES_THE_MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/tiny_model.py");
const SERVES_IT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/llama_server.py");

struct Llama {
    server: Service,
    _folder: tempfile::TempDir,
}

impl Llama {
    fn start() -> Option<Self> {
        let python: PathBuf = crate::install::python()?;
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("tiny.gguf");
        assert!(Command::new(&python).arg(MAKES_THE_MODEL).arg(&model).status().unwrap().success());
        let server = Service::that_says_where(Command::new(&python).arg(SERVES_IT).arg(&model));
        Some(Self { server, _folder: folder })
    }

    /// A project that asks it, with one tool.
    fn machine(&self, npm: &str) -> Machine {
        let machine = Machine::with(&[("a.txt", "one\n")]);
        let settings = json!({
            "model": "local/tiny",
            // A busy server may close a connection that is about to be used again.
            "limits": {"retries": 2, "steps": 2},
            "tools": {"*": false, "glob": true},
            // The likeliest token each time: the same noise in each run.
            "agent": {"build": {"temperature": 0}},
            "provider": {"local": {
                "npm": npm,
                "options": {"baseURL": format!("{}/v1", self.server.url)},
                "models": {"tiny": {"limit": {"context": 65_536, "output": 600}}},
            }},
        });
        machine.write("opencode.json", &settings.to_string());
        machine
    }
}

#[test]
fn a_real_server_is_asked_in_three_dialects_and_its_calls_are_run() {
    let Some(llama) = Llama::start() else { return };
    for npm in [CHAT, RESPONSES, MESSAGES] {
        let machine = llama.machine(npm);
        machine.haft(&["run", "hello"]).ok();
        let session = machine.newest_session();
        let calls: Vec<Value> = parts(&session).into_iter().filter(|part| part["type"] == "tool").collect();
        assert!(!calls.is_empty(), "{npm}: {session}");
        for call in &calls {
            // The grammar of the server follows the definition that it was sent: the arguments fit it.
            assert_eq!(call["tool"], "glob", "{npm}");
            assert!(call["state"]["input"]["pattern"].is_string(), "{npm}: {call}");
            assert_ne!(call["state"]["metadata"]["kind"], "bad_input", "{npm}: {call}");
        }
        assert!(session["info"]["tokens"]["input"].as_u64().unwrap() > 0, "{npm}: {}", session["info"]);
    }
}
