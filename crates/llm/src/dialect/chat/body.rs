//! A [`Request`] as the bytes of a chat completion request.

use bytes::Bytes;
use serde::Serialize as Derive;
use serde::ser::{Serialize, Serializer};
use serde_json::{Value, json};

use super::answer::Answer;
use super::options::{Sampling, named};
use super::taste::{Listener, Marks, Taste};
use super::wire::{Said, Wire, said, shown, told};
use crate::dialect::conversation::{Conversations, Elements, Gap};
use crate::dialect::fields::Fields;
use crate::dialect::mark::{MARKED, Mark};
use crate::schema::is_strict;
use crate::steering::STRICT;
use crate::{Format, Message, Request, ToolChoice, ToolSpec};

/// The tools array exactly as it is sent.
pub fn tools(specs: &[ToolSpec]) -> Value {
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools { specs, strict: None }).unwrap_or_default()
}

/// The body. Equal requests give equal bytes, whatever was sent before with `conversations`, which must be used with one
/// listener only.
pub(super) fn bytes(listener: &Listener, request: &Request, conversations: &Conversations) -> Bytes {
    let taste = Taste::of(listener, &request.model);
    let writer = Writer {
        provider: &listener.provider,
        model: &request.model,
        thinking_field: taste.thinking_field,
        marks: taste.marks,
        mark: Mark::of(&request.extra),
    };
    let around = Gap::default().around(|gap| serde_json::to_writer(gap, &Body { request, taste, conversation: gap }));
    let marks = writer.marks_of_last(request);
    let opening = |elements: &mut Elements| writer.system(&request.system, taste.system, elements);
    conversations.body(request, marks.len(), &around, opening, |message, behind, elements| {
        writer.write(message, marks.get(behind).copied().unwrap_or_default(), elements);
    })
}

struct Body<'a> {
    request: &'a Request,
    taste: Taste<'a>,
    conversation: &'a Gap,
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
        fields.field("messages", Some(self.conversation))?;
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
    /// How many marks the last messages have, the very last one first, as far as any has: a message of the conversation
    /// can be some of the wire, or none.
    fn marks_of_last(self, request: &Request) -> Vec<usize> {
        let (mut marks, mut left) = (Vec::new(), if self.marks == Marks::None { 0 } else { MARKED });
        for message in request.messages.iter().rev() {
            if left == 0 {
                break;
            }
            let here = left.min(self.wires(message).len());
            marks.push(here);
            left -= here;
        }
        marks
    }

    fn system(self, words: &str, role: &str, elements: &mut Elements) {
        if words.is_empty() {
            return;
        }
        let content = Said::Text(words.into());
        let mut system = match role {
            "developer" => Wire::Developer { content },
            _ => Wire::System { content, copilot_cache_control: None },
        };
        system.mark(self.marks, self.mark);
        elements.push(&system);
    }

    /// A message as messages of the wire, with marks on the last `marks` of them.
    fn write(self, message: &Message, marks: usize, elements: &mut Elements) {
        let mut wires = self.wires(message);
        wires.iter_mut().rev().take(marks).for_each(|wire| wire.mark(self.marks, self.mark));
        wires.iter().for_each(|wire| elements.push(wire));
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
