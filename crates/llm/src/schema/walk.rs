//! Where schemas stand in a schema.

use serde_json::{Map, Value};

/// Keywords that hold a schema for each name.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords that hold a list of schemas.
const LISTED: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keywords that hold one schema; `items` may hold a list, in older drafts.
const SINGLE: [&str; 12] = [
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

/// Calls `visit` with each schema right below `schema`.
pub(super) fn below(schema: &mut Map<String, Value>, mut visit: impl FnMut(&mut Value)) {
    for (keyword, value) in schema.iter_mut() {
        let keyword = keyword.as_str();
        match value {
            Value::Object(named) if NAMED.contains(&keyword) => named.values_mut().for_each(&mut visit),
            Value::Array(list) if LISTED.contains(&keyword) || keyword == "items" => {
                list.iter_mut().for_each(&mut visit);
            }
            Value::Object(_) | Value::Bool(_) if SINGLE.contains(&keyword) => visit(value),
            _ => {}
        }
    }
}

/// Whether `schema` is put together from others.
pub(super) fn combines(schema: &Map<String, Value>) -> bool {
    ["anyOf", "oneOf", "allOf"].into_iter().any(|keyword| schema.get(keyword).is_some_and(Value::is_array))
}

/// One schema for what a list of them allows, each at its place.
pub(super) fn one_of_all(list: Vec<Value>) -> Value {
    let mut distinct: Vec<Value> = Vec::new();
    for schema in list {
        if !distinct.contains(&schema) {
            distinct.push(schema);
        }
    }
    match distinct.len() {
        0 => Value::Object(Map::new()),
        1 => distinct.swap_remove(0),
        _ => Value::Object(Map::from_iter([("anyOf".to_owned(), Value::Array(distinct))])),
    }
}
