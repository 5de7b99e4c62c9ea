//! `haft debug agents`: every agent as it is used, with its rules in their order.

use anyhow::Result;
use serde_json::Value;

use crate::agents;
use crate::args::DebugAgents;
use crate::render;
use crate::report::{Exit, Usage};
use crate::wire::Ground;

pub(crate) fn run(args: &DebugAgents) -> Result<Exit> {
    let all = agents::all(&Ground::at(args.dir.as_deref())?)?;
    let shown = match &args.name {
        None => Value::from(all.all().iter().map(agents::described).collect::<Vec<_>>()),
        Some(name) => match all.get(name) {
            Some(agent) => agents::described(agent),
            None => return Err(Usage(format!("there is no agent {name:?}; see `haft agent list`")).into()),
        },
    };
    render::say(&format!("{shown:#}"))?;
    Ok(Exit::Done)
}
