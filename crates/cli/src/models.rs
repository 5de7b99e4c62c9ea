//! From a model's name to the way to it.

mod found;
mod pick;
mod way;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use haft_config::{Config, ModelConfig, Prices};
use haft_llm::catalogue::Dialect;
use haft_llm::dialect::chat::{Chat, ChatConfig};
use haft_llm::dialect::messages::{Messages, MessagesConfig, MessagesKey};
use haft_llm::{Provider, Recorder, Replay, Script};
use haft_protocol::ModelRef;
use haft_session::{Cost, Limits, Model};

use crate::render;
use crate::report::Usage;
use way::{Key, Way, way};

/// What a person reads where there is no model to ask.
pub(crate) const NO_MODEL: &str = "\
no model is configured yet, and no model server answers on this machine. One of these will do:
  1. see it work first, without a key:  haft demo
  2. a key in the environment:          ANTHROPIC_API_KEY=… haft run --model anthropic/MODEL \"…\"
  3. a server on this machine:          start Ollama, LM Studio or llama.cpp, and run the same again
  4. any OpenAI-compatible server:      put it into opencode.json (README, \"A model of your own\")
  5. a written scenario:                haft run --model script/FILE \"…\"";

/// Finds the model called `named`, else the configured one, else one on this machine; the settings of its `variant`
/// are laid over its own.
///
/// Servers on this machine are asked for their models only when nothing is named, nothing is configured, and no key is
/// in the environment. No other host is asked for anything.
///
/// # Errors
///
/// When there is none, or it cannot be reached the way it is configured.
pub(crate) async fn find(named: Option<&str>, variant: Option<&str>, config: &Config) -> Result<Model> {
    let configured = pick::configured(config).is_some() || !config.providers.is_empty() || keyed(config).is_some();
    if named.is_none() && !configured {
        let servers = found::servers(None, config, &variable).await;
        if let Some((found, told)) = found::first(&servers) {
            render::complain(&told);
            return open(Some(&found), variant, config);
        }
    }
    open(named, variant, config)
}

/// Finds the model called `named`, else the configured one. Asks nobody.
///
/// # Errors
///
/// When there is none, or it cannot be reached the way it is configured.
pub(crate) fn choose(named: Option<&str>, config: &Config) -> Result<Model> {
    open(named, None, config)
}

/// The models that the settings know, for sessions that change from one to another.
pub(crate) struct Known(pub Config);

impl haft_session::Models for Known {
    fn find(&self, name: &str, variant: Option<&str>) -> Result<Model, String> {
        open(Some(name), variant, &self.0).map_err(|error| format!("{error:#}"))
    }
}

fn open(named: Option<&str>, variant: Option<&str>, config: &Config) -> Result<Model> {
    let named = match named {
        Some(named) => named.to_owned(),
        None => pick::configured(config).ok_or_else(|| Usage(none(config)))?,
    };
    let (vendor, id) =
        named.split_once('/').filter(|(vendor, id)| !vendor.is_empty() && !id.is_empty()).ok_or_else(|| {
            Usage(format!("a model is named VENDOR/MODEL, such as openai/gpt-5.1 or script/FILE, not {named:?}"))
        })?;
    match vendor {
        "script" => Ok(played(vendor, id, Arc::new(Script::open(Path::new(id))?))),
        "replay" => Ok(played(vendor, id, Arc::new(Replay::open(Path::new(id))?))),
        _ => connect(vendor, id, way(vendor, id, variant, config, &variable)?),
    }
}

/// A model that can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) vendor: String,
    pub(crate) id: String,
    /// Its name for people, if it has one.
    pub(crate) name: Option<String>,
    /// `configured`, or `found` on this machine.
    pub(crate) source: &'static str,
}

/// The models that stand in the settings.
pub(crate) fn configured(config: &Config) -> Vec<Listed> {
    let offered = config.providers.iter().filter(|(vendor, _)| way::is_offered(vendor, config));
    let models = offered.flat_map(|(vendor, provider)| {
        let listed = provider.models.iter().filter(|(id, _)| way::is_listed(id, provider));
        listed.map(move |(id, model)| Listed {
            vendor: vendor.clone(),
            id: id.clone(),
            name: model.name.clone(),
            source: "configured",
        })
    });
    models.collect()
}

/// The models of the servers that answer on this machine, or of that of `vendor` alone.
pub(crate) async fn found(vendor: Option<&str>, config: &Config) -> Vec<Listed> {
    let servers = found::servers(vendor, config, &variable).await;
    let models = servers.into_iter().flat_map(|server| {
        let vendor = server.vendor;
        server.models.into_iter().map(move |id| Listed { vendor: vendor.to_owned(), id, name: None, source: "found" })
    });
    models.collect()
}

/// A vendor whose key is in the environment, and the name of the variable.
pub(crate) fn keyed(config: &Config) -> Option<(&'static str, &'static str)> {
    pick::keyed(config, &variable)
}

/// What to do when there is no model to ask.
fn none(config: &Config) -> String {
    match (keyed(config), config.providers.keys().next()) {
        (_, Some(vendor)) => format!(
            "no model is named; name one with --model {vendor}/MODEL, or with \"model\": \"{vendor}/MODEL\" in opencode.json"
        ),
        (Some((vendor, key)), None) => format!(
            "no model is configured yet; {key} is set, so name one with --model {vendor}/MODEL, \
             or with \"model\": \"{vendor}/MODEL\" in opencode.json"
        ),
        (None, None) => NO_MODEL.to_owned(),
    }
}

/// Those of `files` that `model` is not said to be able to read, by their names.
pub(crate) fn unreadable<'a>(model: &Model, files: &'a [PathBuf], config: &Config) -> Vec<&'a Path> {
    let ModelRef { provider_id, model_id } = &model.reference;
    let way = way(provider_id, model_id, None, config, &variable);
    let Some(accepts) = way.ok().and_then(|way| way.quirks.accepts) else { return Vec::new() };
    let reads =
        |file: &Path| match file.extension().and_then(|end| end.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("png" | "jpg" | "jpeg" | "gif" | "webp") => accepts.image,
            Some("pdf") => accepts.pdf,
            Some(_) | None => true,
        };
    files.iter().map(PathBuf::as_path).filter(|file| !reads(file)).collect()
}

/// A variable of the environment that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
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

fn connect(vendor: &str, id: &str, way: Way) -> Result<Model> {
    let Way { dialect, base_url, key, headers, api_id, extra, thinking_field, quirks, model } = way;
    let provider = vendor.to_owned();
    let provider: Arc<dyn Provider> = match dialect {
        Dialect::Chat => {
            let key = key.map(|key| match key {
                Key::Plain(key) | Key::Bearer(key) => key,
            });
            Arc::new(Chat::new(ChatConfig { provider, base_url, key, headers, thinking_field })?)
        }
        Dialect::Messages => {
            let key = key.map(|key| match key {
                Key::Plain(key) => MessagesKey::ApiKey(key),
                Key::Bearer(token) => MessagesKey::Bearer(token),
            });
            Arc::new(Messages::new(MessagesConfig { provider, base_url, key, headers })?)
        }
    };
    Ok(Model {
        reference: ModelRef { provider_id: vendor.to_owned(), model_id: id.to_owned() },
        api_id,
        provider: quirks.around(provider),
        limits: Limits { context: model.limit.context, output: model.limit.output },
        cost: prices(&model),
        extra,
    })
}

fn prices(model: &ModelConfig) -> Option<Cost> {
    model.cost.as_ref().map(|prices| Cost {
        input: prices.input,
        output: prices.output,
        cache_read: prices.cache_read,
        cache_write: prices.cache_write,
        long: prices.context_over_200k.as_deref().map(long),
    })
}

fn long(prices: &Prices) -> haft_session::Prices {
    let Prices { input, output, cache_read, cache_write, .. } = *prices;
    haft_session::Prices { input, output, cache_read, cache_write }
}
