//! The set `frontmatter`: the headers of Markdown files, and the agents, commands and skills that such files make.

use anyhow::{bail, ensure};
use haft_config::{AgentConfig, CommandConfig, Config, Mode, Trust, front_matter, load, skills};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::config_merge::{World, same, texts};

/// The agents of the reference that come with it, and their modes. What it says about them is its own text.
const BUILT_IN: [(&str, Mode); 7] = [
    ("build", Mode::Primary),
    ("compaction", Mode::Primary),
    ("explore", Mode::Subagent),
    ("general", Mode::Subagent),
    ("plan", Mode::Primary),
    ("summary", Mode::Primary),
    ("title", Mode::Primary),
];

pub(crate) fn check(_: &Runtime, case: &Value) -> anyhow::Result<()> {
    let wanted = if case["upstream_wrong"] == true { &case["better"] } else { &case["expected"] };
    let text = case["text"].as_str().unwrap_or_default();
    let got = match case["kind"].as_str() {
        Some("parse") => parse(text),
        Some("load_agent") => loaded(case, text, agent)?,
        Some("load_command") => loaded(case, text, command)?,
        Some("load_skill") => skill(case, text)?,
        other => bail!("unknown kind {other:?}"),
    };
    let Some(alternatives) = wanted.as_array() else { return compare(&got, wanted, case) };
    ensure!(alternatives.iter().any(|wanted| compare(&got, wanted, case).is_ok()), "gave {got}, none of {wanted}");
    Ok(())
}

fn compare(got: &Value, wanted: &Value, case: &Value) -> anyhow::Result<()> {
    let name = wanted["name"].as_str().unwrap_or_default();
    let built_in = case["kind"] == "load_agent" && BUILT_IN.iter().any(|(built_in, _)| *built_in == name);
    // A file that is refused makes no entry.
    if wanted.is_null() && got.get("error").is_some() {
        return Ok(());
    }
    let (mut got, mut wanted) = (got.clone(), wanted.clone());
    if built_in && got.get("description").is_none() {
        // Nothing in the file says it, so it is the reference's own sentence.
        for value in [&mut got, &mut wanted] {
            value.as_object_mut().map(|object| object.shift_remove("description"));
        }
    }
    same(&got, &wanted)
}

fn parse(text: &str) -> Value {
    match front_matter(text, "file.md") {
        Ok(front) => json!({"data": front.data, "content": front.body}),
        Err(_) => json!({"error": "frontmatter"}),
    }
}

/// A project with the case's file and those beside it.
fn world(case: &Value, text: &str) -> anyhow::Result<World> {
    let world = World::new("")?;
    for (path, text) in texts(&case["also"]) {
        world.write("proj", &path, &text)?;
    }
    world.write("proj", case["path"].as_str().unwrap_or_default(), text)?;
    Ok(world)
}

/// The entry that the file makes in a project, or null.
fn loaded(case: &Value, text: &str, entry: fn(&Config, &str) -> Option<Value>) -> anyhow::Result<Value> {
    let world = world(case, text)?;
    let path = case["path"].as_str().unwrap_or_default();
    Ok(match load(&world.sources, Trust::Given) {
        Ok(config) => entry(&config, path).unwrap_or(Value::Null),
        Err(haft_config::ConfigError::Header { .. }) => json!({"error": "frontmatter"}),
        Err(haft_config::ConfigError::Value { .. }) => json!({"error": "invalid"}),
        Err(error) => json!({"error": error.to_string()}),
    })
}

fn agent(config: &Config, path: &str) -> Option<Value> {
    let agent = config.agents.iter().find(|agent| agent.origin.ends_with(path) && agent.disable != Some(true))?;
    let built_in = BUILT_IN.iter().find(|(name, _)| *name == agent.name);
    let base = AgentConfig { mode: built_in.map(|(_, mode)| *mode), ..AgentConfig::default() };
    let agent = agent.over(&base);
    let entries = config.merged["agent"].as_object()?;
    let (_, merged) = entries
        .iter()
        .find(|(key, value)| value.get("name").map_or(**key == agent.name, |name| *name == agent.name))?;
    let mut entry = Map::new();
    entry.insert("name".to_owned(), json!(agent.name));
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            entry.insert(key.to_owned(), value);
        }
    };
    put("description", agent.description.map(Value::from));
    put("mode", Some(json!(agent.mode.unwrap_or(Mode::All).word())));
    put("hidden", agent.hidden.map(Value::from));
    put("topP", agent.top_p.map(Value::from));
    put("temperature", agent.temperature.map(Value::from));
    put("color", agent.color.map(Value::from));
    put("variant", agent.variant.map(Value::from));
    put("prompt", agent.prompt.map(Value::from));
    put("options", Some(Value::Object(agent.options)));
    put("steps", agent.steps.map(Value::from));
    put("permission_config", merged.get("permission").cloned());
    let model = agent.model.map(|model| {
        let (vendor, id) = model.split_once('/').unwrap_or((model.as_str(), ""));
        json!({"providerID": vendor, "modelID": id})
    });
    put("model", model);
    Some(Value::Object(entry))
}

fn command(config: &Config, path: &str) -> Option<Value> {
    let command = config.commands.iter().find(|command| command.origin.ends_with(path))?;
    let CommandConfig { name, template, description, agent, model, variant, subtask, .. } = command;
    let all = json!({
        "name": name, "template": template, "description": description, "agent": agent, "model": model,
        "variant": variant, "subtask": subtask, "hints": command.hints(),
    });
    let Value::Object(mut entry) = all else { return None };
    entry.retain(|_, value| !value.is_null());
    Some(Value::Object(entry))
}

fn skill(case: &Value, text: &str) -> anyhow::Result<Value> {
    let world = world(case, text)?;
    let config = load(&world.sources, Trust::Given)?;
    let found = skills(&world.sources, &config.skill_paths, &[]);
    let path = case["path"].as_str().unwrap_or_default();
    let Some(skill) = found.all.into_iter().find(|skill| skill.location.as_ref().is_some_and(|at| at.ends_with(path)))
    else {
        let broken = found.problems.iter().any(|warning| warning.contains("the header between"));
        return Ok(if broken { json!({"error": "frontmatter"}) } else { Value::Null });
    };
    let mut entry = json!({"name": skill.name, "content_trimmed": skill.content.trim()});
    if let Some(description) = skill.description {
        entry["description"] = json!(description);
    }
    Ok(entry)
}
