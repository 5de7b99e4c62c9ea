//! What plug-ins know of vendors: the key that their sign-in came to, and the models that there are.
//!
//! A plug-in is shown what its own sign-in stored, and nothing else; what it says holds for its vendor alone. A `fetch` of
//! its own is not taken: each request, and with it the conversation, would go wherever it likes, and no answer would come
//! before it is whole.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haft_config::{Config, ModelConfig};
use haft_script::plugin::Plugin;
use haft_tool::Hook;
use haft_vault::{Api, Entry, MAX_TEXT, OAuth};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::keys::{PLUGIN, keys};
use crate::render;

/// How long a plug-in may take to say what it knows of a vendor.
const MAX_TIME: Duration = Duration::from_secs(30);
/// Most models of one vendor that a plug-in may name.
const MAX_MODELS: usize = 500;

/// What a `loader` gives.
#[derive(Default, Deserialize)]
struct Loaded {
    options: Options,
    /// Whether it has a `fetch` of its own.
    #[serde(default)]
    fetches: bool,
}

#[derive(Default, Deserialize)]
struct Options {
    #[serde(rename = "apiKey")]
    api_key: Option<String>,
    #[serde(rename = "baseURL")]
    base_url: Option<String>,
    headers: Option<BTreeMap<String, String>>,
}

/// Puts what `plugins` know of vendors into `config`. What does not work is told, and left out.
pub(crate) async fn apply(plugins: &[Arc<Plugin>], config: &mut Config) {
    for plugin in plugins {
        let Ok(begun) = plugin.begin().await.cloned() else { continue };
        for vendor in &begun.auth {
            let Some(entry) = keys().by_plugin(vendor, plugin.name()) else { continue };
            let args = vec![vendor.as_str().into(), shown(&entry), json!({ "id": vendor, "models": {} })];
            match plugin.ask(&["auth", "load"], args, MAX_TIME).await {
                Ok(loaded) => {
                    let loaded = serde_json::from_value(loaded).unwrap_or_default();
                    if let Err(why) = lay(loaded, vendor, config) {
                        render::complain(&format!("warning: the plug-in {} and {vendor}: {why}", plugin.name()));
                    }
                }
                Err(error) => render::complain(&format!(
                    "warning: the plug-in {} cannot sign in to {vendor}: {}",
                    plugin.name(),
                    haft_tool::with_causes(&error)
                )),
            }
        }
        for vendor in &begun.providers {
            let entry = keys().by_plugin(vendor, plugin.name());
            let stored = entry.as_ref().map_or(Value::Null, shown);
            let args = vec![vendor.as_str().into(), json!({ "id": vendor, "models": {} }), stored];
            match plugin.ask(&["models"], args, MAX_TIME).await {
                Ok(found) => add(&found, vendor, config),
                Err(error) => render::complain(&format!(
                    "warning: the plug-in {} does not say which models {vendor} has: {}",
                    plugin.name(),
                    haft_tool::with_causes(&error)
                )),
            }
        }
    }
}

/// Lays what a loader gave over what the settings say of `vendor`. An address counts only with the key that goes there: the
/// user's own goes nowhere else for that.
fn lay(loaded: Loaded, vendor: &str, config: &mut Config) -> Result<(), &'static str> {
    let Loaded { options: Options { api_key, base_url, headers }, fetches } = loaded;
    if fetches {
        return Err(
            "it wants to make the requests itself, which haft does not let it; what it says of them is left out",
        );
    }
    let api_key = api_key.filter(|key| !key.is_empty() && key.len() <= MAX_TEXT && !key.contains(char::is_control));
    if base_url.is_some() && api_key.is_none() {
        return Err("it names an address without a key of its own; what it says of requests is left out");
    }
    let options = &mut config.providers.entry(vendor.to_owned()).or_default().options;
    options.api_key = api_key.or(options.api_key.take());
    options.base_url = base_url.or(options.base_url.take());
    options.headers.extend(headers.unwrap_or_default());
    Ok(())
}

/// Adds the models of `found` that the settings do not know.
fn add(found: &Value, vendor: &str, config: &mut Config) {
    let models = &mut config.providers.entry(vendor.to_owned()).or_default().models;
    for (id, model) in found.as_object().into_iter().flatten().take(MAX_MODELS) {
        let mut known = Map::new();
        for key in ["id", "name", "family", "limit", "reasoning", "tool_call", "attachment"] {
            if let Some(value) = model.get(key).filter(|value| !value.is_null()) {
                known.insert(key.to_owned(), value.clone());
            }
        }
        if let Ok(model) = serde_json::from_value::<ModelConfig>(Value::Object(known)) {
            models.entry(id.clone()).or_insert(model);
        }
    }
}

/// What is stored, as a plug-in is shown it.
fn shown(entry: &Entry) -> Value {
    let mut value = entry.to_json();
    if let Some(fields) = value.as_object_mut() {
        fields.remove(PLUGIN);
    }
    value
}

/// What a sign-in of `plugin` came to, as it is stored; `None` where that is neither a key nor tokens.
pub(crate) fn entry(done: &Value, plugin: &str) -> Option<Entry> {
    let text = |key: &str| {
        let text = done.get(key).and_then(Value::as_str).unwrap_or_default();
        (text.len() <= MAX_TEXT && !text.contains(char::is_control)).then(|| text.to_owned())
    };
    let more = Map::from_iter([(PLUGIN.to_owned(), plugin.into())]);
    let (key, refresh, access) = (text("key")?, text("refresh")?, text("access")?);
    if !key.is_empty() {
        let metadata = done.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        return Some(Entry::Api(Api { key, metadata, more }));
    }
    let some = |text: String| (!text.is_empty()).then_some(text);
    let expires = done.get("expires").and_then(Value::as_f64).map_or(0, |ms| ms as u64);
    let (account_id, enterprise_url) = (some(text("accountId")?), some(text("enterpriseUrl")?));
    let tokens = OAuth { refresh, access, expires, account_id, enterprise_url, more };
    (!tokens.refresh.is_empty() || !tokens.access.is_empty()).then_some(Entry::OAuth(tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_comes_to_a_key_or_to_tokens() {
        let kind = |done: Value| entry(&done, "p.ts").map(|entry| entry.kind());
        assert_eq!(kind(json!({ "type": "success", "key": "k" })), Some("api"));
        assert_eq!(kind(json!({ "refresh": "r", "access": "a", "expires": 5.0 })), Some("oauth"));
        assert_eq!(kind(json!({ "access": "a" })), Some("oauth"));
        for none in [json!({ "type": "failed" }), json!(null), json!({ "key": "a\nb" }), json!({ "key": 7 })] {
            assert_eq!(kind(none.clone()), None, "{none}");
        }
        let stored = entry(&json!({ "key": "k" }), "p.ts").unwrap();
        assert_eq!(stored.to_json()[PLUGIN], "p.ts");
        assert!(shown(&stored).get(PLUGIN).is_none());
    }

    #[test]
    fn what_a_loader_says_holds_for_its_vendor_alone() {
        let laid = |loaded: Value| {
            let mut config = Config::default();
            let done = lay(serde_json::from_value(loaded).unwrap(), "mine", &mut config);
            (done.is_ok(), config.providers.get("mine").map(|own| own.options.clone()).unwrap_or_default())
        };
        let (ok, options) =
            laid(json!({ "options": { "apiKey": "k", "baseURL": "https://a", "headers": { "x": "y" } } }));
        assert!(ok && options.api_key.as_deref() == Some("k") && options.headers["x"] == "y");
        assert_eq!(options.base_url.as_deref(), Some("https://a"));
        let (ok, options) = laid(json!({ "options": { "baseURL": "https://evil" } }));
        assert!(!ok && options.base_url.is_none());
        let (ok, options) = laid(json!({ "options": { "apiKey": "k" }, "fetches": true }));
        assert!(!ok && options.api_key.is_none());
    }

    #[test]
    fn models_are_added_beside_those_of_the_settings() {
        let mut config = Config::default();
        let found =
            json!({ "m": { "name": "M", "limit": { "context": 10, "output": 5 }, "api": { "url": "x" } }, "bad": 7 });
        add(&found, "mine", &mut config);
        let models = &config.providers["mine"].models;
        assert_eq!(models["m"].name.as_deref(), Some("M"));
    }
}
