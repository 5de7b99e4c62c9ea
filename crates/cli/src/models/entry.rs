//! A vendor and a model as they are known: the catalogue's entry with the settings laid over it. Pure.

use std::collections::BTreeMap;

use haft_config::{ModelConfig, ProviderConfig};
use haft_llm::catalogue::{self, Interleaved, Limit, Modalities, Model, Status, Vendor};
use serde_json::{Map, Value};

use super::offered::{is_listed, is_offered};
use super::suggest::{near, question};
use super::world::World;
use crate::report::Usage;

/// Most models that are all named where another was asked for.
const FEW: usize = 8;

/// A vendor that may be asked.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) id: &'a str,
    /// What the catalogue knows of it.
    pub(super) known: Option<&'a Vendor>,
    /// What the settings say of it.
    pub(super) own: Option<&'a ProviderConfig>,
}

/// A model of one.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) model: Model,
    /// Whether the settings name it.
    pub(super) configured: bool,
    /// The variants that the settings name.
    pub(super) variants: BTreeMap<String, Map<String, Value>>,
    /// The fields that the settings put into each request; they win over all others.
    pub(super) options: Map<String, Value>,
}

impl<'a> Entry<'a> {
    /// The vendor called `id`.
    ///
    /// # Errors
    ///
    /// When nobody knows it, or the settings do not let it be asked.
    pub(super) fn of(id: &'a str, world: &World<'a>) -> Result<Self, Usage> {
        let entry = Entry { id, known: world.catalogue.vendor(id), own: world.config.providers.get(id) };
        if entry.known.is_none() && entry.own.is_none() {
            return Err(unknown(id, world));
        }
        if !is_offered(id, world.config) {
            let why = "`disabled_providers`, `enabled_providers` or `experimental.policies` of the settings";
            return Err(Usage(format!("the provider {id} is switched off by {why}")));
        }
        Ok(entry)
    }

    /// Its name for people.
    pub(super) fn name(&self) -> &'a str {
        let own = self.own.and_then(|own| own.name.as_deref());
        own.or(self.known.map(|known| known.name.as_str())).unwrap_or(self.id)
    }

    /// The variables that may hold its key.
    pub(super) fn keys(&self) -> Vec<&'a str> {
        match self.own.filter(|own| !own.env.is_empty()) {
            Some(own) => own.env.iter().map(String::as_str).collect(),
            None => self.known.map(|known| known.keys().collect()).unwrap_or_default(),
        }
    }

    /// The driver that OpenCode would load for a model of it.
    pub(super) fn driver(&self, model: &'a Model) -> Option<&'a str> {
        let single = model.provider.as_ref().and_then(|way| way.npm.as_deref());
        single.or(self.own.and_then(|own| own.npm.as_deref())).or(self.known.map(|known| known.npm.as_str()))
    }

    /// Whether it has models that no list names: a server on this machine, or at an address that the user gives.
    fn is_open(&self, world: &World<'_>) -> bool {
        let own = self.own.is_some_and(|own| own.options.base_url.is_some() || own.api.is_some());
        let told = address_variable(self.id).is_some_and(|name| (world.env)(name).is_some());
        own || told || self.known.is_some_and(Vendor::is_local)
    }

    /// What is known of the model called `id`.
    ///
    /// # Errors
    ///
    /// When it does not have one of that name, or the settings do not let it be asked.
    pub(super) fn model(&self, id: &str, world: &World<'_>) -> Result<Facts, Usage> {
        let vendor = self.id;
        if self.own.is_some_and(|own| !is_listed(id, own)) {
            let why = "`whitelist` or `blacklist`";
            return Err(Usage(format!("the model {id} is switched off by {why} of provider.{vendor} in the settings")));
        }
        let own = self.own.and_then(|own| own.models.get(id));
        // The settings may give a model of the catalogue another name.
        let listed = own.and_then(|own| own.id.as_deref()).unwrap_or(id);
        let base = self.known.and_then(|known| world.catalogue.model(&known.id, listed));
        if base.as_ref().is_some_and(|model| model.status == Status::Alpha) && !world.config.flags.experimental_models {
            return Err(Usage(format!(
                "the model {vendor}/{id} is not finished; HAFT_ENABLE_EXPERIMENTAL_MODELS=1 lets it be asked all the same"
            )));
        }
        let lists = match self.known {
            Some(known) => known.count > 0 && !self.is_open(world),
            None => self.own.is_some_and(|own| !own.models.is_empty()),
        };
        if own.is_none() && base.is_none() && lists {
            return Err(self.has_no(id, world));
        }
        Ok(facts(id, base, own))
    }

    /// All its models by the names that they are asked for, those of the settings first.
    pub(super) fn models(&self, world: &World<'_>) -> Vec<(String, Facts)> {
        let none = BTreeMap::new();
        let own = self.own.map_or(&none, |own| &own.models);
        let mut listed: BTreeMap<String, Model> =
            self.known.map(|known| world.catalogue.models(&known.id).into_iter().collect()).unwrap_or_default();
        let mut models = Vec::new();
        for (id, model) in own {
            let base = model.id.as_ref().and_then(|id| listed.get(id).cloned()).or_else(|| listed.remove(id));
            models.push((id.clone(), facts(id, base, Some(model))));
        }
        models.extend(listed.into_iter().map(|(id, model)| (id, facts("", Some(model), None))));
        models.retain(|(id, _)| self.own.is_none_or(|own| is_listed(id, own)));
        models
    }

    fn has_no(&self, id: &str, world: &World<'_>) -> Usage {
        let vendor = self.id;
        let models = self.models(world);
        let shown = models.iter().filter(|(_, facts)| facts.model.status != Status::Deprecated);
        let near: Vec<_> =
            near(id, shown.map(|(id, _)| id.as_str())).iter().map(|id| format!("{vendor}/{id}")).collect();
        let add = format!("\"provider\": {{\"{vendor}\": {{\"models\": {{\"{id}\": {{}}}}}}}}");
        match near.is_empty() {
            false => Usage(format!(
                "the provider {vendor} has no model {id:?}{} If it is new, add it to opencode.json: {add}",
                question(&near)
            )),
            true => {
                let names: Vec<&str> = models.iter().map(|(id, _)| id.as_str()).collect();
                let has = match names.len() {
                    1..=FEW => format!("it has {}", names.join(", ")),
                    _ => format!("haft models {vendor} lists those it has"),
                };
                Usage(format!(
                    "the provider {vendor} has no model {id:?}; {has}. If it is new, add it to opencode.json: {add}"
                ))
            }
        }
    }
}

/// The variable by which a vendor's own programs are told another address.
pub(super) fn address_variable(vendor: &str) -> Option<&'static str> {
    match vendor {
        "anthropic" => Some("ANTHROPIC_BASE_URL"),
        "openai" => Some("OPENAI_BASE_URL"),
        "ollama" => Some("OLLAMA_HOST"),
        "privatemode-ai" => Some("PRIVATEMODE_ENDPOINT"),
        _ => None,
    }
}

/// What is known of a model whose name is `id`, with what the settings say laid over what the catalogue does.
fn facts(id: &str, base: Option<Model>, own: Option<&ModelConfig>) -> Facts {
    let mut model = base.unwrap_or_else(|| Model { id: id.to_owned(), name: id.to_owned(), ..Model::default() });
    let Some(own) = own else {
        return Facts { model, ..Facts::default() };
    };
    let text = |place: &mut String, own: &Option<String>| {
        if let Some(own) = own {
            place.clone_from(own);
        }
    };
    text(&mut model.id, &own.id);
    text(&mut model.name, &own.name);
    text(&mut model.release_date, &own.release_date);
    model.family = own.family.clone().or(model.family);
    model.attachment = own.attachment.or(model.attachment);
    model.reasoning = own.reasoning.or(model.reasoning);
    model.temperature = own.temperature.or(model.temperature);
    model.tool_call = own.tool_call.or(model.tool_call);
    model.interleaved = own.interleaved.as_ref().map_or(model.interleaved, interleaved);
    model.limit = limit(model.limit, &own.limit);
    model.cost = match &own.cost {
        Some(own) => Some(cost(model.cost.unwrap_or_default(), own)),
        None => model.cost,
    };
    if let Some(own) = &own.modalities {
        let known = model.modalities.unwrap_or_default();
        let list = |own: &Vec<String>, known: Vec<String>| if own.is_empty() { known } else { own.clone() };
        model.modalities =
            Some(Modalities { input: list(&own.input, known.input), output: list(&own.output, known.output) });
    }
    if let Some(status) = &own.status {
        model.status = match status.as_str() {
            "alpha" => Status::Alpha,
            "beta" => Status::Beta,
            "deprecated" => Status::Deprecated,
            _ => Status::Active,
        };
    }
    if let Some(own) = &own.provider {
        let mut way = model.provider.unwrap_or_default();
        // The form belongs to the driver.
        way.shape = if own.npm.is_some() { None } else { way.shape };
        way.npm = own.npm.clone().or(way.npm);
        way.api = own.api.clone().or(way.api);
        model.provider = Some(way);
    }
    model.headers.extend(own.headers.clone());
    Facts { model, configured: true, variants: own.variants.clone(), options: own.options.clone() }
}

fn limit(known: Limit, own: &haft_config::Limit) -> Limit {
    let size = |own: u64, known: u64| if own > 0 { own } else { known };
    Limit {
        context: size(own.context, known.context),
        input: own.input.or(known.input),
        output: size(own.output, known.output),
    }
}

fn cost(known: catalogue::Cost, own: &haft_config::Prices) -> catalogue::Cost {
    let over = |known: catalogue::Prices, own: &haft_config::Prices| catalogue::Prices {
        input: own.input,
        output: own.output,
        cache_read: own.cache_read.unwrap_or(known.cache_read),
        cache_write: own.cache_write.unwrap_or(known.cache_write),
    };
    match own.context_over_200k.as_deref() {
        Some(long) => catalogue::Cost {
            usual: over(known.usual, own),
            context_over_200k: Some(over(known.context_over_200k.unwrap_or_default(), long)),
            tiers: Vec::new(),
        },
        None => catalogue::Cost { usual: over(known.usual, own), ..known },
    }
}

fn interleaved(own: &Value) -> Option<Interleaved> {
    match own {
        Value::Bool(whether) => Some(Interleaved::Whether(*whether)),
        Value::String(field) => Some(Interleaved::Field { field: field.clone() }),
        other => other.get("field")?.as_str().map(|field| Interleaved::Field { field: field.to_owned() }),
    }
}

/// Most providers of the settings that a message names.
const OWN: usize = 10;

fn unknown(vendor: &str, world: &World<'_>) -> Usage {
    let names = world.config.providers.keys().map(String::as_str);
    let names =
        names.chain(world.catalogue.vendors().iter().map(|vendor| vendor.id.as_str())).chain(["script", "replay"]);
    let near = near(vendor, names);
    let own: Vec<&str> = world.config.providers.keys().map(String::as_str).take(OWN).collect();
    let next = match own.as_slice() {
        [] => {
            "haft models --all lists those it knows. Add one of your own to opencode.json under `provider`".to_owned()
        }
        own => format!("the settings have {}, and haft models --all lists what else it knows", own.join(", ")),
    };
    match near.is_empty() {
        false => Usage(format!("there is no provider {vendor:?}{} {next}", question(&near))),
        true => Usage(format!("there is no provider {vendor:?}; {next}")),
    }
}

#[cfg(test)]
mod tests;
