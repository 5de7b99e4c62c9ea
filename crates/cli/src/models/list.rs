//! The models that can be named, as lists show them.

use haft_llm::catalogue::Model;
use haft_llm::local::{Found, LocalModel};
use serde_json::Value;

use super::entry::{Entry, Facts};
use super::offered::{is_offered, is_shown};
use super::pick::{askable, because, usable};
use super::way::{Way, reach};
use super::world::World;
use super::{found, record};
use crate::report::Usage;

/// A model that can be named.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) vendor: String,
    pub(crate) id: String,
    pub(crate) model: Model,
    /// Why it can be asked now; `None`: it cannot, and what is missing stands in `missing`.
    pub(crate) source: Option<&'static str>,
    pub(crate) missing: Option<String>,
    /// All that is known of it, as OpenCode writes it.
    pub(crate) record: Value,
}

impl Listed {
    fn of(entry: &Entry<'_>, id: String, facts: Facts, source: Option<&'static str>, world: &World<'_>) -> Self {
        let way = reach(entry, &id, facts.clone(), None, world);
        let model = way.as_ref().map_or(facts.model, |way| way.model.clone());
        let record = record::of(entry.id, &id, &model, entry.driver(&model), way.as_ref().ok());
        let (source, missing) = match way {
            Ok(_) => (source, None),
            Err(Usage(missing)) => (None, Some(missing)),
        };
        Listed { vendor: entry.id.to_owned(), id, model, source, missing, record }
    }
}

/// What can be asked now: models of vendors that the settings name, that the user signed in to or has a key of, and that
/// cost nothing. Servers on this machine are not asked.
pub(crate) fn now(world: &World<'_>) -> Vec<Listed> {
    let all = usable(world).into_iter().flat_map(|(entry, because)| {
        let models = askable(&entry, &because, world);
        models.into_iter().map(move |(id, facts)| {
            let configured = facts.configured;
            (configured, Listed::of(&entry, id, facts, Some(because.word()), world))
        })
    });
    // What the settings name stands there also where something is missing: it says what.
    all.filter(|(configured, listed)| *configured || listed.source.is_some()).map(|(_, listed)| listed).collect()
}

/// All models of `vendor`, or of all vendors, whether they can be asked now or not.
pub(crate) fn all(vendor: Option<&str>, world: &World<'_>) -> Vec<Listed> {
    let known = world.catalogue.vendors().iter().map(|vendor| vendor.id.as_str());
    let own = world.config.providers.keys().map(String::as_str);
    let ids = own.chain(known.filter(|id| !world.config.providers.contains_key(*id)));
    let ids = ids.filter(|id| vendor.is_none_or(|vendor| vendor == *id) && is_offered(id, world.config));
    let entries = ids.filter_map(|id| Entry::of(id, world).ok());
    let models = entries.flat_map(|entry| {
        let word = because(&entry, world).map(|because| because.word()).or(Some("local"));
        let shown = move |(_, facts): &(String, Facts)| facts.configured || is_shown(&facts.model, world.config);
        entry.models(world).into_iter().filter(shown).map(move |(id, facts)| Listed::of(&entry, id, facts, word, world))
    });
    models.collect()
}

/// The models of the servers that answer on this machine, or of that of `vendor` alone.
pub(crate) async fn local(vendor: Option<&str>, world: &World<'_>) -> Vec<Listed> {
    let servers = found::servers(vendor, world).await;
    let models = servers.iter().flat_map(|server| server.models.iter().map(move |model| (server, model)));
    models.map(|(server, model)| found_model(server, model)).collect()
}

fn found_model(server: &Found, local: &LocalModel) -> Listed {
    let model = facts(local);
    let driver = Some("@ai-sdk/openai-compatible");
    let mut record = record::of(&server.vendor, &local.id, &model, driver, None);
    record["api"]["url"] = server.base_url.clone().into();
    Listed { vendor: server.vendor.clone(), id: local.id.clone(), model, source: Some("local"), missing: None, record }
}

/// What a server says of its model in the words of the catalogue.
pub(super) fn facts(local: &LocalModel) -> Model {
    let mut model = Model { id: local.id.clone(), name: local.id.clone(), ..Model::default() };
    model.limit.context = local.context.unwrap_or(0);
    model.tool_call = local.tools;
    model.reasoning = local.thinks;
    if let Some(images) = local.images {
        let input = if images { vec!["text", "image"] } else { vec!["text"] };
        let input = input.into_iter().map(str::to_owned).collect();
        model.modalities = Some(haft_llm::catalogue::Modalities { input, output: vec!["text".to_owned()] });
    }
    model
}

/// The way to a model, for whoever shows it.
pub(super) fn url(way: Option<&Way>) -> &str {
    way.map_or("", |way| way.server.base_url.as_str())
}
