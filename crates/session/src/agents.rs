//! All agents there are: the built-in ones and the user's, and which of them answers.

pub(crate) mod agent;
pub(crate) mod architect;
pub(crate) mod cast;
pub(crate) mod delegates;
pub(crate) mod family;
pub(crate) mod hand_over;
pub(crate) mod policy;
pub(crate) mod role;

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_permission::Rule;
use haft_protocol::Object;
use serde_json::Value;

use crate::agents::agent::{Agent, Draft, FIRST, Mode};
use crate::agents::policy::{Commands, Folders};

/// The agents there are: the one that answers unless another is chosen first, the others by name. Never empty. Cheap
/// to clone.
#[derive(Debug, Clone)]
pub struct Agents {
    list: Arc<[Agent]>,
}

/// An agent that was chosen, and why it is not the one that was named.
#[derive(Debug)]
pub struct Choice<'a> {
    /// The agent.
    pub agent: &'a Agent,
    /// What the person should know, if it is another one.
    pub warning: Option<String>,
}

impl Agents {
    /// Puts the agents together: `builtin`, changed and added to by `user`'s, under the rules `rules` of the user's
    /// for everybody, with commands that run like `commands`. `default` names the one that answers unless another is chosen. Where the same name comes twice
    /// in a list the later one is laid over the earlier.
    ///
    /// The texts tell what could not be done as it was asked for.
    pub fn compose(
        folders: &Folders,
        builtin: &[Draft],
        user: &[Draft],
        rules: &[Rule],
        default: Option<&str>,
        commands: Commands,
    ) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let mut all: BTreeMap<&str, [Draft; 2]> = BTreeMap::new();
        for (own, drafts) in [(0, builtin), (1, user)] {
            for draft in drafts {
                let under = &mut all.entry(&draft.name).or_default()[own];
                *under = lay(std::mem::take(under), draft.clone());
            }
        }
        let mut list: Vec<Agent> = Vec::new();
        for [builtin, user] in all.into_values() {
            let native = !builtin.name.is_empty();
            if user.disable && builtin.name != FIRST {
                continue;
            }
            if user.disable {
                warnings.push(format!("the agent {FIRST} cannot be disabled: it stands in for all others"));
            }
            let all_rules = policy::compose(folders, &builtin.rules, rules, &user.rules, commands);
            let own = user.rules.clone();
            let draft = lay(builtin, user);
            list.push(Agent {
                name: draft.name,
                description: draft.description,
                mode: draft.mode.unwrap_or(Mode::All),
                hidden: draft.hidden.unwrap_or(false),
                native,
                prompt: draft.prompt.filter(|prompt| !prompt.trim().is_empty()),
                rules: all_rules,
                own,
                model: draft.model,
                variant: draft.variant,
                temperature: draft.temperature,
                top_p: draft.top_p,
                steps: draft.steps,
                options: draft.options,
                color: draft.color,
            });
        }
        if !list.iter().any(|agent| agent.name == FIRST) {
            list.push(Agent::new(FIRST, policy::compose(folders, &[], rules, &[], commands)));
        }
        let first = match default.map(|name| (name, why_not(list.iter().find(|agent| agent.name == name)))) {
            None => FIRST,
            Some((name, None)) => name,
            Some((name, Some(why))) => {
                warnings.push(format!("default_agent {name:?} {why}; {FIRST} answers instead"));
                FIRST
            }
        };
        list.sort_by(|one, other| (one.name != first, &one.name).cmp(&(other.name != first, &other.name)));
        (Self { list: list.into() }, warnings)
    }

    /// The same, each within the rules that `bounds` gives for its name. See [`Rules::bounded`](haft_permission::Rules::bounded).
    #[must_use]
    pub fn bounded(self, bounds: impl Fn(&str) -> Vec<Rule>) -> Self {
        let held = |agent: &Agent| Agent { rules: agent.rules.clone().bounded(bounds(&agent.name)), ..agent.clone() };
        Self { list: self.list.iter().map(held).collect::<Vec<_>>().into() }
    }

    /// All of them, in their order.
    pub fn all(&self) -> &[Agent] {
        &self.list
    }

    /// The one called `name`.
    pub fn get(&self, name: &str) -> Option<&Agent> {
        self.list.iter().find(|agent| agent.name == name)
    }

    /// The one that answers unless another is chosen.
    pub fn default_agent(&self) -> &Agent {
        &self.list[0]
    }

    /// The one that a person chose to answer, or the default where there is none of that name or it is for tasks only.
    pub fn choose(&self, name: Option<&str>) -> Choice<'_> {
        let Some(name) = name else { return Choice { agent: self.default_agent(), warning: None } };
        let why = match self.get(name) {
            None => "not found",
            Some(Agent { mode: Mode::Subagent, .. }) => "is a subagent, not a primary agent",
            Some(agent) => return Choice { agent, warning: None },
        };
        let warning = format!("agent \"{name}\" {why}. Falling back to default agent");
        Choice { agent: self.default_agent(), warning: Some(warning) }
    }

    /// Those that a person may choose from.
    pub fn primaries(&self) -> impl Iterator<Item = &Agent> {
        self.list.iter().filter(|agent| !agent.hidden && agent.mode != Mode::Subagent)
    }

    /// Those that another agent may give a task to.
    pub fn subagents(&self) -> impl Iterator<Item = &Agent> {
        self.list.iter().filter(|agent| agent.mode != Mode::Primary)
    }
}

/// Why an agent cannot answer by default, if it cannot.
fn why_not(agent: Option<&Agent>) -> Option<&'static str> {
    match agent {
        None => Some("is not there"),
        Some(Agent { mode: Mode::Subagent, .. }) => Some("is a subagent"),
        Some(Agent { hidden: true, .. }) => Some("is hidden"),
        Some(_) => None,
    }
}

/// `over` laid on `under`: what it gives replaces, rules are appended, options are merged.
fn lay(under: Draft, over: Draft) -> Draft {
    let mut options = under.options;
    merge(&mut options, over.options);
    Draft {
        name: if over.name.is_empty() { under.name } else { over.name },
        description: over.description.or(under.description),
        mode: over.mode.or(under.mode),
        hidden: over.hidden.or(under.hidden),
        disable: over.disable || under.disable,
        prompt: over.prompt.filter(|prompt| !prompt.trim().is_empty()).or(under.prompt),
        rules: [under.rules, over.rules].concat(),
        model: over.model.or(under.model),
        variant: over.variant.or(under.variant),
        temperature: over.temperature.or(under.temperature),
        top_p: over.top_p.or(under.top_p),
        steps: over.steps.or(under.steps),
        options,
        color: over.color.or(under.color),
    }
}

fn merge(under: &mut Object, over: Object) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(value)) => merge(below, value),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_permission::Action::{self, Allow, Ask, Deny};
    use serde_json::json;

    fn draft(name: &str, mode: Option<Mode>) -> Draft {
        Draft { name: name.to_owned(), mode, ..Draft::default() }
    }

    fn builtin() -> Vec<Draft> {
        let plan = Draft { rules: vec![Rule::new("edit", "*", Deny)], ..draft("plan", Some(Mode::Primary)) };
        let title = Draft { hidden: Some(true), ..draft("title", Some(Mode::Primary)) };
        vec![draft("build", Some(Mode::Primary)), plan, title, draft("general", Some(Mode::Subagent))]
    }

    fn compose(user: &[Draft], rules: &[Rule], default: Option<&str>) -> (Agents, Vec<String>) {
        Agents::compose(&Folders::default(), &builtin(), user, rules, default, Commands::Free)
    }

    fn names(agents: &Agents) -> Vec<&str> {
        agents.all().iter().map(|agent| agent.name.as_str()).collect()
    }

    #[test]
    fn the_default_comes_first_and_the_others_by_name() {
        assert_eq!(names(&compose(&[draft("ask", None)], &[], None).0), ["build", "ask", "general", "plan", "title"]);
        assert_eq!(names(&compose(&[], &[], Some("plan")).0), ["plan", "build", "general", "title"]);
    }

    #[test]
    fn a_default_that_cannot_answer_gives_way_to_build() {
        for (name, why) in [("nope", "is not there"), ("general", "is a subagent"), ("title", "is hidden")] {
            let (agents, warnings) = compose(&[], &[], Some(name));
            assert_eq!(agents.default_agent().name, "build");
            assert!(warnings[0].contains(why), "{warnings:?}");
        }
        let (agents, warnings) = compose(&[Draft { disable: true, ..draft("build", None) }], &[], None);
        assert_eq!((agents.default_agent().name.as_str(), warnings.len()), ("build", 1));
        assert_eq!(
            Agents::compose(&Folders::default(), &[], &[], &[], None, Commands::Free).0.default_agent().name,
            "build"
        );
    }

    #[test]
    fn who_cannot_be_chosen_is_said() {
        let (agents, _) = compose(&[draft("mine", None)], &[], None);
        let row = |name: Option<&str>, want: &str, warning: Option<&str>| {
            let Choice { agent, warning: got } = agents.choose(name);
            assert_eq!((agent.name.as_str(), got.as_deref()), (want, warning));
        };
        row(None, "build", None);
        row(Some("mine"), "mine", None);
        row(Some("plan"), "plan", None);
        row(Some("nope"), "build", Some("agent \"nope\" not found. Falling back to default agent"));
        let why = "agent \"general\" is a subagent, not a primary agent. Falling back to default agent";
        row(Some("general"), "build", Some(why));
        assert_eq!(agents.primaries().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["build", "mine", "plan"]);
        assert_eq!(agents.subagents().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["general", "mine"]);
    }

    #[test]
    fn what_the_user_gives_replaces_and_options_merge() {
        let options = |value: Value| value.as_object().unwrap().clone();
        let first = Draft {
            model: Some("a/one".to_owned()),
            options: options(json!({"deep": {"x": 1, "y": 1}, "z": 1})),
            temperature: Some(0.1),
            ..draft("plan", None)
        };
        let second = Draft {
            model: Some("a/two".to_owned()),
            options: options(json!({"deep": {"y": 2}, "z": {"w": 2}})),
            prompt: Some("  \n".to_owned()),
            ..draft("plan", None)
        };
        let (agents, _) = compose(&[first, second, Draft { disable: true, ..draft("general", None) }], &[], None);
        let plan = agents.get("plan").unwrap();
        assert_eq!((plan.model.as_deref(), plan.temperature, plan.mode), (Some("a/two"), Some(0.1), Mode::Primary));
        assert_eq!(Value::from(plan.options.clone()), json!({"deep": {"x": 1, "y": 2}, "z": {"w": 2}}));
        assert!(plan.native && plan.prompt.is_none() && agents.get("general").is_none());
    }

    #[test]
    fn agents_are_held_within_bounds_by_name() {
        let (agents, _) = compose(&[], &[Rule::new("bash", "*", Allow)], Some("plan"));
        let bounded = agents.bounded(|name| match name {
            "build" => vec![Rule::new("bash", "*", Deny)],
            _ => vec![Rule::new("read", "*", Allow)],
        });
        let action = |name: &str| bounded.get(name).unwrap().rules.decide("bash", "ls", false).0;
        assert_eq!((action("build"), action("general")), (Deny, Allow));
        assert_eq!(bounded.default_agent().name, "plan", "their order stays");
    }

    #[test]
    fn a_users_agent_stands_on_the_defaults_the_users_rules_and_its_own() {
        let own = Draft { rules: vec![Rule::new("edit", "docs/*", Allow)], ..draft("mine", None) };
        let changed = Draft { rules: vec![Rule::new("edit", "docs/*", Allow)], ..draft("plan", None) };
        let rules = [Rule::new("bash", "git *", Allow), Rule::new("edit", "secret/*", Deny)];
        let (agents, _) = compose(&[own, changed], &rules, None);
        let row = |name: &str, permission: &str, value: &str, want: Action| {
            let agent = agents.get(name).unwrap();
            assert_eq!(agent.rules.decide(permission, value, false).0, want, "{name} {permission} {value}");
        };
        row("mine", "edit", "src/a", Allow);
        row("mine", "edit", "secret/a", Deny);
        row("mine", "bash", "git log", Allow);
        row("mine", "bash", "rm x", Ask);
        row("plan", "edit", "src/a", Deny);
        row("plan", "edit", "docs/a", Allow);
        assert!(!agents.get("mine").unwrap().native);
    }
}
