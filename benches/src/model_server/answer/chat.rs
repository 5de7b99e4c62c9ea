//! The words of chat completions.

use haft_llm::{Chunk, Failing, Finish, Usage};
use serde_json::{Value, json};

use super::{Words, error, names};

/// How every event begins, up to its choices.
pub(super) const START: &str =
    r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":0,"model":"scenario","choices":["#;

#[derive(Default)]
pub(super) struct Writer {
    /// The ids of the calls so far; their places are their indices.
    calls: Vec<String>,
    usage: Option<Usage>,
}

impl Words for Writer {
    fn begin(&mut self) -> String {
        delta(&json!({"role": "assistant", "content": ""}))
    }

    fn chunk(&mut self, chunk: &Chunk) -> String {
        match chunk {
            Chunk::Text(text) => delta(&json!({"content": text})),
            Chunk::Reasoning(text) => delta(&json!({"reasoning_content": text})),
            Chunk::ToolInput { id, name, delta } => self.input(id, name, delta),
            // Announced by its input, unless there was none.
            Chunk::ToolCall { id, name, arguments, .. } if !self.calls.contains(id) => self.input(id, name, arguments),
            Chunk::Usage(usage) => {
                self.usage = Some(*usage);
                String::new()
            }
            Chunk::Finish(finish) => self.finish(finish),
            Chunk::ToolCall { .. } | Chunk::TextEnd { .. } | Chunk::ReasoningEnd { .. } | Chunk::Vendor(_) => {
                String::new()
            }
        }
    }

    fn fail(&mut self, failing: &Failing) -> String {
        let (kind, code) = names(failing.kind);
        format!("data: {}\n\n", error(&failing.message, kind, code))
    }
}

impl Writer {
    fn input(&mut self, id: &str, name: &str, arguments: &str) -> String {
        let known = self.calls.iter().position(|call| call == id);
        let call = match known {
            Some(index) => json!({"index": index, "function": {"arguments": arguments}}),
            None => {
                self.calls.push(id.to_owned());
                let function = json!({"name": name, "arguments": arguments});
                json!({"index": self.calls.len() - 1, "id": id, "type": "function", "function": function})
            }
        };
        delta(&json!({"tool_calls": [call]}))
    }

    fn finish(&self, finish: &Finish) -> String {
        let reason = match finish {
            Finish::Stop => Some("stop"),
            Finish::ToolCalls => Some("tool_calls"),
            Finish::Length => Some("length"),
            Finish::ContentFilter => Some("content_filter"),
            Finish::Other(reason) => Some(reason.as_str()),
            Finish::Unknown => None,
        };
        let mut text = event(&json!({"index": 0, "delta": {}, "finish_reason": reason}).to_string(), "");
        if let Some(usage) = self.usage {
            text.push_str(&event("", &format!(",\"usage\":{}", counted(&usage))));
        }
        text.push_str("data: [DONE]\n\n");
        text
    }
}

fn delta(delta: &Value) -> String {
    event(&json!({"index": 0, "delta": delta, "finish_reason": null}).to_string(), "")
}

fn event(choice: &str, rest: &str) -> String {
    [START, choice, "]", rest, "}\n\n"].concat()
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
