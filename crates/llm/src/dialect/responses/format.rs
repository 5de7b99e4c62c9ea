//! The form of an answer, as the interface takes it. Pure.

use serde_json::{Value, json};

use crate::Format;
use crate::schema::is_strict;

/// The `text.format` of `format`. `strict` says whether the model is held to every word of it; by default it is where
/// the schema is one that it can be held to.
pub(super) fn wire(format: &Format, strict: Option<bool>) -> Value {
    let Format { name, schema } = format;
    let strict = strict.unwrap_or_else(|| is_strict(schema));
    json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(properties: Value, required: Value) -> Value {
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    #[test]
    fn a_model_is_held_to_what_it_can_be_held_to() {
        let row = |schema: &Value, want| assert_eq!(is_strict(schema), want, "{schema}");
        let text = json!({"type": "string"});
        row(&object(json!({"a": text}), json!(["a"])), true);
        row(&object(json!({"a": text}), json!([])), false);
        row(&json!({"type": "object", "properties": {"a": text}, "required": ["a"]}), false);
        row(&json!({"type": "array", "items": text}), false);
        row(&json!({}), false);
        let inner = object(json!({"b": text}), json!(["b"]));
        row(&object(json!({"a": {"type": "array", "items": inner}}), json!(["a"])), true);
        row(&object(json!({"a": {"type": "array", "items": {"type": "object"}}}), json!(["a"])), false);
        row(&object(json!({"a": {"anyOf": [text, {"type": "null"}]}}), json!(["a"])), true);
        row(&object(json!({"a": {"oneOf": [text]}}), json!(["a"])), false);
        row(&object(json!({"a": {}}), json!(["a"])), false);
        // An argument may have the name of a word of schemas.
        row(&object(json!({"required": text, "oneOf": text}), json!(["required", "oneOf"])), true);
        let mut referring = object(json!({"a": {"$ref": "#/$defs/t"}}), json!(["a"]));
        referring["$defs"] = json!({"t": inner});
        row(&referring, true);
        referring["$defs"] = json!({"t": {"type": "object"}});
        row(&referring, false);
    }

    #[test]
    fn the_settings_decide() {
        let format = Format { name: "answer".to_owned(), schema: json!({"type": "object"}) };
        assert_eq!(
            wire(&format, None),
            json!({"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": false})
        );
        assert_eq!(wire(&format, Some(true))["strict"], true);
    }
}
