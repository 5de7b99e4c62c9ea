//! Rules: how they are read, put together and looked up, and those of the agents.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use haft_permission::{Action, Rule, Rules, matches, permission_of};
use haft_session::{Agents, BUILTIN_AGENTS, Commands, Draft, Folders};
use haft_shell::Surroundings;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

pub(crate) fn check(_: &Runtime, case: &Value) -> Result<()> {
    match text(case, "kind")? {
        "wildcard" => wildcard(case),
        "evaluate" => evaluate(case),
        "from_config" => from_config(case),
        "merge_evaluate" => merge_evaluate(case),
        "config_layers" => config_layers(case),
        "disabled_tools" => disabled_tools(case),
        "agent_ruleset" => agent_ruleset(case),
        "arity" => crate::arity::check_arity(case).map_err(anyhow::Error::msg),
        other => bail!("no such kind: {other}"),
    }
}

fn wildcard(case: &Value) -> Result<()> {
    same(&json!(matches(text(case, "pattern")?, text(case, "value")?)), wanted(case))
}

fn evaluate(case: &Value) -> Result<()> {
    let list = case["rulesets"].as_array().context("rulesets")?;
    let rules = list.iter().flat_map(|rules| rules.as_array().into_iter().flatten()).map(rule);
    let rules = Rules::from(rules.collect::<Result<Vec<_>>>()?);
    let (permission, value) = (text(case, "permission")?, text(case, "value")?);
    let (action, decided) = decide(&rules, permission, value);
    // Where no rule decides, the reference names one that nobody wrote.
    let decided = decided.map_or(
        json!({ "permission": permission, "pattern": "*" }),
        |rule| json!({ "permission": rule.permission, "pattern": rule.pattern }),
    );
    if is_wrong(case) {
        return same(&json!(action.word()), &case["better"]["action"]);
    }
    same(&json!({ "action": action.word(), "rule": decided }), &case["expected"])
}

fn from_config(case: &Value) -> Result<()> {
    let got = haft_config::rules_from(&[text(case, "config_text")?], Path::new(text(case, "home")?));
    same_rules(&got.map_err(anyhow::Error::msg)?, wanted(case))
}

/// Rulesets that are laid one after the other.
fn merge_evaluate(case: &Value) -> Result<()> {
    let rulesets = texts(case, "layers_text")?.into_iter().map(|text| haft_config::rules_from(&[text], Path::new("/")));
    let rules: Vec<Rule> = rulesets.collect::<Result<Vec<_>, _>>().map_err(anyhow::Error::msg)?.concat();
    let wanted = wanted(case);
    if wanted.get("ruleset").is_some() {
        same_rules(&rules, &wanted["ruleset"])?;
    }
    let (action, _) = decide(&Rules::from(rules), text(case, "permission")?, text(case, "value")?);
    same(&json!(action.word()), &wanted["action"])
}

/// Files that are merged. What counts is the action: the reference's way to merge is what is marked as wrong.
fn config_layers(case: &Value) -> Result<()> {
    let rules = haft_config::rules_from(&texts(case, "layers_text")?, Path::new(text(case, "home")?));
    let rules = Rules::from(rules.map_err(anyhow::Error::msg)?);
    let (action, _) = decide(&rules, text(case, "permission")?, text(case, "value")?);
    same(&json!(action.word()), &wanted(case)["action"])
}

fn disabled_tools(case: &Value) -> Result<()> {
    let rules = haft_config::rules_from(&[text(case, "config_text")?], Path::new("/"));
    let rules = Rules::from(rules.map_err(anyhow::Error::msg)?);
    let gone: Vec<&str> = texts(case, "tools")?.into_iter().filter(|tool| rules.hides(permission_of(tool))).collect();
    same(&json!(gone), wanted(case))
}

/// haft's folders are named as the reference's.
fn agent_ruleset(case: &Value) -> Result<()> {
    let folders = Folders {
        outputs: "<HOME>/.local/share/opencode/tool-output".into(),
        temp: "/tmp/opencode".into(),
        plans: "<HOME>/.local/share/opencode/plans".into(),
        skills: Vec::new(),
        secrets: Vec::new(),
        base: "<HOME>/project".into(),
    };
    let named = text(case, "agent")?;
    let builtin: Vec<Draft> = BUILTIN_AGENTS.iter().map(|(name, text)| draft(name, text)).collect::<Result<_>>()?;
    let user: Vec<Draft> = match case["agent_file"].as_str() {
        Some(file) => vec![draft(named, file)?],
        None => Vec::new(),
    };
    let config: Value = serde_json::from_str(text(case, "user_config_text")?)?;
    let own = match config.get("permission") {
        Some(permission) => haft_config::rules_from(&[&permission.to_string()], Path::new("<HOME>")),
        None => Ok(Vec::new()),
    };
    let (agents, _) =
        Agents::compose(&folders, &builtin, &user, &own.map_err(anyhow::Error::msg)?, None, Commands::Free);
    let agent = agents.get(named).with_context(|| format!("no agent {named}"))?;
    let rename = |rule: &Rule| Rule { pattern: rule.pattern.replace(".haft/", ".opencode/"), ..rule.clone() };
    let rules: Vec<Rule> = agent.rules.rows().iter().map(rename).collect();
    same_rules(&rules, wanted(case))
}

/// As `cli` makes one of a text.
fn draft(name: &str, text: &str) -> Result<Draft> {
    let read = haft_config::agent(name, text, name)?;
    Ok(Draft { name: read.name, rules: read.rules, ..Draft::default() })
}

/// A text for the shell that holds several commands is one whose parts nobody told apart here.
fn decide<'a>(rules: &'a Rules, permission: &str, value: &str) -> (Action, Option<&'a Rule>) {
    let opaque = permission == "bash" && {
        let analysis = haft_shell::analyse(value, &Surroundings::new(Path::new("/")));
        analysis.commands.len() > 1 || !analysis.is_known()
    };
    rules.decide(permission, value, opaque)
}

fn is_wrong(case: &Value) -> bool {
    case["upstream_wrong"].as_bool().unwrap_or(false)
}

/// What is right. A sentence is no answer: it tells why the reference got to the expected one by luck.
fn wanted(case: &Value) -> &Value {
    let better = &case["better"];
    if is_wrong(case) && !better.is_string() { better } else { &case["expected"] }
}

fn rule(value: &Value) -> Result<Rule> {
    let action = Action::from_word(text(value, "action")?).context("action")?;
    Ok(Rule::new(text(value, "permission")?, text(value, "pattern")?, action))
}

fn same_rules(got: &[Rule], wanted: &Value) -> Result<()> {
    let wanted = wanted.as_array().context("rules")?.iter().map(rule).collect::<Result<Vec<_>>>()?;
    let lines = |rules: &[Rule]| rules.iter().map(Rule::to_string).collect::<Vec<_>>();
    ensure!(got == wanted, "gave {:?}, not {:?}", lines(got), lines(&wanted));
    Ok(())
}

fn same(got: &Value, wanted: &Value) -> Result<()> {
    ensure!(got == wanted, "gave {got}, not {wanted}");
    Ok(())
}

fn text<'a>(case: &'a Value, key: &str) -> Result<&'a str> {
    case[key].as_str().with_context(|| format!("{key} is no text"))
}

fn texts<'a>(case: &'a Value, key: &str) -> Result<Vec<&'a str>> {
    let list = case[key].as_array().with_context(|| format!("{key} is no list"))?;
    list.iter().map(|text| text.as_str().with_context(|| format!("{key} holds what is no text"))).collect()
}
