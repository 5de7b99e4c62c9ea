//! What the vendors themselves say that they may be asked, against what each dialect asks: their libraries' types hold for
//! every body, and a field that they do not name is an error.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::dialect::converse::Converse;
use haft_llm::dialect::gemini::Gemini;
use haft_llm::dialect::messages::Messages;
use haft_llm::dialect::responses::Responses;
use haft_llm::{AssistantPart, Content, Format, Message, Provider, Request, Server, ToolChoice, ToolResult, ToolSpec};
use serde_json::{Map, Value, json};

const CHECKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/schemas.py");

/// A picture of one dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn text(words: &str) -> Vec<Content> {
    vec![Content::text(words)]
}

fn media(mime: &str, name: &str) -> Content {
    Content::Media { mime: mime.to_owned(), data: DOT.to_owned(), name: Some(name.to_owned()) }
}

fn call(id: &str, name: &str, arguments: Value) -> AssistantPart {
    AssistantPart::ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_string(), item: None }
}

fn result(id: &str, name: &str, content: Vec<Content>, is_error: bool) -> ToolResult {
    ToolResult { id: id.to_owned(), name: name.to_owned(), content, is_error }
}

/// A conversation with everything that one may hold.
fn conversation() -> Vec<Arc<Message>> {
    let said = |words: &str| AssistantPart::Text { text: words.to_owned(), item: None };
    let messages = vec![
        Message::User {
            content: vec![Content::text("Look."), media("image/png", "a.png"), media("application/pdf", "b c.pdf")],
        },
        Message::Assistant {
            parts: vec![
                AssistantPart::Reasoning { text: "Hm.".to_owned(), item: None },
                said("I will."),
                call("call_1", "read", json!({"filePath": "a"})),
                call("call_2", "read", json!({"filePath": "b"})),
            ],
        },
        Message::Tools {
            results: vec![
                result("call_1", "read", vec![Content::text("A"), media("image/png", "a.png")], false),
                result("call_2", "read", text("no such file"), true),
            ],
        },
        Message::Assistant { parts: vec![said("Done.")] },
        Message::User { content: text("Go on.") },
    ];
    messages.into_iter().map(Arc::new).collect()
}

fn tool() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"filePath": {"type": "string", "description": "Which."}, "limit": {"type": "integer"}},
        "required": ["filePath"],
    });
    ToolSpec { name: "read".to_owned(), description: "Reads.".to_owned(), parameters }
}

/// Requests of every kind; `extra` is what the settings of a model of this dialect may add.
fn requests(model: &str, extra: Value) -> Vec<Request> {
    let extra: Map<String, Value> = extra.as_object().cloned().unwrap();
    let whole = Request {
        model: model.to_owned(),
        system: "Be brief.".to_owned(),
        messages: conversation().into(),
        tools: vec![tool()].into(),
        max_output: Some(4_000),
        session: Some("ses_1".to_owned()),
        ..Request::default()
    };
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let plain = Request { messages: conversation()[4..].to_vec().into(), tools: Arc::default(), ..whole.clone() };
    vec![
        Request { tool_choice: ToolChoice::Required, ..whole.clone() },
        Request { tool_choice: ToolChoice::None, ..whole.clone() },
        Request { temperature: Some(0.5), top_p: Some(0.9), top_k: Some(20), ..whole.clone() },
        Request { extra, ..whole.clone() },
        Request { format: Some(Format { name: "answer".to_owned(), schema }), ..plain.clone() },
        Request { system: String::new(), ..plain },
        whole,
    ]
}

#[test]
fn every_body_is_one_that_the_vendor_describes() {
    let Some(python) = crate::install::python() else { return };
    let server = Server { provider: "v".to_owned(), base_url: "http://127.0.0.1:9/v1".to_owned(), ..Server::default() };
    // What the settings of a model may add, each with a model that takes it.
    let dialects: Vec<(&str, Box<dyn Provider>, &str, Value)> = vec![
        (
            "chat",
            Box::new(Chat::new(&server, ChatManners::default()).unwrap()),
            "gpt-4o",
            json!({"reasoningEffort": "low"}),
        ),
        (
            "responses",
            Box::new(Responses::new(&server).unwrap()),
            "gpt-5.2",
            json!({"reasoningEffort": "high", "reasoningSummary": "auto", "textVerbosity": "low"}),
        ),
        (
            "messages",
            Box::new(Messages::new(&server).unwrap()),
            "claude-sonnet-4-5",
            json!({"thinking": {"type": "enabled", "budgetTokens": 2_000}}),
        ),
        (
            "gemini",
            Box::new(Gemini::new(&server).unwrap()),
            "gemini-3-pro",
            json!({"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"}}),
        ),
        (
            "converse",
            Box::new(Converse::new(&server).unwrap()),
            "anthropic.claude-sonnet-4-5-20250929-v1:0",
            json!({"reasoningConfig": {"type": "enabled", "budgetTokens": 2_000}}),
        ),
    ];
    let mut child = Command::new(python).arg(CHECKS).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = Vec::new();
    for (dialect, provider, model, extra) in dialects {
        for request in requests(model, extra) {
            let body: Value = serde_json::from_slice(&provider.body(request)).unwrap();
            lines.push(json!({"dialect": dialect, "body": body}));
        }
    }
    // One that is wrong in a small way, for each: a check that finds nothing wrong would prove nothing.
    let mut spoilt: Vec<Value> = Vec::new();
    for dialect in ["chat", "messages", "converse"] {
        let mut line = lines.iter().find(|line| line["dialect"] == dialect).unwrap().clone();
        line["body"]["maxTokens"] = json!(1);
        spoilt.push(line);
    }
    let mut stdin = child.stdin.take().unwrap();
    for line in lines.iter().chain(&spoilt) {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Vec<String>> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found.len(), lines.len() + spoilt.len(), "the checks broke off");
    for (line, problems) in lines.iter().zip(&found) {
        assert!(problems.is_empty(), "{problems:#?}\n{line:#}");
    }
    for (line, problems) in spoilt.iter().zip(&found[lines.len()..]) {
        assert!(!problems.is_empty(), "nothing is found wrong with {line:#}");
    }
}
