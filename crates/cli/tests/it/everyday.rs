//! Everyday commands: under the rules that hold by default, with nobody there to answer, each runs without a question
//! and does what it is for, in a cage.

#![expect(clippy::print_stderr, reason = "what a machine lacks is for whoever reads the tests' output")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::solid_folder;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Everyday {
    id: String,
    run: String,
    /// What must be in its output.
    shows: String,
    /// Programs it needs.
    #[serde(default)]
    needs: Vec<String>,
    /// What the user does first, outside every cage.
    before: Option<String>,
    /// The one way to hold cages under which it works.
    only: Option<String>,
}

fn all() -> Vec<Everyday> {
    serde_norway::from_str(include_str!("everyday.yaml")).unwrap()
}

#[test]
fn there_are_many_and_each_is_its_own() {
    let mut names: Vec<String> = all().into_iter().map(|one| one.id).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert!(names.len() == count && count >= 60, "{count} commands, {} names", names.len());
}

#[test]
fn everyday_commands_need_no_question_on_namespaces() {
    run_all("namespaces");
}

#[test]
fn everyday_commands_need_no_question_on_landlock() {
    run_all("landlock");
}

fn run_all(rung: &str) {
    let place = Place::new();
    let mut haft = place.command(env!("CARGO_BIN_EXE_haft"));
    haft.args(["tool", "call", "--jsonl"]).env("HAFT_SANDBOX_RUNG", rung).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut haft = haft.stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = BufReader::new(haft.stdout.take().unwrap());
    let mut call = |command: &str| -> Value {
        let line = json!({ "tool": "bash", "args": { "command": command } });
        writeln!(haft.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let first = call("true");
    if first["metadata"]["sandbox"]["rung"] != rung {
        eprintln!("not here: {first}");
        drop(haft.stdin.take());
        haft.wait().unwrap();
        return;
    }
    let (mut failures, mut left_out) = (Vec::new(), BTreeMap::new());
    for one in all() {
        if let Some(lack) = one.needs.iter().find(|program| !place.has(program)) {
            *left_out.entry(lack.clone()).or_insert(0) += 1;
            continue;
        }
        if one.only.as_deref().is_some_and(|only| only != rung) {
            continue;
        }
        if let Some(before) = &one.before {
            assert!(place.command("/bin/sh").args(["-c", before]).status().unwrap().success());
        }
        let answer = call(&one.run);
        let output = answer["output"].as_str().unwrap_or_default();
        let well = answer["error"].is_null() && answer["metadata"]["exit"] == 0 && output.contains(&one.shows);
        if !well {
            failures.push(format!("{}: {answer}", one.id));
        }
    }
    eprintln!("left out for programs that are not here: {left_out:?}");
    assert!(failures.is_empty(), "{} failed on {rung}\n{}", failures.len(), failures.join("\n"));
    drop(haft.stdin.take());
    haft.wait().unwrap();
}

/// A home, and a small project as people have them.
struct Place {
    folder: tempfile::TempDir,
    path: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("haft-everyday-").tempdir_in(solid_folder()).unwrap();
        let path = std::env::var("PATH").unwrap();
        let place = Self { folder, path };
        place.furnish();
        place
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn has(&self, program: &str) -> bool {
        self.path.split(':').any(|folder| Path::new(folder).join(program).is_file())
    }

    /// `program` in the project, as its user would start it.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let home = self.root().join("home");
        command.current_dir(self.root().join("project")).env_clear().env("PATH", &self.path).env("HOME", home);
        command.env("LANG", "C.UTF-8").stdin(Stdio::null());
        // The toolchain of whoever runs the tests, wherever it is.
        let own = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        for (name, folder) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"), ("PYENV_ROOT", ".pyenv")] {
            let place = std::env::var_os(name).map_or_else(|| own.join(folder), PathBuf::from);
            if place.is_dir() {
                command.env(name, place);
            }
        }
        command
    }

    fn furnish(&self) {
        let file = |name: &str, text: &str| {
            let path = self.root().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("home/.gitconfig", "[user]\n\tname = Me\n\temail = me@example.com\n[init]\n\tdefaultBranch = main\n");
        file("project/README.md", "# Small\n\nA small project.\n");
        file("project/.env", "KEY=not really\n");
        file("project/.gitignore", "target\n.env\n");
        file(
            "project/Cargo.toml",
            "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
        );
        file(
            "project/src/lib.rs",
            "/// Doubles a number.\npub fn double(x: i32) -> i32 {\n    x * 2\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn doubles() {\n        assert_eq!(super::double(2), 4);\n    }\n}\n",
        );
        file("project/src/hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello from c\"); return 0; }\n");
        file("project/Makefile", "all:\n\t@echo made > made.txt && cat made.txt\n");
        file(
            "project/package.json",
            "{\"name\": \"small\", \"version\": \"0.1.0\", \"scripts\": {\"test\": \"node index.js\"}}\n",
        );
        file("project/index.js", "console.log('from node');\n");
        file(
            "project/tool.py",
            "import sys\n\n\ndef square(x):\n    return x * x\n\n\nif __name__ == '__main__':\n    print(square(int(sys.argv[1])))\n",
        );
        file(
            "project/test_tool.py",
            "import unittest\n\nimport tool\n\n\nclass Squares(unittest.TestCase):\n    def test_square(self):\n        self.assertEqual(tool.square(3), 9)\n",
        );
        if self.has("git") {
            for line in ["git init -q", "git add .", "git commit -qm First", "git commit -q --allow-empty -m Second"] {
                assert!(self.command("/bin/sh").args(["-c", line]).status().unwrap().success(), "{line}");
            }
        }
    }
}
