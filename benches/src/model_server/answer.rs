//! An [`Answer`] as a server gives it, in the words of either dialect. Pure.

mod chat;
mod responses;

use std::time::Duration;

use bytes::Bytes;
use haft_llm::{Answer, Beat, Chunk, FailKind, Failing};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::json;

/// A wire format that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Chat,
    Responses,
}

impl Dialect {
    /// The dialect that is spoken at `path`.
    pub(super) fn at(path: &str) -> Option<Self> {
        if path.ends_with("/chat/completions") {
            Some(Dialect::Chat)
        } else if path.ends_with("/responses") {
            Some(Dialect::Responses)
        } else {
            None
        }
    }

    /// How many answers the conversation in `body` holds, or `None` when that is no request of this dialect.
    pub(super) fn answers(self, body: &[u8]) -> Option<usize> {
        match self {
            Dialect::Chat => {
                let asked: Chat = serde_json::from_slice(body).ok()?;
                Some(asked.messages.iter().filter(|message| message.role == "assistant").count())
            }
            Dialect::Responses => {
                let asked: Responses = serde_json::from_slice(body).ok()?;
                // An answer is as many items as it has parts; what came of its calls ends it.
                let ours: Vec<bool> = asked.input.iter().map(Item::is_of_the_model).collect();
                let first = usize::from(ours.first() == Some(&true));
                Some(first + ours.windows(2).filter(|pair| pair == &[false, true]).count())
            }
        }
    }

    fn writer(self) -> Box<dyn Words> {
        match self {
            Dialect::Chat => Box::new(chat::Writer::default()),
            Dialect::Responses => Box::new(responses::Writer::default()),
        }
    }
}

/// What matters in a request for chat completions.
#[derive(Deserialize)]
struct Chat {
    messages: Vec<Said>,
}

#[derive(Deserialize)]
struct Said {
    role: String,
}

/// What matters in a request for responses.
#[derive(Deserialize)]
struct Responses {
    input: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type", default)]
    kind: String,
    role: Option<String>,
}

impl Item {
    fn is_of_the_model(&self) -> bool {
        matches!(self.kind.as_str(), "function_call" | "custom_tool_call" | "reasoning")
            || self.role.as_deref() == Some("assistant")
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

/// How a dialect says what happens in an answer: text for its stream.
trait Words {
    /// How an answer begins.
    fn begin(&mut self) -> String;
    fn chunk(&mut self, chunk: &Chunk) -> String;
    /// A failure behind the begin of an answer.
    fn fail(&mut self, failing: &Failing) -> String;
}

impl Shape {
    pub(super) fn of(answer: &Answer, dialect: Dialect) -> Self {
        let mut beats = answer.beats.iter().peekable();
        let mut before = Vec::new();
        while let Some(Beat::Wait(time)) = beats.peek() {
            before.push(*time);
            beats.next();
        }
        if let Some(Beat::Fail(failing)) = beats.peek() {
            return Self { before, head: head(failing), pieces: Vec::new() };
        }
        let mut words = dialect.writer();
        let mut body = Body::default();
        body.push(&words.begin());
        for beat in beats {
            match beat {
                Beat::Chunk(chunk) => {
                    body.push(&words.chunk(chunk));
                    body.over |= matches!(chunk, Chunk::Finish(_));
                }
                Beat::Wait(time) => body.then(Piece::Wait(*time)),
                Beat::Fail(failing) => body.fail(failing, words.as_mut()),
                Beat::Hang => body.then(Piece::Hang),
            }
        }
        Self { before, head: Head::Stream, pieces: body.end() }
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
    let (kind, code) = names(failing.kind);
    Head::Fail { status, after_ms: failing.after_ms, body: error(&failing.message, kind, code) }
}

/// The type and the code of an error.
fn names(kind: FailKind) -> (&'static str, Option<&'static str>) {
    match kind {
        FailKind::RateLimited => ("rate_limit_error", Some("rate_limit_exceeded")),
        FailKind::Quota => ("insufficient_quota", Some("insufficient_quota")),
        FailKind::TooLong => ("invalid_request_error", Some("context_length_exceeded")),
        FailKind::Unauthorized => ("authentication_error", Some("invalid_api_key")),
        FailKind::Rejected => ("invalid_request_error", None),
        FailKind::Server | FailKind::Transport | FailKind::CutOff | FailKind::Malformed => ("server_error", None),
    }
}

/// An error in the form of both dialects.
pub(super) fn error(message: &str, kind: &str, code: Option<&str>) -> String {
    json!({"error": {"message": message, "type": kind, "code": code}}).to_string()
}

/// A body as it grows.
#[derive(Default)]
struct Body {
    text: String,
    pieces: Vec<Piece>,
    /// Nothing may follow.
    over: bool,
}

impl Body {
    fn push(&mut self, text: &str) {
        if !self.over {
            self.text.push_str(text);
        }
    }

    fn fail(&mut self, failing: &Failing, words: &mut dyn Words) {
        match failing.kind {
            FailKind::CutOff | FailKind::Transport => self.then(Piece::Drop),
            FailKind::Malformed => self.push("data: {this is no JSON\n\n"),
            FailKind::RateLimited
            | FailKind::Quota
            | FailKind::TooLong
            | FailKind::Unauthorized
            | FailKind::Rejected
            | FailKind::Server => self.push(&words.fail(failing)),
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

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use haft_llm::{Step, Usage};

    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, steps: Vec<Step>, want: Expect) {
        let shape = Shape::of(&Answer::new(steps), dialect);
        let mut text = format!("{:?} after {:?}\n", shape.head, shape.before);
        for piece in shape.pieces {
            match piece {
                Piece::Bytes(bytes) => {
                    let bytes = String::from_utf8(bytes.to_vec()).unwrap();
                    text.push_str(&bytes.replace("\n\n", "\n").replace(chat::START, "data: {…["));
                }
                other => text.push_str(&format!("{other:?}\n")),
            }
        }
        want.assert_eq(&text);
    }

    fn everything() -> Vec<Step> {
        let usage = Usage { input: 5, output: 2, reasoning: 1, cache_read: 3, ..Usage::default() };
        vec![
            Step::Reasoning("Hm.".to_owned()),
            Step::text("\"Hi.\""),
            Step::call("ls", &json!({})),
            Step::call("pwd", &json!({})),
            Step::Usage(usage),
        ]
    }

    #[test]
    fn an_answer_without_waits_is_one_piece() {
        check(
            Dialect::Chat,
            everything(),
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
        for dialect in [Dialect::Chat, Dialect::Responses] {
            let shape = Shape::of(&Answer::new(everything()), dialect);
            assert_eq!(shape.pieces.len(), 1, "{dialect:?}");
        }
    }

    #[test]
    fn responses_are_items_that_are_given_whole() {
        check(
            Dialect::Responses,
            everything(),
            expect![[r#"
            Stream after []
            event: response.created
            data: {"type":"response.created","response":{"id":"resp_1"}}
            event: response.output_item.done
            data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_0","summary":[{"type":"summary_text","text":"Hm."}]}}
            event: response.output_item.added
            data: {"type":"response.output_item.added","output_index":1,"item":{"type":"message","role":"assistant","id":"msg_1","content":[]}}
            event: response.output_text.delta
            data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"\"Hi.\""}
            event: response.output_item.done
            data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"\"Hi.\""}]}}
            event: response.output_item.done
            data: {"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_call_1","call_id":"call_1","name":"ls","arguments":"{}"}}
            event: response.output_item.done
            data: {"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","id":"fc_call_2","call_id":"call_2","name":"pwd","arguments":"{}"}}
            event: response.completed
            data: {"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":8,"input_tokens_details":{"cached_tokens":3},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":11}}}
        "#]],
        );
    }

    #[test]
    fn waits_and_silence_stand_between_pieces() {
        let wait = || Step::Wait(Duration::from_millis(5));
        let steps = || vec![wait(), Step::text("a"), wait(), Step::text("b"), Step::Hang];
        check(
            Dialect::Chat,
            steps(),
            expect![[r#"
            Stream after [5ms]
            data: {…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
            data: {…[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}
            Wait(5ms)
            data: {…[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}
            Hang
        "#]],
        );
        check(
            Dialect::Responses,
            steps(),
            expect![[r#"
            Stream after [5ms]
            event: response.created
            data: {"type":"response.created","response":{"id":"resp_1"}}
            event: response.output_item.added
            data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","id":"msg_0","content":[]}}
            event: response.output_text.delta
            data: {"type":"response.output_text.delta","item_id":"msg_0","output_index":0,"content_index":0,"delta":"a"}
            Wait(5ms)
            event: response.output_text.delta
            data: {"type":"response.output_text.delta","item_id":"msg_0","output_index":0,"content_index":0,"delta":"b"}
            Hang
        "#]],
        );
    }

    #[test]
    fn a_failure_is_a_status_before_and_an_event_within_an_answer() {
        let fail = |kind| Step::Fail(Failing { after_ms: Some(9), ..Failing::new(kind, "why") });
        check(
            Dialect::Chat,
            vec![fail(FailKind::RateLimited)],
            expect![[r#"
            Fail { status: 429, after_ms: Some(9), body: "{\"error\":{\"message\":\"why\",\"type\":\"rate_limit_error\",\"code\":\"rate_limit_exceeded\"}}" } after []
        "#]],
        );
        check(
            Dialect::Chat,
            vec![fail(FailKind::CutOff)],
            expect![[r#"
            Drop after []
        "#]],
        );
        check(
            Dialect::Chat,
            vec![fail(FailKind::Malformed)],
            expect![[r#"
            Page after []
        "#]],
        );
        check(
            Dialect::Chat,
            vec![Step::text("a"), fail(FailKind::Server)],
            expect![[r#"
            Stream after []
            data: {…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
            data: {…[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}
            data: {"error":{"message":"why","type":"server_error","code":null}}
        "#]],
        );
        check(
            Dialect::Chat,
            vec![Step::text("a"), fail(FailKind::Transport)],
            expect![[r#"
            Stream after []
            data: {…[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
            data: {…[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}
            Drop
        "#]],
        );
        check(
            Dialect::Responses,
            vec![Step::text("a"), fail(FailKind::TooLong)],
            expect![[r#"
            Stream after []
            event: response.created
            data: {"type":"response.created","response":{"id":"resp_1"}}
            event: response.output_item.added
            data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","role":"assistant","id":"msg_0","content":[]}}
            event: response.output_text.delta
            data: {"type":"response.output_text.delta","item_id":"msg_0","output_index":0,"content_index":0,"delta":"a"}
            event: response.failed
            data: {"type":"response.failed","response":{"id":"resp_1","error":{"code":"context_length_exceeded","message":"why"}}}
        "#]],
        );
    }

    #[test]
    fn the_answers_of_a_conversation_are_counted() {
        let row = |dialect: Dialect, body: serde_json::Value, want: Option<usize>| {
            assert_eq!(dialect.answers(body.to_string().as_bytes()), want, "{body}");
        };
        let (user, said) = (json!({"role": "user"}), json!({"role": "assistant"}));
        row(Dialect::Chat, json!({"messages": [user]}), Some(0));
        row(Dialect::Chat, json!({"messages": [user, said, user, said]}), Some(2));
        row(Dialect::Chat, json!({"input": []}), None);

        let (call, result) = (json!({"type": "function_call"}), json!({"type": "function_call_output"}));
        let thought = json!({"type": "reasoning"});
        row(Dialect::Responses, json!({"input": [user]}), Some(0));
        row(Dialect::Responses, json!({"input": [user, thought, said, call, call, result, result]}), Some(1));
        row(Dialect::Responses, json!({"input": [user, call, result, call, result, user, said]}), Some(3));
        row(Dialect::Responses, json!({"input": [said, user]}), Some(1));
        row(Dialect::Responses, json!({"messages": []}), None);
    }
}
