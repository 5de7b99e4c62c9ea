//! How a model is reached: what the settings and the environment say about it, put together. Pure.

use haft_config::{Config, ModelConfig, Options, ProviderConfig};
use haft_llm::catalogue::{self, DRIVERS, Dialect, Vendor};
use haft_llm::quirks::{Accepts, Quirks};
use haft_llm::{Secret, local};
use serde_json::{Map, Value, json};

use crate::report::Usage;

/// What the environment says: the value of a variable that is set and not empty.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Everything about the way to one model.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) dialect: Dialect,
    pub(super) base_url: String,
    pub(super) key: Option<Key>,
    pub(super) headers: Vec<(String, String)>,
    /// What the vendor calls the model.
    pub(super) api_id: String,
    /// Further fields of each request.
    pub(super) extra: Map<String, Value>,
    pub(super) thinking_field: Option<String>,
    pub(super) quirks: Quirks,
    /// Its settings, for limits and prices.
    pub(super) model: ModelConfig,
}

/// A key, and how it is sent where there is a choice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Key {
    Plain(Secret),
    Bearer(Secret),
}

/// The way to the model `id` of `vendor`, with the settings that `variant` names laid over its own.
pub(super) fn way(
    vendor: &str,
    id: &str,
    variant: Option<&str>,
    config: &Config,
    env: Environment<'_>,
) -> Result<Way, Usage> {
    let (own, known) = (config.providers.get(vendor), catalogue::vendor(vendor));
    if own.is_none() && known.is_none() {
        return Err(unknown_vendor(vendor, config));
    }
    if !is_offered(vendor, config) {
        let why = "`disabled_providers` or `enabled_providers` of the settings";
        return Err(Usage(format!("the provider {vendor} is switched off by {why}")));
    }
    let none = ProviderConfig::default();
    let own = own.unwrap_or(&none);
    let model = model(vendor, id, own, known)?;
    let driver = model.provider.as_ref().and_then(|one| one.npm.as_deref()).or(own.npm.as_deref());
    let (dialect, driver_url) = spoken(vendor, driver, known)?;
    let base_url = address(vendor, own, &model, known, driver_url, env)?;
    let headers: Vec<_> =
        own.options.headers.iter().chain(&model.headers).map(|(name, value)| (name.clone(), value.clone())).collect();
    let key = key(own, known, dialect, env);
    // Elsewhere it is not known whether one is wanted.
    if let (None, Some(known)) = (&key, known)
        && base_url == known.base_url
        && let Some(name) = known.keys.first()
        && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization") || name.contains("key"))
    {
        return Err(Usage(format!(
            "there is no key for {vendor}; set {name}, or provider.{vendor}.options.apiKey in opencode.json"
        )));
    }
    let api_id = model.id.clone().unwrap_or_else(|| id.to_owned());
    let mut extra = Map::new();
    if vendor == "openrouter" {
        extra.insert("usage".to_owned(), json!({"include": true}));
    }
    extra.extend(model.options.clone());
    if let Some(variant) = variant {
        extra.extend(variant_of(variant, vendor, id, &model, dialect)?);
    }
    Ok(Way {
        dialect,
        base_url,
        key,
        headers,
        extra,
        thinking_field: thinking_field(model.interleaved.as_ref()),
        quirks: quirks(vendor, &api_id, &model, own, known),
        api_id,
        model,
    })
}

/// Whether the settings let a vendor be asked. A refusal wins.
pub(super) fn is_offered(vendor: &str, config: &Config) -> bool {
    let names = |list: &[String]| list.iter().any(|name| name == vendor);
    !names(&config.disabled_providers) && config.enabled_providers.as_deref().is_none_or(names)
}

/// Whether a vendor's settings let a model be asked.
pub(super) fn is_listed(id: &str, provider: &ProviderConfig) -> bool {
    let names = |list: &[String]| list.iter().any(|name| name == id);
    !names(&provider.blacklist) && provider.whitelist.as_deref().is_none_or(names)
}

/// The settings of a model. Vendors that are known have more models than those that stand in the settings.
fn model(vendor: &str, id: &str, own: &ProviderConfig, known: Option<&Vendor>) -> Result<ModelConfig, Usage> {
    if !is_listed(id, own) {
        let why = "`whitelist` or `blacklist`";
        return Err(Usage(format!("the model {id} is switched off by {why} of provider.{vendor} in the settings")));
    }
    match own.models.get(id) {
        Some(model) => Ok(model.clone()),
        None if known.is_none() && !own.models.is_empty() => {
            let have: Vec<&str> = own.models.keys().map(String::as_str).collect();
            Err(Usage(format!("the provider {vendor} has no model {id:?} configured; it has {}", have.join(", "))))
        }
        None => Ok(ModelConfig::default()),
    }
}

/// What a driver, else the vendor itself, speaks; with the driver's own address.
fn spoken(
    vendor: &str,
    driver: Option<&str>,
    known: Option<&Vendor>,
) -> Result<(Dialect, Option<&'static str>), Usage> {
    let Some(driver) = driver else {
        return Ok((known.map_or(Dialect::Chat, |known| known.dialect), None));
    };
    let found = DRIVERS.iter().find(|(name, ..)| *name == driver);
    found.map(|(_, dialect, address)| (*dialect, *address)).ok_or_else(|| {
        let names: Vec<&str> = DRIVERS.iter().map(|(name, ..)| *name).collect();
        Usage(format!(
            "the provider {vendor} wants the driver {driver}, whose dialect haft does not speak; it speaks those of {}",
            names.join(", ")
        ))
    })
}

fn address(
    vendor: &str,
    own: &ProviderConfig,
    model: &ModelConfig,
    known: Option<&Vendor>,
    driver_url: Option<&str>,
    env: Environment<'_>,
) -> Result<String, Usage> {
    let written = own.options.base_url.clone();
    let written = written.or_else(|| model.provider.as_ref().and_then(|one| one.api.clone())).or(own.api.clone());
    if let Some(written) = written.filter(|address| !address.is_empty()) {
        return expand(vendor, &written, env);
    }
    let told = known.and_then(|known| match (known.id, known.address) {
        ("ollama", _) => Some(format!("{}/v1", local::ollama_origin(&env("OLLAMA_HOST")?)?)),
        ("anthropic", Some(name)) => env(name).map(versioned),
        (_, Some(name)) => env(name),
        (_, None) => None,
    });
    let usual = || known.map(|known| known.base_url).or(driver_url).map(str::to_owned);
    told.or_else(usual).ok_or_else(|| {
        Usage(format!("the provider {vendor} has no address; set provider.{vendor}.options.baseURL in opencode.json"))
    })
}

/// Anthropic's own programs take the address of the host alone, others one that ends in the version.
fn versioned(address: String) -> String {
    let bare = address.trim_end_matches('/');
    match bare.split_once("://") {
        Some((_, rest)) if !rest.contains('/') => format!("{bare}/v1"),
        _ => address,
    }
}

/// Puts variables in for `${NAME}`.
fn expand(vendor: &str, address: &str, env: Environment<'_>) -> Result<String, Usage> {
    let mut whole = String::new();
    let mut rest = address;
    while let Some((before, (name, after))) =
        rest.split_once("${").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        let value = env(name);
        let missing = || Usage(format!("the address of the provider {vendor} needs the variable {name}; set it"));
        whole.push_str(before);
        whole.push_str(&value.ok_or_else(missing)?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

fn key(own: &ProviderConfig, known: Option<&Vendor>, dialect: Dialect, env: Environment<'_>) -> Option<Key> {
    let Options { api_key, other, .. } = &own.options;
    if let Some(key) = api_key.as_ref().filter(|key| !key.is_empty()) {
        return Some(Key::Plain(Secret::new(key)));
    }
    if let Some(token) = other.get("authToken").and_then(Value::as_str).filter(|token| !token.is_empty()) {
        return Some(Key::Bearer(Secret::new(token)));
    }
    let named = own.env.iter().map(String::as_str);
    let usual = known.filter(|_| own.env.is_empty()).into_iter().flat_map(|known| known.keys.iter().copied());
    if let Some(key) = named.chain(usual).find_map(env) {
        return Some(Key::Plain(Secret::new(key)));
    }
    let is_anthropic = dialect == Dialect::Messages && known.is_some_and(|known| known.id == "anthropic");
    env("ANTHROPIC_AUTH_TOKEN").filter(|_| is_anthropic).map(|token| Key::Bearer(Secret::new(token)))
}

/// The fields that a variant stands for: as configured, else the usual ones of the dialect.
fn variant_of(
    variant: &str,
    vendor: &str,
    id: &str,
    model: &ModelConfig,
    dialect: Dialect,
) -> Result<Map<String, Value>, Usage> {
    let off = |fields: &Map<String, Value>| fields.get("disabled") == Some(&Value::Bool(true));
    if let Some(fields) = model.variants.get(variant).filter(|fields| !off(fields)) {
        return Ok(fields
            .iter()
            .filter(|(name, _)| *name != "disabled")
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect());
    }
    let usual: &[&str] = match dialect {
        Dialect::Chat => &["low", "medium", "high"],
        Dialect::Messages => &["high", "max"],
    };
    if !usual.contains(&variant) || model.variants.contains_key(variant) {
        let mut names: Vec<&str> =
            model.variants.iter().filter(|(_, one)| !off(one)).map(|(name, _)| &**name).collect();
        names.extend(usual.iter().filter(|name| !model.variants.contains_key(**name)));
        return Err(Usage(format!("{vendor}/{id} has no variant {variant:?}; it has {}", names.join(", "))));
    }
    let fields = match dialect {
        Dialect::Chat => json!({"reasoning_effort": variant}),
        Dialect::Messages => {
            json!({"thinking": {"type": "enabled", "budget_tokens": if variant == "max" { 31_999 } else { 16_000 }}})
        }
    };
    Ok(fields.as_object().cloned().unwrap_or_default())
}

fn thinking_field(interleaved: Option<&Value>) -> Option<String> {
    let field = match interleaved? {
        Value::String(field) => field,
        other => other.get("field")?.as_str()?,
    };
    (!field.is_empty()).then(|| field.to_owned())
}

/// A model of one's own can be shown what its settings say; of those of known vendors more is not known, and tried.
fn quirks(vendor: &str, api_id: &str, model: &ModelConfig, own: &ProviderConfig, known: Option<&Vendor>) -> Quirks {
    let reads = |list: &[String]| {
        let has = |kind: &str| list.iter().any(|one| one == kind);
        Accepts { image: has("image"), pdf: has("pdf"), audio: has("audio"), video: has("video") }
    };
    let accepts = match &model.modalities {
        Some(modalities) => Some(reads(&modalities.input)),
        None if known.is_none() && !own.models.is_empty() => Some(Accepts::default()),
        None => None,
    };
    Quirks { accepts, no_tools: model.tool_call == Some(false), ..Quirks::of(vendor, api_id) }
}

fn unknown_vendor(vendor: &str, config: &Config) -> Usage {
    let mut names: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    names.extend(catalogue::VENDORS.iter().map(|vendor| vendor.id).filter(|id| !config.providers.contains_key(*id)));
    names.extend(["script", "replay"]);
    Usage(format!(
        "there is no provider {vendor:?}; there are {}. Add it to opencode.json under `provider`",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests;
