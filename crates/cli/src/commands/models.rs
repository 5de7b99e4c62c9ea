//! `haft models`: what can be named with `--model`, what it takes and what it costs.

mod table;

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::Models;
use crate::models::{self, Listed, World};
use crate::render;
use crate::report::Exit;
use crate::wire::Ground;

pub(crate) async fn run(args: Models) -> Result<Exit> {
    let Models { vendor, json, verbose, all, refresh, dir } = args;
    let ground = Ground::at(dir.as_deref())?.heard().await?;
    if refresh {
        // The list in use is the one that was read before; the next command reads the new one.
        render::complain(&models::refresh(&ground.config, &ground.folders).await?);
        if vendor.is_none() && !json && !all {
            return Ok(Exit::Done);
        }
    }
    let world = World::here(&ground.config);
    if let Some(vendor) = vendor.as_deref() {
        models::is_vendor(vendor, &world)?;
    }
    let listed = listed(vendor.as_deref(), all, &world).await;
    if json {
        let all: Vec<Value> = listed.iter().map(described).collect();
        render::say_json(&Value::from(all), false)?;
        return Ok(Exit::Done);
    }
    let wide = verbose || render::out_is_terminal();
    let room = if render::out_is_terminal() && !verbose { render::size().columns } else { usize::MAX };
    let text = if wide { table::table(&listed, room) } else { names(&listed) };
    if !text.is_empty() {
        render::say(&text)?;
    }
    note(vendor.as_deref(), &listed, &world, wide).iter().for_each(|note| render::complain(note));
    Ok(Exit::Done)
}

async fn listed(vendor: Option<&str>, all: bool, world: &World<'_>) -> Vec<Listed> {
    let mut listed = match (vendor, all) {
        (Some(vendor), _) => models::all(Some(vendor), world),
        (None, true) => models::all(None, world),
        (None, false) => models::now(world),
    };
    // A server knows best what it has.
    let found = models::local(vendor, world).await;
    let servers: Vec<&str> = found.iter().map(|found| found.vendor.as_str()).collect();
    listed.retain(|listed| listed.source == Some("config") || !servers.contains(&listed.vendor.as_str()));
    listed.extend(found);
    listed
}

fn names(listed: &[Listed]) -> String {
    let names = listed.iter().map(|Listed { vendor, id, .. }| render::clean(&format!("{vendor}/{id}")).into_owned());
    names.collect::<Vec<_>>().join("\n")
}

fn described(listed: &Listed) -> Value {
    let mut record = listed.record.clone();
    record["source"] = json!(listed.source);
    if let Some(missing) = &listed.missing {
        record["missing"] = json!(missing);
    }
    record
}

/// What a person should know beside the list.
fn note(vendor: Option<&str>, listed: &[Listed], world: &World<'_>, wide: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match (vendor, listed.first()) {
        (Some(vendor), None) => {
            notes.push(format!("{vendor} has no model that is known, or does not answer on this machine"))
        }
        (Some(_), Some(first)) => notes.extend(first.missing.clone()),
        (None, None) => notes.push(models::NO_MODEL.to_owned()),
        (None, Some(_)) => {}
    }
    if wide
        && vendor.is_none()
        && let Some(usual) = models::usual(world)
    {
        notes.push(format!("without --model: {usual}; for titles and the like: {}", models::small(&usual, world)));
    }
    notes
}
