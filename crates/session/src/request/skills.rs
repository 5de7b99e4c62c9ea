//! The list of skills in the system prompt. Pure.

use std::path::PathBuf;

use haft_permission::{Action, Rules};
use haft_tool::Registry;

use crate::hands::SKILL;

/// Most bytes that the list may take: 2,000 tokens.
const MAX_BYTES: usize = 7_200;
/// Longest descriptions, in characters, that are tried one after the other until the list is short enough.
const LENGTHS: [usize; 5] = [1024, 400, 160, 60, 0];

/// A skill that a model may load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Its `SKILL.md`.
    pub location: PathBuf,
}

/// What stands at the end of the system prompt about `skills`, for an agent under `rules` that has the tools of
/// `registry`: nothing where it has no tool to load them. A long list has shorter descriptions, and a very long one not
/// all skills.
pub(crate) fn list(skills: &[Skill], rules: &Rules, registry: &Registry) -> String {
    let has_tool = registry.specs().iter().any(|spec| spec.name == SKILL);
    let mut open: Vec<&Skill> =
        skills.iter().filter(|skill| rules.decide(SKILL, &skill.name, false).0 != Action::Deny).collect();
    open.sort_by(|one, other| one.name.cmp(&other.name));
    if !has_tool || open.is_empty() {
        return String::new();
    }
    let text = |length: usize| open.iter().map(|skill| entry(skill, length)).collect::<String>();
    let fits = LENGTHS.iter().map(|length| text(*length)).find(|text| text.len() <= MAX_BYTES);
    let (entries, more) = match fits {
        Some(text) => (text, String::new()),
        None => {
            let mut text = String::new();
            let mut count = 0;
            for skill in &open {
                let next = entry(skill, 0);
                if text.len() + next.len() > MAX_BYTES {
                    break;
                }
                text.push_str(&next);
                count += 1;
            }
            (text, format!("There are {} more; the user knows their names.\n", open.len() - count))
        }
    };
    format!(
        "\n\nSkills are instructions for one kind of work. Where one fits what you are asked to do, load it with the tool \
         {SKILL} before you begin.\n<available_skills>\n{entries}</available_skills>\n{more}"
    )
    .trim_end()
    .to_owned()
}

fn entry(skill: &Skill, length: usize) -> String {
    let Skill { name, description, location } = skill;
    let description: String = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = description.chars().take(length).collect();
    let dots = if short.len() < description.len() { "…" } else { "" };
    format!(
        "  <skill>\n    <name>{}</name>\n    <description>{}{dots}</description>\n    <location>{}</location>\n  </skill>\n",
        escaped(name),
        escaped(&short),
        escaped(&location.display().to_string()),
    )
}

/// `text` where nothing ends the element that it stands in.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::BoxFuture;
    use haft_permission::Rule;
    use haft_tool::{AnyTool, Call, Output, Spec, ToolError};

    use super::*;

    struct Loads;

    impl AnyTool for Loads {
        fn spec(&self) -> Spec {
            Spec { name: SKILL.to_owned(), description: String::new(), parameters: serde_json::json!({}) }
        }
        fn run<'a>(&'a self, _: serde_json::Value, _: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
            Box::pin(async { Err(ToolError::Cancelled) })
        }
    }

    fn skill(name: &str, description: &str) -> Skill {
        let location = format!("/s/{name}/SKILL.md").into();
        Skill { name: name.to_owned(), description: description.to_owned(), location }
    }

    fn listed(skills: &[Skill], denied: &[&str]) -> String {
        let rules = denied.iter().map(|name| Rule::new(SKILL, name, Action::Deny));
        let rules = Rules::default().builtin([Rule::new("*", "*", Action::Allow)]).own(rules);
        list(skills, &rules, &Registry::default().with_any(Arc::new(Loads)))
    }

    #[test]
    fn skills_are_listed_by_name_without_those_that_are_closed() {
        let all = [skill("zeta", "Last\n one."), skill("alpha", "a < b & </skill>"), skill("closed", "No.")];
        let text = listed(&all, &["clo*"]);
        let block = text.split_once("<available_skills>\n").unwrap().1;
        assert_eq!(
            block,
            "  <skill>\n    <name>alpha</name>\n    <description>a &lt; b &amp; &lt;/skill&gt;</description>\n    \
             <location>/s/alpha/SKILL.md</location>\n  </skill>\n  <skill>\n    <name>zeta</name>\n    \
             <description>Last one.</description>\n    <location>/s/zeta/SKILL.md</location>\n  </skill>\n\
             </available_skills>"
        );
        assert_eq!(listed(&all, &["*"]), "");
        assert_eq!(listed(&[], &[]), "");
        assert_eq!(list(&all, &Rules::default(), &Registry::default()), "");
    }

    #[test]
    fn a_long_list_is_made_shorter() {
        let long = "word ".repeat(200);
        let some: Vec<Skill> = (0..20).map(|n| skill(&format!("s{n:02}"), &long)).collect();
        let text = listed(&some, &[]);
        assert!(text.len() < MAX_BYTES + 500 && text.contains("<name>s19</name>"), "{}", text.len());
        assert!(text.contains("…</description>"));
        let many: Vec<Skill> = (0..500).map(|n| skill(&format!("s{n:03}"), &long)).collect();
        let text = listed(&many, &[]);
        assert!(text.len() < MAX_BYTES + 500, "{}", text.len());
        let shown = text.matches("<skill>").count();
        assert!(text.ends_with(&format!("There are {} more; the user knows their names.", 500 - shown)), "{text}");
    }
}
