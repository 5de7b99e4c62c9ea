//! A [`Request`] as the bytes of a responses request.

use std::sync::Arc;

use serde::Serialize as Derive;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::items::{Written, items};
use super::options::Options;
use crate::dialect::fields::Fields;
use crate::dialect::written::{body, length};
use crate::manners::Manners;
use crate::schema::is_strict;
use crate::steering::STRICT;
use crate::{Request, ToolSpec};

/// The tools array exactly as it is sent.
pub(super) fn tools(specs: &[ToolSpec]) -> Value {
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools { specs, strict: false }).unwrap_or_default()
}

/// The body. Equal requests give equal bytes, whatever is in `written`, which must be used with one provider only.
pub(super) fn bytes(provider: &str, manners: Manners, request: &Request, written: &Written) -> Vec<u8> {
    let options = Options::of(request);
    let items = items(provider, request, options.stored, written);
    let texts = request.system.len() + items.iter().map(|items| length(&**items)).sum::<usize>();
    let instructs = match manners {
        Manners::Plain | Manners::Copilot => false,
        Manners::ChatGpt => true,
    };
    body(&Body { request, options, instructs, items }, texts)
}

struct Body<'a> {
    request: &'a Request,
    options: Options,
    /// Whether the system prompt is a field of its own, also where it is empty.
    instructs: bool,
    items: Vec<Arc<Vec<Box<RawValue>>>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, options, instructs, items } = self;
        let mut fields = Fields::new(serializer.serialize_map(None)?, &options.extra);
        fields.field("model", Some(&request.model))?;
        fields.field("instructions", instructs.then_some(&request.system))?;
        let system = Some(System { r#type: "message", role: options.system, content: &request.system });
        let system = system.filter(|_| !instructs && !request.system.is_empty());
        fields.field("input", Some(Input { system, items }))?;
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

struct Input<'a> {
    system: Option<System<'a>>,
    items: &'a [Arc<Vec<Box<RawValue>>>],
}

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if let Some(system) = &self.system {
            list.serialize_element(system)?;
        }
        for item in self.items.iter().flat_map(|items| items.iter()) {
            list.serialize_element(item)?;
        }
        list.end()
    }
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
