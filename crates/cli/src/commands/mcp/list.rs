//! `haft mcp list`: which servers there are, and how each is doing.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use haft_mcp::client::Standing;
use haft_mcp::client::status::Status;
use serde_json::{Map, Value, json};

use crate::render::{self, spelled};
use crate::report::Exit;
use crate::wire::Ground;

/// How long all of them together are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn run(as_json: bool, offhand: bool, dir: Option<&Path>) -> Result<Exit> {
    let ground = Ground::at(dir)?;
    let servers = ground.servers();
    let standing = if offhand { servers.standing() } else { servers.look(PATIENCE).await };
    let said = if as_json { json_of(&standing) } else { lines(&standing) };
    servers.close().await;
    said
}

fn json_of(standing: &[Standing]) -> Result<Exit> {
    let one = |one: &Standing| {
        let mut said = one.status.to_json();
        said["at"] = one.at.as_str().into();
        said["tools"] = json!(one.tools);
        said["prompts"] = json!(one.prompts);
        (one.name.clone(), said)
    };
    let all: Map<String, Value> = standing.iter().map(one).collect();
    render::say_json(&all.into(), false)?;
    Ok(Exit::Done)
}

fn lines(standing: &[Standing]) -> Result<Exit> {
    if standing.is_empty() {
        render::complain("the settings name no MCP servers; `haft mcp add NAME -- COMMAND` adds one");
    }
    let width = standing.iter().map(|one| one.name.chars().count()).max().unwrap_or_default();
    for one in standing {
        // Servers and files of a project say what stands here.
        render::say(&spelled(&format!("{} {:width$}  {}", sign(&one.status), one.name, words(one))))?;
        render::say(&spelled(&format!("  {:width$}  {}", "", one.at)))?;
    }
    Ok(Exit::Done)
}

fn sign(status: &Status) -> char {
    match status {
        Status::Connected => '✓',
        Status::Disabled | Status::Idle { .. } | Status::Connecting => '○',
        Status::NeedsAuth | Status::NeedsRegistration(_) => '⚠',
        Status::Failed(_) => '✗',
    }
}

fn words(one: &Standing) -> String {
    let count = one.tools.len();
    match &one.status {
        Status::Connected => format!("connected, {count} tools"),
        Status::Idle { known: true } => format!("not needed yet, {count} tools known"),
        Status::Idle { known: false } => "not needed yet".to_owned(),
        Status::Connecting => "has not answered yet".to_owned(),
        Status::Disabled => "switched off".to_owned(),
        Status::NeedsAuth => format!("wants you to sign in: haft mcp auth {}", one.name),
        Status::NeedsRegistration(why) => format!("lets nobody sign in who is not registered: {why}"),
        Status::Failed(why) => format!("failed: {why}"),
    }
}
