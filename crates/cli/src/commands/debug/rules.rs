//! `haft debug rules`: the rules of an agent, and which of them decides.

use std::io::{BufRead, Read};
use std::path::Path;

use anyhow::{Context, Result};
use haft_permission::{Rules, permission_of};
use haft_shell::Surroundings;
use serde_json::{Value, json};

use crate::agents::{self, rule};
use crate::args::DebugRules;
use crate::render;
use crate::report::Exit;
use crate::wire::Ground;

/// Longest line of `--jsonl`, in bytes.
const MAX_LINE: u64 = 1024 * 1024;

pub(crate) fn run(args: &DebugRules) -> Result<Exit> {
    let ground = Ground::at(args.dir.as_deref())?;
    let all = agents::all(&ground)?;
    let agent = agents::named(&all, args.agent.as_deref())?;
    let (rules, here) = (&agent.rules, ground.place.directory.as_path());
    if args.jsonl {
        return answer_lines(rules, here, std::io::stdin().lock());
    }
    let shown = match (&args.permission, &args.pattern) {
        (Some(permission), Some(pattern)) => answer(rules, here, permission, pattern),
        (None, _) | (_, None) => {
            let list = |rules: &[haft_permission::Rule]| rules.iter().map(rule).collect::<Vec<_>>();
            json!({ "agent": agent.name, "rules": list(rules.rows()), "guard": list(rules.guard()) })
        }
    };
    render::say_json(&shown, true)?;
    Ok(Exit::Done)
}

/// Answers each line of `input` with a line.
fn answer_lines(rules: &Rules, here: &Path, mut input: impl BufRead) -> Result<Exit> {
    loop {
        let mut line = Vec::new();
        let read =
            (&mut input).take(MAX_LINE + 1).read_until(b'\n', &mut line).context("cannot read standard input")?;
        if read == 0 {
            return Ok(Exit::Done);
        }
        let whole = line.ends_with(b"\n") || line.len() as u64 <= MAX_LINE;
        if !whole {
            input.skip_until(b'\n').context("cannot read standard input")?;
        }
        if !line.trim_ascii().is_empty() {
            let answer = if whole { answer_line(rules, here, &line) } else { Err("the line is longer than 1 MiB") };
            render::say_json(&answer.unwrap_or_else(|problem| json!({ "error": problem })), false)?;
        }
    }
}

fn answer_line(rules: &Rules, here: &Path, line: &[u8]) -> Result<Value, &'static str> {
    let question: Value = serde_json::from_slice(line).map_err(|_| "the line is no JSON")?;
    match (question["permission"].as_str(), question["pattern"].as_str()) {
        (Some(permission), Some(pattern)) => Ok(answer(rules, here, permission, pattern)),
        (None, _) | (_, None) => Err("the line must be {\"permission\": TEXT, \"pattern\": TEXT}"),
    }
}

fn answer(rules: &Rules, here: &Path, permission: &str, pattern: &str) -> Value {
    let permission = permission_of(permission);
    let (action, decided) = rules.decide(permission, pattern, permission == "bash" && is_program(pattern, here));
    json!({ "action": action.word(), "rule": decided.map(rule) })
}

/// Whether `command` is more than one command whose effects are known. The tool asks for the parts of such a text, and
/// a rule for how it begins says nothing about the whole.
fn is_program(command: &str, here: &Path) -> bool {
    let analysis = haft_shell::analyse(command, &Surroundings::new(here));
    analysis.commands.len() > 1 || !analysis.is_known()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_permission::{Action, Rule};
    use std::io::Cursor;

    #[track_caller]
    fn check(permission: &str, pattern: &str, want: &str) {
        let rules = Rules::from(vec![
            Rule::new("bash", "git *", Action::Allow),
            Rule::new("edit", "*", Action::Deny),
            Rule::new("external_directory", "/tmp/*", Action::Allow),
        ]);
        let line = json!({ "permission": permission, "pattern": pattern }).to_string();
        let answer = answer_line(&rules, Path::new("/"), line.as_bytes()).unwrap();
        let decided = &answer["rule"];
        let decided = decided.as_object().map(|rule| format!("{} {}", rule["permission"], rule["pattern"]));
        assert_eq!(format!("{} {decided:?}", answer["action"]), want, "{permission} {pattern}");
    }

    #[test]
    fn a_line_is_answered_with_the_action_and_its_rule() {
        check("bash", "git log", r#""allow" Some("\"bash\" \"git *\"")"#);
        check("bash", "ls", r#""ask" None"#);
        check("write", "a", r#""deny" Some("\"edit\" \"*\"")"#);
        check("external_directory", "/tmp/../etc/*", r#""ask" None"#);
    }

    #[test]
    fn a_rule_for_the_beginning_says_nothing_about_the_rest() {
        for command in ["git log\nrm x", "git log; rm x", "git log $(rm x)", "git log &&", "git log | sh"] {
            check("bash", command, r#""ask" Some("\"bash\" \"git *\"")"#);
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let error = |line: &str| answer_line(&Rules::default(), Path::new("/"), line.as_bytes()).unwrap_err();
        assert!(error("{").contains("no JSON"));
        for line in ["{}", "[]", "null", r#"{"permission": "bash"}"#, r#"{"permission": 1, "pattern": "x"}"#] {
            assert!(error(line).contains("must be"), "{line}");
        }
        // Nothing of it is an error of the whole.
        assert_eq!(answer_lines(&Rules::default(), Path::new("/"), Cursor::new("\n")).unwrap(), Exit::Done);
    }
}
