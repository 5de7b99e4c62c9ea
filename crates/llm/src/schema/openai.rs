//! OpenAI's tools know a part of JSON Schema. What is beyond it is left out, and what can be told from it is said in
//! words that they know. Codex lowers the schemas of foreign tools in the same way.

use serde_json::{Map, Value, json};

/// The types there are.
const TYPES: [&str; 7] = ["string", "number", "boolean", "integer", "object", "array", "null"];

/// `schema` in keywords that are known. A truth value as a schema becomes a text; a schema that says nothing known
/// becomes an empty one.
pub(super) fn lower(schema: Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return schema };
    match schema {
        Value::Bool(_) => json!({"type": "string"}),
        Value::Array(list) => list.into_iter().map(|one| lower(one, depth)).collect(),
        Value::Object(schema) => Value::Object(lowered(schema, depth)),
        other => other,
    }
}

fn lowered(schema: Map<String, Value>, depth: usize) -> Map<String, Value> {
    let types = types(&schema);
    let told = implied(&schema);
    let mut kept = Map::new();
    for (keyword, value) in schema {
        let value = match (keyword.as_str(), value) {
            ("$ref" | "description", Value::String(text)) => Value::String(text),
            ("const", value) => {
                kept.insert("enum".to_owned(), Value::Array(vec![value]));
                continue;
            }
            // A constant says more than the list beside it.
            ("enum", Value::Array(_)) if kept.contains_key("enum") => continue,
            ("enum", Value::Array(list)) => Value::Array(list),
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                Value::Object(named.into_iter().map(|(name, one)| (name, lower(one, depth))).collect())
            }
            ("required", Value::Array(names)) => names.into_iter().filter(Value::is_string).collect(),
            ("anyOf" | "oneOf" | "allOf", list @ Value::Array(_)) | ("items", list) => lower(list, depth),
            ("additionalProperties", Value::Bool(open)) => Value::Bool(open),
            ("additionalProperties", one) => lower(one, depth),
            _ => continue,
        };
        kept.insert(keyword, value);
    }
    let types = match types.is_empty() {
        false => types,
        true if kept.contains_key("$ref") || super::walk::combines(&kept) => return kept,
        true => match told {
            Some(kind) => vec![kind.to_owned()],
            None => return Map::new(),
        },
    };
    if types.iter().any(|kind| kind == "object") {
        kept.entry("properties").or_insert_with(|| json!({}));
    }
    if types.iter().any(|kind| kind == "array") {
        kept.entry("items").or_insert_with(|| json!({"type": "string"}));
    }
    let kind = match <[String; 1]>::try_from(types) {
        Ok([one]) => Value::String(one),
        Err(several) => several.into_iter().collect(),
    };
    kept.insert("type".to_owned(), kind);
    kept
}

/// The types that `schema` names, as far as they are known.
fn types(schema: &Map<String, Value>) -> Vec<String> {
    let named = match schema.get("type") {
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let known = named.iter().filter_map(Value::as_str).filter(|kind| TYPES.contains(kind));
    known.map(str::to_owned).collect()
}

/// The type that the keywords of `schema` are about.
fn implied(schema: &Map<String, Value>) -> Option<&'static str> {
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
    let listed = schema.contains_key("const") || schema.get("enum").is_some_and(Value::is_array);
    if has(&["properties", "required", "additionalProperties"]) {
        Some("object")
    } else if has(&["items", "prefixItems"]) {
        Some("array")
    } else if listed || has(&["format"]) {
        Some("string")
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        Some("number")
    } else {
        None
    }
}
