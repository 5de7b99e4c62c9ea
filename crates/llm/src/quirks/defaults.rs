//! Fields that single vendors want in each request. Settings are laid over them.

use serde_json::{Map, Value, json};

use super::{About, Quirks};
use crate::Request;

/// Most tokens that a model which is not asked thinks for, where the interface wants a number.
const MAX_BUDGET: u64 = 16_000;

/// The fields that the vendor of `about` wants, in the names of its driver where that has one.
pub(super) fn of(about: &About<'_>) -> Map<String, Value> {
    let About { vendor, model, driver, reasoning, output, .. } = *about;
    let model = model.to_lowercase();
    let is = |names: &[&str]| names.iter().any(|name| model.contains(name));
    let messages = matches!(driver, Some("@ai-sdk/anthropic" | "@ai-sdk/google-vertex/anthropic"));
    let chat = matches!(driver, None | Some("@ai-sdk/openai-compatible"));
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    if vendor == "openrouter" || matches!(driver, Some("@openrouter/ai-sdk-provider" | "@llmgateway/ai-sdk-provider")) {
        // Its usage has no cached tokens and no price otherwise.
        put("usage", json!({"include": true}));
        if is(&["gemini-3"]) {
            put("reasoning", json!({"effort": "high"}));
        }
    }
    if vendor == "baseten" || (vendor == "opencode" && matches!(&*model, "kimi-k2-thinking" | "glm-4.6")) {
        put("chat_template_args", json!({"enable_thinking": true}));
    }
    if chat && (vendor.contains("zai") || vendor.contains("zhipuai")) {
        // Thoughts stay in the conversation, so that its prefix does not change.
        put("thinking", json!({"type": "enabled", "clear_thinking": false}));
    }
    // Its models think only where they are told to; this one does anyway.
    if vendor == "alibaba-cn" && chat && reasoning == Some(true) && !is(&["kimi-k2-thinking"]) {
        put("enable_thinking", json!(true));
    }
    if messages && is(&["minimax-m3"]) {
        put("thinking", json!({"type": "adaptive"}));
    }
    if messages && is(&["k2p", "kimi-k2."]) {
        let half = output.map_or(MAX_BUDGET, |output| (output / 2).saturating_sub(1));
        put("thinking", json!({"type": "enabled", "budgetTokens": half.min(MAX_BUDGET)}));
    }
    if vendor == "vercel" || driver == Some("@ai-sdk/gateway") {
        put("providerOptions", json!({"gateway": {"caching": "auto"}}));
    }
    fields
}

/// The field in which a vendor is told the name of the conversation, if it wants it unasked.
pub(super) fn cache_key(vendor: &str, driver: Option<&str>) -> Option<&'static str> {
    match (vendor, driver) {
        ("openrouter" | "venice", _) | (_, Some("@openrouter/ai-sdk-provider" | "venice-ai-sdk-provider")) => {
            Some(super::known::USUAL_CACHE_KEY)
        }
        _ => None,
    }
}

/// Puts in what the settings do not say.
pub(super) fn fill(quirks: &Quirks, cache_key: Option<&'static str>, request: &mut Request) {
    for (name, value) in &quirks.defaults {
        if !request.extra.contains_key(name) {
            request.extra.insert(name.clone(), value.clone());
        }
    }
    if let (Some(field), Some(session)) = (cache_key, &request.session)
        && !request.extra.contains_key(field)
        && !request.extra.contains_key("prompt_cache_key")
    {
        request.extra.insert(field.to_owned(), Value::String(session.clone()));
    }
}
