//! The settings of a request: those of the settings file in the names and places of the wire, and what follows from the
//! model.

use serde_json::{Map, Value, json};

use super::models::is_third;
use crate::steering::{SCHEMAS, without};
use crate::{Request, ToolChoice};

/// What stands in `generationConfig`. In the settings it may stand beside it.
const GENERATION: [&str; 22] = [
    "audioTimestamp",
    "candidateCount",
    "enableAffectiveDialog",
    "frequencyPenalty",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "routingConfig",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];

/// What one `threshold` of the settings is for.
const HARMS: [&str; 4] = [
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
];

/// The fields that hang together.
#[derive(Debug)]
pub(super) struct Options {
    /// `generationConfig`; nothing is sent where it is empty.
    pub(super) generation: Map<String, Value>,
    /// `toolConfig`.
    pub(super) tool_config: Map<String, Value>,
    /// Further fields of the body.
    pub(super) extra: Map<String, Value>,
}

impl Options {
    pub(super) fn of(request: &Request) -> Self {
        let schemas = request.extra.get(SCHEMAS) != Some(&Value::Bool(false));
        let mut extra = without(&request.extra);
        if let Some(threshold) = extra.shift_remove("threshold") {
            let setting = |category| json!({"category": category, "threshold": threshold});
            extra.entry("safetySettings").or_insert_with(|| HARMS.map(setting).into_iter().collect());
        }
        let generation = generation(request, schemas, &mut extra);
        let mut tool_config = Map::new();
        if !request.tools.is_empty() {
            tool_config.insert("functionCallingConfig".to_owned(), json!({"mode": mode(request.tool_choice)}));
        }
        if let Some(retrieval) = extra.shift_remove("retrievalConfig") {
            tool_config.insert("retrievalConfig".to_owned(), retrieval);
        }
        lay_over(&mut tool_config, extra.shift_remove("toolConfig"));
        Self { generation, tool_config, extra }
    }
}

/// `generationConfig`; what belongs there is taken out of `extra`.
fn generation(request: &Request, schemas: bool, extra: &mut Map<String, Value>) -> Map<String, Value> {
    let mut config = Map::new();
    let mut set = |name: &str, value: Option<Value>| config.extend(value.map(|value| (name.to_owned(), value)));
    set("maxOutputTokens", request.max_output.map(Value::from));
    set("temperature", request.temperature.map(Value::from));
    set("topK", request.top_k.map(Value::from));
    set("topP", request.top_p.map(Value::from));
    // Models before refuse a form together with tools.
    if let Some(format) = &request.format
        && (request.tools.is_empty() || is_third(&request.model))
    {
        set("responseMimeType", Some("application/json".into()));
        set("responseJsonSchema", schemas.then(|| format.schema.clone()));
    }
    for name in GENERATION {
        match extra.shift_remove(name) {
            Some(Value::Null) => drop(config.shift_remove(name)),
            Some(value) => drop(config.insert(name.to_owned(), value)),
            None => {}
        }
    }
    lay_over(&mut config, extra.shift_remove("generationConfig"));
    if let Some(Value::Object(thinking)) = config.get_mut("thinkingConfig") {
        show_thoughts(thinking);
    }
    config
}

/// A model that is told how to think is asked for its thoughts, too, unless the settings say otherwise.
fn show_thoughts(thinking: &mut Map<String, Value>) {
    let off = thinking.get("thinkingBudget") == Some(&json!(0));
    if !off && !thinking.is_empty() {
        thinking.entry("includeThoughts").or_insert(Value::Bool(true));
    }
}

/// Lays the fields of `over` over `under`. `null` leaves one out.
fn lay_over(under: &mut Map<String, Value>, over: Option<Value>) {
    let Some(Value::Object(over)) = over else { return };
    for (name, value) in over {
        match value {
            Value::Null => drop(under.shift_remove(&name)),
            value => drop(under.insert(name, value)),
        }
    }
}

fn mode(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "AUTO",
        ToolChoice::Required => "ANY",
        ToolChoice::None => "NONE",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, ToolSpec};

    fn options(model: &str, extra: Value, request: Request) -> Options {
        Options::of(&Request { model: model.to_owned(), extra: extra.as_object().unwrap().clone(), ..request })
    }

    #[test]
    fn settings_stand_where_the_wire_has_them() {
        let row = |given: Value, generation: Value, tools: Value, rest: Value| {
            let options = options("m", given, Request::default());
            let got = (options.generation.into(), options.tool_config.into(), options.extra.into());
            assert_eq!(got, (generation, tools, rest));
        };
        row(
            json!({"stopSequences": ["x"], "seed": 3, "labels": {"a": "b"}, "cachedContent": "c"}),
            json!({"stopSequences": ["x"], "seed": 3}),
            json!({}),
            json!({"labels": {"a": "b"}, "cachedContent": "c"}),
        );
        row(
            json!({"generationConfig": {"topP": 0.5, "seed": null}, "seed": 1, "topP": 1}),
            json!({"topP": 0.5}),
            json!({}),
            json!({}),
        );
        row(json!({"generationConfig": "odd", "toolConfig": 1}), json!({}), json!({}), json!({}));
        row(
            json!({"structuredOutputs": true, "streamFunctionCallArguments": true, "retrievalConfig": {"x": 1}}),
            json!({}),
            json!({"retrievalConfig": {"x": 1}}),
            json!({}),
        );
        row(
            json!({"threshold": "OFF", "safetySettings": [{"category": "X", "threshold": "Y"}]}),
            json!({}),
            json!({}),
            json!({"safetySettings": [{"category": "X", "threshold": "Y"}]}),
        );
        let one = options("m", json!({"threshold": "OFF"}), Request::default());
        let settings = one.extra["safetySettings"].as_array().unwrap();
        assert_eq!(settings.len(), 4);
        assert_eq!(settings[0], json!({"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "OFF"}));
    }

    #[test]
    fn a_request_says_how_the_model_is_sampled() {
        let request = Request {
            max_output: Some(9),
            temperature: Some(0.5),
            top_p: Some(0.9),
            top_k: Some(40),
            ..Request::default()
        };
        let want = json!({"maxOutputTokens": 9, "temperature": 0.5, "topP": 0.9, "topK": 40});
        assert_eq!(Value::from(options("m", json!({}), request.clone()).generation), want);
        let less = options("m", json!({"topK": null, "temperature": 1}), request);
        assert_eq!(Value::from(less.generation), json!({"maxOutputTokens": 9, "temperature": 1, "topP": 0.9}));
    }

    #[test]
    fn thoughts_are_asked_for_where_thinking_is_set() {
        let row = |given: Value, want: Value| {
            let options = options("m", json!({"thinkingConfig": given}), Request::default());
            assert_eq!(options.generation["thinkingConfig"], want);
        };
        row(json!({"thinkingLevel": "low"}), json!({"thinkingLevel": "low", "includeThoughts": true}));
        row(json!({"thinkingBudget": 9}), json!({"thinkingBudget": 9, "includeThoughts": true}));
        row(json!({"thinkingBudget": -1}), json!({"thinkingBudget": -1, "includeThoughts": true}));
        row(json!({"thinkingBudget": 0}), json!({"thinkingBudget": 0}));
        let silent = json!({"thinkingLevel": "low", "includeThoughts": false});
        row(silent.clone(), silent);
        row(json!({}), json!({}));
        row(json!("odd"), json!("odd"));
    }

    #[test]
    fn a_form_is_asked_for_where_the_model_takes_it() {
        let schema = json!({"type": "object"});
        let form = |model: &str, tools: usize, extra: Value| {
            let spec = ToolSpec { name: "t".to_owned(), description: String::new(), parameters: json!({}) };
            let format = Some(Format { name: "f".to_owned(), schema: schema.clone() });
            let request = Request { format, tools: vec![spec; tools].into(), ..Request::default() };
            Value::from(options(model, extra, request).generation)
        };
        let whole = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
        assert_eq!(form("gemini-2.5-pro", 0, json!({})), whole);
        assert_eq!(form("gemini-2.5-pro", 1, json!({})), json!({}));
        assert_eq!(form("gemini-3-pro-preview", 1, json!({})), whole);
        let free = form("gemini-3-pro-preview", 0, json!({"structuredOutputs": false}));
        assert_eq!(free, json!({"responseMimeType": "application/json"}));
    }

    #[test]
    fn tools_are_offered_in_a_mode() {
        let row = |choice, want: Value| {
            let spec = ToolSpec { name: "t".to_owned(), description: String::new(), parameters: json!({}) };
            let request = Request { tools: vec![spec].into(), tool_choice: choice, ..Request::default() };
            assert_eq!(Value::from(options("m", json!({}), request).tool_config), want);
        };
        row(ToolChoice::Auto, json!({"functionCallingConfig": {"mode": "AUTO"}}));
        row(ToolChoice::Required, json!({"functionCallingConfig": {"mode": "ANY"}}));
        row(ToolChoice::None, json!({"functionCallingConfig": {"mode": "NONE"}}));
    }
}
