//! `haft debug agents`: every agent as it is used, with its rules in their order.

use anyhow::Result;
use serde_json::Value;

use crate::agents;
use crate::args::DebugAgents;
use crate::render;
use crate::report::Exit;
use crate::wire::Ground;

pub(crate) async fn run(args: &DebugAgents) -> Result<Exit> {
    let all = agents::all(&Ground::at(args.dir.as_deref())?.heard().await?)?;
    let shown = match &args.name {
        None => Value::from(all.all().iter().map(agents::described).collect::<Vec<_>>()),
        Some(name) => agents::described(agents::named(&all, Some(name))?),
    };
    render::say_json(&shown, true)?;
    Ok(Exit::Done)
}
