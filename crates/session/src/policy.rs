//! The rules everybody starts from, and how those of an agent are put together.

use std::path::{Component, Path, PathBuf};

use haft_permission::Action::{Allow, Ask, Deny};
use haft_permission::{Action, Rule, Rules};
use haft_protocol::{RuleAction, SessionRule};

/// The folders that built-in rules name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folders {
    /// Where long outputs are kept. Outside the project, and may be read.
    pub outputs: PathBuf,
    /// Where scratch files may be made.
    pub temp: PathBuf,
    /// Where plans are kept that belong to no project.
    pub plans: PathBuf,
    /// The folders of skills, and others that the user's settings name for reference.
    pub skills: Vec<PathBuf>,
    /// What paths in rules are relative to: the work tree, or the working folder where there is none.
    pub base: PathBuf,
}

/// All rules of one agent, weakest first: the defaults, what is built into the agent, the user's rules for everybody
/// (`user`) and for this agent (`own`). Outputs stay readable last of all, unless the user denies exactly that.
///
/// Patterns of `builtin` may begin with `{outputs}`, `{temp}`, `{plans}`, `{plans-from-here}` or `{skills}`.
pub fn compose(folders: &Folders, builtin: &[Rule], user: &[Rule], own: &[Rule]) -> Rules {
    let outputs = Rule::new("external_directory", &format!("{}/*", folders.outputs.display()), Allow);
    let closed = Rule { action: Deny, ..outputs.clone() };
    let kept = !user.contains(&closed) && !own.contains(&closed);
    Rules::default()
        .builtin(defaults(folders))
        .builtin(builtin.iter().flat_map(|rule| placed(rule, folders)))
        .own(user.iter().cloned())
        .own(own.iter().cloned())
        .builtin(kept.then_some(outputs))
        .guarded(guard())
}

/// The rules that a session was given when it was made, to be laid over its agent's.
pub fn session_rules(rules: &[SessionRule]) -> Vec<Rule> {
    let rule = |SessionRule { permission, pattern, action }: &SessionRule| {
        let action = match action {
            RuleAction::Allow => Allow,
            RuleAction::Ask => Ask,
            RuleAction::Deny => Deny,
        };
        Rule::new(permission, pattern, action)
    };
    rules.iter().map(rule).collect()
}

/// The rules of a session that answers one prompt, with nobody to switch modes or to be asked in the middle.
pub fn one_shot() -> Vec<Rule> {
    ["question", "plan_enter", "plan_exit"].map(|permission| Rule::new(permission, "*", Deny)).into()
}

/// The rules of a session that works for one with the rules `above`, under an agent with the rules `agent`: what was
/// closed there stays closed, and so does what concerns its borders. It hands nothing on and keeps no list unless the
/// agent's rules speak of that, and never gets what `closed` names.
pub(crate) fn below(above: &[SessionRule], agent: &Rules, closed: &[String]) -> Vec<SessionRule> {
    let deny = |permission: &str| SessionRule {
        permission: permission.to_owned(),
        pattern: "*".to_owned(),
        action: RuleAction::Deny,
    };
    let kept = above.iter().filter(|rule| rule.action == RuleAction::Deny || rule.permission == "external_directory");
    let named = |permission: &str| agent.rows().iter().any(|rule| rule.permission == permission);
    let unless_named = ["todowrite", "task"].into_iter().filter(|permission| !named(permission));
    let mut rules: Vec<SessionRule> = kept.cloned().chain(unless_named.map(deny)).collect();
    rules.extend(closed.iter().map(|permission| deny(permission)));
    rules
}

/// What is closed to an agent under `caller` because of what that agent is, and so to whoever works for it: plans are
/// made without changing anything. Permissions of the conversation itself are each agent's own.
pub(crate) fn closed(caller: &Rules) -> Vec<Rule> {
    const OWN: [&str; 6] = ["question", "plan_enter", "plan_exit", "todowrite", "todoread", "task"];
    let closed = caller.closed_by_builtin().filter(|permission| !OWN.contains(permission));
    closed.map(|permission| Rule::new(permission, "*", Deny)).collect()
}

/// Free inside the project, a question at its border and at secrets.
fn defaults(folders: &Folders) -> Vec<Rule> {
    let rows: &[(&str, &str, Action)] = &[
        ("*", "*", Allow),
        ("doom_loop", "*", Ask),
        ("external_directory", "*", Ask),
        ("external_directory", "{outputs}/*", Allow),
        ("external_directory", "{temp}/*", Allow),
        ("external_directory", "{skills}/*", Allow),
        ("question", "*", Deny),
        ("plan_enter", "*", Deny),
        ("plan_exit", "*", Deny),
        ("read", "*", Allow),
        ("read", "*.env", Ask),
        ("read", "*.env.*", Ask),
        ("read", "*.env.example", Allow),
    ];
    let rules = rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action));
    rules.flat_map(|rule| placed(&rule, folders)).collect()
}

/// What nothing built in opens as long as commands run without a cage: every command, and the files on which hangs
/// what is run or allowed later (repositories' own, settings). A rule of the user's own that allows it counts.
fn guard() -> Vec<Rule> {
    let rows: &[(&str, &str, Action)] = &[
        ("bash", "*", Ask),
        // Not the internet: this machine, the network that it is in, a cloud's keys.
        ("webfetch_private", "*", Ask),
        ("edit", "*.git", Ask),
        ("edit", "*.git/*", Ask),
        ("edit", "*.haft", Ask),
        ("edit", "*.haft/*", Ask),
        ("edit", "*.opencode", Ask),
        ("edit", "*.opencode/*", Ask),
        ("edit", "*haft.json*", Ask),
        ("edit", "*opencode.json*", Ask),
        // Plans are read by people and models, and nothing is run from them.
        ("edit", ".haft/plans/*.md", Allow),
    ];
    rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect()
}

/// `rule` with the folder that its pattern begins with in `{ }`; once for each folder, where there are several.
fn placed(rule: &Rule, folders: &Folders) -> Vec<Rule> {
    let one = |folder: &Path| vec![folder.to_path_buf()];
    let named = [
        ("{outputs}", one(&folders.outputs)),
        ("{temp}", one(&folders.temp)),
        ("{plans}", one(&folders.plans)),
        ("{plans-from-here}", one(&from(&folders.base, &folders.plans))),
        ("{skills}", folders.skills.clone()),
    ];
    for (name, folders) in named {
        if let Some(below) = rule.pattern.strip_prefix(name) {
            let at = |folder: PathBuf| Rule { pattern: format!("{}{below}", folder.display()), ..rule.clone() };
            return folders.into_iter().map(at).collect();
        }
    }
    vec![rule.clone()]
}

/// The way from the folder `base` to `path`, both absolute, as tools name files outside: `../x`.
fn from(base: &Path, path: &Path) -> PathBuf {
    let same = base.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let up = base.components().skip(same).map(|_| Component::ParentDir);
    up.chain(path.components().skip(same)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> Folders {
        Folders {
            outputs: "/data/output".into(),
            temp: "/state/tmp".into(),
            plans: "/data/plans".into(),
            skills: vec!["/skills/a".into(), "/skills/b".into()],
            base: "/home/u/project".into(),
        }
    }

    fn rules(rows: &[(&str, &str, Action)]) -> Vec<Rule> {
        rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect()
    }

    #[track_caller]
    fn check(permission: &str, value: &str, want: Action) {
        let rules = compose(&folders(), &[], &[], &[]);
        assert_eq!(rules.decide(permission, value, false).0, want, "{permission} {value}");
    }

    #[test]
    fn the_project_is_free_and_its_border_asks() {
        check("read", "src/a.rs", Allow);
        check("edit", "src/a.rs", Allow);
        check("external_directory", "/etc/*", Ask);
        check("external_directory", "/data/output/*", Allow);
        check("external_directory", "/state/tmp/*", Allow);
        check("external_directory", "/skills/b/*", Allow);
        check("external_directory", "/skills/*", Ask);
        check("bash", "ls", Ask);
        check("webfetch", "https://a.example/", Allow);
        check("webfetch_private", "http://127.0.0.1/", Ask);
        check("doom_loop", "read", Ask);
    }

    #[test]
    fn what_decides_about_later_runs_asks() {
        for name in [
            ".git/hooks/pre-commit",
            "sub/.git/config",
            ".git",
            ".haft",
            "sub/.opencode",
            "opencode.json",
            "sub/haft.jsonc",
            ".GIT/hooks/pre-commit",
            "OpenCode.json",
        ] {
            check("edit", name, Ask);
        }
        for name in [".haft/plans/x.json", "sub/.haft/plans/x.md", ".haft/plans/../haft.json", ".opencode/plans/x.md"] {
            check("edit", name, Ask);
        }
        check("edit", ".haft/plans/next.md", Allow);
        check("edit", ".gitignore", Allow);
        check("edit", "src/git/x.rs", Allow);
    }

    #[test]
    fn secrets_ask() {
        check("read", ".env", Ask);
        check("read", "sub/.env.local", Ask);
        check("read", ".env.example", Allow);
    }

    #[test]
    fn outputs_stay_readable_unless_exactly_they_are_denied() {
        let outputs = "/data/output/*";
        let row = |user: &[(&str, &str, Action)], want: Action| {
            for (user, own) in [(rules(user), Vec::new()), (Vec::new(), rules(user))] {
                let rules = compose(&folders(), &[], &user, &own);
                assert_eq!(rules.decide("external_directory", outputs, false).0, want, "{user:?} {own:?}");
            }
        };
        row(&[("*", "*", Deny)], Allow);
        row(&[("external_directory", "*", Deny)], Allow);
        row(&[("external_directory", outputs, Ask)], Allow);
        row(&[("external_directory", outputs, Deny)], Deny);
    }

    #[test]
    fn the_users_rules_stand_over_what_is_built_in_and_the_agents_own_over_both() {
        let built = rules(&[("edit", "*", Deny)]);
        let all = compose(&folders(), &built, &rules(&[("edit", "*", Ask)]), &rules(&[("edit", "docs/*", Allow)]));
        assert_eq!(all.decide("edit", "docs/a", false).0, Allow);
        assert_eq!(all.decide("edit", "src/a", false).0, Ask);
    }

    #[test]
    fn folders_are_put_in_at_the_beginning() {
        let row = |pattern: &str, want: &[&str]| {
            let got: Vec<String> =
                placed(&Rule::new("x", pattern, Ask), &folders()).into_iter().map(|rule| rule.pattern).collect();
            assert_eq!(got, want, "{pattern}");
        };
        row("{plans}/*", &["/data/plans/*"]);
        row("{plans-from-here}/*.md", &["../../../data/plans/*.md"]);
        row("{skills}/*", &["/skills/a/*", "/skills/b/*"]);
        row("a/{plans}", &["a/{plans}"]);
        assert_eq!(from(Path::new("/a/b"), Path::new("/a/c/d")), Path::new("../c/d"));
        assert_eq!(from(Path::new("/"), Path::new("/a")), Path::new("a"));
        assert_eq!(from(Path::new("/a"), Path::new("/a")), Path::new(""));
    }

    #[test]
    fn a_sessions_own_rules_are_rules() {
        let rule = |action| SessionRule { permission: "edit".to_owned(), pattern: "a*".to_owned(), action };
        let got = session_rules(&[rule(RuleAction::Allow), rule(RuleAction::Ask), rule(RuleAction::Deny)]);
        assert_eq!(got, rules(&[("edit", "a*", Allow), ("edit", "a*", Ask), ("edit", "a*", Deny)]));
        assert!(one_shot().iter().all(|rule| rule.action == Deny && rule.permission != "bash"));
    }
}
