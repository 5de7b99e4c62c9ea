//! `haft models`: what can be named with `--model`.

use anyhow::Result;
use haft_llm::catalogue;
use serde_json::{Value, json};

use crate::args::Models;
use crate::models::{self, Listed};
use crate::render;
use crate::report::{Exit, Usage};
use crate::wire::Ground;

pub(crate) async fn run(args: Models) -> Result<Exit> {
    let Models { vendor, json, dir } = args;
    let ground = Ground::at(dir.as_deref())?;
    let config = &ground.config;
    if let Some(vendor) = vendor.as_deref().filter(|vendor| !is_vendor(vendor, config)) {
        return Err(Usage(format!("there is no provider {vendor:?}; add it to opencode.json under `provider`")).into());
    }
    let mut listed = models::configured(config);
    // Who has configured something has said whom to ask; servers on this machine are asked when they are named.
    let named = vendor.as_deref().and_then(catalogue::vendor).is_some_and(catalogue::Vendor::is_local);
    if named || listed.is_empty() && vendor.is_none() {
        listed.extend(models::found(vendor.as_deref(), config).await);
    }
    listed.retain(|one| vendor.as_deref().is_none_or(|vendor| one.vendor == vendor));
    if json {
        let all: Vec<Value> = listed.iter().map(described).collect();
        render::say_json(&Value::from(all), false)?;
        return Ok(Exit::Done);
    }
    for Listed { vendor, id, .. } in &listed {
        render::say(&render::clean(&format!("{vendor}/{id}")))?;
    }
    if let Some(note) = note(vendor.as_deref(), listed.is_empty(), config) {
        render::complain(&note);
    }
    Ok(Exit::Done)
}

fn is_vendor(vendor: &str, config: &haft_config::Config) -> bool {
    config.providers.contains_key(vendor) || catalogue::vendor(vendor).is_some()
}

fn described(listed: &Listed) -> Value {
    let Listed { vendor, id, name, source } = listed;
    json!({ "id": format!("{vendor}/{id}"), "name": name, "source": source })
}

/// What a person should know beside the list.
fn note(vendor: Option<&str>, empty: bool, config: &haft_config::Config) -> Option<String> {
    let known = vendor.and_then(catalogue::vendor);
    match (known, models::keyed(config)) {
        (Some(known), _) if known.is_local() => {
            empty.then(|| format!("{} does not answer on this machine, or has no model yet", known.name))
        }
        (Some(known), _) => Some(format!("any model of {} can be named: --model {}/MODEL", known.name, known.id)),
        (None, Some((vendor, key))) => {
            Some(format!("{key} is set, so any model of {vendor} can be named: --model {vendor}/MODEL"))
        }
        (None, None) => empty.then(|| models::NO_MODEL.to_owned()),
    }
}
