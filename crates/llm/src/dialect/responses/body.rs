//! A [`Request`] as the bytes of a responses request.

use bytes::Bytes;
use serde::Serialize as Derive;
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

use super::items::{Writer, Written};
use super::options::Options;
use crate::dialect::conversation::{Elements, Gap};
use crate::dialect::fields::Fields;
use crate::manners::Manners;
use crate::schema::is_strict;
use crate::steering::STRICT;
use crate::{Message, Request, ToolSpec};

/// The tools array exactly as it is sent.
pub(super) fn tools(specs: &[ToolSpec]) -> Value {
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools { specs, strict: false }).unwrap_or_default()
}

/// The body. Equal requests give equal bytes, whatever is in `written`, which must be used with one provider only.
pub(super) fn bytes(provider: &str, manners: Manners, request: &Request, written: &Written) -> Bytes {
    let options = Options::of(request);
    let instructs = match manners {
        Manners::Plain | Manners::Copilot => false,
        Manners::ChatGpt => true,
    };
    let writer = Writer { provider, model: &request.model, stored: options.stored };
    let body = |gap: &Gap| serde_json::to_writer(gap, &Body { request, options: &options, instructs, items: gap });
    let around = Gap::default().around(body);
    let opening = |elements: &mut Elements| {
        if !instructs && !request.system.is_empty() {
            elements.push(&System { r#type: "message", role: options.system, content: &request.system });
        }
    };
    let write = |message: &Message, _: usize, elements: &mut Elements| writer.write(message, elements);
    written.of(options.stored).body(request, 0, &around, opening, write)
}

struct Body<'a> {
    request: &'a Request,
    options: &'a Options,
    /// Whether the system prompt is a field of its own, also where it is empty.
    instructs: bool,
    items: &'a Gap,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, options, instructs, items } = self;
        let mut fields = Fields::new(serializer.serialize_map(None)?, &options.extra);
        fields.field("model", Some(&request.model))?;
        fields.field("instructions", instructs.then_some(&request.system))?;
        fields.field("input", Some(items))?;
        fields.field("temperature", options.temperature)?;
        fields.field("top_p", options.top_p)?;
        fields.field("max_output_tokens", options.max_output)?;
        fields.field("text", options.text.as_ref())?;
        fields.field("store", Some(options.stored))?;
        fields.field("include", options.include.as_ref())?;
        fields.field("prompt_cache_key", options.cache_key.as_ref())?;
        fields.field("reasoning", options.reasoning.as_ref())?;
        let strict = request.extra.get(STRICT) == Some(&Value::Bool(true));
        let offered = (!request.tools.is_empty()).then_some(Tools { specs: &request.tools, strict });
        let chosen = offered.as_ref().map(|_| options.tool_choice);
        fields.field("tools", offered)?;
        fields.field("tool_choice", chosen)?;
        fields.fixed("stream", true)?;
        fields.rest()
    }
}

#[derive(Derive)]
struct System<'a> {
    r#type: &'static str,
    role: &'static str,
    content: &'a str,
}

struct Tools<'a> {
    specs: &'a [ToolSpec],
    /// Whether the model is held to the schemas.
    strict: bool,
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Derive)]
        struct Tool<'a> {
            r#type: &'static str,
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
            /// Left out, it means yes.
            strict: bool,
        }
        serializer.collect_seq(self.specs.iter().map(|ToolSpec { name, description, parameters }| Tool {
            r#type: "function",
            name,
            description,
            parameters,
            // One that leaves something open would be refused.
            strict: self.strict && is_strict(parameters),
        }))
    }
}

#[cfg(test)]
mod tests;
