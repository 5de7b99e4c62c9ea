//! The settings of a request: those of the settings file in the names of the wire, and what follows from the model.

use serde_json::{Map, Value, json};

use super::family::Family;
use super::format;
use crate::steering::{STRICT_ANSWER, SYSTEM, THINKS, without};
use crate::{Request, ToolChoice};

/// Names that OpenCode's driver uses, and what the wire calls them. Whatever else stands in the settings goes as it is.
const NAMES: [(&str, &str); 12] = [
    ("maxCompletionTokens", MAX_OUTPUT),
    ("max_completion_tokens", MAX_OUTPUT),
    ("maxOutputTokens", MAX_OUTPUT),
    ("maxToolCalls", "max_tool_calls"),
    ("parallelToolCalls", "parallel_tool_calls"),
    ("previousResponseId", "previous_response_id"),
    ("promptCacheKey", CACHE_KEY),
    ("promptCacheRetention", "prompt_cache_retention"),
    ("promptCacheOptions", "prompt_cache_options"),
    ("safetyIdentifier", "safety_identifier"),
    ("serviceTier", "service_tier"),
    ("topLogprobs", "top_logprobs"),
];

/// The same, for names that are part of a field.
const PARTS: [(&str, &str, &str); 8] = [
    ("reasoningEffort", "reasoning", "effort"),
    ("reasoning_effort", "reasoning", "effort"),
    ("reasoningSummary", "reasoning", "summary"),
    ("reasoning_summary", "reasoning", "summary"),
    ("reasoningMode", "reasoning", "mode"),
    ("reasoningContext", "reasoning", "context"),
    ("textVerbosity", "text", "verbosity"),
    ("verbosity", "text", "verbosity"),
];

const CACHE_KEY: &str = "prompt_cache_key";
const MAX_OUTPUT: &str = "max_output_tokens";

/// Asks for thoughts, encrypted.
const THOUGHTS: &str = "reasoning.encrypted_content";

/// Least number of tokens that a model may be limited to.
const LEAST_OUTPUT: u64 = 16;

/// Longest name of a cache, in characters.
const MAX_CACHE_KEY: usize = 64;

/// Most likely tokens that are told where the settings ask for them without a number.
const LOGPROBS: u64 = 20;

/// The fields that hang together.
#[derive(Debug, PartialEq)]
pub(super) struct Options {
    /// Further fields, in the names of the wire.
    pub(super) extra: Map<String, Value>,
    /// Whether the vendor keeps the conversation, so that what it holds goes by the vendor's ids.
    pub(super) stored: bool,
    /// How the one is called whose words the system prompt is.
    pub(super) system: &'static str,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) max_output: Option<u64>,
    pub(super) text: Option<Value>,
    pub(super) reasoning: Option<Value>,
    pub(super) include: Option<Value>,
    pub(super) cache_key: Option<String>,
    pub(super) tool_choice: &'static str,
}

impl Options {
    pub(super) fn of(request: &Request) -> Self {
        let told = |name: &str| request.extra.get(name);
        let family = Family::of(&request.model);
        let thinks = told(THINKS).and_then(Value::as_bool).unwrap_or(family.thinks);
        let strict = told(STRICT_ANSWER).and_then(Value::as_bool);
        let system = match told(SYSTEM).and_then(Value::as_str) {
            Some("developer") => "developer",
            Some("system") => "system",
            Some(_) | None if thinks => "developer",
            Some(_) | None => "system",
        };
        let mut extra = without(&request.extra);
        for (theirs, wire) in NAMES {
            if let Some(value) = extra.remove(theirs) {
                extra.entry(wire).or_insert(value);
            }
        }
        match extra.remove("logprobs") {
            Some(Value::Bool(true)) => drop(extra.entry("top_logprobs").or_insert(json!(LOGPROBS))),
            Some(Value::Number(count)) => drop(extra.entry("top_logprobs").or_insert(Value::Number(count))),
            Some(_) | None => {}
        }
        let (mut text, mut reasoning) = (part(&mut extra, "text"), part(&mut extra, "reasoning"));
        for (theirs, field, wire) in PARTS {
            let Some(value) = extra.remove(theirs) else { continue };
            let whole = if field == "text" { &mut text } else { &mut reasoning };
            if let Whole::Fields(fields) = whole {
                fields.entry(wire).or_insert(value);
            }
        }
        if let (Some(format), Whole::Fields(fields)) = (&request.format, &mut text) {
            fields.entry("format").or_insert_with(|| format::wire(format, strict));
        }
        let stored = match extra.get("store") {
            None => false,
            Some(Value::Bool(stored)) => *stored,
            // Left out, it means yes.
            Some(other) => other.is_null(),
        };
        let unthinking = matches!(&reasoning, Whole::Fields(fields) if fields.get("effort") == Some(&json!("none")));
        let sampled = !thinks || unthinking && family.sampled_unthinking;
        let asks =
            !stored && (thinks || family.encrypts || matches!(&reasoning, Whole::Fields(fields) if !fields.is_empty()));
        Self {
            stored,
            system,
            temperature: request.temperature.filter(|_| sampled),
            top_p: request.top_p.filter(|_| sampled),
            max_output: request.max_output.map(|most| most.max(LEAST_OUTPUT)),
            text: text.into_value(),
            reasoning: reasoning.into_value(),
            include: include(&mut extra, asks),
            cache_key: request.session.as_ref().map(|session| session.chars().take(MAX_CACHE_KEY).collect()),
            tool_choice: match request.tool_choice {
                ToolChoice::Auto => "auto",
                ToolChoice::Required => "required",
                // The tools stand there all the same: without them the vendor's cache would not hold.
                ToolChoice::None => "none",
            },
            extra,
        }
    }
}

/// A field that is an object.
enum Whole {
    Fields(Map<String, Value>),
    /// The settings say otherwise: something else, or nothing at all.
    Other(Value),
}

impl Whole {
    fn into_value(self) -> Option<Value> {
        match self {
            Whole::Fields(fields) => (!fields.is_empty()).then_some(Value::Object(fields)),
            Whole::Other(value) => (!value.is_null()).then_some(value),
        }
    }
}

/// Takes `field` out of the settings.
fn part(extra: &mut Map<String, Value>, field: &str) -> Whole {
    match extra.remove(field) {
        None => Whole::Fields(Map::new()),
        // What is not set is not sent.
        Some(Value::Object(fields)) => {
            Whole::Fields(fields.into_iter().filter(|(_, value)| !value.is_null()).collect())
        }
        Some(other) => Whole::Other(other),
    }
}

/// What is asked for beside the answer: what the settings say, and thoughts if the next request `asks` for them.
fn include(extra: &mut Map<String, Value>, asks: bool) -> Option<Value> {
    let mut list = match extra.remove("include") {
        None => Vec::new(),
        Some(Value::Array(list)) => list,
        // The settings say otherwise.
        Some(other) => return (!other.is_null()).then_some(other),
    };
    let mut add = |what: &str| {
        if !list.iter().any(|one| one == what) {
            list.push(what.into());
        }
    };
    if asks {
        add(THOUGHTS);
    }
    if extra.get("top_logprobs").is_some_and(|count| !count.is_null()) {
        add("message.output_text.logprobs");
    }
    (!list.is_empty()).then_some(Value::Array(list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    fn options(model: &str, extra: Value, request: Request) -> Options {
        Options::of(&Request { model: model.to_owned(), extra: extra.as_object().unwrap().clone(), ..request })
    }

    #[test]
    fn names_of_the_driver_become_names_of_the_wire() {
        let row = |given: Value, want: Value| {
            let Options { extra, text, reasoning, include, .. } = options("m", given, Request::default());
            assert_eq!(json!({"extra": extra, "text": text, "reasoning": reasoning, "include": include}), want);
        };
        let thoughts = json!([THOUGHTS]);
        row(json!({}), json!({"extra": {}, "text": null, "reasoning": null, "include": null}));
        row(
            json!({"reasoningEffort": "low", "reasoningSummary": "auto", "textVerbosity": "high"}),
            json!({
                "extra": {},
                "text": {"verbosity": "high"},
                "reasoning": {"effort": "low", "summary": "auto"},
                "include": thoughts,
            }),
        );
        // What is spelled as the wire does wins.
        row(
            json!({"reasoning": {"effort": "high"}, "reasoningEffort": "low", "text": {"verbosity": "low"}, "textVerbosity": "high"}),
            json!({"extra": {}, "text": {"verbosity": "low"}, "reasoning": {"effort": "high"}, "include": thoughts}),
        );
        // The names of chat completions, which variants of the settings may use.
        row(
            json!({"reasoning_effort": "low", "verbosity": "low"}),
            json!({"extra": {}, "text": {"verbosity": "low"}, "reasoning": {"effort": "low"}, "include": thoughts}),
        );
        row(
            json!({
                "promptCacheKey": "k",
                "serviceTier": "flex",
                "parallelToolCalls": false,
                "maxToolCalls": 3,
                "store": false,
                "user": "u",
                "systemMessageMode": "remove",
            }),
            json!({
                "extra": {
                    "store": false,
                    "user": "u",
                    "max_tool_calls": 3,
                    "parallel_tool_calls": false,
                    "prompt_cache_key": "k",
                    "service_tier": "flex",
                },
                "text": null,
                "reasoning": null,
                "include": null,
            }),
        );
        row(
            json!({"logprobs": true, "include": ["file_search_call.results"]}),
            json!({
                "extra": {"top_logprobs": 20},
                "text": null,
                "reasoning": null,
                "include": ["file_search_call.results", "message.output_text.logprobs"],
            }),
        );
        // Null leaves out.
        row(
            json!({"reasoning": null, "reasoningEffort": "low", "include": null, "text": {"verbosity": null}}),
            json!({"extra": {}, "text": null, "reasoning": null, "include": null}),
        );
    }

    #[test]
    fn a_model_that_thinks_is_asked_for_its_thoughts_and_not_sampled() {
        let request = || Request { temperature: Some(0.5), top_p: Some(0.9), ..Request::default() };
        let row = |model: &str, extra: Value, sampled: bool, system: &str, asked: bool| {
            let options = options(model, extra, request());
            let want = (sampled.then_some(0.5), sampled.then_some(0.9), system);
            assert_eq!((options.temperature, options.top_p, options.system), want, "{model}");
            assert_eq!(options.include.is_some(), asked, "{model}");
        };
        row("gpt-5", json!({}), false, "developer", true);
        row("gpt-5", json!({"store": true}), false, "developer", false);
        row("gpt-5", json!({"reasoningEffort": "none"}), false, "developer", true);
        row("gpt-5.1", json!({"reasoningEffort": "none"}), true, "developer", true);
        row("gpt-4.1", json!({}), true, "system", false);
        row("grok-4", json!({}), true, "system", true);
        row("my-deployment", json!({"forceReasoning": true}), false, "developer", true);
        row("o3", json!({"systemMessageMode": "system"}), false, "system", true);
    }

    #[test]
    fn nothing_is_stored_unless_the_settings_say_so() {
        let stored = |extra: Value| options("m", extra, Request::default()).stored;
        assert!(!stored(json!({})));
        assert!(!stored(json!({"store": false})));
        assert!(stored(json!({"store": true})));
        // Left out, the vendor stores.
        assert!(stored(json!({"store": null})));
    }

    #[test]
    fn limits_are_those_that_the_vendor_takes() {
        let request = Request { max_output: Some(1), session: Some("s".repeat(70)), ..Request::default() };
        let options = options("m", json!({}), request);
        assert_eq!(options.max_output, Some(16));
        assert_eq!(options.cache_key, Some("s".repeat(64)));
    }

    #[test]
    fn a_form_stands_beside_the_other_settings_of_the_text() {
        let format = Format { name: "answer".to_owned(), schema: json!({"type": "object"}) };
        let request = || Request { format: Some(format.clone()), ..Request::default() };
        let wire = json!({"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": true});
        let options_of = |extra| options("m", extra, request()).text.unwrap();
        assert_eq!(
            options_of(json!({"textVerbosity": "low", "strictJsonSchema": true})),
            json!({"verbosity": "low", "format": wire})
        );
        assert_eq!(options_of(json!({"text": {"format": {"type": "text"}}})), json!({"format": {"type": "text"}}));
    }
}
