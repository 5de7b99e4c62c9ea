//! `haft mcp debug`: one server, spoken to, and what it says of itself.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use haft_mcp::client::Standing;
use serde_json::json;

use crate::render::{self, spelled};
use crate::report::{Exit, Usage};
use crate::wire::Ground;

/// How long it is waited for at most, beyond its own limits.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) async fn run(name: &str, as_json: bool, dir: Option<&Path>) -> Result<Exit> {
    let ground = Ground::at(dir)?;
    let servers = ground.servers();
    let Some(server) = servers.only(name) else {
        let known: Vec<String> = servers.standing().into_iter().map(|one| one.name).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Usage(format!("the settings name no MCP server {name:?}; they name {known}")).into());
    };
    let began = Instant::now();
    let standing = server.look(PATIENCE).await;
    let took = began.elapsed();
    let said = standing.first().map_or(Ok(()), |one| say(one, as_json, took));
    server.close().await;
    said.map(|()| Exit::Done)
}

fn say(one: &Standing, as_json: bool, took: Duration) -> Result<()> {
    if as_json {
        let mut said = one.status.to_json();
        said["name"] = one.name.as_str().into();
        said["at"] = one.at.as_str().into();
        said["milliseconds"] = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into();
        said["instructions"] = json!(one.instructions);
        said["resources"] = one.resources.into();
        said["tools"] = json!(one.tools);
        said["prompts"] = json!(one.prompts);
        return Ok(render::say_json(&said, false)?);
    }
    let lines = [
        format!("server        {}", one.name),
        format!("at            {}", one.at),
        format!(
            "status        {}",
            one.status.to_json()["error"]
                .as_str()
                .map_or_else(|| one.status.word().to_owned(), |why| format!("{}: {why}", one.status.word()))
        ),
        format!("took          {} ms", took.as_millis()),
        format!("instructions  {}", one.instructions.as_deref().unwrap_or("none").replace('\n', " ")),
        format!("resources     {}", if one.resources { "yes" } else { "none" }),
        format!("prompts       {}", if one.prompts.is_empty() { "none".to_owned() } else { one.prompts.join(", ") }),
        format!("tools         {}", if one.tools.is_empty() { "none".to_owned() } else { one.tools.join(", ") }),
    ];
    for line in lines {
        render::say(&spelled(&line))?;
    }
    Ok(())
}
