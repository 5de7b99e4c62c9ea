//! The agents there are in a folder: those that come with haft, and what the user's settings make of them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_config::AgentConfig;
use haft_permission::Rule;
use haft_session::{Agent, Agents, BUILTIN_AGENTS, Draft, Folders, Mode};
use serde_json::{Value, json};

use crate::render;
use crate::report::Usage;
use crate::servers;
use crate::wire::Ground;

/// All agents of the folder that `ground` stands for.
///
/// # Errors
///
/// When a text that comes with haft cannot be read, which is a defect.
pub(crate) fn all(ground: &Ground) -> Result<Agents> {
    let builtin = BUILTIN_AGENTS.iter().map(|(name, text)| {
        let read = haft_config::agent(name, text, &format!("{name}.md, which comes with haft"));
        read.map(draft)
    });
    let builtin = builtin.collect::<Result<Vec<_>, _>>().context("an agent of haft's own is broken")?;
    let servers: Vec<&str> = ground.config.mcp.keys().map(String::as_str).collect();
    let of_agent = |config: AgentConfig| {
        let draft = draft(config);
        Draft { rules: naming(&draft.rules, &servers), ..draft }
    };
    let user: Vec<Draft> = ground.config.agents.iter().cloned().map(of_agent).collect();
    let default = ground.config.default_agent.as_deref();
    let (rules, commands) = (naming(&ground.config.rules, &servers), ground.commands_run());
    let (agents, warnings) = Agents::compose(&folders(ground), &builtin, &user, &rules, default, commands);
    for warning in warnings {
        render::complain(&format!("warning: {warning}"));
    }
    // Without trust in the project its rules only hold back.
    Ok(agents.bounded(|name| {
        let own = ground.config.agents.iter().filter(|agent| agent.name == name);
        let bounds: Vec<Rule> =
            ground.config.bounds.iter().chain(own.flat_map(|agent| &agent.bounds)).cloned().collect();
        naming(&bounds, &servers)
    }))
}

/// `rules`, where those that name one of `servers` hold for all its tools too.
fn naming(rules: &[Rule], servers: &[&str]) -> Vec<Rule> {
    let tools = |rule: &Rule| {
        let named = servers.contains(&rule.permission.as_str());
        named.then(|| Rule { permission: servers::tools_of(&rule.permission), ..rule.clone() })
    };
    rules.iter().flat_map(|rule| std::iter::once(rule.clone()).chain(tools(rule))).collect()
}

/// The agent that was named, or the one that answers where none was or it cannot; then says why.
pub(crate) fn choose(agents: &Agents, name: Option<&str>) -> Agent {
    let choice = agents.choose(name);
    if let Some(warning) = choice.warning {
        render::complain(&format!("! {warning}"));
    }
    choice.agent.clone()
}

/// The agent that was named, of whatever kind, or the one that answers where none was. Whoever asks what an agent may do
/// or acts under its rules must not be given those of another, which may allow more.
///
/// # Errors
///
/// When there is none of that name.
pub(crate) fn named<'a>(agents: &'a Agents, name: Option<&str>) -> Result<&'a Agent, Usage> {
    let Some(name) = name else { return Ok(agents.default_agent()) };
    agents.get(name).ok_or_else(|| {
        let names: Vec<&str> = agents.all().iter().filter(|agent| !agent.hidden).map(|agent| &*agent.name).collect();
        Usage(format!("there is no agent {name:?}; those there are: {}", names.join(", ")))
    })
}

/// Says so where rules for everybody open what the plan agent is for keeping closed.
pub(crate) fn warn_of_open_plan(agent: &Agent) {
    // Any name that no rule is about says what the rules are in general.
    let (action, rule) = agent.rules.decide("edit", "a file of no special name", false);
    if agent.name == "plan" && agent.native && action == haft_permission::Action::Allow {
        let rule = rule.map_or_else(String::new, |rule| format!(" ({rule})"));
        render::complain(&format!(
            "! your rules let the plan agent change files{rule}; \"agent\": {{\"plan\": {{\"permission\": {{\"edit\": \"deny\"}}}}}} \
             keeps it from that"
        ));
    }
}

/// `agent` as JSON, its rules without the guard's.
pub(crate) fn described(agent: &Agent) -> Value {
    let rules: Vec<Value> = agent.rules.rows().iter().map(rule).collect();
    let model = agent.model.as_deref().and_then(|model| model.split_once('/'));
    let mut described = json!({
        "name": agent.name,
        "description": agent.description,
        "mode": agent.mode.word(),
        "native": agent.native,
        "hidden": agent.hidden.then_some(true),
        "topP": agent.top_p,
        "temperature": agent.temperature,
        "color": agent.color,
        "permission": rules,
        "model": model.map(|(vendor, model)| json!({ "providerID": vendor, "modelID": model })),
        "variant": agent.variant,
        "prompt": agent.prompt,
        "options": agent.options,
        "steps": agent.steps,
    });
    // What was not said is left out.
    if let Value::Object(fields) = &mut described {
        fields.retain(|_, value| !value.is_null());
    }
    described
}

/// `rule` as JSON.
pub(crate) fn rule(rule: &haft_permission::Rule) -> Value {
    json!({ "permission": rule.permission, "pattern": rule.pattern, "action": rule.action.word() })
}

fn folders(ground: &Ground) -> Folders {
    let place = &ground.place;
    Folders {
        outputs: ground.folders.outputs(),
        temp: ground.folders.scratch(),
        plans: ground.folders.plans(),
        skills: ground.skills().folders_outside(place.worktree.as_ref().unwrap_or(&place.directory)),
        secrets: secrets(ground),
        base: place.worktree.clone().unwrap_or_else(|| place.directory.clone()),
    }
}

/// What is hidden from commands, as far as rules can name it.
fn secrets(ground: &Ground) -> Vec<PathBuf> {
    let folders = &ground.folders;
    let own = [folders.data.clone(), folders.state.join("log"), folders.config_home.join("haft")];
    let denied = ground.config.sandbox.read_deny.iter().cloned();
    let named = haft_project::secrets(&folders.home).into_iter().chain(own).chain(denied);
    // Rules are held against true paths.
    let mut all: Vec<PathBuf> = named.map(|path| true_path(&path)).collect();
    all.sort();
    all.dedup();
    all
}

/// Where `path` is, with the links in as much of it as is there followed.
fn true_path(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|above| Some((above.canonicalize().ok()?, path.strip_prefix(above).ok()?)));
    // An empty rest would leave a `/` behind.
    there.map_or_else(|| path.to_owned(), |(there, rest)| there.join(rest).components().collect())
}

fn draft(config: AgentConfig) -> Draft {
    Draft {
        name: config.name,
        description: config.description,
        mode: config.mode.map(|mode| match mode {
            haft_config::Mode::Primary => Mode::Primary,
            haft_config::Mode::Subagent => Mode::Subagent,
            haft_config::Mode::All => Mode::All,
        }),
        hidden: config.hidden,
        disable: config.disable.unwrap_or(false),
        prompt: config.prompt,
        rules: config.rules,
        model: config.model,
        variant: config.variant,
        temperature: config.temperature,
        top_p: config.top_p,
        // More than that many steps is no limit.
        steps: config.steps.map(|steps| u32::try_from(steps).unwrap_or(u32::MAX)),
        options: config.options,
        color: config.color,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_permission::Action::{self, Allow, Ask, Deny};
    use haft_session::Commands;

    fn builtin(config: &[Draft]) -> Agents {
        let drafts: Vec<Draft> =
            BUILTIN_AGENTS.iter().map(|(name, text)| draft(haft_config::agent(name, text, name).unwrap())).collect();
        let folders = Folders {
            outputs: "/data/output".into(),
            temp: "/state/scratch".into(),
            plans: "/data/plans".into(),
            skills: Vec::new(),
            secrets: Vec::new(),
            base: "/project".into(),
        };
        Agents::compose(&folders, &drafts, config, &[], None, Commands::Free).0
    }

    #[test]
    fn a_rule_about_a_server_holds_for_all_its_tools() {
        let rules = [Rule::new("my server", "*", Deny), Rule::new("bash", "*", Ask)];
        let named = naming(&rules, &["my server", "other"]);
        let got: Vec<&str> = named.iter().map(|rule| rule.permission.as_str()).collect();
        assert_eq!(got, ["my server", "my_server_*", "bash"]);
        assert_eq!(named[1].action, Deny);
    }

    #[track_caller]
    fn check(agent: &str, permission: &str, value: &str, want: Action) {
        let agents = builtin(&[]);
        let rules = &agents.get(agent).unwrap().rules;
        assert_eq!(rules.decide(permission, value, false).0, want, "{agent} {permission} {value}");
    }

    #[test]
    fn every_built_in_agent_is_read_as_it_was_meant() {
        let agents = builtin(&[]);
        let rows: Vec<String> = agents
            .all()
            .iter()
            .map(|agent| {
                assert!(agent.native && agent.description.is_some() && agent.options.is_empty(), "{}", agent.name);
                let hidden = if agent.hidden { " hidden" } else { "" };
                format!("{} {}{hidden} {:?}", agent.name, agent.mode.word(), agent.temperature)
            })
            .collect();
        expect_test::expect![[r#"
            [
                "build primary None",
                "compaction primary hidden None",
                "explore subagent None",
                "general subagent None",
                "plan primary None",
                "summary primary hidden None",
                "title primary hidden Some(0.5)",
            ]
        "#]]
        .assert_debug_eq(&rows);
        assert!(agents.get("build").unwrap().voice().starts_with("You are haft"));
        assert!(agents.get("plan").unwrap().prompt.is_none());
        assert!(agents.get("explore").unwrap().voice().starts_with("You find things"));
    }

    #[test]
    fn settings_know_which_agents_are_built_in() {
        let names: Vec<&str> = BUILTIN_AGENTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, haft_config::BUILT_IN_AGENTS);
    }

    #[test]
    fn what_the_built_in_agents_may_do() {
        check("build", "question", "*", Allow);
        check("build", "plan_enter", "*", Allow);
        check("build", "plan_exit", "*", Deny);
        check("build", "edit", "src/a.rs", Allow);
        check("build", "bash", "ls", Ask);
        check("plan", "edit", "src/a.rs", Deny);
        check("plan", "edit", ".haft/plans/next.md", Allow);
        check("plan", "edit", ".haft/haft.json", Deny);
        check("plan", "edit", "../data/plans/next.md", Allow);
        check("plan", "external_directory", "/data/plans/*", Allow);
        check("plan", "task", "general", Deny);
        check("plan", "task", "explore", Allow);
        check("general", "todowrite", "*", Deny);
        check("general", "todoread", "*", Deny);
        check("general", "question", "*", Deny);
        check("explore", "edit", "a", Deny);
        check("explore", "grep", "x", Allow);
        check("explore", "codesearch", "x", Allow);
        check("explore", "bash", "ls", Ask);
        check("explore", "task", "general", Deny);
        check("explore", "external_directory", "/data/output/*", Allow);
        check("explore", "external_directory", "/etc/*", Ask);
        for hidden in ["title", "summary", "compaction"] {
            for permission in ["read", "bash", "edit", "webfetch", "question"] {
                check(hidden, permission, "x", Deny);
            }
        }
    }

    #[test]
    fn nobody_is_given_the_rules_of_another_agent() {
        let agents = builtin(&[]);
        let row = |name: Option<&str>, want: &str| assert_eq!(named(&agents, name).unwrap().name, want);
        row(None, "build");
        row(Some("plan"), "plan");
        row(Some("explore"), "explore");
        row(Some("title"), "title");
        let error = named(&agents, Some("paln")).unwrap_err().0;
        assert_eq!(error, "there is no agent \"paln\"; those there are: build, explore, general, plan");
    }

    #[test]
    fn tools_that_an_agent_may_never_use_are_hidden() {
        let agents = builtin(&[]);
        let hides = |agent: &str, permission: &str| agents.get(agent).unwrap().rules.hides(permission);
        assert!(hides("explore", "edit") && hides("explore", "todowrite") && !hides("explore", "bash"));
        assert!(!hides("plan", "edit"), "plans may be written");
        assert!(hides("general", "todowrite") && hides("general", "question") && !hides("build", "question"));
        assert!(hides("title", "read"));
    }

    #[test]
    fn an_agent_as_json_leaves_out_what_was_not_said() {
        let mine =
            Draft { model: Some("v/a/b".to_owned()), steps: Some(3), name: "mine".to_owned(), ..Draft::default() };
        let agents = builtin(&[mine]);
        let mut json = described(agents.get("mine").unwrap());
        assert_eq!(json["permission"][0], json!({"permission": "*", "pattern": "*", "action": "allow"}));
        json.as_object_mut().unwrap().remove("permission");
        let model = json!({"providerID": "v", "modelID": "a/b"});
        assert_eq!(
            json,
            json!({"name": "mine", "mode": "all", "native": false, "model": model, "options": {}, "steps": 3})
        );
    }
}
