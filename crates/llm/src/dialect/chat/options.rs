//! The settings of a request: those of the settings file in the names of the wire, and what follows from the model.

use serde_json::{Map, Value};

use crate::Request;
use crate::dialect::responses::Family;
use crate::steering::without;

/// Names that OpenCode's drivers use, and what the wire calls them. Whatever else stands in the settings goes as it is.
const NAMES: [(&str, &str); 8] = [
    ("reasoningEffort", "reasoning_effort"),
    ("textVerbosity", "verbosity"),
    ("promptCacheKey", "prompt_cache_key"),
    ("parallelToolCalls", "parallel_tool_calls"),
    ("serviceTier", "service_tier"),
    ("maxCompletionTokens", "max_completion_tokens"),
    ("logitBias", "logit_bias"),
    ("topLogprobs", "top_logprobs"),
];

/// `extra` in the names of the wire. What is spelled as the wire does wins.
pub(super) fn named(extra: &Map<String, Value>) -> Map<String, Value> {
    let mut named = without(extra);
    for (theirs, wire) in NAMES {
        if let Some(value) = named.shift_remove(theirs) {
            named.entry(wire).or_insert(value);
        }
    }
    named
}

/// Limits and sampling as the model takes them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sampling {
    pub(super) max_tokens: Option<u64>,
    pub(super) max_completion_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) top_k: Option<u64>,
}

impl Sampling {
    /// OpenAI's thinking models refuse the old name of the limit, and to be sampled otherwise.
    pub(super) fn of(request: &Request) -> Self {
        if thinks(&request.model) {
            return Self { max_completion_tokens: request.max_output, ..Self::default() };
        }
        Self {
            max_tokens: request.max_output,
            temperature: request.temperature,
            top_p: request.top_p,
            top_k: request.top_k,
            ..Self::default()
        }
    }
}

/// Whether a model is one of OpenAI's that think, by the name that OpenAI itself gives it: gateways, which put its maker
/// before it, take the old name of the limit and leave out what the model refuses.
pub(super) fn thinks(model: &str) -> bool {
    !model.contains('/') && Family::of(model).thinks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_the_driver_become_names_of_the_wire() {
        let row = |given: Value, want: Value| {
            assert_eq!(Value::Object(named(given.as_object().unwrap())), want);
        };
        row(json!({"reasoningEffort": "low", "top_k": 4}), json!({"top_k": 4, "reasoning_effort": "low"}));
        row(json!({"reasoningEffort": "low", "reasoning_effort": "high"}), json!({"reasoning_effort": "high"}));
        row(json!({}), json!({}));
    }

    #[test]
    fn a_thinking_model_is_limited_by_the_new_name_and_not_sampled() {
        let row = |model: &str, thinking: bool| {
            let request = Request {
                model: model.to_owned(),
                max_output: Some(9),
                temperature: Some(0.5),
                top_p: Some(0.9),
                top_k: Some(7),
                ..Request::default()
            };
            let want = match thinking {
                true => Sampling { max_completion_tokens: Some(9), ..Sampling::default() },
                false => Sampling {
                    max_tokens: Some(9),
                    max_completion_tokens: None,
                    temperature: Some(0.5),
                    top_p: Some(0.9),
                    top_k: Some(7),
                },
            };
            assert_eq!(Sampling::of(&request), want, "{model}");
        };
        row("gpt-5.1", true);
        row("gpt-5-mini", true);
        row("o3", true);
        row("o4-mini", true);
        row("gpt-6", true);
        row("gpt-5-chat-latest", false);
        row("gpt-4o", false);
        row("openai/gpt-5", false);
        row("o365-model", false);
        row("m1", false);
    }
}
