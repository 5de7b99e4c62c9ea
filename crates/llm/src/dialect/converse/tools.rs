//! The tools of a request.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::family::Family;
use super::names;
use super::options::Point;
use crate::{AssistantPart, Message, Request, ToolSpec};

/// The tools exactly as they are sent, but for a mark behind them.
pub(super) fn array(specs: &[ToolSpec]) -> Value {
    specs.iter().map(|spec| tool(spec, Family::Other)).collect()
}

/// The tools of `request`, and the mark. `None`: none are to be sent.
///
/// A conversation that holds calls is refused without tools, so their names stand in for them.
pub(super) fn offered(request: &Request, family: Family, point: Option<&Point>) -> Option<Vec<Value>> {
    let mut tools: Vec<_> = request.tools.iter().map(|spec| tool(spec, family)).collect();
    if tools.is_empty() {
        tools = used(request).into_iter().map(stand_in).collect();
    } else if let Some(point) = point.filter(|_| family.marks_tools()) {
        tools.push(json!({"cachePoint": point.0}));
    }
    (!tools.is_empty()).then_some(tools)
}

/// The names of the tools whose calls and results the conversation holds, in their order.
pub(super) fn used(request: &Request) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut add = |name| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for message in &request.messages {
        match &**message {
            Message::User { .. } => {}
            Message::Assistant { parts } => {
                for part in parts {
                    match part {
                        AssistantPart::ToolCall { name, .. } => add(name),
                        AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } | AssistantPart::Vendor { .. } => {
                        }
                    }
                }
            }
            Message::Tools { results } => results.iter().for_each(|result| add(&result.name)),
        }
    }
    names
}

/// What tools are called on the wire, for those that are called otherwise here.
pub(super) fn renamed(request: &Request) -> HashMap<String, String> {
    let names = request.tools.iter().map(|spec| (names::tool(&spec.name), &spec.name));
    names.filter(|(wire, name)| wire != *name).map(|(wire, name)| (wire.into_owned(), name.clone())).collect()
}

fn tool(spec: &ToolSpec, family: Family) -> Value {
    let ToolSpec { name, description, parameters } = spec;
    let mut tool = json!({"name": names::tool(name)});
    if !description.trim().is_empty() {
        tool["description"] = description.as_str().into();
    }
    tool["inputSchema"] = json!({"json": schema(parameters, family)});
    json!({"toolSpec": tool})
}

/// Amazon's own models take nothing but these at the top of a schema.
fn schema(schema: &Value, family: Family) -> Value {
    match schema.as_object() {
        Some(fields) if family == Family::Nova => {
            let known = ["type", "properties", "required", "$defs", "definitions"];
            let kept = fields.iter().filter(|(name, _)| known.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>())
        }
        _ => schema.clone(),
    }
}

fn stand_in(name: &str) -> Value {
    json!({"toolSpec": {
        "name": names::tool(name),
        "description": "Cannot be called any more.",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, description: &str, parameters: Value) -> ToolSpec {
        ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters }
    }

    #[test]
    fn a_schema_has_what_its_models_take() {
        let whole =
            json!({"type": "object", "$schema": "s", "additionalProperties": false, "properties": {"title": {}}});
        assert_eq!(schema(&whole, Family::Claude), whole);
        assert_eq!(schema(&whole, Family::Nova), json!({"type": "object", "properties": {"title": {}}}));
    }

    #[test]
    fn tools_have_names_and_words_that_are_taken() {
        let request = Request {
            tools: vec![spec("a.b", " ", json!({})), spec("c", "C", json!({}))].into(),
            ..Request::default()
        };
        assert_eq!(
            array(&request.tools),
            json!([
                {"toolSpec": {"name": "a_b", "inputSchema": {"json": {}}}},
                {"toolSpec": {"name": "c", "description": "C", "inputSchema": {"json": {}}}},
            ])
        );
        assert_eq!(renamed(&request), HashMap::from([("a_b".to_owned(), "a.b".to_owned())]));
    }
}
