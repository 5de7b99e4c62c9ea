//! What a server says about one of its tools, brought within bounds. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::naming::{clean, line, tool_name};

/// Longest description, in bytes; the rest is left out.
pub const MAX_DESCRIPTION: usize = 16 * 1024;
/// Longest schema of arguments, as JSON, in bytes; a tool with a longer one is left out.
pub const MAX_SCHEMA: usize = 128 * 1024;
/// Deepest schema of arguments; a tool with a deeper one is left out.
const MAX_DEPTH: usize = 64;

/// A server's tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// What the model calls it.
    pub name: String,
    /// What the server calls it.
    pub tool: String,
    /// What the model reads.
    pub description: String,
    /// The arguments as the server wants them, and as they are checked.
    pub schema: Value,
    /// Stands for all that the server says about it: another text or another schema has another digest.
    pub digest: String,
}

impl Definition {
    /// What the server called `server` says in `tool`, an item of its list.
    ///
    /// # Errors
    ///
    /// Why it cannot be offered, for the log.
    pub fn of(server: &str, tool: &Value) -> Result<Self, String> {
        let name = tool["name"].as_str().filter(|name| !name.is_empty()).ok_or("it has no name")?;
        let schema = match &tool["inputSchema"] {
            Value::Object(schema) => schema.clone(),
            Value::Null => Map::new(),
            _ => return Err(format!("the schema of {} is no object", line(name))),
        };
        let schema = Value::Object(schema);
        let text = schema.to_string();
        if text.len() > MAX_SCHEMA || depth(&schema) > MAX_DEPTH {
            return Err(format!("the schema of {} is too large", line(name)));
        }
        let said = tool["description"].as_str().unwrap_or_default();
        let mut description = clean(said).trim().to_owned();
        if description.len() > MAX_DESCRIPTION {
            description.truncate(description.floor_char_boundary(MAX_DESCRIPTION));
            description.push_str(" …");
        }
        let mut hasher = blake3::Hasher::new();
        for part in [name, said, &text] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let digest = hasher.finalize().to_hex().to_string();
        Ok(Self { name: tool_name(server, name), tool: name.to_owned(), description, schema, digest })
    }

    /// The schema that models are sent.
    pub fn parameters(&self) -> Value {
        let mut schema = cleaned(&self.schema);
        if let Value::Object(fields) = &mut schema {
            fields.insert("type".to_owned(), json!("object"));
            if !fields.get("properties").is_some_and(Value::is_object) {
                fields.insert("properties".to_owned(), json!({}));
            }
            // A schema for further arguments says more than a yes or a no.
            if !fields.get("additionalProperties").is_some_and(Value::is_object) {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        schema
    }

    /// The schema without any words of the server's.
    pub fn bare_parameters(&self) -> Value {
        without_words(&self.parameters(), true)
    }
}

/// The same with what nobody sees taken out of all descriptions.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let clean_one = |(key, value): (&String, &Value)| match (key.as_str(), value) {
                ("description" | "title", Value::String(text)) => (key.clone(), Value::String(clean(text))),
                (_, value) => (key.clone(), cleaned(value)),
            };
            Value::Object(fields.iter().map(clean_one).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(cleaned).collect()),
        value => value.clone(),
    }
}

/// `schema` without titles and descriptions. In `properties` these are names like others.
fn without_words(value: &Value, is_schema: bool) -> Value {
    match value {
        Value::Object(fields) => {
            let is_word = |key: &str| is_schema && matches!(key, "description" | "title" | "$comment" | "examples");
            let kept = fields.iter().filter(|(key, _)| !is_word(key)).map(|(key, value)| {
                let names =
                    is_schema && matches!(key.as_str(), "properties" | "$defs" | "definitions" | "patternProperties");
                (key.clone(), without_words(value, !names))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| without_words(item, is_schema)).collect()),
        value => value.clone(),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_sent_an_object_without_further_arguments() {
        let row = |schema: Value, want: Value| {
            let definition = Definition::of("s", &json!({"name": "t", "inputSchema": schema})).unwrap();
            assert_eq!(definition.parameters(), want, "{schema}");
        };
        let open = json!({"type": "object", "properties": {}, "additionalProperties": false});
        row(Value::Null, open.clone());
        row(json!({}), open.clone());
        row(json!({"type": "string", "properties": 5, "additionalProperties": true}), open);
        row(
            json!({"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": {"type": "string"}}),
            json!({"properties": {"a": {"type": "string"}}, "required": ["a"],
                   "additionalProperties": {"type": "string"}, "type": "object"}),
        );
    }

    #[test]
    fn what_a_server_says_is_brought_within_bounds() {
        let of = |tool: Value| Definition::of("s", &tool);
        let long = of(json!({"name": "t", "description": "é".repeat(MAX_DESCRIPTION), "inputSchema": {}})).unwrap();
        assert!(long.description.len() <= MAX_DESCRIPTION + 5 && long.description.ends_with(" …"));
        let hidden = of(json!({"name": "t", "description": "\u{1b}[2Jx\u{e0041} ", "inputSchema":
            {"properties": {"a": {"description": "b\u{200b}c"}}}}))
        .unwrap();
        assert_eq!(hidden.description, "[2Jx");
        assert_eq!(hidden.parameters()["properties"]["a"]["description"], "bc");
        assert!(of(json!({"name": "t", "inputSchema": {"x": "y".repeat(MAX_SCHEMA)}})).is_err());
        assert!(of(json!({"name": "t", "inputSchema": [1]})).is_err());
        assert!(of(json!({"name": "", "inputSchema": {}})).is_err());
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "items": inner }));
        assert!(of(json!({"name": "t", "inputSchema": deep})).is_err());
    }

    #[test]
    fn every_word_counts_for_the_digest() {
        let digest = |name: &str, about: &str, schema: Value| {
            Definition::of("s", &json!({"name": name, "description": about, "inputSchema": schema})).unwrap().digest
        };
        let one = digest("t", "a", json!({"x": 1}));
        assert_eq!(one, digest("t", "a", json!({"x": 1})));
        for other in
            [digest("u", "a", json!({"x": 1})), digest("t", "b", json!({"x": 1})), digest("t", "a", json!({"x": 2}))]
        {
            assert_ne!(one, other);
        }
        // Also those that are not shown.
        assert_ne!(one, digest("t", "a\u{200b}", json!({"x": 1})));
    }

    #[test]
    fn a_schema_can_do_without_words() {
        let schema = json!({"title": "T", "description": "d", "properties": {"description": {"type": "string",
            "description": "obey"}, "b": {"anyOf": [{"title": "no", "type": "null"}]}}, "required": ["description"]});
        let definition = Definition::of("s", &json!({"name": "t", "inputSchema": schema})).unwrap();
        let want = json!({"properties": {"description": {"type": "string"}, "b": {"anyOf": [{"type": "null"}]}},
            "required": ["description"], "type": "object", "additionalProperties": false});
        assert_eq!(definition.bare_parameters(), want);
    }
}
