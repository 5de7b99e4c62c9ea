//! What is known of single models and vendors.

use serde_json::{Map, Value};

use super::{Ids, Quirks, Sampling, defaults};
use crate::rescue::Rescue;
use crate::schema::Fits;
use crate::steering::{CACHE_KEY, LITELLM, TEXT_CALLS};

/// The field that most vendors have for the name of the conversation, as OpenCode's drivers call it.
pub(super) const USUAL_CACHE_KEY: &str = "promptCacheKey";

/// A model, for what is known of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// The vendor's id in the catalogue.
    pub vendor: &'a str,
    /// What the vendor calls the model.
    pub model: &'a str,
    /// The driver that OpenCode would load.
    pub driver: Option<&'a str>,
    /// Whether it thinks, if that is known.
    pub reasoning: Option<bool>,
    /// Whether it can be sampled otherwise, if that is known.
    pub temperature: Option<bool>,
    /// Most tokens it can write, if that is known.
    pub output: Option<u64>,
    /// The vendor's `options` of the settings.
    pub options: Option<&'a Map<String, Value>>,
    /// Whether it is a server of the user's own: on this machine, or one that the catalogue does not know.
    pub own: bool,
}

impl Quirks {
    /// What is known of a model.
    pub fn about(about: &About<'_>) -> Self {
        let About { vendor, model, driver, temperature, options, .. } = *about;
        let lower = model.to_lowercase();
        let is = |names: &[&str]| names.iter().any(|name| lower.contains(name));
        let option = |name: &str| options.and_then(|options| options.get(name));
        let mistral = vendor == "mistral" || is(&["mistral", "devstral"]);
        let claude = is(&["claude"]);
        let ids = if mistral {
            Ids::Nine
        } else if claude {
            Ids::Plain
        } else {
            Ids::Any
        };
        let litellm = option(LITELLM).and_then(Value::as_bool);
        let usual_key = defaults::cache_key(vendor, driver);
        Self {
            accepts: None,
            ids,
            answer_results: mistral,
            no_tools: false,
            // Their own templates fail on the second call of an answer.
            one_call: is(&["llama-3", "llama3", "llama_3"]),
            // Claude alone is sure to look at what results hold; others have learned from its interface. And where a
            // word must stand between results and the user, files must stand behind it.
            files_behind_results: mistral || (driver == Some("@ai-sdk/anthropic") && !claude),
            // Gateways hand nothing on as nothing, which the model's own interface refuses.
            words_in_results: claude && driver != Some("@ai-sdk/anthropic"),
            no_nul: true,
            placeholder: litellm.unwrap_or(vendor.contains("litellm") || vendor.starts_with("github-copilot")),
            fits: Fits::of(vendor, model, driver),
            sampling: if temperature == Some(false) { Sampling::default() } else { Sampling::of(model) },
            defaults: defaults::of(about),
            cache_key: cache_key(option(CACHE_KEY), usual_key),
            rescue: rescue(option(TEXT_CALLS)).unwrap_or_else(|| worth_rescuing(about)),
        }
    }
}

/// The field that is told the name of the conversation, by what the settings say of it and what is `usual`.
pub(super) fn cache_key(setting: Option<&Value>, usual: Option<&'static str>) -> Option<&'static str> {
    match setting.and_then(Value::as_bool) {
        Some(true) => Some(usual.unwrap_or(USUAL_CACHE_KEY)),
        Some(false) => None,
        None => usual,
    }
}

/// What the settings say of calls that are written as text.
pub(super) fn rescue(setting: Option<&Value>) -> Option<Rescue> {
    match setting? {
        Value::Bool(false) => Some(Rescue::Off),
        Value::Bool(true) => Some(Rescue::Marked),
        Value::String(word) => match word.as_str() {
            "off" => Some(Rescue::Off),
            "marked" => Some(Rescue::Marked),
            "any" => Some(Rescue::Any),
            _ => None,
        },
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Servers of one's own often run without a reader for what their model writes; hosts of open models lose a call now
/// and then. Vendors of one family read their own.
fn worth_rescuing(about: &About<'_>) -> Rescue {
    const OPEN: [&str; 17] = [
        "qwen",
        "qwq",
        "hermes",
        "llama",
        "mistral",
        "devstral",
        "ministral",
        "deepseek",
        "glm",
        "kimi",
        "minimax",
        "gpt-oss",
        "gemma",
        "phi-",
        "granite",
        "nemotron",
        "functionary",
    ];
    const LOCAL: [&str; 4] = ["ollama", "lmstudio", "llamacpp", "vllm"];
    let model = about.model.to_lowercase();
    if LOCAL.contains(&about.vendor) || about.own {
        return Rescue::Any;
    }
    match OPEN.iter().any(|name| model.contains(name)) {
        true => Rescue::Marked,
        false => Rescue::Off,
    }
}
