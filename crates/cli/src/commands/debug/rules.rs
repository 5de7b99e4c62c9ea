//! `haft debug rules`: the rules of an agent, and which of them decides.

use std::path::Path;

use anyhow::Result;
use haft_permission::{Action, Rules, permission_of};
use haft_shell::{Analysis, Surroundings};
use serde_json::{Value, json};

use crate::agents::{self, rule};
use crate::args::DebugRules;
use crate::commands::debug::lines::answer_lines;
use crate::render;
use crate::report::Exit;
use crate::wire::Ground;

pub(crate) async fn run(args: &DebugRules) -> Result<Exit> {
    let ground = Ground::at(args.dir.as_deref())?.heard().await?;
    let all = agents::all(&ground)?;
    let agent = agents::named(&all, args.agent.as_deref())?;
    let (rules, here) = (&agent.rules, ground.place.directory.as_path());
    if args.jsonl {
        return answer_lines(std::io::stdin().lock(), |question| answer_line(rules, here, question));
    }
    let shown = match (&args.permission, &args.pattern) {
        (Some(permission), Some(pattern)) => answer(rules, here, permission, pattern),
        (None, _) | (_, None) => {
            let list = |rules: &[haft_permission::Rule]| rules.iter().map(rule).collect::<Vec<_>>();
            json!({
                "agent": agent.name,
                "rules": list(rules.rows()),
                "guard": list(rules.guard()),
                "bounds": list(rules.bounds()),
            })
        }
    };
    render::say_json(&shown, true)?;
    Ok(Exit::Done)
}

fn answer_line(rules: &Rules, here: &Path, question: &Value) -> Result<Value, &'static str> {
    match (question["permission"].as_str(), question["pattern"].as_str()) {
        (Some(permission), Some(pattern)) => Ok(answer(rules, here, permission, pattern)),
        (None, _) | (_, None) => Err("the line must be {\"permission\": TEXT, \"pattern\": TEXT}"),
    }
}

fn answer(rules: &Rules, here: &Path, permission: &str, pattern: &str) -> Value {
    let permission = permission_of(permission);
    let read = (permission == "bash").then(|| haft_shell::analyse(pattern, &Surroundings::new(here)));
    let opaque = read.as_ref().is_some_and(is_program);
    let (action, decided) = rules.decide(permission, pattern, opaque);
    // As the gate has it: what cannot be read no built-in rule allows.
    let broken = read.is_some_and(|read| read.broken) && !rules.is_own(decided);
    let action = if broken && action == Action::Allow { Action::Ask } else { action };
    json!({ "action": action.word(), "rule": decided.map(rule) })
}

/// Whether it is more than one command whose effects are known. The tool asks for the parts of such a text, and a rule for
/// how it begins says nothing about the whole.
fn is_program(read: &Analysis) -> bool {
    read.commands.len() > 1 || !read.is_known()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_permission::Rule;

    #[track_caller]
    fn check(permission: &str, pattern: &str, want: &str) {
        let rules = Rules::from(vec![
            Rule::new("bash", "git *", Action::Allow),
            Rule::new("edit", "*", Action::Deny),
            Rule::new("external_directory", "/tmp/*", Action::Allow),
        ]);
        let question = json!({ "permission": permission, "pattern": pattern });
        let answer = answer_line(&rules, Path::new("/"), &question).unwrap();
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
        for question in
            [json!({}), json!([]), json!(null), json!({"permission": "bash"}), json!({"permission": 1, "pattern": "x"})]
        {
            let error = answer_line(&Rules::default(), Path::new("/"), &question).unwrap_err();
            assert!(error.contains("must be"), "{question}");
        }
    }
}
