//! xAI, which speaks responses as OpenAI does.

use serde_json::{Map, Value};

use super::{Wanted, Wants};
use crate::catalogue::Dialect;

/// OpenCode's driver for it.
pub(super) const DRIVER: &str = "@ai-sdk/xai";

pub(super) fn wants(wanted: &Wanted<'_>) -> Wants {
    let mut extra = Map::new();
    if wanted.is_off("setCacheKey") {
        extra.insert("prompt_cache_key".to_owned(), Value::Null);
    }
    let base_url = Some("https://api.x.ai/v1".to_owned());
    Wants { dialect: Some(Dialect::Responses), base_url, extra, ..Wants::default() }
}
