//! A [`Request`] as the bytes of a `streamGenerateContent` request.

use serde::Serialize as Derive;
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::models::is_gemma;
use super::options::Options;
use super::parts::{Content, Written, contents, turns, words};
use crate::dialect::fields::Fields;
use crate::dialect::written::{body, length};
use crate::{Place, Request, ToolSpec};

/// The tools array exactly as it is sent.
pub(super) fn tools(specs: &[ToolSpec]) -> Value {
    if specs.is_empty() {
        return Value::Array(Vec::new());
    }
    // Names, texts and JSON: nothing that could fail.
    serde_json::to_value(Tools(specs)).unwrap_or_default()
}

/// The body. Equal requests give equal bytes, whatever is in `written`, which must be used with one provider and place
/// only.
pub(super) fn bytes(provider: &str, place: Place, request: &Request, written: &Written) -> Vec<u8> {
    let turns = turns(provider, place, request, written);
    let texts = request.system.len() + turns.iter().map(|turn| length(&turn.parts)).sum::<usize>();
    let system = Some(&*request.system).filter(|system| !system.is_empty()).map(words);
    let (system, opening) = if is_gemma(&request.model) { (None, system) } else { (system, None) };
    let contents = contents(&turns, opening.as_deref());
    body(&Body { request, system, contents }, texts)
}

struct Body<'a> {
    request: &'a Request,
    system: Option<Box<RawValue>>,
    contents: Vec<Content<'a>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let Options { generation, tool_config, extra } = Options::of(request);
        let mut fields = Fields::new(serializer.serialize_map(None)?, &extra);
        fields.field("systemInstruction", self.system.as_deref().map(|part| System { parts: [part] }))?;
        fields.field("tools", Some(Tools(&request.tools)).filter(|tools| !tools.0.is_empty()))?;
        fields.field("toolConfig", Some(&tool_config).filter(|config| !config.is_empty()))?;
        fields.field("generationConfig", Some(&generation).filter(|config| !config.is_empty()))?;
        // What grows comes last, so that the bytes before it stay those of the request before.
        fields.field("contents", Some(&self.contents))?;
        fields.rest()
    }
}

#[derive(Derive)]
struct System<'a> {
    parts: [&'a RawValue; 1],
}

/// All tools are one entry of the list.
struct Tools<'a>(&'a [ToolSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Derive)]
        #[serde(rename_all = "camelCase")]
        struct All<'a> {
            function_declarations: Vec<Tool<'a>>,
        }
        #[derive(Derive)]
        #[serde(rename_all = "camelCase")]
        struct Tool<'a> {
            name: &'a str,
            description: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            parameters_json_schema: Option<&'a Value>,
        }
        let tools = self.0.iter().map(|ToolSpec { name, description, parameters }| Tool {
            name,
            description,
            parameters_json_schema: Some(parameters).filter(|schema| takes_any(schema)),
        });
        [All { function_declarations: tools.collect() }].serialize(serializer)
    }
}

/// Whether a tool takes arguments. An object without properties is refused.
fn takes_any(schema: &Value) -> bool {
    let has = |key: &str| schema[key].as_object().is_some_and(|fields| !fields.is_empty());
    has("properties") || ["$ref", "anyOf", "oneOf", "allOf"].into_iter().any(|key| schema.get(key).is_some())
}

#[cfg(test)]
mod tests;
