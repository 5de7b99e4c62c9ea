//! Gemini's schemas: enumerations are words, a schema has one type, what is required exists, lists say of what.

use serde_json::{Map, Value, json};

use super::walk::{below, combines, one_of_all};

/// Keywords by which a schema says what it allows. One without any gets a type.
const SAYS: [&str; 14] = [
    "type",
    "properties",
    "items",
    "prefixItems",
    "enum",
    "const",
    "$ref",
    "additionalProperties",
    "patternProperties",
    "required",
    "not",
    "if",
    "then",
    "else",
];

pub(super) fn plain(schema: &mut Value, depth: usize) {
    let (Value::Object(fields), Some(depth)) = (schema, depth.checked_sub(1)) else { return };
    below(fields, |one| plain(one, depth));
    words(fields);
    one_type(fields);
    let kind = fields.get("type").and_then(Value::as_str).map(str::to_owned);
    match kind.as_deref() {
        Some("object") => existing(fields),
        Some(_) if !combines(fields) => {
            fields.shift_remove("properties");
            fields.shift_remove("required");
        }
        Some(_) | None => {}
    }
    if kind.as_deref() == Some("array") && !combines(fields) {
        items(fields);
    }
}

/// Every value of an enumeration becomes a word, and a number with words a text.
fn words(fields: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = fields.get_mut("enum") else { return };
    values.iter_mut().for_each(|value| *value = Value::String(word(value)));
    if let Some(kind) = fields.get_mut("type")
        && (kind == "integer" || kind == "number")
    {
        *kind = json!("string");
    }
}

/// A value as JavaScript writes it, which is what models are shown elsewhere.
fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            // 1.0 is 1.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => format!("{float:.0}"),
            _ => number.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A list of types becomes a choice of schemas with one each; `null` among them becomes a mark.
fn one_type(fields: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = fields.get("type") else { return };
    let (null, kinds): (Vec<_>, Vec<_>) =
        types.iter().filter(|kind| kind.is_string()).cloned().partition(|kind| kind == "null");
    if kinds.is_empty() {
        fields.insert("type".to_owned(), json!("null"));
        return;
    }
    fields.shift_remove("type");
    // A choice that is there already says more.
    fields.entry("anyOf").or_insert_with(|| kinds.into_iter().map(|kind| json!({"type": kind})).collect());
    if !null.is_empty() {
        fields.insert("nullable".to_owned(), Value::Bool(true));
    }
}

fn existing(fields: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = fields.get("properties") else { return };
    let there = |name: &Value| name.as_str().is_some_and(|name| properties.contains_key(name));
    let Some(Value::Array(required)) = fields.get("required") else { return };
    let kept = required.iter().filter(|name| there(name)).cloned().collect();
    fields.insert("required".to_owned(), kept);
}

/// A list says of what it is, once for all its items.
fn items(fields: &mut Map<String, Value>) {
    let items = fields.entry("items").or_insert(Value::Null);
    match items.take() {
        // Nothing can be told from a list without a first.
        Value::Array(list) if list.is_empty() => *items = Value::Array(list),
        Value::Array(list) => *items = one_of_all(list),
        Value::Null => *items = json!({"type": "string"}),
        Value::Object(mut one) => {
            if !SAYS.into_iter().any(|keyword| one.contains_key(keyword)) && !combines(&one) {
                one.insert("type".to_owned(), json!("string"));
            }
            *items = Value::Object(one);
        }
        other => *items = other,
    }
}
