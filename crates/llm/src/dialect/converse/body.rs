//! A [`Request`] as the bytes of a Converse request.

use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::blocks::{Wire, Written, messages, turns};
use super::family::{Family, holds_form};
use super::options::Options;
use super::tools::{offered, used};
use crate::Request;
use crate::dialect::fields::Fields;
use crate::dialect::written::{body, length};

/// The body. Equal requests give equal bytes, whatever is in `written`, which must be used with one provider only.
pub(super) fn bytes(provider: &str, request: &Request, written: &Written) -> Vec<u8> {
    let family = Family::of(request);
    let options = Options::of(request, family);
    let turns = turns(provider, request, family, options.point.as_ref(), written);
    let texts = request.system.len() + turns.iter().map(|turn| length(&turn.blocks)).sum::<usize>();
    body(&Body { request, family, options, messages: messages(&turns) }, texts)
}

struct Body<'a> {
    request: &'a Request,
    family: Family,
    options: Options,
    messages: Vec<Wire<'a>>,
}

impl Serialize for Body<'_> {
    /// What changes least stands first, and the conversation last.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, options, messages, .. } = self;
        let some = |fields: &Map<String, Value>| (!fields.is_empty()).then(|| fields.clone());
        let mut fields = Fields::new(serializer.serialize_map(None)?, &options.fields);
        fields.field("inferenceConfig", some(&options.inference))?;
        fields.field("additionalModelRequestFields", some(&options.additional))?;
        fields.field("outputConfig", form(request))?;
        fields.field("toolConfig", self.tools())?;
        fields.field("system", (!request.system.trim().is_empty()).then(|| system(&request.system, options)))?;
        fields.fixed("messages", messages)?;
        fields.rest()
    }
}

impl Body<'_> {
    fn tools(&self) -> Option<Value> {
        let Self { request, family, options, .. } = self;
        // Where there is no word for "none", they are left out, if the conversation allows that.
        if options.no_tools && used(request).is_empty() {
            return None;
        }
        let mut config = json!({"tools": offered(request, *family, options.point.as_ref())?});
        if let Some(choice) = options.choice.as_ref().filter(|_| !request.tools.is_empty()) {
            config["toolChoice"] = choice.clone();
        }
        Some(config)
    }
}

fn system(text: &str, options: &Options) -> Vec<Value> {
    let mark = options.point.as_ref().map(|point| json!({"cachePoint": point.0}));
    [json!({"text": text})].into_iter().chain(mark).collect()
}

/// The form of the answer, for models that can be held to one. The schema is sent as text.
fn form(request: &Request) -> Option<Value> {
    let format = request.format.as_ref().filter(|_| holds_form(&request.model))?;
    let schema = json!({"name": format.name, "schema": format.schema.to_string()});
    Some(json!({"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}))
}

#[cfg(test)]
mod tests;
