//! Calls that are written as those of Python.

use serde_json::Map;

use super::super::{Found, Given, MAX_CALLS};
use super::json;
use crate::repair::Reader;

/// A call in a fence of its own: `name(argument="text")`, one or several, perhaps printed.
pub(super) fn tool_code(text: &str) -> Option<(Vec<Found>, &str)> {
    let inner = text.strip_prefix("```tool_code").or_else(|| text.strip_prefix("```tool_call"))?;
    let inner = inner.strip_prefix('s').unwrap_or(inner);
    if inner.trim_start().starts_with(['{', '[']) {
        return json::up_to(inner, "```");
    }
    let mut reader = Reader::new(inner, Some("```"));
    let mut all = Vec::new();
    while !(reader.takes("```") || reader.rest().is_empty()) {
        all.push(printed(&mut reader)?);
        (all.len() <= MAX_CALLS).then_some(())?;
    }
    (!all.is_empty()).then_some((all, reader.rest()))
}

/// A list of calls: `[name(argument="text"), …]`.
pub(super) fn listed(text: &str) -> Option<(Vec<Found>, &str)> {
    let mut reader = Reader::new(text, None);
    reader.takes("[").then_some(())?;
    let mut all = Vec::new();
    while !reader.takes("]") {
        all.push(call(&mut reader)?);
        (all.len() <= MAX_CALLS).then_some(())?;
        let more = reader.takes(",");
        (more || reader.rest().starts_with(']')).then_some(())?;
    }
    (!all.is_empty()).then_some((all, reader.rest()))
}

/// `name(argument="text")`, and what Llama writes for its own tools: `name.call(argument="text")`.
pub(super) fn call(reader: &mut Reader<'_>) -> Option<Found> {
    let mut name = reader.name()?.to_owned();
    while reader.takes(".") {
        let more = reader.name()?;
        if more != "call" {
            name = format!("{name}.{more}");
        }
    }
    reader.takes("(").then_some(())?;
    let mut fields = Map::new();
    while !reader.takes(")") {
        let key = reader.name()?.to_owned();
        reader.takes("=").then_some(())?;
        fields.insert(key, reader.value()?);
        let more = reader.takes(",");
        (more || reader.rest().starts_with(')')).then_some(())?;
    }
    Some(Found { name, arguments: Given::Fields(fields) })
}

/// A call, perhaps with `print` around it.
fn printed(reader: &mut Reader<'_>) -> Option<Found> {
    match reader.takes("print(") {
        true => call(reader).filter(|_| reader.takes(")")),
        false => call(reader),
    }
}
