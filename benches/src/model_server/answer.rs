//! An [`Answer`] as a server of chat completions gives it. Pure.

use std::time::Duration;

use bytes::Bytes;
use haft_llm::{Answer, Beat, Chunk, FailKind, Failing, Finish, Usage};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

/// What matters in a request.
#[derive(Deserialize)]
pub(super) struct Asked {
    messages: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    role: String,
}

impl Asked {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// How many answers the conversation holds.
    pub(super) fn answers(&self) -> usize {
        self.messages.iter().filter(|message| message.role == "assistant").count()
    }
}

/// An answer, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Waits before anything is sent.
    pub(super) before: Vec<Duration>,
    pub(super) head: Head,
    /// The body. What needs no wait in between is one piece.
    pub(super) pieces: Vec<Piece>,
}

/// How an answer begins.
#[derive(Debug, Clone)]
pub(super) enum Head {
    Stream,
    Fail {
        status: StatusCode,
        after_ms: Option<u64>,
        body: String,
    },
    /// A web page, where a model was asked.
    Page,
    /// Without a byte, the connection is dropped.
    Drop,
}

/// A part of a body.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Bytes(Bytes),
    Wait(Duration),
    Drop,
    Hang,
}

impl Shape {
    pub(super) fn of(answer: &Answer) -> Self {
        let mut beats = answer.beats.iter().peekable();
        let mut before = Vec::new();
        while let Some(Beat::Wait(time)) = beats.peek() {
            before.push(*time);
            beats.next();
        }
        if let Some(Beat::Fail(failing)) = beats.peek() {
            return Self { before, head: head(failing), pieces: Vec::new() };
        }
        let mut writer = Writer::new();
        for beat in beats {
            match beat {
                Beat::Chunk(chunk) => writer.chunk(chunk),
                Beat::Wait(time) => writer.then(Piece::Wait(*time)),
                Beat::Fail(failing) => writer.fail(failing),
                Beat::Hang => writer.then(Piece::Hang),
            }
        }
        Self { before, head: Head::Stream, pieces: writer.end() }
    }
}

fn head(failing: &Failing) -> Head {
    let status = match failing.kind {
        FailKind::CutOff | FailKind::Transport => return Head::Drop,
        FailKind::Malformed => return Head::Page,
        FailKind::RateLimited | FailKind::Quota => StatusCode::TOO_MANY_REQUESTS,
        FailKind::Server => StatusCode::INTERNAL_SERVER_ERROR,
        FailKind::TooLong | FailKind::Rejected => StatusCode::BAD_REQUEST,
        FailKind::Unauthorized => StatusCode::UNAUTHORIZED,
    };
    let status = failing.status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(status);
    Head::Fail { status, after_ms: failing.after_ms, body: told(failing) }
}

fn told(failing: &Failing) -> String {
    let (kind, code) = match failing.kind {
        FailKind::RateLimited => ("rate_limit_error", Some("rate_limit_exceeded")),
        FailKind::Quota => ("insufficient_quota", Some("insufficient_quota")),
        FailKind::TooLong => ("invalid_request_error", Some("context_length_exceeded")),
        FailKind::Unauthorized => ("authentication_error", Some("invalid_api_key")),
        FailKind::Rejected => ("invalid_request_error", None),
        FailKind::Server | FailKind::Transport | FailKind::CutOff | FailKind::Malformed => ("server_error", None),
    };
    error(&failing.message, kind, code)
}

/// An error in the form of this dialect.
pub(super) fn error(message: &str, kind: &str, code: Option<&str>) -> String {
    json!({"error": {"message": message, "type": kind, "code": code}}).to_string()
}

/// How every event begins, up to its choices.
const START: &str =
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":0,"model":"scenario","choices":["#;

struct Writer {
    text: String,
    pieces: Vec<Piece>,
    /// The ids of the calls so far; their places are their indices.
    calls: Vec<String>,
    usage: Option<Usage>,
    /// Nothing may follow.
    over: bool,
}

impl Writer {
    fn new() -> Self {
        let mut writer = Self { text: String::new(), pieces: Vec::new(), calls: Vec::new(), usage: None, over: false };
        writer.delta(&json!({"role": "assistant", "content": ""}));
        writer
    }

    fn chunk(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::Text(text) => self.delta(&json!({"content": text})),
            Chunk::Reasoning(text) => self.delta(&json!({"reasoning_content": text})),
            Chunk::ToolInput { id, name, delta } => self.input(id, name, delta),
            // Announced by its input, unless there was none.
            Chunk::ToolCall { id, name, arguments, .. } if !self.calls.contains(id) => self.input(id, name, arguments),
            Chunk::Usage(usage) => self.usage = Some(*usage),
            Chunk::Finish(finish) => self.finish(finish),
            Chunk::ToolCall { .. } | Chunk::TextEnd { .. } | Chunk::ReasoningEnd { .. } | Chunk::Vendor(_) => {}
        }
    }

    fn input(&mut self, id: &str, name: &str, delta: &str) {
        let known = self.calls.iter().position(|call| call == id);
        let call = match known {
            Some(index) => json!({"index": index, "function": {"arguments": delta}}),
            None => {
                self.calls.push(id.to_owned());
                let function = json!({"name": name, "arguments": delta});
                json!({"index": self.calls.len() - 1, "id": id, "type": "function", "function": function})
            }
        };
        self.delta(&json!({"tool_calls": [call]}));
    }

    fn delta(&mut self, delta: &Value) {
        self.event(&json!({"index": 0, "delta": delta, "finish_reason": null}).to_string(), "");
    }

    fn finish(&mut self, finish: &Finish) {
        let reason = match finish {
            Finish::Stop => Some("stop"),
            Finish::ToolCalls => Some("tool_calls"),
            Finish::Length => Some("length"),
            Finish::ContentFilter => Some("content_filter"),
            Finish::Other(reason) => Some(reason.as_str()),
            Finish::Unknown => None,
        };
        self.event(&json!({"index": 0, "delta": {}, "finish_reason": reason}).to_string(), "");
        if let Some(usage) = self.usage {
            self.event("", &format!(",\"usage\":{}", counted(&usage)));
        }
        self.push("data: [DONE]\n\n");
        self.over = true;
    }

    fn event(&mut self, choice: &str, rest: &str) {
        if !self.over {
            self.text.reserve(START.len() + choice.len() + rest.len() + 4);
            self.text.push_str(START);
            for part in [choice, "]", rest, "}\n\n"] {
                self.text.push_str(part);
            }
        }
    }

    fn push(&mut self, text: &str) {
        if !self.over {
            self.text.push_str(text);
        }
    }

    fn fail(&mut self, failing: &Failing) {
        match failing.kind {
            FailKind::CutOff | FailKind::Transport => self.then(Piece::Drop),
            FailKind::Malformed => self.push("data: {this is no JSON\n\n"),
            _ => self.push(&format!("data: {}\n\n", told(failing))),
        }
        self.over = true;
    }

    fn then(&mut self, piece: Piece) {
        if !self.over {
            self.flush();
            self.over = matches!(piece, Piece::Drop | Piece::Hang);
            self.pieces.push(piece);
        }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.pieces.push(Piece::Bytes(std::mem::take(&mut self.text).into()));
        }
    }

    fn end(mut self) -> Vec<Piece> {
        // An answer that just ends counts as cut off; the body ends with it, in order.
        self.flush();
        self.pieces
    }
}

fn counted(usage: &Usage) -> Value {
    let Usage { total, input, output, reasoning, cache_read, cache_write } = *usage;
    let (prompt, completion) = (input + cache_read + cache_write, output + reasoning);
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total.unwrap_or(prompt + completion),
        "prompt_tokens_details": {"cached_tokens": cache_read, "cache_write_tokens": cache_write},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use haft_llm::Step;

    use super::*;

    #[track_caller]
    fn check(steps: Vec<Step>, want: Expect) {
        let shape = Shape::of(&Answer::new(steps));
        let mut text = format!("{:?} after {:?}\n", shape.head, shape.before);
        for piece in shape.pieces {
            match piece {
                Piece::Bytes(bytes) => {
                    let bytes = String::from_utf8(bytes.to_vec()).unwrap();
                    text.push_str(&bytes.replace("\n\n", "\n").replace(START, "data: {…["));
                }
                other => text.push_str(&format!("{other:?}\n")),
            }
        }
        want.assert_eq(&text);
    }

    #[test]
    fn an_answer_without_waits_is_one_piece() {
        let usage = Usage { input: 5, output: 2, reasoning: 1, cache_read: 3, ..Usage::default() };
        check(
            vec![
                Step::Reasoning("Hm.".to_owned()),
                Step::text("\"Hi.\""),
                Step::call("ls", &json!({})),
                Step::call("pwd", &json!({})),
                Step::Usage(usage),
            ],
            expect![[r#"
                Stream after []
                data: {…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
                data: {…[{"index":0,"delta":{"reasoning_content":"Hm."},"finish_reason":null}]}
                data: {…[{"index":0,"delta":{"content":"\"Hi.\""},"finish_reason":null}]}
                data: {…[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"ls","arguments":""}}]},"finish_reason":null}]}
                data: {…[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]}
                data: {…[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"pwd","arguments":""}}]},"finish_reason":null}]}
                data: {…[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]}
                data: {…[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
                data: {…[],"usage":{"prompt_tokens":8,"completion_tokens":3,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":1}}}
                data: [DONE]
            "#]],
        );
        let shape = Shape::of(&Answer::new([Step::text("a"), Step::text("b"), Step::call("ls", &json!({}))]));
        assert_eq!(shape.pieces.len(), 1);
    }

    #[test]
    fn waits_and_silence_stand_between_pieces() {
        let wait = || Step::Wait(Duration::from_millis(5));
        check(
            vec![wait(), Step::text("a"), wait(), Step::text("b"), Step::Hang],
            expect![[r#"
            Stream after [5ms]
            data: {…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
            data: {…[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}
            Wait(5ms)
            data: {…[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}
            Hang
        "#]],
        );
    }

    #[test]
    fn a_failure_is_a_status_before_and_an_event_within_an_answer() {
        let fail = |kind| Step::Fail(Failing { after_ms: Some(9), ..Failing::new(kind, "why") });
        check(
            vec![fail(FailKind::RateLimited)],
            expect![[r#"
            Fail { status: 429, after_ms: Some(9), body: "{\"error\":{\"message\":\"why\",\"type\":\"rate_limit_error\",\"code\":\"rate_limit_exceeded\"}}" } after []
        "#]],
        );
        check(
            vec![fail(FailKind::CutOff)],
            expect![[r#"
            Drop after []
        "#]],
        );
        check(
            vec![fail(FailKind::Malformed)],
            expect![[r#"
            Page after []
        "#]],
        );
        check(
            vec![Step::text("a"), fail(FailKind::Server)],
            expect![[r#"
            Stream after []
            data: {…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
            data: {…[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}
            data: {"error":{"message":"why","type":"server_error","code":null}}
        "#]],
        );
        check(
            vec![Step::text("a"), fail(FailKind::Transport)],
            expect![[r#"
            Stream after []
            data: {…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
            data: {…[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}
            Drop
        "#]],
        );
    }
}
