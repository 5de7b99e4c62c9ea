//! A [`Request`] as the bytes of a chat completion request.

use std::sync::Arc;

use serde::Serialize as Derive;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::Answer;
use super::options::{Sampling, named};
use super::taste::{Listener, Marks, Taste};
use super::wire::{Said, Wire, said, shown, told};
use crate::dialect::fields::Fields;
use crate::dialect::mark::{MARKED, Mark};
use crate::dialect::written::{body, length, raw};
use crate::kept::Kept;
use crate::schema::is_strict;
use crate::steering::STRICT;
use crate::{Format, Message, Request, ToolChoice, ToolSpec};

/// The tools array exactly as it is sent.
pub fn tools(specs: &[ToolSpec]) -> Value {
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools { specs, strict: None }).unwrap_or_default()
}

/// The JSON of messages of the conversation before, each as its messages of the wire, without marks.
pub(super) type Written = Kept<Vec<Box<RawValue>>>;

/// The body. Equal requests give equal bytes, whatever is in `written`, which must be used with one listener only.
pub(super) fn bytes(listener: &Listener, request: &Request, written: &Written) -> Vec<u8> {
    let taste = Taste::of(listener, &request.model);
    let writer = Writer {
        provider: &listener.provider,
        model: &request.model,
        thinking_field: taste.thinking_field,
        marks: taste.marks,
        mark: Mark::of(&request.extra),
    };
    let conversation = Conversation::of(writer, taste, request, written);
    let texts = request.system.len() + conversation.messages.iter().map(|wires| length(&**wires)).sum::<usize>();
    body(&Body { request, taste, conversation }, texts)
}

struct Body<'a> {
    request: &'a Request,
    taste: Taste<'a>,
    conversation: Conversation<'a>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, taste, .. } = self;
        let (extra, sampling) = (named(&request.extra), Sampling::of(request));
        let mut fields = Fields::new(serializer.serialize_map(None)?, &extra);
        fields.field("model", Some(&request.model))?;
        fields.field("max_tokens", sampling.max_tokens)?;
        fields.field("max_completion_tokens", sampling.max_completion_tokens)?;
        fields.field("temperature", sampling.temperature)?;
        fields.field("top_p", sampling.top_p)?;
        fields.field("top_k", sampling.top_k.filter(|_| taste.top_k))?;
        fields.field("messages", Some(&self.conversation))?;
        // Not every server heeds "none", but nobody calls what was not offered.
        let offers = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        let strict = (request.extra.get(STRICT) == Some(&Value::Bool(true))).then_some(true);
        let offered = offers.then_some(Tools { specs: &request.tools, strict });
        let chosen = offered.as_ref().and_then(|_| taste.choice(request.tool_choice));
        fields.field("tools", offered)?;
        fields.field("tool_choice", chosen)?;
        fields.field("response_format", request.format.as_ref().map(form))?;
        fields.fixed("stream", true)?;
        fields.field("stream_options", taste.asks_usage.then(|| json!({"include_usage": true})))?;
        fields.rest()
    }
}

/// The form that the answer is to have. A schema that leaves anything open is a wish and no promise.
fn form(Format { name, schema }: &Format) -> Value {
    let form = json!({"name": name, "schema": schema, "strict": is_strict(schema)});
    json!({"type": "json_schema", "json_schema": form})
}

struct Tools<'a> {
    specs: &'a [ToolSpec],
    /// Whether the model is held to the schemas.
    strict: Option<bool>,
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Derive)]
        struct Tool<'a> {
            r#type: &'static str,
            function: Function<'a>,
        }
        #[derive(Derive)]
        struct Function<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
            #[serde(skip_serializing_if = "Option::is_none")]
            strict: Option<bool>,
        }
        serializer.collect_seq(self.specs.iter().map(|ToolSpec { name, description, parameters }| Tool {
            r#type: "function",
            function: Function {
                name,
                description,
                parameters,
                // One that leaves something open would be refused.
                strict: self.strict.filter(|_| is_strict(parameters)),
            },
        }))
    }
}

/// The messages of the wire.
struct Conversation<'a> {
    system: Option<Wire<'a>>,
    messages: Vec<Arc<Vec<Box<RawValue>>>>,
}

impl<'a> Conversation<'a> {
    fn of(writer: Writer<'_>, taste: Taste<'_>, request: &'a Request, written: &Written) -> Self {
        let mut messages = written.of(request, |message| {
            let wires = writer.written(message, 0);
            let length = length(&wires);
            (Arc::new(wires), length)
        });
        let content = Said::Text((&request.system).into());
        let mut system = (!request.system.is_empty()).then_some(match taste.system {
            "developer" => Wire::Developer { content },
            _ => Wire::System { content, copilot_cache_control: None },
        });
        if taste.marks != Marks::None {
            system.iter_mut().for_each(|wire| wire.mark(writer.marks, writer.mark));
            let mut left = MARKED;
            for (wires, message) in messages.iter_mut().zip(&request.messages).rev() {
                let marks = left.min(wires.len());
                if marks > 0 {
                    *wires = Arc::new(writer.written(message, marks));
                }
                left -= marks;
                if left == 0 {
                    break;
                }
            }
        }
        Self { system, messages }
    }
}

impl Serialize for Conversation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if let Some(system) = &self.system {
            list.serialize_element(system)?;
        }
        for wire in self.messages.iter().flat_map(|wires| wires.iter()) {
            list.serialize_element(wire)?;
        }
        list.end()
    }
}

/// What the form of a message depends on beside itself.
#[derive(Clone, Copy)]
struct Writer<'a> {
    provider: &'a str,
    model: &'a str,
    thinking_field: Option<&'a str>,
    marks: Marks,
    mark: Mark,
}

impl Writer<'_> {
    /// A message as messages of the wire, with marks on the last `marks` of them.
    fn written(self, message: &Message, marks: usize) -> Vec<Box<RawValue>> {
        let mut wires = self.wires(message);
        wires.iter_mut().rev().take(marks).for_each(|wire| wire.mark(self.marks, self.mark));
        wires.iter().map(raw).collect()
    }

    fn wires<'m>(self, message: &'m Message) -> Vec<Wire<'m>>
    where
        Self: 'm,
    {
        match message {
            Message::User { content } => {
                said(content).map(|content| Wire::User { content, copilot_cache_control: None })
            }
            Message::Assistant { parts } => {
                Answer::of(parts, self.provider, self.model, self.thinking_field).map(Wire::Assistant)
            }
            Message::Tools { results } => return results.iter().map(told).chain(shown(results)).collect(),
        }
        .into_iter()
        .collect()
    }
}

#[cfg(test)]
mod tests;
