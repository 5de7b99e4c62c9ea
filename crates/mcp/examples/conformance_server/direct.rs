//! Fixtures that speak to the client while they run.

#![expect(deprecated, reason = "the suite is about revisions that have logs and borrowed models")]

use std::time::Duration;

use haft_mcp::rmcp::model::{
    CallToolResult, ContentBlock, CreateMessageRequestParams, JsonObject, LoggingLevel, SamplingMessage, Tool,
};
use haft_mcp::server::Client;
use serde_json::{Value, json};

/// How long the suite wants pauses to be.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn tools() -> Vec<Tool> {
    let text =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let nothing = || json!({ "type": "object", "properties": {} });
    let tool = |name: &'static str, description: &'static str, schema: Value| {
        Tool::new(name, description, schema.as_object().cloned().unwrap_or_default())
    };
    vec![
        tool("test_tool_with_logging", "Writes a log", nothing()),
        tool("test_tool_with_progress", "Says how far it is", nothing()),
        tool("test_reconnection", "Takes a while", nothing()),
        tool("test_sampling", "Asks the client's model", text("prompt")),
        tool("test_elicitation", "Asks the person", text("message")),
        tool("test_elicitation_sep1034_defaults", "Asks with answers filled in", nothing()),
        tool("test_elicitation_sep1330_enums", "Asks for choices of all kinds", nothing()),
    ]
}

/// The result of the fixture called `name`; `None`: it is none of these.
pub(crate) async fn call(name: &str, arguments: &JsonObject, client: &Client) -> Option<CallToolResult> {
    let field = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let said = match name {
        "test_tool_with_logging" => {
            for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                client.log(LoggingLevel::Info, line.into()).await;
                tokio::time::sleep(PAUSE).await;
            }
            Ok("It is in the log.".to_owned())
        }
        "test_tool_with_progress" => {
            for done in [0.0, 50.0, 100.0] {
                client.progress(done, Some(100.0), None).await;
                tokio::time::sleep(PAUSE).await;
            }
            Ok("It is done.".to_owned())
        }
        "test_reconnection" => {
            tokio::time::sleep(PAUSE).await;
            Ok("Reconnection test completed successfully".to_owned())
        }
        "test_sampling" => {
            let wanted = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(field("prompt"))], 100);
            let got = client.sample(wanted).await;
            got.map(|got| format!("LLM response: {}", json!(got.message.content)))
        }
        "test_elicitation" => ask(client, &field("message"), &contact()).await,
        "test_elicitation_sep1034_defaults" => ask(client, "Is this right?", &defaults()).await,
        "test_elicitation_sep1330_enums" => ask(client, "Which ones?", &choices()).await,
        _ => return None,
    };
    Some(match said {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    })
}

async fn ask(client: &Client, message: &str, schema: &Value) -> Result<String, haft_mcp::rmcp::ServiceError> {
    let filled = client.fill_in(message, schema).await?;
    Ok(format!("Elicitation completed: action={}, content={}", json!(filled.action), json!(filled.content)))
}

fn contact() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
        "required": [],
    })
}

fn choices() -> Value {
    let plain = json!({ "type": "string", "enum": ["option1", "option2", "option3"] });
    let titled = |first: &str| {
        json!([
            { "const": "value1", "title": first },
            { "const": "value2", "title": "The second" },
            { "const": "value3", "title": "The third" },
        ])
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": plain,
            "titledSingle": { "type": "string", "oneOf": titled("First Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": plain },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("First Choice") } },
        },
        "required": [],
    })
}
