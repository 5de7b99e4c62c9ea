//! A [`Request`] as the bytes of a messages request.

use serde::Serialize as Derive;
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

use super::blocks::{Wire, Written, messages, turns};
use super::options::Options;
use crate::dialect::fields::Fields;
use crate::dialect::mark::Mark;
use crate::dialect::written::{body, length};
use crate::{Place, Request, ToolSpec};

/// The tools array exactly as it is sent.
pub(super) fn tools(specs: &[ToolSpec]) -> Value {
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools(specs)).unwrap_or_default()
}

/// The body. Equal requests give equal bytes, whatever is in `written`, which must be used with one provider only.
pub(super) fn bytes(provider: &str, place: Place, request: &Request, written: &Written) -> Vec<u8> {
    let turns = turns(provider, request, written);
    let texts = request.system.len() + turns.iter().map(|turn| length(&turn.blocks)).sum::<usize>();
    body(&Body { place, request, messages: messages(&turns) }, texts)
}

struct Body<'a> {
    place: Place,
    request: &'a Request,
    messages: Vec<Wire<'a>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let options = Options::of(request);
        let mut fields = Fields::new(serializer.serialize_map(None)?, &options.extra);
        match self.place {
            Place::Own => fields.field("model", Some(&request.model))?,
            Place::Vertex => fields.field("anthropic_version", Some("vertex-2023-10-16"))?,
            Place::Bedrock => fields.field("anthropic_version", Some("bedrock-2023-05-31"))?,
        }
        fields.field("max_tokens", Some(options.max_tokens))?;
        fields.field("temperature", options.temperature)?;
        fields.field("top_p", options.top_p)?;
        fields.field("top_k", options.top_k)?;
        fields.field(
            "system",
            (!request.system.is_empty()).then(|| [system(&request.system, Mark::of(&request.extra))]),
        )?;
        fields.field("messages", Some(&self.messages))?;
        let offered = Some(Tools(&request.tools)).filter(|tools| !tools.0.is_empty());
        let chosen = offered.as_ref().map(|_| &options.tool_choice);
        fields.field("tools", offered)?;
        fields.field("tool_choice", chosen)?;
        match self.place {
            Place::Own | Place::Vertex => fields.fixed("stream", true)?,
            // Its address says so, and the field is refused.
            Place::Bedrock => {}
        }
        fields.rest()
    }
}

#[derive(Derive)]
struct System<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: Mark,
}

fn system(text: &str, mark: Mark) -> System<'_> {
    System { r#type: "text", text, cache_control: mark }
}

struct Tools<'a>(&'a [ToolSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Derive)]
        struct Tool<'a> {
            name: &'a str,
            description: &'a str,
            input_schema: &'a Value,
        }
        serializer.collect_seq(self.0.iter().map(|ToolSpec { name, description, parameters }| Tool {
            name,
            description,
            input_schema: parameters,
        }))
    }
}

#[cfg(test)]
mod tests;
