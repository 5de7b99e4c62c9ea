//! From a model's name to the way to it.

mod entry;
mod found;
mod list;
mod offered;
mod pick;
mod recent;
mod record;
mod refresh;
mod stored;
mod suggest;
mod way;
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use haft_config::Config;
use haft_llm::catalogue::{self, Dialect};
use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::dialect::converse::Converse;
use haft_llm::dialect::gemini::Gemini;
use haft_llm::dialect::messages::Messages;
use haft_llm::dialect::responses::Responses;
use haft_llm::local::{self, LocalModel};
use haft_llm::{Provider, Recorder, Replay, Script};
use haft_protocol::ModelRef;
use haft_session::{Cost, Limits, Model, Setup, Tier, Toolset};

use crate::folders::Folders;
use crate::render;
use crate::report::Usage;
use entry::Entry;
use offered::is_offered;
use suggest::{near, question};
use way::{Way, way};

pub(crate) use list::{Listed, all, local, now};
pub(crate) use refresh::refresh;
pub(crate) use world::{World, catalogue as list_of_models};

/// What a person reads where there is no model to ask, in a chat.
pub(crate) const NO_MODEL_YET: &str = "\
No model can be asked yet. One of these will do:
  /connect                       a key, or a subscription you have
  a server on this machine       start Ollama, LM Studio, llama.cpp or vLLM, then say something
  /models opencode/big-pickle    a model that costs nothing
  opencode.json                  any OpenAI-compatible server (README, \"A model of your own\")
To see it work first, without a key: leave with /exit, then  haft demo";

/// What a person reads where there is no model to ask.
pub(crate) const NO_MODEL: &str = "\
no model is configured yet, and no model server answers on this machine. One of these will do:
  1. see it work first, without a key:  haft demo
  2. a key, or a subscription:          haft auth login   (or in the environment: ANTHROPIC_API_KEY=… haft run …)
  3. a server on this machine:          start Ollama, LM Studio, llama.cpp or vLLM, and run the same again
  4. a model that costs nothing:        haft run --model opencode/big-pickle \"…\"   (haft models lists others)
  5. any OpenAI-compatible server:      put it into opencode.json (README, \"A model of your own\")
  6. a written scenario:                haft run --model script/FILE \"…\"";

/// Finds the model called `named`, else the configured one, else the one used last, else the best one of a vendor that the
/// user has a key of, else one on this machine; the settings of its `variant` are laid over its own.
///
/// Servers on this machine are asked for their models only when nothing is named, nothing is configured, and no key is
/// there; and the one whose model was found for its context, where nobody else says it. No other host is asked for
/// anything.
///
/// # Errors
///
/// When there is none, or it cannot be reached the way it is configured.
pub(crate) async fn find(named: Option<&str>, variant: Option<&str>, config: &Config) -> Result<Model> {
    let world = World::here(config);
    if let Some(named) = named {
        let model = open(named, variant, &world)?;
        tell(named, &world);
        return known_to_its_server(model, variant, &world).await;
    }
    if let Some(picked) = pick::pick(&world, &recent()) {
        let model = known_to_its_server(open(&picked.named, variant, &world)?, variant, &world).await?;
        tell(&picked.named, &world);
        picked.told.iter().for_each(|told| render::complain(told));
        return Ok(model);
    }
    if config.providers.is_empty() {
        let servers = found::servers(None, &world).await;
        if let Some((found, told, facts)) = found::first(&servers, &recent()) {
            let model = open_as_found(&found, variant, facts, &world)?;
            render::complain(&told);
            return Ok(model);
        }
    }
    Err(Usage(none(&world)).into())
}

/// `model` with what its server says of it, if that is one on this machine and nobody else says how much it reads.
async fn known_to_its_server(model: Model, variant: Option<&str>, world: &World<'_>) -> Result<Model> {
    if model.limits.context > 0 {
        return Ok(model);
    }
    match found::told(&model.reference, world).await {
        Some(facts) => open_as_found(&model.reference, variant, &facts, world),
        None => Ok(model),
    }
}

/// The same as [`open`], with what the model's server says of it where the settings say nothing.
fn open_as_found(model: &ModelRef, variant: Option<&str>, facts: &LocalModel, world: &World<'_>) -> Result<Model> {
    let ModelRef { provider_id, model_id } = model;
    let config = found::laid_under(world.config, model, facts);
    open(&format!("{provider_id}/{model_id}"), variant, &World { config: &config, ..*world })
}

/// Finds the model called `named`, else the one that would be asked. Asks nobody.
///
/// # Errors
///
/// When there is none, or it cannot be reached the way it is configured.
pub(crate) fn choose(named: Option<&str>, config: &Config) -> Result<Model> {
    let world = World::here(config);
    match named {
        Some(named) => open(named, None, &world),
        None => {
            let picked = pick::pick(&world, &recent()).ok_or_else(|| Usage(none(&world)))?;
            open(&picked.named, None, &world)
        }
    }
}

/// Looks whether the model called `named` can be asked with the options of `variant`. Asks nobody.
///
/// # Errors
///
/// When it cannot be reached the way it is configured.
pub(crate) fn check(named: &str, variant: Option<&str>, config: &Config) -> Result<()> {
    open(named, variant, &World::here(config)).map(drop)
}

/// The named sets of options of the model called `named`. None where it cannot be reached.
pub(crate) fn variants(named: &str, config: &Config) -> Vec<String> {
    let way = named.split_once('/').and_then(|(vendor, id)| way(vendor, id, None, &World::here(config)).ok());
    way.into_iter().flat_map(|way| way.variants).map(|(name, _)| name).collect()
}

/// The model for titles and the like beside the one called `main`, as `VENDOR/MODEL`: what is configured, else a small
/// one of the same vendor, else `main` itself. Asks nobody.
pub(crate) fn small(main: &str, world: &World<'_>) -> String {
    pick::small(main, world)
}

/// The model that finds titles for sessions with `main`, if one is to. Asks nobody.
///
/// What plays written answers plays those for titles too, if there are any. A server on this machine mostly answers one
/// after the other, and would hold the answer up: it is asked only where the settings name it for that.
pub(crate) fn for_titles(main: &Model, config: &Config) -> Option<Model> {
    if matches!(main.reference.provider_id.as_str(), "script" | "replay") {
        return Some(main.clone());
    }
    let world = World::here(config);
    let named = small(&main.name(), &world);
    let (vendor, id) = named.split_once('/')?;
    let is_here = || way(vendor, id, None, &world).is_ok_and(|way| is_here(&way.server.base_url));
    if config.small_model.as_deref() != Some(named.as_str()) && is_here() {
        return None;
    }
    if named == main.name() {
        return Some(main.clone());
    }
    open(&named, None, &world)
        .inspect_err(|error| tracing::warn!(named, error = format!("{error:#}"), "no model for titles"))
        .ok()
}

/// Whether `address` is one of this machine.
fn is_here(address: &str) -> bool {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    host.starts_with("127.") || host.starts_with("[::1]") || host.split(':').next() == Some("localhost")
}

/// The model that is asked where none is named, as `VENDOR/MODEL`, if there is one without asking servers on this machine.
pub(crate) fn usual(world: &World<'_>) -> Option<String> {
    pick::pick(world, &recent()).map(|picked| picked.named)
}

/// Remembers that the user named `model` and it answered, so that it is asked again where none is named. One that plays
/// what was written is not asked so.
pub(crate) fn remember(model: &ModelRef, folders: &Folders) {
    if matches!(model.provider_id.as_str(), "script" | "replay") {
        return;
    }
    // The run went well without it.
    if let Err(error) = recent::keep(folders, model) {
        tracing::warn!(error = format!("{error:#}"), "the model is not remembered");
    }
}

/// The models that were named last.
fn recent() -> Vec<String> {
    Folders::find().map(|folders| recent::recent(&folders)).unwrap_or_default()
}

/// Says what a person should know of the model that they named.
fn tell(named: &str, world: &World<'_>) {
    let way = named.split_once('/').and_then(|(vendor, id)| way(vendor, id, None, world).ok());
    if let Some(note) = way.and_then(|way| way.note) {
        render::complain(&format!("! {note}"));
    }
}

/// The models that the settings know, for sessions that change from one to another.
pub(crate) struct Known(pub Config);

impl haft_session::Models for Known {
    fn find(&self, name: &str, variant: Option<&str>) -> Result<Model, String> {
        open(name, variant, &World::here(&self.0)).map_err(|error| format!("{error:#}"))
    }
}

fn open(named: &str, variant: Option<&str>, world: &World<'_>) -> Result<Model> {
    let parts = named.split_once('/').filter(|(vendor, id)| !vendor.is_empty() && !id.is_empty());
    let (vendor, id) = parts.ok_or_else(|| Usage(without_vendor(named, world)))?;
    match vendor {
        "script" => Ok(played(vendor, id, Arc::new(Script::open(Path::new(id))?))),
        "replay" => Ok(played(vendor, id, Arc::new(Replay::open(Path::new(id))?))),
        _ => connect(vendor, id, way(vendor, id, variant, world)?, world.config),
    }
}

/// What to say to somebody who named a model without its vendor: who has one of that name, those first that can be asked
/// now, then those who made it.
fn without_vendor(named: &str, world: &World<'_>) -> String {
    let vendor = named.trim_end_matches('/');
    if is_vendor(vendor, world).is_ok() {
        return format!("{named:?} is a vendor; name a model of it as {vendor}/MODEL: haft models {vendor} lists them");
    }
    let told = format!("a model is named VENDOR/MODEL, such as openai/gpt-5.1 or script/FILE, not {named:?}");
    let mut found: Vec<String> = Vec::new();
    let usable: Vec<Entry<'_>> = pick::meant(world).into_iter().map(|(entry, _)| entry).collect();
    let makers = ["anthropic", "openai", "google", "xai", "deepseek", "mistral", "moonshotai", "zai", "alibaba"];
    let first = usable.iter().map(|entry| entry.id).chain(makers);
    let rest = world.catalogue.vendors().iter().map(|vendor| vendor.id.as_str());
    let mut order: Vec<&str> = Vec::new();
    for id in first.chain(rest).filter(|id| is_offered(id, world.config)) {
        if !order.contains(&id) {
            order.push(id);
        }
    }
    let mut likely: Vec<(String, String)> = Vec::new();
    for entry in order.into_iter().filter_map(|id| Entry::of(id, world).ok()) {
        let models = entry.models(world);
        if models.iter().any(|(id, _)| id.eq_ignore_ascii_case(named)) {
            found.push(format!("{}/{named}", entry.id));
        } else if found.is_empty() && likely.len() < MOST_LIKELY {
            let one = near(named, models.iter().map(|(id, _)| id.as_str())).into_iter().next();
            likely.extend(one.map(|id| (id.clone(), format!("{}/{id}", entry.id))));
        }
        if found.len() == MOST_NAMED {
            break;
        }
    }
    if found.is_empty() {
        let best = near(named, likely.iter().map(|(id, _)| id.as_str()));
        found = best
            .iter()
            .filter_map(|id| likely.iter().find(|(one, _)| one == id))
            .map(|(_, named)| named.clone())
            .collect();
    }
    format!("{told}{}", question(&found))
}

/// Most names that are suggested.
const MOST_NAMED: usize = 3;
/// Most names, one of each vendor, that those are chosen from.
const MOST_LIKELY: usize = 200;

/// Whether somebody of that name can have models.
pub(crate) fn is_vendor(vendor: &str, world: &World<'_>) -> Result<(), Usage> {
    Entry::of(vendor, world).map(|_| ())
}

/// The vendors that can be asked without any settings: those whose key is in the environment or stored, and servers on
/// this machine.
pub(crate) fn reachable() -> BTreeSet<String> {
    let config = Config::default();
    pick::reachable(&World::here(&config)).into_iter().map(str::to_owned).collect()
}

/// Names of the variables in which vendors' keys may stand, but for those whose key is to much else than models, and
/// which other programs need.
pub(crate) fn key_variables() -> Vec<String> {
    let vendors = list_of_models().vendors().iter();
    let names = vendors.flat_map(catalogue::Vendor::keys).filter(|name| !pick::AMBIENT.contains(name));
    names.chain(["ANTHROPIC_AUTH_TOKEN"]).map(str::to_owned).collect()
}

/// What to do when there is no model to ask.
fn none(world: &World<'_>) -> String {
    match world.config.providers.keys().next() {
        Some(vendor) => format!(
            "no model is named; name one with --model {vendor}/MODEL, or with \"model\": \"{vendor}/MODEL\" in opencode.json"
        ),
        None => match pick::by_name(world) {
            Some((vendor, variable)) => format!(
                "{NO_MODEL}\n  7. {vendor}, because {variable} is set: \
                 haft run --model {vendor}/MODEL \"…\"   (haft models {vendor} lists them)"
            ),
            None => NO_MODEL.to_owned(),
        },
    }
}

/// Those of `files` that `model` is not said to be able to read, by their names.
pub(crate) fn unreadable<'a>(model: &Model, files: &'a [PathBuf], config: &Config) -> Vec<&'a Path> {
    let ModelRef { provider_id, model_id } = &model.reference;
    let way = way(provider_id, model_id, None, &World::here(config));
    let Some(accepts) = way.ok().and_then(|way| way.quirks.accepts) else { return Vec::new() };
    let reads =
        |file: &Path| match file.extension().and_then(|end| end.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("png" | "jpg" | "jpeg" | "gif" | "webp") => accepts.image,
            Some("pdf") => accepts.pdf,
            Some(_) | None => true,
        };
    files.iter().map(PathBuf::as_path).filter(|file| !reads(file)).collect()
}

/// Records all that the models of `setup` say into the new file at `path`: the one that answers, the one for titles, and
/// those that agents have of their own.
///
/// # Errors
///
/// When the file cannot be made, or is there already.
pub(crate) fn record(setup: &mut Setup, path: &Path) -> Result<()> {
    let recorder = Recorder::create(path, &setup.model.name(), Arc::clone(&setup.model.provider))
        .with_context(|| format!("cannot record into {}; name a new file", path.display()))?;
    let recorded = Recorded { recorder, models: setup.options.models.take() };
    setup.model = recorded.model(setup.model.clone());
    setup.options.small = setup.options.small.take().map(|small| recorded.model(small));
    setup.options.models = Some(Arc::new(recorded));
    Ok(())
}

/// Models whose answers are recorded.
struct Recorded {
    recorder: Recorder,
    models: Option<Arc<dyn haft_session::Models>>,
}

impl Recorded {
    fn model(&self, model: Model) -> Model {
        Model { provider: Arc::new(self.recorder.beside(model.provider)), ..model }
    }
}

impl haft_session::Models for Recorded {
    fn find(&self, name: &str, variant: Option<&str>) -> Result<Model, String> {
        let models = self.models.as_ref().ok_or_else(|| format!("there is no model {name}"))?;
        models.find(name, variant).map(|model| self.model(model))
    }
}

/// Removes the recording at `path` if nothing was recorded, so that the next try can have its name.
pub(crate) fn drop_empty(path: &Path) {
    /// More than the first line of a recording ever has, in bytes.
    const HEAD: u64 = 4096;
    let short = std::fs::metadata(path).is_ok_and(|meta| meta.len() < HEAD);
    let empty = short && std::fs::read_to_string(path).is_ok_and(|text| text.lines().count() < 2);
    if empty && let Err(error) = std::fs::remove_file(path) {
        tracing::warn!(%error, path = %path.display(), "an empty recording cannot be removed");
    }
}

fn played(vendor: &str, id: &str, provider: Arc<dyn Provider>) -> Model {
    Model::new(ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() }, id, provider)
}

fn connect(vendor: &str, id: &str, way: Way, config: &Config) -> Result<Model> {
    let Way { dialect, server, place, api_id, extra, thinking_field, quirks, model, variants: _, note: _ } = way;
    let calls_tools = !quirks.no_tools;
    let toolset = toolset(vendor, model.limit.context, config);
    let provider: Arc<dyn Provider> = match dialect {
        Dialect::Chat => Arc::new(Chat::new(&server, ChatManners { thinking_field })?),
        Dialect::Responses => Arc::new(Responses::new(&server)?),
        Dialect::Messages => Arc::new(Messages::at(&server, place)?),
        Dialect::Gemini => Arc::new(Gemini::at(&server, place)?),
        Dialect::Converse => Arc::new(Converse::new(&server)?),
    };
    Ok(Model {
        reference: ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() },
        api_id,
        provider: quirks.around(provider),
        limits: limits(&model.limit),
        cost: model.cost.as_ref().map(prices),
        extra,
        toolset,
        calls_tools,
    })
}

fn limits(limit: &catalogue::Limit) -> Limits {
    Limits { context: limit.context, input: limit.input.unwrap_or(0), output: limit.output }
}

/// Which tools a model with room for `context` tokens (zero: not known) is offered.
pub(crate) fn toolset(vendor: &str, context: u64, config: &Config) -> Toolset {
    let wanted = config.small_tools.map(|small| if small { Toolset::Small } else { Toolset::Full });
    Toolset::of(wanted, context, local::KNOWN.iter().any(|known| known.id == vendor))
}

fn prices(cost: &catalogue::Cost) -> Cost {
    let prices = |prices: catalogue::Prices| {
        let catalogue::Prices { input, output, cache_read, cache_write } = prices;
        haft_session::Prices { input, output, cache_read, cache_write }
    };
    let haft_session::Prices { input, output, cache_read, cache_write } = prices(cost.usual);
    let tiers = cost.long().into_iter().map(|(above, long)| Tier { above, prices: prices(long) });
    Cost { input, output, cache_read, cache_write, tiers: tiers.collect() }
}
