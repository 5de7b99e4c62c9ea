//! What `client` tells of the program itself, and the little that is said to it.

use std::collections::{BTreeMap, BTreeSet};

use haft_config::{Secrets, Trust};
use haft_session::Command;
use serde_json::{Map, Value, json};

use super::{Asked, Backstage, Failed};
use crate::commands::command;
use crate::keys::{self, keys};
use crate::models::{self, Listed};
use crate::{agents, render, signed_in};

/// Longest line of a plug-in's log, in characters.
const MAX_LOG: usize = 16 * 1024;
/// Longest toast, in characters.
const MAX_TOAST: usize = 500;

impl Backstage {
    /// What is so; `None`: it is no such function.
    pub(super) async fn told(&self, asked: Asked<'_>) -> Option<Result<Value, Failed>> {
        Some(match asked.path {
            "app.log" => Ok(log(asked)),
            "app.agents" => self.agents(),
            "auth.set" => self.sign_in(asked),
            "command.list" => self.commands(),
            "config.get" => self.settings(),
            "config.providers" => self.vendors().map(|vendors| vendors.configured()),
            "mcp.status" => self.servers(),
            "path.get" => Ok(self.paths()),
            "project.current" => Ok(self.project()),
            "provider.list" => self.vendors().map(|vendors| vendors.listed()),
            "tool.ids" => self.tools().map(|tools| tools.keys().cloned().collect()),
            "tool.list" => self.tools().map(|tools| tools.into_values().collect()),
            "tui.showToast" => Ok(self.toast(asked)),
            "vcs.get" => self.branch(asked).await,
            _ => return None,
        })
    }

    fn agents(&self) -> Result<Value, Failed> {
        Ok(self.house()?.setup.agents.all().iter().map(agents::described).collect())
    }

    fn commands(&self) -> Result<Value, Failed> {
        let options = self.house()?.setup.options;
        let foreign = options.prompts.iter().flat_map(|prompts| prompts.all()).map(|(name, about)| Command {
            name,
            description: Some(about),
            foreign: true,
            ..Command::default()
        });
        let all = foreign.chain(haft_session::builtin_commands()).chain(options.commands.iter().cloned());
        let all: BTreeMap<String, Value> = all.map(|one| (one.name.clone(), command::described(&one))).collect();
        Ok(all.into_values().collect())
    }

    fn tools(&self) -> Result<BTreeMap<String, Value>, Failed> {
        let setup = self.house()?.setup;
        let specs = setup.registry.now().offered(&setup.model.api_id, |_| true).specs();
        let tool = |spec: haft_tool::Spec| {
            let described = json!({ "id": spec.name, "description": spec.description, "parameters": spec.parameters });
            (spec.name, described)
        };
        Ok(specs.into_iter().map(tool).collect())
    }

    fn servers(&self) -> Result<Value, Failed> {
        let standing = self.house()?.servers.standing();
        let all: Map<String, Value> = standing.into_iter().map(|one| (one.name, one.status.to_json())).collect();
        Ok(all.into())
    }

    fn vendors(&self) -> Result<Vendors, Failed> {
        let house = self.house()?;
        let mut all: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        for Listed { vendor, id, record, .. } in models::now(&models::World::here(&house.config)) {
            all.entry(vendor).or_default().insert(id, bare(record));
        }
        let usual = house.setup.model.reference;
        Ok(Vendors { all, usual: json!({ usual.provider_id: usual.model_id }) })
    }

    fn settings(&self) -> Result<Value, Failed> {
        let sources = crate::wire::sources(&self.folders, &self.place);
        let trust = if self.trusted { Trust::Given } else { Trust::Withheld };
        let shown = haft_config::show(&sources, Secrets::Hidden, trust);
        shown.map(|shown| shown.config).map_err(|error| Failed::refused(error.to_string()))
    }

    fn sign_in(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let Asked { plugin, args, .. } = asked;
        let vendor = args.text("id").unwrap_or_default();
        let own = keys().by_plugin(&vendor, plugin).is_some();
        let body = args.body().filter(|_| own).and_then(|body| signed_in::entry(body, plugin));
        let refused = || Failed::refused(format!("{vendor} was not signed in to with {plugin}"));
        let (entry, vault) = (body.ok_or_else(refused)?, keys::vault(&self.folders));
        let put = vault.and_then(|vault| Ok(vault.put(&vendor, &entry)?));
        put.map(|_| true.into()).map_err(|error| Failed::refused(format!("{error:#}")))
    }

    fn paths(&self) -> Value {
        json!({
            "home": self.folders.home, "state": self.folders.state, "config": self.folders.config_home.join("haft"),
            "worktree": self.place.worktree.as_ref().unwrap_or(&self.place.directory),
            "directory": self.place.directory,
        })
    }

    fn project(&self) -> Value {
        json!({
            "id": self.place.project_id, "vcs": self.place.worktree.as_ref().map(|_| "git"), "time": { "created": 0 },
            "worktree": self.place.worktree.as_ref().unwrap_or(&self.place.directory),
        })
    }

    /// The branch that the work tree is on, where it has a repository of its own.
    async fn branch(&self, asked: Asked<'_>) -> Result<Value, Failed> {
        let Some(top) = &self.place.worktree else { return Ok(json!({})) };
        let head = json!({ "path": top.join(".git/HEAD"), "as": "text" });
        let head = match asked.world.perform("fs.read", head).await {
            Ok(head) => head,
            Err(why) if why.code.as_deref() == Some("EACCES") => return Err(Failed::Refused(why)),
            Err(_) => return Ok(json!({})),
        };
        let head = head.get("text").and_then(Value::as_str).unwrap_or_default();
        Ok(head.trim().strip_prefix("ref: refs/heads/").map_or_else(|| json!({}), |branch| json!({ "branch": branch })))
    }

    fn toast(&self, asked: Asked<'_>) -> Value {
        let text = |key: &str| asked.args.text(key).unwrap_or_default();
        let shown: String = [text("title"), text("message")].join(" ").trim().chars().take(MAX_TOAST).collect();
        if self.tally.toast() {
            render::complain(&format!("* {}", render::spelled(&shown).replace('\n', " ")));
        }
        true.into()
    }
}

fn log(asked: Asked<'_>) -> Value {
    let Asked { plugin, args, .. } = asked;
    let text = |key: &str| args.text(key).unwrap_or_default().chars().take(MAX_LOG).collect::<String>();
    let (service, message) = (text("service"), text("message"));
    let extra: String = args.get("extra").map(Value::to_string).unwrap_or_default();
    let extra: String = extra.chars().take(MAX_LOG).collect();
    match text("level").as_str() {
        "error" | "warn" => tracing::warn!(plugin, service, extra, "{message}"),
        "debug" => tracing::debug!(plugin, service, extra, "{message}"),
        _ => tracing::info!(plugin, service, extra, "{message}"),
    }
    true.into()
}

/// The vendors whose models can be asked, with these.
struct Vendors {
    all: BTreeMap<String, Map<String, Value>>,
    usual: Value,
}

impl Vendors {
    fn all(&self) -> Value {
        let vendor = |(id, models): (&String, &Map<String, Value>)| json!({ "id": id, "name": id, "source": "config", "env": [], "options": {}, "models": models });
        self.all.iter().map(vendor).collect()
    }

    fn configured(&self) -> Value {
        json!({ "providers": self.all(), "default": self.usual })
    }

    fn listed(&self) -> Value {
        let connected: BTreeSet<&String> = self.all.keys().collect();
        json!({ "all": self.all(), "default": self.usual, "connected": connected })
    }
}

/// The record of a model without what the settings say of it, in which there may be keys.
fn bare(mut record: Value) -> Value {
    if let Value::Object(fields) = &mut record {
        for name in ["options", "headers"] {
            fields.insert(name.to_owned(), json!({}));
        }
        if let Some(Value::Object(variants)) = fields.get_mut("variants") {
            variants.values_mut().for_each(|variant| *variant = json!({}));
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_own_settings_are_not_shown() {
        let record = json!({ "id": "m", "options": { "apiKey": "k" }, "headers": { "x": "k" }, "variants": { "high": { "a": "k" } } });
        assert_eq!(bare(record), json!({ "id": "m", "options": {}, "headers": {}, "variants": { "high": {} } }));
    }
}
