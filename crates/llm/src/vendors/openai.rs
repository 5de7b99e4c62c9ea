//! OpenAI, and whoever speaks with its driver.

use serde_json::{Map, Value};

use super::{Wanted, Wants, chatgpt};
use crate::catalogue::Dialect;
use crate::dialect::responses::Family;

/// OpenCode's driver for it.
pub(super) const DRIVER: &str = "@ai-sdk/openai";

pub(super) fn wants(wanted: &Wanted<'_>) -> Wants {
    if wanted.vendor == "openai" && chatgpt::is_signed_in(wanted) {
        return chatgpt::wants(wanted);
    }
    Wants { dialect: Some(Dialect::Responses), extra: extra(wanted), ..Wants::default() }
}

/// How OpenAI's models are asked where the settings say nothing: to think for a while, to say what they think, and to
/// be brief.
pub(super) fn extra(wanted: &Wanted<'_>) -> Map<String, Value> {
    let mut extra = Map::new();
    // The session names a cache, unless that is switched off.
    if wanted.is_off("setCacheKey") {
        extra.insert("prompt_cache_key".to_owned(), Value::Null);
    }
    let family = Family::of(wanted.model);
    if !family.thinks || family.gpt.is_none() {
        return extra;
    }
    let mut set = |name: &str, value: &str| drop(extra.insert(name.to_owned(), value.into()));
    let says = |word: &str| wanted.model.contains(word);
    set("reasoningSummary", "auto");
    if family.gpt == Some(5) {
        // Those choose for themselves.
        if !says("-pro") {
            set("reasoningEffort", "medium");
        }
        if family.sampled_unthinking && !says("codex") && !says("-chat") {
            set("textVerbosity", "low");
        }
    }
    extra
}
