//! `haft command`: the commands that are called with a slash.

use std::collections::BTreeMap;

use anyhow::Result;
use haft_session::Command;
use serde_json::{Value, json};

use crate::args::Named;
use crate::render::{self, spelled};
use crate::report::Exit;
use crate::wire::Ground;

pub(crate) async fn run(command: &Named) -> Result<Exit> {
    let Named::List { json, dir } = command;
    let ground = Ground::at(dir.as_deref())?.heard().await?;
    // Those of settings lie over those that are built in.
    let all = haft_session::builtin_commands().into_iter().chain(ground.commands());
    let all: BTreeMap<String, Command> = all.map(|command| (command.name.clone(), command)).collect();
    if *json {
        let all: Vec<Value> = all.values().map(described).collect();
        render::say_json(&Value::from(all), false)?;
        return Ok(Exit::Done);
    }
    let width = all.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    for (name, command) in &all {
        let description = command.description.as_deref().unwrap_or_default();
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        render::say(&spelled(format!("/{name:width$}  {description}").trim_end()))?;
    }
    Ok(Exit::Done)
}

fn described(command: &Command) -> Value {
    let mut described = json!({
        "name": command.name,
        "description": command.description,
        "agent": command.agent,
        "model": command.model,
        "source": if command.literal { "skill" } else { "command" },
        "template": command.template,
        "subtask": command.subtask,
        "hints": if command.literal { Vec::new() } else { haft_config::hints(&command.template) },
    });
    // What was not said is left out.
    if let Value::Object(fields) = &mut described {
        fields.retain(|_, value| !value.is_null());
    }
    described
}
