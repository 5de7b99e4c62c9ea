//! The arguments of past calls, as they are given back.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::json;

/// Arguments that a server can read: a JSON object. Many of them parse those of the history, and fail on broken ones
/// for ever after; the model still sees what it wrote.
pub(super) fn readable(arguments: &str) -> Cow<'_, str> {
    let trimmed = arguments.trim();
    if trimmed.is_empty() {
        return "{}".into();
    }
    if trimmed.starts_with('{') && serde_json::from_str::<IgnoredAny>(trimmed).is_ok() {
        return arguments.into();
    }
    json!({"invalid_arguments": arguments}).to_string().into()
}
