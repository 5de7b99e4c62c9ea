//! A [`Request`] as the bytes of a messages request.

use serde::Serialize as Derive;
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

use super::blocks::messages;
use super::options::Options;
use crate::dialect::fields::Fields;
use crate::dialect::mark::{EPHEMERAL, Mark};
use crate::{Request, ToolSpec};

/// The tools array exactly as it is sent.
pub(super) fn tools(specs: &[ToolSpec]) -> Value {
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools(specs)).unwrap_or_default()
}

/// The body, written in one pass. Equal requests give equal bytes.
pub(super) fn bytes(provider: &str, request: &Request) -> Vec<u8> {
    serde_json::to_vec(&Body { provider, request }).unwrap_or_default()
}

struct Body<'a> {
    provider: &'a str,
    request: &'a Request,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let options = Options::of(request);
        let mut body = Fields::new(serializer.serialize_map(None)?, &options.extra);
        body.field("model", Some(&request.model))?;
        body.field("max_tokens", Some(options.max_tokens))?;
        body.field("temperature", options.temperature)?;
        body.field("top_p", options.top_p)?;
        body.field("system", (!request.system.is_empty()).then(|| [system(&request.system)]))?;
        body.field("messages", Some(messages(self.provider, request)))?;
        let offered = Some(Tools(&request.tools)).filter(|tools| !tools.0.is_empty());
        let chosen = offered.as_ref().map(|_| &options.tool_choice);
        body.field("tools", offered)?;
        body.field("tool_choice", chosen)?;
        body.fixed("stream", true)?;
        body.rest()
    }
}

#[derive(Derive)]
struct System<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: Mark,
}

fn system(text: &str) -> System<'_> {
    System { r#type: "text", text, cache_control: EPHEMERAL }
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
