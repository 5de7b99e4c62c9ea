//! A tree of values that know where they stand. Pure.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

/// A value, and the byte of the text at which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub at: usize,
    pub shape: Shape,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Entry>),
}

/// A key, the byte at which it begins, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub at: usize,
    pub value: Node,
}

impl Node {
    /// The tree of `value`, all of it standing at `at`.
    pub(crate) fn of(value: Value, at: usize) -> Self {
        let shape = match value {
            Value::Null => Shape::Null,
            Value::Bool(on) => Shape::Bool(on),
            Value::Number(number) => Shape::Number(number),
            Value::String(text) => Shape::Text(text),
            Value::Array(items) => Shape::List(items.into_iter().map(|item| Node::of(item, at)).collect()),
            Value::Object(object) => {
                let entry = |(key, value)| Entry { key, at, value: Node::of(value, at) };
                Shape::Object(object.into_iter().map(entry).collect())
            }
        };
        Self { at, shape }
    }

    /// What it says.
    pub(crate) fn to_value(&self) -> Value {
        match &self.shape {
            Shape::Null => Value::Null,
            Shape::Bool(on) => Value::Bool(*on),
            Shape::Number(number) => Value::Number(number.clone()),
            Shape::Text(text) => Value::String(text.clone()),
            Shape::List(items) => Value::Array(items.iter().map(Node::to_value).collect()),
            Shape::Object(entries) => {
                let pair = |entry: &Entry| (entry.key.clone(), entry.value.to_value());
                Value::Object(entries.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }

    /// What kind of thing it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.shape {
            Shape::Null => "null",
            Shape::Bool(_) => "true or false",
            Shape::Number(_) => "a number",
            Shape::Text(_) => "a string",
            Shape::List(_) => "a list",
            Shape::Object(_) => "an object",
        }
    }
}

/// `entries` with each key once: it keeps its first place and has its last value. `__proto__` is nobody's key; what
/// reads such a file in another language would take it for something else, so it is left out.
pub(crate) fn distinct(entries: Vec<Entry>) -> Vec<Entry> {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(entries.len());
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().filter(|entry| entry.key != "__proto__") {
        match seen.get(&entry.key) {
            Some(&place) => kept[place] = entry,
            None => {
                seen.insert(entry.key.clone(), kept.len());
                kept.push(entry);
            }
        }
    }
    kept
}

impl Node {
    /// Gives the object this is the text `value` under `key`, in place of what it has there.
    pub(crate) fn put(&mut self, key: &str, value: &str) {
        let at = self.at;
        if let Shape::Object(entries) = &mut self.shape {
            entries.retain(|entry| entry.key != key);
            entries.push(Entry { key: key.to_owned(), at, value: Node { at, shape: Shape::Text(value.to_owned()) } });
        }
    }

    /// Gives the object this is the text `value` under `key` as its first entry, unless it has that key.
    pub(crate) fn put_first(&mut self, key: &str, value: &str) {
        let at = self.at;
        if let Shape::Object(entries) = &mut self.shape
            && !entries.iter().any(|entry| entry.key == key)
        {
            let value = Node { at, shape: Shape::Text(value.to_owned()) };
            entries.insert(0, Entry { key: key.to_owned(), at, value });
        }
    }
}
