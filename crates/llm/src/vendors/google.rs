//! Google's own interface for Gemini: which models think, and are asked for their thoughts.

use serde_json::{Map, Value, json};

use super::{Wanted, Wants};
use crate::catalogue::Dialect;
use crate::dialect::gemini::thinks;

/// What Google wants otherwise.
pub(super) fn wants(wanted: &Wanted<'_>) -> Wants {
    let address = wanted.options.get("baseURL").and_then(Value::as_str).unwrap_or_default();
    let native = matches!(wanted.driver, None | Some("@ai-sdk/google"));
    // It has an address below its own that speaks chat completions.
    if !native || address.trim_end_matches('/').ends_with("/openai") {
        return Wants::default();
    }
    Wants { dialect: Some(Dialect::Gemini), extra: thinking(wanted.model), ..Wants::default() }
}

/// What a Gemini model is asked about its thinking unless the settings say otherwise: to show it, and since Gemini 3 to
/// think as hard as it can, as its makers do where nothing is said.
pub(super) fn thinking(model: &str) -> Map<String, Value> {
    if !thinks(model) {
        return Map::new();
    }
    let mut config = json!({"includeThoughts": true});
    if model.to_lowercase().contains("gemini-3") {
        config["thinkingLevel"] = "high".into();
    }
    Map::from_iter([("thinkingConfig".to_owned(), config)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_think_show_it() {
        let row = |model: &str, want: Value| assert_eq!(Value::from(thinking(model)), want, "{model}");
        row("gemini-3-pro-preview", json!({"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"}}));
        row("gemini-2.5-flash", json!({"thinkingConfig": {"includeThoughts": true}}));
        row("gemini-flash-latest", json!({"thinkingConfig": {"includeThoughts": true}}));
        row("gemini-2.0-flash", json!({}));
        row("gemini-3-pro-image-preview", json!({}));
        row("gemma-3-27b-it", json!({}));
    }

    #[test]
    fn the_address_for_chat_completions_speaks_those() {
        let row = |driver: Option<&str>, options: Value, want: Option<Dialect>| {
            let options = options.as_object().unwrap();
            let (stored, env) = (Map::new(), |_: &str| None);
            let wanted =
                Wanted { vendor: "google", model: "gemini-3-pro", driver, options, stored: &stored, env: &env };
            assert_eq!(wants(&wanted).dialect, want);
        };
        row(None, json!({}), Some(Dialect::Gemini));
        row(Some("@ai-sdk/google"), json!({"baseURL": "http://127.0.0.1:1/v1beta"}), Some(Dialect::Gemini));
        row(Some("@ai-sdk/openai-compatible"), json!({}), None);
        row(None, json!({"baseURL": "https://generativelanguage.googleapis.com/v1beta/openai/"}), None);
    }
}
