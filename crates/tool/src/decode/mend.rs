//! What arguments can only mean, taken for that.

use serde_json::{Map, Value};

use super::{bare, words};

/// `input` with texts turned into what they spell, keys into those that they are another spelling of and a single object
/// into a list, where `schema` wants that; and `null` for a field that may be left out taken as left out.
pub(super) fn mend(input: Value, schema: &Value) -> Value {
    let wanted = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match (input, wanted) {
        (Value::Object(object), "object") => Value::Object(mend_fields(object, schema)),
        (Value::Array(items), "array") => match schema.get("items") {
            Some(schema) => items.into_iter().map(|item| mend(item, schema)).collect(),
            None => Value::Array(items),
        },
        // A list of one thing is easily written as the thing.
        (Value::Object(object), "array") if items_are_objects(schema) => {
            mend(Value::Array(vec![Value::Object(object)]), schema)
        }
        (Value::String(text), "integer" | "number" | "boolean" | "array" | "object") => spelled(text, schema, wanted),
        (Value::String(text), _) => Value::String(word(text, schema)),
        // 10.0 is ten.
        (Value::Number(number), "integer") => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be a whole number in range")]
            Some(float) if !number.is_i64() && !number.is_u64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        (input, _) => input,
    }
}

fn items_are_objects(schema: &Value) -> bool {
    schema.get("items").and_then(|items| items.get("type")).is_some_and(|kind| kind == "object")
}

fn mend_fields(object: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return object };
    let required = schema.get("required").and_then(Value::as_array);
    let needed = |key: &str| required.is_some_and(|all| all.iter().any(|one| one == key));
    // Another spelling counts only where the right one is not there too and no second one competes.
    let meant = |key: &String| {
        if properties.contains_key(key) {
            return None;
        }
        let bared = bare(key);
        let mut fits = properties.keys().filter(|known| bare(known) == bared);
        let (Some(known), None) = (fits.next(), fits.next()) else { return None };
        let rivals = object.keys().filter(|other| bare(other) == bared).count();
        (rivals == 1).then(|| known.clone())
    };
    let names: Vec<Option<String>> = object.keys().map(meant).collect();
    let named = object.into_iter().zip(names).map(|((key, value), known)| (known.unwrap_or(key), value));
    let kept = named.filter(|(key, value)| !value.is_null() || needed(key));
    kept.map(|(key, value)| match properties.get(&key) {
        Some(schema) => (key, mend(value, schema)),
        None => (key, value),
    })
    .collect()
}

/// What `text` spells, if that is of the wanted kind; else the text.
fn spelled(text: String, schema: &Value, wanted: &str) -> Value {
    let trimmed = text.trim();
    if wanted == "boolean" && trimmed.len() <= 5 {
        // As Python and YAML write it.
        match trimmed.to_ascii_lowercase().as_str() {
            "true" => return Value::Bool(true),
            "false" => return Value::Bool(false),
            _ => return Value::String(text),
        }
    }
    let Ok(value) = serde_json::from_str::<Value>(trimmed) else { return Value::String(text) };
    let fits = match wanted {
        "integer" | "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array() || (value.is_object() && items_are_objects(schema)),
        _ => value.is_object(),
    };
    if fits { mend(value, schema) } else { Value::String(text) }
}

/// The one word allowed here that is `text` in another case.
fn word(text: String, schema: &Value) -> String {
    let Some(words) = words(schema).filter(|words| !words.contains(&text.as_str())) else { return text };
    let mut same = words.iter().filter(|word| word.eq_ignore_ascii_case(text.trim()));
    match (same.next(), same.next()) {
        (Some(word), None) => (*word).to_owned(),
        _ => text,
    }
}
