//! `haft agent`: the agents that can be named, and new ones.

mod create;

use anyhow::Result;
use haft_session::Agent;
use serde_json::Value;

use crate::agents;
use crate::args;
use crate::render::{self, spelled};
use crate::report::Exit;
use crate::wire::Ground;

pub(crate) async fn run(command: args::Agent) -> Result<Exit> {
    match command {
        args::Agent::List { json, dir } => {
            let agents = agents::all(&Ground::at(dir.as_deref())?.heard().await?)?;
            list(agents.all(), json)
        }
        args::Agent::Create(args) => create::run(args).await,
    }
}

fn list(agents: &[Agent], json: bool) -> Result<Exit> {
    if json {
        let all: Vec<Value> = agents.iter().map(agents::described).collect();
        render::say_json(&Value::from(all), false)?;
        return Ok(Exit::Done);
    }
    let shown: Vec<&Agent> = agents.iter().filter(|agent| !agent.hidden).collect();
    let width = shown.iter().map(|agent| agent.name.chars().count()).max().unwrap_or_default();
    for agent in shown {
        let description = agent.description.as_deref().unwrap_or_default();
        // Files of a project say what stands here.
        let line = format!("{:width$}  {:8}  {}", agent.name, agent.mode.word(), description.replace('\n', " "));
        render::say(&spelled(line.trim_end()))?;
    }
    Ok(Exit::Done)
}
