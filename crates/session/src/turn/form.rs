//! The form that an answer is to have: what the model is told of it, and whether it kept it. Pure.
//!
//! A model gives the answer by calling a tool whose arguments are the form. That works with every vendor whose models
//! call tools, leaves the other tools to be called before, and says in the history what happened. Vendors can also hold a
//! model to a schema themselves, but most of them not together with tools, and some then write every word of the turn in
//! that form; so that way is taken for models that cannot call tools.

use std::sync::Arc;

use futures::future::BoxFuture;
use haft_llm::{Format, Request, ToolChoice, ToolSpec};
use haft_protocol::OutputFormat;
use haft_tool::{AnyTool, Call, Output, Spec, ToolError};
use jsonschema::Validator;
use serde_json::{Value, json};

/// What the model calls to answer. Clients know the name.
pub(crate) const STRUCTURED: &str = "StructuredOutput";
/// How often a model is asked again where nothing is said.
const RETRIES: u32 = 2;
/// Most times that a model is asked again, whatever is said.
const MAX_RETRIES: u32 = 10;
/// Largest schema, in bytes of JSON: it goes with each request.
const MAX_SCHEMA: usize = 256 * 1024;
/// Most faults of a value that a model is told of at once.
const MAX_FAULTS: usize = 10;
/// Most characters that a fault takes.
const MAX_FAULT: usize = 300;
/// The argument that holds the answer where the form is no object.
const INSIDE: &str = "result";

/// A form that answers can be held against.
pub(crate) struct Form {
    /// As it was asked for.
    pub asked: OutputFormat,
    /// How often a model that gives something else is asked again.
    pub retries: u32,
    /// The schema of the tool's arguments: an object.
    parameters: Value,
    /// Whether the answer is what stands in the argument [`INSIDE`].
    wrapped: bool,
    validator: Validator,
}

impl Form {
    /// The form that `asked` describes; `None` for words.
    ///
    /// # Errors
    ///
    /// A text for people that says what is wrong with the schema.
    pub(crate) fn of(asked: &OutputFormat) -> Result<Option<Self>, String> {
        let (schema, retries) = match asked {
            OutputFormat::Text => return Ok(None),
            OutputFormat::JsonSchema { schema, retry_count } => (schema, retry_count.unwrap_or(RETRIES)),
        };
        if !schema.is_object() {
            return Err("a JSON Schema is an object, such as {\"type\": \"object\", \"properties\": {…}}".to_owned());
        }
        let bytes = schema.to_string().len();
        if bytes > MAX_SCHEMA {
            return Err(format!("the schema has {bytes} bytes, and may have {MAX_SCHEMA}"));
        }
        let wrapped = schema.get("type").and_then(Value::as_str) != Some("object");
        let parameters = parameters(schema, wrapped);
        let validator =
            jsonschema::validator_for(&parameters).map_err(|error| format!("it is no JSON Schema: {error}"))?;
        Ok(Some(Self { asked: asked.clone(), retries: retries.min(MAX_RETRIES), parameters, wrapped, validator }))
    }

    /// Makes `request` ask for this form, of a model that calls tools or of one that cannot.
    pub(crate) fn ask(&self, request: &mut Request, calls_tools: bool, is_last: bool) {
        if !calls_tools {
            request.format = Some(Format { name: "answer".to_owned(), schema: self.parameters.clone() });
            add(&mut request.system, include_str!("../reminders/form_alone.md"));
            request.system.push_str(&format!("\n{}", self.parameters));
            return;
        }
        add(&mut request.system, include_str!("../reminders/form.md"));
        if is_last {
            request.tools = Arc::default();
        }
        // Behind the others, so that those stand where they stood before.
        let description = include_str!("../reminders/form_tool.md").trim().to_owned();
        let parameters = self.parameters.clone();
        Arc::make_mut(&mut request.tools).push(ToolSpec { name: STRUCTURED.to_owned(), description, parameters });
        request.tool_choice = ToolChoice::Required;
    }

    /// The answer in the arguments of the tool, if it has the form.
    ///
    /// # Errors
    ///
    /// A text for the model that says what is wrong.
    pub(crate) fn read(&self, arguments: &Value) -> Result<Value, String> {
        let faults: Vec<String> = self
            .validator
            .iter_errors(arguments)
            .take(MAX_FAULTS)
            .map(|fault| {
                let place = fault.instance_path().to_string();
                let place = if place.is_empty() { "the whole".to_owned() } else { place };
                let text: String = fault.to_string().chars().take(MAX_FAULT).collect();
                format!("- {place}: {text}")
            })
            .collect();
        if !faults.is_empty() {
            return Err(format!("it does not have the form that is wanted:\n{}", faults.join("\n")));
        }
        match self.wrapped {
            true => Ok(arguments.get(INSIDE).cloned().unwrap_or_default()),
            false => Ok(arguments.clone()),
        }
    }

    /// The answer in words that are nothing but it, as models write it that cannot call tools, or do not.
    ///
    /// # Errors
    ///
    /// A text for the model that says what is wrong.
    pub(crate) fn read_words(&self, words: &str) -> Result<Value, String> {
        let text = unfenced(words.trim());
        let value: Value = serde_json::from_str(text).map_err(|error| format!("the answer is no JSON: {error}"))?;
        let whole = self.read(&value);
        // Without the frame around it, which a model may leave out that is not held to it.
        match (&whole, self.wrapped) {
            (Err(_), true) => self.read(&json!({ INSIDE: value })),
            (Ok(_) | Err(_), _) => whole,
        }
    }
}

/// The schema of the arguments: that of the answer, or an object around it.
fn parameters(schema: &Value, wrapped: bool) -> Value {
    let mut schema = schema.clone();
    let Some(fields) = schema.as_object_mut() else { return schema };
    fields.remove("$schema");
    if !wrapped {
        return schema;
    }
    // References begin at the root.
    let shared: Vec<_> =
        ["$defs", "definitions"].into_iter().filter_map(|key| Some((key, fields.remove(key)?))).collect();
    let mut around = json!({ "type": "object", "properties": { INSIDE: schema }, "required": [INSIDE] });
    for (key, value) in shared {
        around[key] = value;
    }
    around
}

fn add(system: &mut String, text: &str) {
    if !system.is_empty() {
        system.push_str("\n\n");
    }
    system.push_str(text.trim());
}

/// `text` without the fence of Markdown around it.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some((info, body)) = inside.and_then(|inside| inside.split_once('\n')) else { return text };
    if info.trim().chars().all(char::is_alphanumeric) { body.trim() } else { text }
}

/// The tool that takes the answer.
pub(crate) struct Taking(pub Arc<Form>);

impl AnyTool for Taking {
    fn spec(&self) -> Spec {
        let description = include_str!("../reminders/form_tool.md").trim().to_owned();
        Spec { name: STRUCTURED.to_owned(), description, parameters: self.0.parameters.clone() }
    }

    fn run<'a>(&'a self, input: Value, _call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        let taken = self.0.read(&input);
        Box::pin(async move {
            taken.map_err(|why| {
                ToolError::BadInput(format!("{why}\nCall {STRUCTURED} again with all of it set right"))
            })?;
            Ok(Output::new("Structured Output", "Structured output captured successfully.").meta("valid", true))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(schema: Value) -> Form {
        Form::of(&OutputFormat::JsonSchema { schema, retry_count: None }).unwrap().unwrap()
    }

    fn person() -> Form {
        form(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": { "name": { "type": "string" }, "age": { "type": "integer", "minimum": 0 } },
            "required": ["name"],
            "additionalProperties": false,
        }))
    }

    #[test]
    fn an_object_is_the_arguments_themselves() {
        let form = person();
        assert!(form.parameters.get("$schema").is_none());
        let value = json!({"name": "Ann", "age": 3});
        assert_eq!(form.read(&value), Ok(value.clone()));
        assert_eq!(form.read_words(&value.to_string()), Ok(value));
    }

    #[test]
    fn all_faults_are_told_with_their_places() {
        let error = person().read(&json!({"age": -1, "more": 1})).unwrap_err();
        for told in ["- /age: -1 is less than the minimum of 0", "\"name\" is a required property", "'more'"] {
            assert!(error.contains(told), "{told} is not in {error}");
        }
        let many = form(json!({"type": "object", "additionalProperties": {"type": "string", "const": "x"}}));
        let value: serde_json::Map<_, _> = (0..99).map(|n| (n.to_string(), json!("y".repeat(9_999)))).collect();
        let error = many.read(&value.into()).unwrap_err();
        assert!(error.len() < 20 * MAX_FAULT, "{}", error.len());
    }

    #[test]
    fn what_is_no_object_gets_a_frame_and_loses_it_again() {
        let form = form(json!({
            "type": "array",
            "items": {"$ref": "#/$defs/one"},
            "$defs": {"one": {"type": "integer"}},
        }));
        assert_eq!(
            form.parameters,
            json!({
                "type": "object",
                "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/one"}}},
                "required": ["result"],
                "$defs": {"one": {"type": "integer"}},
            })
        );
        assert_eq!(form.read(&json!({"result": [1, 2]})), Ok(json!([1, 2])));
        assert!(form.read(&json!({"result": ["x"]})).unwrap_err().contains("/result/0"));
        assert_eq!(form.read_words("[1]"), Ok(json!([1])));
        assert_eq!(form.read_words("{\"result\": [1]}"), Ok(json!([1])));
        assert!(form.read_words("[\"x\"]").is_err());
    }

    #[test]
    fn words_may_stand_in_a_fence_and_nothing_may_stand_around_it() {
        let form = person();
        let row = |words: &str, ok: bool| assert_eq!(form.read_words(words).is_ok(), ok, "{words}");
        row(" {\"name\": \"Ann\"}\n", true);
        row("```json\n{\"name\": \"Ann\"}\n```", true);
        row("```\n{\"name\": \"Ann\"}\n```\n", true);
        row("Here it is: {\"name\": \"Ann\"}", false);
        row("```json\n{\"name\": \"Ann\"}", false);
        row("```", false);
        row("", false);
    }

    #[test]
    fn what_is_no_schema_is_refused_before_anything_is_sent() {
        let row = |schema: Value, want: &str| {
            let error = Form::of(&OutputFormat::JsonSchema { schema, retry_count: None }).err().unwrap();
            assert!(error.contains(want), "{error}");
        };
        row(json!([]), "a JSON Schema is an object");
        row(json!({"type": "objekt"}), "it is no JSON Schema");
        row(json!({"type": "object", "properties": 3}), "it is no JSON Schema");
        row(json!({"$ref": "https://example.com/other.json"}), "it is no JSON Schema");
        row(json!({"description": "x".repeat(MAX_SCHEMA)}), "may have 262144");
        assert!(Form::of(&OutputFormat::Text).unwrap().is_none());
        let greedy = OutputFormat::JsonSchema { schema: json!({"type": "object"}), retry_count: Some(9_999) };
        assert_eq!(Form::of(&greedy).unwrap().unwrap().retries, MAX_RETRIES);
    }

    #[test]
    fn a_model_is_asked_by_a_tool_or_by_its_vendor() {
        let tool = ToolSpec { name: "read".to_owned(), description: String::new(), parameters: json!({}) };
        let ask = |calls_tools, is_last| {
            let mut request =
                Request { system: "Be.".to_owned(), tools: vec![tool.clone()].into(), ..Request::default() };
            person().ask(&mut request, calls_tools, is_last);
            let names: Vec<String> = request.tools.iter().map(|tool| tool.name.clone()).collect();
            (names.join(" "), request.tool_choice, request.format.is_some(), request.system.starts_with("Be.\n\n"))
        };
        assert_eq!(ask(true, false), ("read StructuredOutput".to_owned(), ToolChoice::Required, false, true));
        assert_eq!(ask(true, true), ("StructuredOutput".to_owned(), ToolChoice::Required, false, true));
        assert_eq!(ask(false, false), ("read".to_owned(), ToolChoice::Auto, true, true));
    }
}
