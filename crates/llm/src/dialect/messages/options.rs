//! The settings of a request: those of the settings file in the names of the wire, and what follows from them.

use serde_json::{Map, Value, json};

use crate::schema::closed;
use crate::steering::{ONE_CALL, without};
use crate::{Request, ToolChoice};

/// The fields that hang together.
pub(super) struct Options {
    /// Further fields, in the names of the wire.
    pub(super) extra: Map<String, Value>,
    pub(super) max_tokens: u64,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) top_k: Option<u64>,
    pub(super) tool_choice: Value,
}

impl Options {
    pub(super) fn of(request: &Request) -> Self {
        let one_call = request.extra.get(ONE_CALL) == Some(&Value::Bool(true));
        let mut extra = without(&request.extra);
        if let Some(effort) = extra.shift_remove("effort") {
            let config = extra.entry("output_config").or_insert_with(|| json!({}));
            if let Some(config) = config.as_object_mut() {
                config.entry("effort").or_insert(effort);
            }
        }
        if let Some(format) = &request.format {
            let config = extra.entry("output_config").or_insert_with(|| json!({}));
            if let Some(config) = config.as_object_mut() {
                let form = || json!({"type": "json_schema", "schema": closed(format.schema.clone())});
                config.entry("format").or_insert_with(form);
            }
        }
        if let Some(Value::Object(thinking)) = extra.get_mut("thinking")
            && let Some(budget) = thinking.shift_remove("budgetTokens")
        {
            thinking.entry("budget_tokens").or_insert(budget);
        }
        let thinking = extra.get("thinking").unwrap_or(&Value::Null);
        let thinks = matches!(thinking["type"].as_str(), Some("enabled" | "adaptive"));
        let budget = thinking["budget_tokens"].as_u64().filter(|_| thinks).unwrap_or(0);
        let write = request.max_output.unwrap_or_else(|| most(&request.model));
        Self {
            // Thinking counts as written; what was asked for is to be left for the answer.
            max_tokens: write.saturating_add(budget),
            // A thinking model refuses both, and some models refuse them together.
            temperature: request.temperature.filter(|_| !thinks),
            top_p: request.top_p.filter(|_| !thinks && request.temperature.is_none()),
            top_k: request.top_k.filter(|_| !thinks),
            tool_choice: choice(request.tool_choice, thinks, one_call),
            extra,
        }
    }
}

/// A thinking model refuses to be forced.
fn choice(choice: ToolChoice, thinks: bool, one_call: bool) -> Value {
    let kind = match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required if thinks => "auto",
        ToolChoice::Required => "any",
        // The tools stand there all the same: a conversation with calls is refused without them.
        ToolChoice::None => "none",
    };
    match one_call && kind != "none" {
        true => json!({"type": kind, "disable_parallel_tool_use": true}),
        false => json!({"type": kind}),
    }
}

/// How many tokens to ask for where nothing is known: the interface wants a number, and refuses one that is more than
/// the model can write.
fn most(model: &str) -> u64 {
    let model = model.to_lowercase();
    let is = |names: &[&str]| names.iter().any(|name| model.contains(name));
    if is(&["claude-3-opus", "claude-3-sonnet", "claude-3-haiku", "claude-2", "claude-instant"]) {
        4_096
    } else if is(&["claude-3-5"]) || !is(&["claude"]) {
        8_192
    } else {
        32_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(model: &str, extra: Value, request: Request) -> Options {
        Options::of(&Request { model: model.to_owned(), extra: extra.as_object().unwrap().clone(), ..request })
    }

    #[test]
    fn names_of_the_driver_become_names_of_the_wire() {
        let row = |given: Value, want: Value| {
            assert_eq!(Value::Object(options("m", given, Request::default()).extra), want);
        };
        row(
            json!({"thinking": {"type": "enabled", "budgetTokens": 9}}),
            json!({"thinking": {"type": "enabled", "budget_tokens": 9}}),
        );
        row(
            json!({"thinking": {"type": "enabled", "budget_tokens": 9, "budgetTokens": 8}}),
            json!({"thinking": {"type": "enabled", "budget_tokens": 9}}),
        );
        row(json!({"effort": "low"}), json!({"output_config": {"effort": "low"}}));
        row(
            json!({"effort": "low", "output_config": {"format": 1}}),
            json!({"output_config": {"format": 1, "effort": "low"}}),
        );
        row(json!({"toolStreaming": true, "metadata": {"user_id": "u"}}), json!({"metadata": {"user_id": "u"}}));
        row(json!({"thinking": "odd"}), json!({"thinking": "odd"}));
    }

    #[test]
    fn a_thinking_model_is_asked_for_room_and_for_nothing_it_refuses() {
        let request = || Request {
            max_output: Some(1000),
            temperature: Some(0.5),
            top_p: Some(0.9),
            top_k: Some(7),
            tool_choice: ToolChoice::Required,
            ..Request::default()
        };
        let enabled = options("m", json!({"thinking": {"type": "enabled", "budgetTokens": 16_000}}), request());
        assert_eq!((enabled.max_tokens, enabled.temperature, enabled.top_p), (17_000, None, None));
        assert_eq!(enabled.tool_choice, json!({"type": "auto"}));
        let adaptive = options("m", json!({"thinking": {"type": "adaptive"}}), request());
        assert_eq!((adaptive.max_tokens, adaptive.temperature), (1000, None));
        let disabled = options("m", json!({"thinking": {"type": "disabled"}}), request());
        assert_eq!((disabled.max_tokens, disabled.temperature, disabled.top_p), (1000, Some(0.5), None));
        assert_eq!((enabled.top_k, disabled.top_k), (None, Some(7)));
        assert_eq!(disabled.tool_choice, json!({"type": "any"}));
    }

    #[test]
    fn an_answer_has_the_form_that_is_asked_for() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}});
        let format = Some(crate::Format { name: "f".to_owned(), schema });
        let row = |extra: Value, want: Value| {
            let request = Request { format: format.clone(), ..Request::default() };
            assert_eq!(options("m", extra, request).extra["output_config"], want);
        };
        let closed = json!({
            "type": "object",
            "properties": {"a": {"type": "object", "properties": {}, "additionalProperties": false}},
            "additionalProperties": false,
        });
        let form = json!({"type": "json_schema", "schema": closed});
        row(json!({}), json!({"format": form}));
        row(json!({"effort": "low"}), json!({"effort": "low", "format": form}));
        row(json!({"output_config": {"format": 1}}), json!({"format": 1}));
    }

    #[test]
    fn a_number_is_asked_for_that_the_model_can_write() {
        let row = |model: &str, want| assert_eq!(most(model), want, "{model}");
        row("claude-sonnet-4-5", 32_000);
        row("claude-3-7-sonnet-latest", 32_000);
        row("claude-3-5-haiku-20241022", 8_192);
        row("anthropic/claude-3-haiku", 4_096);
        row("MiniMax-M2", 8_192);
    }

    #[test]
    fn one_call_at_a_time_can_be_asked_for() {
        assert_eq!(choice(ToolChoice::Auto, false, true), json!({"type": "auto", "disable_parallel_tool_use": true}));
        assert_eq!(choice(ToolChoice::None, false, true), json!({"type": "none"}));
    }
}
