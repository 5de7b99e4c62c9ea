//! Fixtures that are tools of the registry.

use std::sync::Arc;

use futures::future::BoxFuture;
use haft_tool::{AnyTool, Attachment, Call, Output, Registry, Spec, ToolError};
use serde_json::{Value, json};

use crate::fixtures::{PNG, WAV};

/// What a fixture gives back.
type Answer = fn() -> Result<Output, ToolError>;

struct Fixture {
    name: &'static str,
    description: &'static str,
    parameters: Value,
    answer: Answer,
}

impl AnyTool for Fixture {
    fn spec(&self) -> Spec {
        let Self { name, description, parameters, .. } = self;
        Spec { name: (*name).to_owned(), description: (*description).to_owned(), parameters: parameters.clone() }
    }

    fn run<'a>(&'a self, _input: Value, _call: &'a Call) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async { (self.answer)() })
    }
}

pub(crate) fn registry() -> Registry {
    let nothing = || json!({ "type": "object", "properties": {} });
    let fixtures: [(&str, &str, Value, Answer); 7] = [
        ("test_simple_text", "Gives back a text", nothing(), simple_text),
        ("test_image_content", "Gives back a picture", nothing(), || Ok(with(&[file("image/png", None, PNG)], ""))),
        ("test_audio_content", "Gives back a sound", nothing(), || Ok(with(&[file("audio/wav", None, WAV)], ""))),
        ("test_embedded_resource", "Gives back a resource", nothing(), embedded),
        ("test_multiple_content_types", "Gives back all kinds", nothing(), mixed),
        ("test_error_handling", "Fails", nothing(), fails),
        ("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", dialect(), simple_text),
    ];
    fixtures.into_iter().fold(Registry::default(), |registry, (name, description, parameters, answer)| {
        registry.with_any(Arc::new(Fixture { name, description, parameters, answer }))
    })
}

fn simple_text() -> Result<Output, ToolError> {
    Ok(Output::new("", "This is a simple text response for testing."))
}

fn embedded() -> Result<Output, ToolError> {
    Ok(with(&[file("text/plain", Some("embedded.txt"), "This is an embedded resource content.")], ""))
}

fn mixed() -> Result<Output, ToolError> {
    let json = file("application/json", Some("mixed.json"), r#"{"test":"data","value":123}"#);
    Ok(with(&[file("image/png", None, PNG), json], "Multiple content types test:"))
}

fn fails() -> Result<Output, ToolError> {
    Err(ToolError::Failed("This tool intentionally returns an error for testing".to_owned()))
}

fn with(attachments: &[Attachment], text: &str) -> Output {
    Output { text: text.to_owned(), attachments: attachments.to_vec(), ..Output::default() }
}

fn file(mime: &str, filename: Option<&str>, data: &str) -> Attachment {
    let how = if filename.is_some() { "" } else { ";base64" };
    let url = format!("data:{mime}{how},{data}");
    Attachment { mime: mime.to_owned(), filename: filename.map(str::to_owned), url }
}

fn dialect() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
        "additionalProperties": false,
    })
}
