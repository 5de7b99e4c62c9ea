//! `haft debug shell`: what a command line would do, as the gate sees it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_shell::{Surroundings, analyse};
use serde_json::{Value, json};

use crate::args::DebugShell;
use crate::commands::debug::lines::answer_lines;
use crate::render;
use crate::report::Exit;

pub(crate) fn run(args: &DebugShell) -> Result<Exit> {
    let here = std::path::absolute(args.dir.as_deref().unwrap_or(Path::new("."))).context("cannot find this folder")?;
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    match &args.command {
        Some(command) if !args.jsonl => {
            render::say_json(&answer(command, &here, home.as_deref()), true)?;
            Ok(Exit::Done)
        }
        Some(_) | None => {
            answer_lines(std::io::stdin().lock(), |question| answer_line(&here, home.as_deref(), question))
        }
    }
}

fn answer_line(here: &Path, home: Option<&Path>, question: &Value) -> Result<Value, &'static str> {
    let cwd = match &question["cwd"] {
        Value::Null => here.to_owned(),
        Value::String(cwd) => here.join(cwd),
        _ => return Err("cwd must be a text"),
    };
    let command = question["command"].as_str().ok_or("the line must be {\"command\": TEXT, \"cwd\": TEXT}")?;
    Ok(answer(command, &cwd, home))
}

/// What is contract: `commands`, `reads`, `writes`, `network`, `unknown`, `always`. The rest says more about it.
fn answer(command: &str, cwd: &Path, home: Option<&Path>) -> Value {
    let is_dir = |path: &Path| path.is_dir();
    let around = Surroundings { home, ..Surroundings::new(cwd).is_dir(&is_dir) };
    let found = analyse(command, &around);
    let commands: Vec<&Vec<String>> = found.commands.iter().map(|one| &one.words).collect();
    let paths = |paths: Vec<PathBuf>| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    json!({
        "commands": commands,
        "reads": paths(found.reads()),
        "writes": paths(found.writes()),
        "network": found.network,
        "unknown": !found.is_known(),
        "always": found.always,
        "patterns": found.patterns,
        "spellings": found.spellings,
        "reasons": found.unknown,
        "broken": found.broken,
        "hosts": found.hosts,
        "words": found.in_words(&[cwd], &is_dir),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Value, &'static str> {
        answer_line(Path::new("/p"), Some(Path::new("/home/u")), &serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_line_is_answered_with_what_the_command_does() {
        let answer = line(r#"{"command": "sudo cat ~/a > b; curl $X", "cwd": "/w"}"#).unwrap();
        let want = json!({
            "commands": [["sudo", "cat", "/home/u/a"], ["cat", "/home/u/a"], ["curl", "$X"]],
            "reads": ["/home/u/a"],
            "writes": ["/w/b"],
            "network": true,
            "unknown": true,
            "always": ["cat *"],
            "patterns": ["sudo cat ~/a > b", "curl $X", "cat ~/a"],
            "spellings": [],
            "reasons": ["what $X becomes is not known before the run"],
            "broken": false,
            "hosts": [],
            "words": [
                "may do more than can be told beforehand: what $X becomes is not known before the run",
                "reads ~/a outside the project",
                "uses the network",
                "writes b in the project",
            ],
        });
        assert_eq!(answer, want);
        assert_eq!(line(r#"{"command": "cat a"}"#).unwrap()["reads"], json!(["/p/a"]));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for text in ["{}", "[]", "null", r#"{"command": 1}"#, r#"{"cwd": "/"}"#] {
            assert!(line(text).unwrap_err().contains("must be"), "{text}");
        }
        assert!(line(r#"{"command": "ls", "cwd": 1}"#).unwrap_err().contains("cwd"));
    }
}
