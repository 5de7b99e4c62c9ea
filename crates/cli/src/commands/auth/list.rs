//! `haft auth list`: what is stored, and which keys are in the environment. Never the keys.

use anyhow::Result;
use haft_config::Config;
use haft_vault::{Entry, OAuth};
use serde_json::{Map, Value, json};

use super::vendors;
use crate::folders::Folders;
use crate::render::{self, spelled};
use crate::report::Exit;
use crate::{keys, wire};

pub(super) fn run(as_json: bool) -> Result<Exit> {
    let folders = Folders::find()?;
    let vault = keys::vault(&folders)?;
    let found = vault.entries()?;
    if let Some(notice) = &found.notice {
        render::complain(&format!("warning: {notice}"));
    }
    let place = match (vault.path(), keys::given()) {
        (Some(path), _) => path.display().to_string(),
        (None, Some((name, _))) => name.to_owned(),
        (None, None) => String::new(),
    };
    let environment =
        in_environment(&settings(&folders), |name| std::env::var_os(name).is_some_and(|it| !it.is_empty()));
    if as_json {
        let stored: Vec<Value> = found.all.iter().map(|(id, entry)| described(id, entry)).collect();
        let environment: Vec<Value> =
            environment.iter().map(|(id, variable)| json!({ "id": id, "variable": variable })).collect();
        let value = json!({ "file": place, "stored": stored, "environment": environment });
        render::say_json(&value, false)?;
        return Ok(Exit::Done);
    }
    let wide = found.all.keys().chain(environment.iter().map(|(id, _)| id)).map(String::len).max().unwrap_or_default();
    for (id, entry) in &found.all {
        render::say(&spelled(&format!("{id:wide$}  {}", told(entry))))?;
    }
    for (id, variable) in &environment {
        render::say(&spelled(&format!("{id:wide$}  in the environment: {variable}")))?;
    }
    match (found.all.len(), environment.is_empty()) {
        (0, true) => {
            render::complain("no key is stored, and none is in the environment; `haft auth login` stores one");
            let theirs = super::import::theirs(&folders);
            if theirs.exists() {
                render::complain(&format!(
                    "OpenCode keeps some in {}: `haft auth login --import-opencode`",
                    theirs.display()
                ));
            }
        }
        (0, false) => {}
        _ => render::complain(&format!("stored in {place}")),
    }
    Ok(Exit::Done)
}

/// The settings, for the vendors in them. Without them the list is a little shorter.
fn settings(folders: &Folders) -> Config {
    let config = wire::place(None)
        .and_then(|place| Ok(haft_config::load(&wire::sources(folders, &place), haft_config::Trust::Withheld)?));
    config.unwrap_or_default()
}

/// The vendors whose key is in the environment, and the variable.
fn in_environment(config: &Config, is_set: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let known = vendors::known(config).into_iter();
    let mut all: Vec<_> =
        known.filter_map(|known| Some((known.id, known.keys.into_iter().find(|key| is_set(key))?))).collect();
    all.sort();
    all
}

/// What `entry` is, for people.
fn told(entry: &Entry) -> String {
    match entry {
        Entry::Api(api) if api.metadata.is_empty() => "a key".to_owned(),
        Entry::Api(api) => format!("a key, with {}", api.metadata.keys().cloned().collect::<Vec<_>>().join(", ")),
        Entry::OAuth(OAuth { account_id, enterprise_url, .. }) => {
            let who = account_id.as_deref().map(|account| format!(" as {account}")).unwrap_or_default();
            let place = enterprise_url.as_deref().map(|server| format!(" at {server}")).unwrap_or_default();
            format!("signed in{who}{place}")
        }
        Entry::WellKnown(known) => {
            let settings = if known.config.is_some() { ", and its settings" } else { "" };
            format!("an organisation's token for {}{settings}", known.key)
        }
        Entry::Elsewhere => "in the system's keyring".to_owned(),
        Entry::Other(_) => "something that this haft does not know".to_owned(),
    }
}

/// The same for programs.
fn described(id: &str, entry: &Entry) -> Value {
    let mut fields = Map::new();
    fields.insert("id".to_owned(), id.into());
    fields.insert("type".to_owned(), entry.kind().into());
    match entry {
        Entry::Api(api) => drop(fields.insert("metadata".to_owned(), api.metadata.clone().into())),
        Entry::OAuth(OAuth { expires, account_id, enterprise_url, .. }) => {
            fields.insert("expires".to_owned(), (*expires).into());
            fields.insert("accountId".to_owned(), account_id.clone().into());
            fields.insert("enterpriseUrl".to_owned(), enterprise_url.clone().into());
        }
        Entry::WellKnown(known) => drop(fields.insert("variable".to_owned(), known.key.clone().into())),
        Entry::Elsewhere | Entry::Other(_) => {}
    }
    Value::Object(fields)
}
