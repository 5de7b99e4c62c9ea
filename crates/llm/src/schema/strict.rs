//! OpenAI's strict mode holds a model to a schema, and wants one it can hold to: every argument named as required and
//! none beside them. What was optional may be `null` instead.

use serde_json::{Map, Value, json};

use super::walk::below;

/// Keywords that strict mode refuses and that are left out for it: what they ask for is told by the description alone.
const REFUSED: [&str; 13] = [
    "default",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "dependentSchemas",
    "dependentRequired",
];

pub(super) fn strict(schema: &mut Value, depth: usize) {
    let (Value::Object(fields), Some(depth)) = (schema, depth.checked_sub(1)) else { return };
    fields.retain(|keyword, _| !REFUSED.contains(&keyword.as_str()));
    // One of several reads like any of several here.
    if let Some(list) = fields.shift_remove("oneOf") {
        fields.entry("anyOf").or_insert(list);
    }
    below(fields, |one| strict(one, depth));
    if !is(fields, "object") && !fields.contains_key("properties") {
        return;
    }
    let required = fields.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Value::Object(properties) = fields.entry("properties").or_insert_with(|| json!({})) else { return };
    for (name, one) in properties.iter_mut() {
        if !required.iter().any(|known| known == name.as_str()) {
            nullable(one);
        }
    }
    let names: Value = properties.keys().cloned().collect();
    fields.insert("required".to_owned(), names);
    fields.insert("additionalProperties".to_owned(), Value::Bool(false));
}

fn is(fields: &Map<String, Value>, wanted: &str) -> bool {
    match fields.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        Some(kind) => kind == wanted,
        None => false,
    }
}

/// `schema`, or `null`.
fn nullable(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if is(fields, "null") {
        return;
    }
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        if !choices.iter().any(|one| one.get("type") == Some(&json!("null"))) {
            choices.push(json!({"type": "null"}));
        }
        return;
    }
    match fields.get_mut("type") {
        Some(Value::Array(kinds)) => kinds.push(json!("null")),
        Some(kind) if kind.is_string() => *kind = json!([kind.take(), "null"]),
        // A reference, a constant, anything: none can say so itself.
        Some(_) | None => {
            let whole = schema.take();
            *schema = json!({"anyOf": [whole, {"type": "null"}]});
            return;
        }
    }
    if let Some(Value::Array(words)) = fields.get_mut("enum")
        && !words.contains(&Value::Null)
    {
        words.push(Value::Null);
    }
}

/// Keywords that strict mode refuses, and without which a schema would say something else.
const COMBINING: [&str; 7] = ["oneOf", "allOf", "not", "if", "then", "else", "prefixItems"];

/// Of these each schema must say one.
const SAYING: [&str; 5] = ["type", "anyOf", "$ref", "enum", "const"];

/// Whether a model can be held to every word of `schema`: it is an object, and no object in it leaves out a property or
/// lets others in. What is deeper than `depth` is not looked at, and counts as open.
pub(super) fn is_strict(schema: &Value, depth: usize) -> bool {
    schema["type"] == "object" && holds(schema, depth)
}

fn holds(schema: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let Value::Object(fields) = schema else { return false };
    let refused = |keyword: &str| REFUSED.contains(&keyword) || COMBINING.contains(&keyword);
    if fields.keys().any(|keyword| refused(keyword)) || !SAYING.iter().any(|keyword| fields.contains_key(*keyword)) {
        return false;
    }
    if is(fields, "object") || fields.contains_key("properties") {
        let required = fields.get("required").and_then(Value::as_array);
        let named = |name: &String| required.is_some_and(|all| all.iter().any(|known| known == name.as_str()));
        let all = fields.get("properties").and_then(Value::as_object).is_some_and(|all| all.keys().all(named));
        if !all || fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            return false;
        }
    }
    let mut all = true;
    below(&mut fields.clone(), |one| all &= one == &Value::Bool(false) || holds(one, depth));
    all
}

/// Closes every object of `schema` that does not say what may stand beside its properties.
pub(super) fn close(schema: &mut Value, depth: usize) {
    let (Value::Object(fields), Some(depth)) = (schema, depth.checked_sub(1)) else { return };
    below(fields, |one| close(one, depth));
    if is(fields, "object") {
        fields.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}
