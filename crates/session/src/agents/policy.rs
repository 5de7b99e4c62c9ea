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
    /// Files and folders with keys and the like, and our own: what is in them is asked about wherever the project is. Absolute
    /// and without links; what the project lies in does not count.
    pub secrets: Vec<PathBuf>,
    /// What paths in rules are relative to: the work tree, or the working folder where there is none.
    pub base: PathBuf,
}

/// How commands run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Commands {
    /// With all rights of the user: each is a question.
    #[default]
    Free,
    /// In a cage that holds: what it closes is asked for, and the command itself is none.
    Caged {
        /// What the settings say about the network.
        network: Option<Action>,
    },
}

/// All rules of one agent, weakest first: the defaults, what is built into the agent, the user's rules for everybody
/// (`user`) and for this agent (`own`). Outputs stay readable last of all, unless the user denies exactly that.
///
/// In a cage, a rule of the user's own about a command holds for its network too, as long as neither the settings nor any
/// rule of theirs say something about the network itself.
///
/// Patterns of `builtin` may begin with `{outputs}`, `{temp}`, `{plans}`, `{plans-from-here}` or `{skills}`.
pub fn compose(folders: &Folders, builtin: &[Rule], user: &[Rule], own: &[Rule], commands: Commands) -> Rules {
    let outputs = Rule::new("external_directory", &format!("{}/*", folders.outputs.display()), Allow);
    let closed = Rule { action: Deny, ..outputs.clone() };
    let kept = !user.contains(&closed) && !own.contains(&closed);
    Rules::default()
        .builtin(defaults(folders))
        .builtin(builtin.iter().flat_map(|rule| placed(rule, folders)))
        .own(reaching_out(user, commands, user, own))
        .own(settled(commands, Allow).into_iter().chain(settled(commands, Ask)))
        .own(reaching_out(own, commands, user, own))
        .own(settled(commands, Deny))
        .builtin(kept.then_some(outputs))
        .guarded(guard(commands).into_iter().chain(secrets(folders)).collect())
}

/// The permission for the network.
const NETWORK: &str = "network";
/// The permission for commands.
const BASH: &str = "bash";

/// `rules`, each about commands with one about their network behind it, where that is what it means.
fn reaching_out(rules: &[Rule], commands: Commands, user: &[Rule], own: &[Rule]) -> Vec<Rule> {
    let said = || user.iter().chain(own).any(|rule| rule.permission == NETWORK);
    let means_both = match commands {
        Commands::Free => false,
        Commands::Caged { network } => network.is_none() && !said(),
    };
    let mut all = Vec::new();
    for rule in rules {
        all.push(rule.clone());
        // A denial of the command is enough.
        if means_both && rule.permission == BASH && rule.action != Deny {
            all.push(Rule { permission: NETWORK.to_owned(), ..rule.clone() });
        }
    }
    all
}

/// What the settings say about the network, if it is this.
fn settled(commands: Commands, action: Action) -> Option<Rule> {
    match commands {
        Commands::Caged { network: Some(said) } if said == action => Some(Rule::new(NETWORK, "*", action)),
        Commands::Free | Commands::Caged { .. } => None,
    }
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

/// Permissions of the conversation itself, which are each agent's own.
const CONVERSATION: [&str; 6] = ["question", "plan_enter", "plan_exit", "todowrite", "todoread", "task"];

/// What is closed to an agent under `caller` because of what that agent is, and so to whoever works for it: plans are
/// made without changing anything. Permissions of the conversation itself are each agent's own.
pub(crate) fn closed(caller: &Rules) -> Vec<Rule> {
    let closed = caller.closed_by_builtin().filter(|permission| !CONVERSATION.contains(permission));
    closed.map(|permission| Rule::new(permission, "*", Deny)).collect()
}

/// The denials that the user wrote for one agent alone, with what they leave open, as bounds of whoever works for it:
/// else it would only have to ask another agent.
pub(crate) fn held(own: &[Rule]) -> Vec<Rule> {
    let is_its_own = |rule: &&Rule| CONVERSATION.contains(&rule.permission.as_str());
    own.iter().filter(|rule| rule.action != Ask && !is_its_own(rule)).cloned().collect()
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

/// What nothing built in opens: every command, or where they are caged their network; and the files on which hangs
/// what is run or allowed later (repositories' own, settings). A rule of the user's own that allows it counts.
fn guard(commands: Commands) -> Vec<Rule> {
    let first = match commands {
        Commands::Free => BASH,
        Commands::Caged { .. } => NETWORK,
    };
    let rows: &[(&str, &str, Action)] = &[
        (first, "*", Ask),
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

/// Questions about what is secret: by the name that files have in rules, and about entering its folders from outside, so
/// that leave for all of a home is none for the keys in it. What is kept there for the agent stays open. Skills outside are
/// for reading: what stands in them is told to models in other projects too.
fn secrets(folders: &Folders) -> Vec<Rule> {
    let Folders { base, secrets, .. } = folders;
    let rows = |permission: &str, path: &Path, action: Action| {
        let path = path.display().to_string().to_lowercase();
        [path.clone(), format!("{path}/*")].map(|pattern| Rule::new(permission, &pattern, action))
    };
    let row_with = |path: &Path, action: Action, edit: Action| {
        let (named, inside) = (from(base, path), path.starts_with(base));
        let files = [("read", action), ("edit", edit)];
        let files = files.into_iter().flat_map(move |(permission, action)| rows(permission, &named, action));
        let entering = (!inside).then(|| rows("external_directory", path, action)).into_iter().flatten();
        files.chain(entering).collect::<Vec<Rule>>()
    };
    let row = |path: &Path, action: Action| row_with(path, action, action);
    let closed = secrets.iter().filter(|path| !base.starts_with(path) && path.parent().is_some());
    let Folders { outputs, temp, plans, skills, .. } = folders;
    let is_below = |path: &&PathBuf| path.parent().is_some();
    let open = [outputs, temp, plans].into_iter().filter(is_below).flat_map(|path| row(path, Allow));
    let told = skills.iter().filter(is_below).flat_map(|path| row_with(path, Allow, Ask));
    closed.flat_map(|path| row(path, Ask)).chain(open).chain(told).collect()
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
            secrets: ["/home/u/.ssh", "/home/u/.netrc", "/data"].map(PathBuf::from).into(),
            base: "/home/u/project".into(),
        }
    }

    fn rules(rows: &[(&str, &str, Action)]) -> Vec<Rule> {
        rows.iter().map(|(permission, pattern, action)| Rule::new(permission, pattern, *action)).collect()
    }

    #[track_caller]
    fn check(permission: &str, value: &str, want: Action) {
        let rules = compose(&folders(), &[], &[], &[], Commands::Free);
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
    fn secrets_ask_wherever_the_project_is() {
        check("read", "../.ssh/id_rsa", Ask);
        check("read", "../.netrc", Ask);
        check("read", "../.netrc2", Allow);
        check("edit", "../../../data/approvals.json", Ask);
        check("read", "../../../data/output/x", Allow);
        // What is told in other projects too is read and not changed.
        check("read", "../../../skills/a/ref.md", Allow);
        check("edit", "../../../skills/a/ref.md", Ask);
        let at = |base: &str| Folders { base: base.into(), ..folders() };
        let row = |base: &str, permission: &str, value: &str, want: Action| {
            let rules = compose(&at(base), &[], &[], &[], Commands::Free);
            assert_eq!(rules.decide(permission, value, false).0, want, "{base} {permission} {value}");
        };
        for permission in ["read", "edit"] {
            row("/home/u", permission, ".ssh/id_rsa", Ask);
            row("/home/u", permission, ".SSH/id_rsa", Ask);
            row("/home/u", permission, "a/.ssh/id_rsa", Allow);
            row("/", permission, "home/u/.ssh/id_rsa", Ask);
            row("/", permission, "data/trust.json", Ask);
        }
        // Who works in there works in there.
        row("/home/u/.ssh", "read", "id_rsa", Allow);
        // "Always" for a home is none for its keys.
        let rules = compose(&folders(), &[], &[], &[], Commands::Free);
        assert!(rules.is_touchy("external_directory", "/home/u/.ssh/*"));
        assert!(!rules.is_touchy("external_directory", "/home/u/*"));
    }

    /// What is decided under these rules of the user's where commands are caged and the settings say `network`.
    #[track_caller]
    fn caged(network: Option<Action>, user: &[(&str, &str, Action)], own: &[(&str, &str, Action)], want: [Action; 3]) {
        let rules = compose(&folders(), &[], &rules(user), &rules(own), Commands::Caged { network });
        let decide = |permission, value, opaque| rules.decide(permission, value, opaque).0;
        let got =
            [decide("bash", "git log; $x", true), decide("bash", "rm x", false), decide("network", "git fetch", false)];
        assert_eq!(got, want, "{user:?} {own:?}");
    }

    #[test]
    fn in_a_cage_it_is_the_network_that_asks() {
        caged(None, &[], &[], [Allow, Allow, Ask]);
        caged(Some(Allow), &[], &[], [Allow, Allow, Allow]);
        caged(Some(Ask), &[], &[], [Allow, Allow, Ask]);
        caged(Some(Deny), &[], &[], [Allow, Allow, Deny]);
        // Narrower rules of the user's may be meant for a part of what was not told apart.
        caged(None, &[("bash", "rm *", Deny)], &[], [Ask, Deny, Ask]);
        caged(None, &[("bash", "*", Ask)], &[], [Ask, Ask, Ask]);
    }

    #[test]
    fn leave_for_a_command_is_leave_for_its_network() {
        caged(None, &[("bash", "*", Allow)], &[], [Allow, Allow, Allow]);
        // A rule for how a text begins says nothing about one that was not told apart.
        caged(None, &[("bash", "git *", Allow)], &[], [Ask, Allow, Allow]);
        caged(None, &[("bash", "npm *", Allow)], &[], [Allow, Allow, Ask]);
        caged(None, &[], &[("bash", "*", Allow)], [Allow, Allow, Allow]);
        caged(None, &[("*", "*", Allow)], &[], [Allow, Allow, Allow]);
        caged(None, &[("bash", "*", Allow), ("bash", "git *", Ask)], &[], [Ask, Allow, Ask]);
        // Unless something is said of the network.
        caged(Some(Ask), &[("bash", "*", Allow)], &[], [Allow, Allow, Ask]);
        caged(Some(Deny), &[("bash", "*", Allow)], &[("network", "*", Allow)], [Allow, Allow, Deny]);
        caged(Some(Allow), &[("bash", "*", Allow)], &[("network", "*", Deny)], [Allow, Allow, Deny]);
        caged(None, &[("network", "*", Deny), ("bash", "*", Allow)], &[], [Allow, Allow, Deny]);
        caged(None, &[("network", "curl *", Deny), ("bash", "*", Allow)], &[], [Allow, Allow, Ask]);
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
                let rules = compose(&folders(), &[], &user, &own, Commands::Free);
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
        let (user, own) = (rules(&[("edit", "*", Ask)]), rules(&[("edit", "docs/*", Allow)]));
        let all = compose(&folders(), &built, &user, &own, Commands::default());
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
