//! What is kept of an item, to be given back with it.

use serde_json::{Map, Value};

use crate::Item;
use crate::dialect::answering::Source;
use crate::dialect::responses::items::key;

/// What is worth keeping of a message beside its words.
pub(super) fn about(message: &Value) -> Map<String, Value> {
    let mut about = Map::new();
    for name in [key::TYPE, key::ID, key::PHASE] {
        if let Some(value) = message.get(name).filter(|value| value.as_str().is_some_and(|text| !text.is_empty())) {
            about.insert(name.to_owned(), value.clone());
        }
    }
    let parts = message["content"].as_array().into_iter().flatten();
    let annotations: Vec<_> = parts.filter_map(|part| part[key::ANNOTATIONS].as_array()).flatten().cloned().collect();
    if !annotations.is_empty() {
        about.insert(key::ANNOTATIONS.to_owned(), annotations.into());
    }
    about
}

/// What is worth keeping of a call beside what makes it one.
pub(super) fn call(whole: Value) -> Map<String, Value> {
    let Value::Object(mut fields) = whole else { return Map::new() };
    for name in ["call_id", "name", "arguments", "status"] {
        fields.remove(name);
    }
    fields.retain(|name, value| name != key::ID || value.as_str().is_some_and(|id| !id.is_empty()));
    fields
}

/// The vendor's own form of something, if there is more to it than what it is.
pub(super) fn item(from: &Source, fields: &Map<String, Value>) -> Option<Item> {
    (fields.len() > 1).then(|| from.item(Value::Object(fields.clone())))
}

/// Arguments as text; some servers send the object itself.
pub(super) fn arguments(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
