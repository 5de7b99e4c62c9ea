//! What each dialect says when all is well: the pieces that faults are made of.

use std::sync::Arc;

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};

use haft_llm::dialect::chat::{Chat, ChatManners};
use haft_llm::dialect::converse::Converse;
use haft_llm::dialect::gemini::Gemini;
use haft_llm::dialect::messages::Messages;
use haft_llm::dialect::responses::Responses;
use haft_llm::{Deadlines, Key, Provider, Secret, Server};

/// A dialect, and how a short answer looks in it.
pub(crate) struct Spoken {
    pub(crate) name: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) connect: fn(&Server) -> Arc<dyn Provider>,
    /// What comes before the first words.
    pub(crate) begin: Vec<u8>,
    /// An event that says these words.
    pub(crate) say: fn(&str) -> Vec<u8>,
    /// What comes behind the last words, the end of the answer with it.
    pub(crate) end: Vec<u8>,
    /// The same without a word on what was used.
    pub(crate) end_unused: Vec<u8>,
    /// An event that tells of trouble that passes.
    pub(crate) trouble: Vec<u8>,
    /// Frames a text as an event.
    pub(crate) event: fn(&str) -> Vec<u8>,
}

impl Spoken {
    /// A provider at `url`.
    pub(crate) fn at(&self, url: &str, deadlines: Deadlines) -> Arc<dyn Provider> {
        (self.connect)(&Server {
            provider: "v".to_owned(),
            base_url: url.to_owned(),
            key: Some(Key::Plain(Secret::new("sk-very-secret"))),
            deadlines,
            ..Server::default()
        })
    }

    /// A whole answer that says `words`.
    pub(crate) fn answer(&self, words: &str) -> Vec<u8> {
        [self.begin.clone(), (self.say)(words), self.end.clone()].concat()
    }
}

fn sse(data: &str) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

fn named(data: &str) -> Vec<u8> {
    let value: serde_json::Value = serde_json::from_str(data).unwrap_or_default();
    let name = value["type"].as_str().unwrap_or("unknown").to_owned();
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

/// All of them.
pub(crate) fn all() -> Vec<Spoken> {
    vec![chat(), messages(), responses(), gemini(), converse()]
}

fn chat() -> Spoken {
    const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    const USED: &str = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;
    Spoken {
        name: "chat",
        content_type: "text/event-stream",
        connect: |server| Arc::new(Chat::new(server, ChatManners::default()).unwrap()),
        begin: sse(r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#),
        say: |words| sse(&serde_json::json!({"choices": [{"delta": {"content": words}}]}).to_string()),
        end: [sse(STOP), sse(USED), sse("[DONE]")].concat(),
        end_unused: [sse(STOP), sse("[DONE]")].concat(),
        trouble: sse(r#"{"error":{"message":"busy","code":503}}"#),
        event: sse,
    }
}

fn messages() -> Spoken {
    const STOP: &str = r#"{"type":"content_block_stop","index":0}"#;
    Spoken {
        name: "messages",
        content_type: "text/event-stream",
        connect: |server| Arc::new(Messages::new(server).unwrap()),
        begin: [
            named(r#"{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}"#),
            named(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#),
        ]
        .concat(),
        say: |words| {
            let delta = serde_json::json!({"type": "text_delta", "text": words});
            named(&serde_json::json!({"type": "content_block_delta", "index": 0, "delta": delta}).to_string())
        },
        end: [
            named(STOP),
            named(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#),
            named(r#"{"type":"message_stop"}"#),
        ]
        .concat(),
        end_unused: [
            named(STOP),
            named(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#),
            named(r#"{"type":"message_stop"}"#),
        ]
        .concat(),
        trouble: named(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        event: named,
    }
}

fn responses() -> Spoken {
    const ADDED: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#;
    const DONE: &str = r#"{"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0}"#;
    let completed = |usage: &str| {
        let response = format!(r#"{{"id":"resp_1","status":"completed","error":null,"output":[]{usage}}}"#);
        named(&format!(r#"{{"type":"response.completed","response":{response}}}"#))
    };
    Spoken {
        name: "responses",
        content_type: "text/event-stream",
        connect: |server| Arc::new(Responses::new(server).unwrap()),
        begin: [
            named(r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}"#),
            named(ADDED),
        ]
        .concat(),
        say: |words| {
            named(
                &serde_json::json!({
                    "type": "response.output_text.delta",
                    "item_id": "msg_1",
                    "output_index": 0,
                    "content_index": 0,
                    "delta": words,
                })
                .to_string(),
            )
        },
        end: [named(DONE), completed(r#","usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}"#)].concat(),
        end_unused: [named(DONE), completed("")].concat(),
        trouble: named(r#"{"type":"error","error":{"code":"server_error","message":"busy"}}"#),
        event: named,
    }
}

fn gemini() -> Spoken {
    const LAST: &str = r#"{"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"STOP"}]}"#;
    const USED: &str = r#"{"candidates":[{"content":{"parts":[],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}"#;
    Spoken {
        name: "gemini",
        content_type: "text/event-stream",
        connect: |server| Arc::new(Gemini::new(server).unwrap()),
        begin: sse(r#"{"candidates":[{"content":{"parts":[],"role":"model"}}],"modelVersion":"m1"}"#),
        say: |words| {
            let content = serde_json::json!({"parts": [{"text": words}], "role": "model"});
            sse(&serde_json::json!({"candidates": [{"content": content}]}).to_string())
        },
        end: sse(USED),
        end_unused: sse(LAST),
        trouble: sse(r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#),
        event: sse,
    }
}

/// A frame of Amazon's with these headers.
fn frame(headers: &[(&'static str, &'static str)], payload: &str) -> Vec<u8> {
    let header = |&(name, value): &(&'static str, &'static str)| Header::new(name, HeaderValue::String(value.into()));
    let message = Message::new_from_parts(headers.iter().map(header).collect(), payload.as_bytes().to_vec());
    let mut bytes = Vec::new();
    write_message_to(&message, &mut bytes).unwrap();
    bytes
}

fn framed(name: &'static str, payload: &str) -> Vec<u8> {
    frame(&[(":event-type", name), (":content-type", "application/json"), (":message-type", "event")], payload)
}

fn converse() -> Spoken {
    let stop = [
        framed("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        framed("messageStop", r#"{"stopReason":"end_turn"}"#),
    ]
    .concat();
    let used = framed("metadata", r#"{"usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5}}"#);
    Spoken {
        name: "converse",
        content_type: "application/vnd.amazon.eventstream",
        connect: |server| Arc::new(Converse::new(server).unwrap()),
        begin: framed("messageStart", r#"{"role":"assistant"}"#),
        say: |words| {
            let event = serde_json::json!({"contentBlockIndex": 0, "delta": {"text": words}});
            framed("contentBlockDelta", &event.to_string())
        },
        end: [stop.clone(), used].concat(),
        end_unused: stop,
        trouble: frame(
            &[(":exception-type", "serviceUnavailableException"), (":message-type", "exception")],
            r#"{"message":"busy"}"#,
        ),
        event: |text| framed("contentBlockDelta", text),
    }
}
