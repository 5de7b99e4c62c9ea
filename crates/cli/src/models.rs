//! From a model's name to the way to it.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use haft_config::{Config, ModelConfig, ProviderConfig};
use haft_llm::dialect::chat::{Chat, ChatConfig};
use haft_llm::{Provider, Recorder, Replay, Script, Secret};
use haft_protocol::ModelRef;
use haft_session::{Cost, Limits, Model};

use crate::report::Usage;

/// What `run` says when it has no model to ask.
const NO_MODEL: &str = "\
no model is configured yet. One of these will do:
  1. see it work first, without a key:  haft demo
  2. a key in the environment:          OPENAI_API_KEY=… haft run --model openai/MODEL \"…\"
  3. any OpenAI-compatible server:      put it into opencode.json (README, \"A model of your own\")
  4. a written scenario:                haft run --model script/FILE \"…\"";

/// Drivers that speak chat completions.
const CHAT_DRIVERS: [&str; 2] = ["@ai-sdk/openai-compatible", "@ai-sdk/openai"];

/// Finds the model called `named`, else the configured one, else the only one there is.
///
/// # Errors
///
/// When there is none, or it cannot be reached the way it is configured.
pub(crate) fn choose(named: Option<&str>, config: &Config) -> Result<Model> {
    let named = match named.or(config.model.as_deref()) {
        Some(named) => named.to_owned(),
        None => only(config).ok_or_else(|| Usage(NO_MODEL.to_owned()))?,
    };
    let (vendor, id) =
        named.split_once('/').filter(|(vendor, id)| !vendor.is_empty() && !id.is_empty()).ok_or_else(|| {
            Usage(format!("a model is named VENDOR/MODEL, such as openai/gpt-5.1 or script/FILE, not {named:?}"))
        })?;
    match vendor {
        "script" => Ok(played(vendor, id, Arc::new(Script::open(Path::new(id))?))),
        "replay" => Ok(played(vendor, id, Arc::new(Replay::open(Path::new(id))?))),
        _ => configured(vendor, id, config),
    }
}

/// The same model, with all it says recorded into the new file at `path`.
///
/// # Errors
///
/// When the file cannot be made, or is there already.
pub(crate) fn recorded(model: Model, path: &Path) -> Result<Model> {
    let name = format!("{}/{}", model.reference.provider_id, model.reference.model_id);
    let recorder = Recorder::create(path, &name, model.provider)
        .with_context(|| format!("cannot record into {}; name a new file", path.display()))?;
    Ok(Model { provider: Arc::new(recorder), ..model })
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

/// The only model that is configured, if it is the only one.
fn only(config: &Config) -> Option<String> {
    let mut all = config
        .providers
        .iter()
        .flat_map(|(vendor, provider)| provider.models.keys().map(move |id| format!("{vendor}/{id}")));
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

fn played(vendor: &str, id: &str, provider: Arc<dyn Provider>) -> Model {
    Model {
        reference: ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() },
        api_id: id.to_owned(),
        provider,
        limits: Limits::default(),
        cost: None,
        extra: serde_json::Map::new(),
    }
}

fn configured(vendor: &str, id: &str, config: &Config) -> Result<Model> {
    let builtin = (vendor == "openai").then(openai);
    let provider = match (config.providers.get(vendor), builtin) {
        (Some(own), builtin) => complete(own.clone(), builtin.unwrap_or_default()),
        (None, Some(builtin)) => builtin,
        (None, None) => return Err(unknown_vendor(vendor, config).into()),
    };
    let driver = provider.npm.as_deref().unwrap_or(CHAT_DRIVERS[0]);
    if !CHAT_DRIVERS.contains(&driver) {
        return Err(Usage(format!(
            "the provider {vendor} wants the driver {driver}, whose dialect haft does not speak; it speaks that of {}",
            CHAT_DRIVERS.join(" and ")
        ))
        .into());
    }
    let model = provider.models.get(id).cloned();
    if model.is_none() && !provider.models.is_empty() {
        let known: Vec<&str> = provider.models.keys().map(String::as_str).collect();
        let known = known.join(", ");
        return Err(Usage(format!("the provider {vendor} has no model {id:?} configured; it has {known}")).into());
    }
    let model = model.unwrap_or_default();
    let base_url = provider.options.base_url.clone().or(provider.api.clone()).ok_or_else(|| {
        Usage(format!("the provider {vendor} has no address; set provider.{vendor}.options.baseURL in opencode.json"))
    })?;
    let chat = Chat::new(ChatConfig {
        provider: vendor.to_owned(),
        base_url,
        key: key(&provider).map(Secret::new),
        headers: provider.options.headers.iter().chain(&model.headers).map(|(k, v)| (k.clone(), v.clone())).collect(),
    })?;
    Ok(Model {
        reference: ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() },
        api_id: model.id.clone().unwrap_or_else(|| id.to_owned()),
        provider: Arc::new(chat),
        limits: Limits { context: model.limit.context, output: model.limit.output },
        cost: prices(&model),
        extra: model.options,
    })
}

/// The one vendor that is known without configuration. Naming it is the user's leave to ask it.
fn openai() -> ProviderConfig {
    let mut provider = ProviderConfig { env: vec!["OPENAI_API_KEY".to_owned()], ..ProviderConfig::default() };
    let address = std::env::var("OPENAI_BASE_URL").ok().filter(|address| !address.is_empty());
    provider.options.base_url = Some(address.unwrap_or_else(|| "https://api.openai.com/v1".to_owned()));
    provider
}

/// `own` with what it leaves out.
fn complete(mut own: ProviderConfig, rest: ProviderConfig) -> ProviderConfig {
    if own.options.base_url.is_none() && own.api.is_none() {
        own.options.base_url = rest.options.base_url;
    }
    if own.env.is_empty() {
        own.env = rest.env;
    }
    own
}

fn key(provider: &ProviderConfig) -> Option<String> {
    let written = provider.options.api_key.clone().filter(|key| !key.is_empty());
    let found = || provider.env.iter().find_map(|name| std::env::var(name).ok().filter(|key| !key.is_empty()));
    written.or_else(found)
}

fn prices(model: &ModelConfig) -> Option<Cost> {
    model.cost.as_ref().map(|prices| Cost {
        input: prices.input,
        output: prices.output,
        cache_read: prices.cache_read,
        cache_write: prices.cache_write,
    })
}

fn unknown_vendor(vendor: &str, config: &Config) -> Usage {
    let mut known: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    known.extend(["openai", "script", "replay"]);
    Usage(format!(
        "there is no provider {vendor:?}; there are {}. Add it to opencode.json under `provider`",
        known.join(", ")
    ))
}
