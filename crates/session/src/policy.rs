//! The rules everybody starts from.

use std::path::Path;

use haft_permission::Action::{Allow, Ask, Deny};
use haft_permission::{Rule, matches};

/// The default rules: free inside the project, a question at its border, at secrets, at what decides about later runs
/// (repositories' own files, settings) and at every command.
///
/// Commands are asked for as long as nothing here understands what a command line does; a rule of the user's own
/// that allows one, laid over these, counts.
///
/// `outputs` is the folder where long outputs are kept: it lies outside, and may be read.
pub fn defaults(outputs: &Path) -> Vec<Rule> {
    let outputs = format!("{}/*", outputs.display());
    let rows: &[(&str, &str, _)] = &[
        ("*", "*", Allow),
        ("bash", "*", Ask),
        // What is run or allowed later hangs on these.
        ("edit", "*.git", Ask),
        ("edit", "*.git/*", Ask),
        ("edit", "*.haft/*", Ask),
        ("edit", "*.opencode/*", Ask),
        ("edit", "*haft.json*", Ask),
        ("edit", "*opencode.json*", Ask),
        ("doom_loop", "*", Ask),
        ("external_directory", "*", Ask),
        ("external_directory", &outputs, Allow),
        ("question", "*", Deny),
        ("plan_enter", "*", Deny),
        ("plan_exit", "*", Deny),
        ("read", "*", Allow),
        ("read", "*.env", Ask),
        ("read", "*.env.*", Ask),
        ("read", "*.env.example", Allow),
    ];
    rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect()
}

/// Whether the rules close `permission` altogether, so that a model need not see the tools that ask under it: the last
/// rule about it, whatever it is for, denies everything.
pub fn hidden(permission: &str, rules: &[Rule]) -> bool {
    let last = rules.iter().rev().find(|rule| matches(&rule.permission, permission));
    last.is_some_and(|rule| rule.pattern == "*" && rule.action == Deny)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_permission::{Action, decide};

    #[track_caller]
    fn check(permission: &str, value: &str, want: Action) {
        let rules = defaults(Path::new("/data/output"));
        assert_eq!(decide(permission, value, &rules).0, want, "{permission} {value}");
    }

    #[test]
    fn the_project_is_free_and_its_border_asks() {
        check("read", "src/a.rs", Allow);
        check("edit", "src/a.rs", Allow);
        check("external_directory", "/etc/*", Ask);
        check("external_directory", "/data/output/*", Allow);
        check("bash", "ls", Ask);
    }

    #[test]
    fn a_tool_that_is_denied_altogether_is_hidden() {
        let rows = |rows: &[(&str, &str, Action)], name: &str, want: bool| {
            let rules: Vec<Rule> =
                rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect();
            assert_eq!(hidden(name, &rules), want, "{name} under {rows:?}");
        };
        rows(&[("bash", "*", Deny), ("bash", "git *", Allow)], "bash", false);
        rows(&[("bash", "git *", Allow), ("bash", "*", Deny)], "bash", true);
        rows(&[("edit", "*", Deny)], "edit", true);
        rows(&[("edit", "*", Deny)], "read", false);
    }

    #[test]
    fn what_decides_about_later_runs_asks() {
        for name in
            [".git/hooks/pre-commit", "sub/.git/config", ".git", "opencode.json", "sub/haft.jsonc", ".haft/haft.json"]
        {
            check("edit", name, Ask);
        }
        check("edit", ".gitignore", Allow);
        check("edit", "src/git/x.rs", Allow);
    }

    #[test]
    fn secrets_ask() {
        check("read", ".env", Ask);
        check("read", "sub/.env.local", Ask);
        check("read", ".env.example", Allow);
    }
}
