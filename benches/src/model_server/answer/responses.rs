//! The words of responses: as many of them as a client needs that reads whole items.

use haft_llm::{Chunk, Failing, Finish, Usage};
use serde_json::{Value, json};

use super::{Words, names};

#[derive(Default)]
pub(super) struct Writer {
    /// Items so far, which is the number of the next one.
    items: usize,
    /// The text of the item that is open, if one is.
    open: Option<String>,
    usage: Option<Usage>,
}

impl Words for Writer {
    fn begin(&mut self) -> String {
        event(&json!({"type": "response.created", "response": {"id": "resp_1"}}))
    }

    fn chunk(&mut self, chunk: &Chunk) -> String {
        match chunk {
            Chunk::Text(text) => self.text(text),
            Chunk::TextEnd { .. } => {
                let text = self.open.take().unwrap_or_default();
                let item = message(&self.id("msg"), &[json!({"type": "output_text", "text": text})]);
                self.done(&item)
            }
            Chunk::Reasoning(text) => {
                self.open.get_or_insert_default().push_str(text);
                String::new()
            }
            Chunk::ReasoningEnd { .. } => {
                let summary = json!([{"type": "summary_text", "text": self.open.take().unwrap_or_default()}]);
                let item = json!({"type": "reasoning", "id": self.id("rs"), "summary": summary});
                self.done(&item)
            }
            Chunk::ToolCall { id, name, arguments, .. } => {
                let mut item = json!({
                    "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments,
                });
                // A tool in a namespace, as a scenario writes it.
                if let Some((namespace, name)) = name.split_once('/') {
                    item["namespace"] = namespace.into();
                    item["name"] = name.into();
                }
                self.done(&item)
            }
            Chunk::Usage(usage) => {
                self.usage = Some(*usage);
                String::new()
            }
            Chunk::Finish(finish) => self.finish(finish),
            // A call is told when it is whole.
            Chunk::ToolInput { .. } | Chunk::Vendor(_) => String::new(),
        }
    }

    fn fail(&mut self, failing: &Failing) -> String {
        let (kind, code) = names(failing.kind);
        let error = json!({"code": code.unwrap_or(kind), "message": failing.message});
        event(&json!({"type": "response.failed", "response": {"id": "resp_1", "error": error}}))
    }
}

impl Writer {
    fn id(&self, kind: &str) -> String {
        format!("{kind}_{}", self.items)
    }

    fn text(&mut self, text: &str) -> String {
        let id = self.id("msg");
        let mut said = String::new();
        if self.open.is_none() {
            let item = message(&id, &[]);
            let added = json!({"type": "response.output_item.added", "output_index": self.items, "item": item});
            said.push_str(&event(&added));
        }
        self.open.get_or_insert_default().push_str(text);
        said.push_str(&event(&json!({
            "type": "response.output_text.delta",
            "item_id": id,
            "output_index": self.items,
            "content_index": 0,
            "delta": text,
        })));
        said
    }

    fn done(&mut self, item: &Value) -> String {
        let done = json!({"type": "response.output_item.done", "output_index": self.items, "item": item});
        self.items += 1;
        event(&done)
    }

    fn finish(&self, finish: &Finish) -> String {
        let mut response = json!({"id": "resp_1"});
        if let Some(usage) = self.usage {
            response["usage"] = counted(&usage);
        }
        let incomplete = match finish {
            Finish::Stop | Finish::ToolCalls | Finish::Unknown => None,
            Finish::Length => Some("max_output_tokens"),
            Finish::ContentFilter => Some("content_filter"),
            Finish::Other(reason) => Some(reason.as_str()),
        };
        let kind = match incomplete {
            None => "response.completed",
            Some(reason) => {
                response["incomplete_details"] = json!({"reason": reason});
                "response.incomplete"
            }
        };
        event(&json!({"type": kind, "response": response}))
    }
}

fn message(id: &str, content: &[Value]) -> Value {
    json!({"type": "message", "role": "assistant", "id": id, "content": content})
}

/// Every event says its type twice.
fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn counted(usage: &Usage) -> Value {
    let Usage { total, input, output, reasoning, cache_read, cache_write } = *usage;
    let (asked, said) = (input + cache_read + cache_write, output + reasoning);
    json!({
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": cache_read},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": total.unwrap_or(asked + said),
    })
}
