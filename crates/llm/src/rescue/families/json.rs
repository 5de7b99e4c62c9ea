//! Calls that are JSON objects with a name and arguments.

use serde_json::{Map, Value};

use super::super::{Found, Given};
use crate::repair::{self, Reader};

/// Keys that a name may stand under.
pub(in crate::rescue) const NAMES: [&str; 5] = ["name", "function", "tool", "tool_name", "function_name"];

/// Keys that arguments may stand under.
pub(in crate::rescue) const ARGUMENTS: [&str; 6] = ["arguments", "parameters", "args", "input", "tool_input", "params"];

/// Keys that may stand beside them.
pub(in crate::rescue) const BESIDE: [&str; 4] = ["id", "type", "index", "tool_call_id"];

/// The calls that a value is: one, or a list.
fn of(value: Value) -> Option<Vec<Found>> {
    match value {
        Value::Array(list) => {
            let each: Option<Vec<Vec<Found>>> = list.into_iter().map(of).collect();
            each.map(|all| all.concat())
        }
        Value::Object(fields) => one(fields).map(|found| vec![found]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn one(mut fields: Map<String, Value>) -> Option<Found> {
    // As OpenAI writes one.
    if let Some(Value::Object(_)) = fields.get("function") {
        let Some(Value::Object(inner)) = fields.shift_remove("function") else { return None };
        fields.keys().all(|key| BESIDE.contains(&key.as_str())).then_some(())?;
        return one(inner);
    }
    let named = |key: &'static str| Some((key, fields.get(key)?.as_str()?.to_owned()));
    let (key, name) = NAMES.into_iter().find_map(named)?;
    fields.shift_remove(key);
    let given = ARGUMENTS.into_iter().find_map(|key| fields.shift_remove(key));
    fields.keys().all(|key| BESIDE.contains(&key.as_str())).then_some(())?;
    let arguments = match given? {
        Value::Null => Map::new(),
        value => object(value)?,
    };
    Some(Found { name, arguments: Given::Fields(arguments) })
}

/// The object that a value is, or holds as a text.
fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields),
        Value::String(text) => match repair::object(&text)? {
            Value::Object(fields) => Some(fields),
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// The values at the beginning of `text`, up to `end`, which is read; the end of the text will do.
pub(super) fn up_to<'a>(text: &'a str, end: &'a str) -> Option<(Vec<Found>, &'a str)> {
    let mut reader = Reader::new(text, Some(end));
    let mut all = Vec::new();
    loop {
        while reader.takes(",") || reader.takes(";") {}
        let ended = reader.takes(end) || reader.rest().is_empty();
        if ended || (!all.is_empty() && !reader.rest().starts_with(['{', '['])) {
            return (!all.is_empty()).then(|| (all, reader.rest()));
        }
        all.extend(of(reader.value()?)?);
    }
}

/// One object of arguments, up to `end`, which is read; what else follows is left.
pub(super) fn arguments<'a>(text: &'a str, end: &'a str) -> Option<(Given, &'a str)> {
    let mut reader = Reader::new(text, Some(end));
    if reader.takes(end) {
        return Some((Given::Fields(Map::new()), reader.rest()));
    }
    let fields = object(reader.value()?)?;
    reader.takes(end);
    Some((Given::Fields(fields), reader.rest()))
}

/// JSON in a fence.
pub(super) fn fenced(text: &str) -> Option<(Vec<Found>, &str)> {
    let (label, inner) = text.strip_prefix("```")?.split_once('\n')?;
    matches!(label.trim(), "" | "json" | "tool_call" | "tool_calls").then_some(())?;
    up_to(inner, "```")
}

/// Nothing but JSON.
pub(super) fn bare(text: &str) -> Option<(Vec<Found>, &str)> {
    text.starts_with(['{', '[']).then_some(())?;
    let mut reader = Reader::new(text, None);
    let found = of(reader.value()?)?;
    (!found.is_empty()).then_some((found, reader.rest()))
}
