//! `haft command`: the commands that are called with a slash.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use haft_session::Command;
use serde_json::{Value, json};

use crate::args::Named;
use crate::render::{self, spelled};
use crate::report::Exit;
use crate::wire::Ground;

/// How long servers whose prompts are commands are waited for, all together.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn run(command: &Named) -> Result<Exit> {
    let Named::List { json, dir } = command;
    let ground = Ground::at(dir.as_deref())?.heard().await?;
    let servers = ground.servers();
    servers.look(PATIENCE).await;
    let prompts = servers.prompts().into_iter().map(|prompt| Command {
        name: prompt.name,
        description: Some(prompt.description).filter(|words| !words.is_empty()),
        // As its arguments are filled in.
        template: (1..=prompt.arguments.len()).map(|number| format!("${number}")).collect::<Vec<_>>().join(" "),
        foreign: true,
        ..Command::default()
    });
    let prompts: Vec<Command> = prompts.collect();
    servers.close().await;
    // Those of settings lie over those that are built in, and both over those of servers.
    let all = prompts.into_iter().chain(haft_session::builtin_commands()).chain(ground.commands());
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

/// `command` as JSON.
pub(crate) fn described(command: &Command) -> Value {
    let source = match command {
        Command { foreign: true, .. } => "mcp",
        Command { literal: true, .. } => "skill",
        _ => "command",
    };
    let hints = if command.literal { Vec::new() } else { haft_config::hints(&command.template) };
    let mut described = json!({
        "name": command.name,
        "description": command.description,
        "agent": command.agent,
        "model": command.model,
        "variant": command.variant,
        "source": source,
        // What a server's says, only the server knows.
        "template": if command.foreign { "" } else { &command.template },
        "subtask": command.subtask,
        "hints": hints,
    });
    // What was not said is left out.
    if let Value::Object(fields) = &mut described {
        fields.retain(|_, value| !value.is_null());
    }
    described
}
