//! The arguments of past calls, as they are given back.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;

use crate::repair;

/// Arguments that a server can read: a JSON object. Many of them parse those of the history, and fail on broken ones
/// for ever after. What was meant stands there where that can be told, as it was called; else the model still sees what
/// it wrote.
pub(super) fn readable(arguments: &str) -> Cow<'_, str> {
    let trimmed = arguments.trim();
    if trimmed.is_empty() {
        return "{}".into();
    }
    if trimmed.starts_with('{') && serde_json::from_str::<IgnoredAny>(trimmed).is_ok() {
        return arguments.into();
    }
    match repair::object(arguments) {
        Some(meant) => meant.to_string().into(),
        None => json!({"invalid_arguments": arguments}).to_string().into(),
    }
}

/// The same as JSON that goes into a body as it is.
pub(super) fn object(arguments: &str) -> Cow<'_, RawValue> {
    match readable(arguments) {
        Cow::Borrowed(text) => match serde_json::from_str::<&RawValue>(text.trim()) {
            Ok(raw) => Cow::Borrowed(raw),
            // What is readable is JSON.
            Err(_) => Cow::Borrowed(RawValue::NULL),
        },
        Cow::Owned(text) => RawValue::from_string(text).map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_whatever_was_written() {
        let row = |given: &str, want: &str| assert_eq!(readable(given), want, "{given}");
        row("", "{}");
        row(" {\"a\": 1} ", " {\"a\": 1} ");
        row("{'a': True,}", "{\"a\":true}");
        row("{\"a\": \"b", "{\"invalid_arguments\":\"{\\\"a\\\": \\\"b\"}");
        row("[1]", "{\"invalid_arguments\":\"[1]\"}");
    }
}
