//! Which agents another one may hand tasks to, and how it is told of them. Pure.

use haft_permission::{Action, Rules};
use haft_tool::{Delegate, Spec};

use crate::hands::TASK;
use crate::{Agent, Agents, Mode};

/// Most agents that one is told of.
const MAX_LISTED: usize = 100;
/// Longest description of an agent in that list, in characters.
const MAX_DESCRIPTION: usize = 1000;
/// What is said of an agent that does not say what it is for.
const FOR_USER: &str = "only when the user asks for it by name";

/// The agents that tasks may be for, by name: sub-agents, of which one under `rules` is told unless they are closed to
/// it, and those that people choose, for when the user says so.
pub(crate) fn delegates(agents: &Agents, rules: &Rules) -> Vec<Delegate> {
    let may = |name: &str| rules.decide(TASK, name, false).0 != Action::Deny;
    let works = |agent: &&Agent| agent.mode != Mode::Primary || !agent.hidden;
    let mut found: Vec<Delegate> = agents
        .all()
        .iter()
        .filter(works)
        .map(|agent| Delegate {
            name: agent.name.clone(),
            description: agent.description.clone(),
            told: agent.mode != Mode::Primary && may(&agent.name),
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// `specs` as an agent under `rules` is sent them: the tool that hands out tasks names those who take them, and is
/// left out where there are none. It depends on nothing that changes within a session.
pub fn told(mut specs: Vec<Spec>, agents: &Agents, rules: &Rules) -> Vec<Spec> {
    let mut delegates = delegates(agents, rules);
    delegates.retain(|delegate| delegate.told);
    delegates.truncate(MAX_LISTED);
    specs.retain(|spec| spec.name != TASK || !delegates.is_empty());
    for spec in specs.iter_mut().filter(|spec| spec.name == TASK) {
        let line = |delegate: &Delegate| {
            let about = delegate.description.as_deref().unwrap_or(FOR_USER);
            let about: String = about.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("\n- {}: {}", delegate.name, about.chars().take(MAX_DESCRIPTION).collect::<String>())
        };
        spec.description.push_str("\n\nThe agents:");
        spec.description.extend(delegates.iter().map(line));
    }
    specs
}

#[cfg(test)]
mod tests {
    use haft_permission::Rule;
    use serde_json::json;

    use super::*;
    use crate::{Commands, Draft, Folders};

    fn agents(drafts: &[(&str, Mode, Option<&str>)]) -> Agents {
        let draft = |&(name, mode, about): &(&str, Mode, Option<&str>)| Draft {
            name: name.to_owned(),
            mode: Some(mode),
            description: about.map(str::to_owned),
            ..Draft::default()
        };
        let build = Draft { name: "build".to_owned(), mode: Some(Mode::Primary), ..Draft::default() };
        let drafts: Vec<Draft> = drafts.iter().map(draft).chain([build]).collect();
        Agents::compose(&Folders::default(), &[], &drafts, &[], None, Commands::Free).0
    }

    #[track_caller]
    fn check(drafts: &[(&str, Mode, Option<&str>)], rules: &[(&str, Action)], want: Option<&str>) {
        let spec = |name: &str| Spec { name: name.to_owned(), description: "Text.".to_owned(), parameters: json!({}) };
        let denied = rules.iter().map(|(name, action)| Rule::new("task", name, *action));
        let rules = Rules::default().builtin([Rule::new("*", "*", Action::Allow)]).own(denied);
        let told = told(vec![spec("read"), spec("task")], &agents(drafts), &rules);
        assert_eq!(told[0], spec("read"));
        assert_eq!(told.get(1).map(|spec| spec.description.as_str()), want);
    }

    #[test]
    fn the_list_names_who_may_be_given_tasks() {
        let some = [
            ("zeta", Mode::Subagent, Some("Does\n  this.")),
            ("plan", Mode::Primary, Some("Never.")),
            ("both", Mode::All, None),
        ];
        let both = "- both: only when the user asks for it by name";
        check(&some, &[], Some(&format!("Text.\n\nThe agents:\n{both}\n- zeta: Does this.")));
        check(&some, &[("z*", Action::Deny)], Some(&format!("Text.\n\nThe agents:\n{both}")));
        check(
            &some,
            &[("both", Action::Deny), ("zeta", Action::Ask)],
            Some("Text.\n\nThe agents:\n- zeta: Does this."),
        );
        // With nobody to work for it the tool is of no use.
        check(&some, &[("*", Action::Deny)], None);
        check(&some[1..2], &[], None);
    }

    #[test]
    fn a_list_has_bounds() {
        let long = "x".repeat(MAX_DESCRIPTION + 1);
        let names: Vec<String> = (0..=MAX_LISTED).map(|n| format!("a{n:03}")).collect();
        let all: Vec<_> = names.iter().map(|name| (name.as_str(), Mode::Subagent, Some(long.as_str()))).collect();
        let spec = Spec { name: TASK.to_owned(), description: String::new(), parameters: json!({}) };
        let told = told(vec![spec], &agents(&all), &Rules::default());
        assert!(told[0].description.ends_with(&format!("a099: {}", "x".repeat(MAX_DESCRIPTION))));
    }
}
