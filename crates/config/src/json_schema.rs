//! The JSON Schema of a settings file, for editors. Pure.

use serde_json::{Map, Value, json};

use crate::keys;
use crate::schema::{Field, Kind};

/// The JSON Schema (draft 2020-12) of everything that a settings file may say.
pub fn schema() -> Value {
    let mut schema = of(&keys::CONFIG);
    if let Value::Object(object) = &mut schema {
        object.shift_insert(0, "$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.shift_insert(1, "title".to_owned(), json!("haft's settings"));
        // JSON with comments allows them, and editors ask for this word.
        object.insert("allowTrailingCommas".to_owned(), json!(true));
    }
    schema
}

fn of(kind: &Kind) -> Value {
    match kind {
        Kind::Any => json!({}),
        Kind::Text => json!({"type": "string"}),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Only(on) => json!({"const": on}),
        Kind::Number(least) if *least == f64::MIN => json!({"type": "number"}),
        Kind::Number(least) => json!({"type": "number", "minimum": least}),
        Kind::Whole(least, u64::MAX) => json!({"type": "integer", "minimum": least}),
        Kind::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Kind::Word(words) => json!({"enum": words}),
        Kind::Color => json!({"anyOf": [{"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"}, {"enum": keys::COLORS}]}),
        Kind::Size => either_number("^\\s*[0-9]+\\s*([kKmMgGtT][iI]?)?[bB]?\\s*$"),
        Kind::Span => either_number("^\\s*[0-9]+\\s*(s|m|min|h|d|w)?\\s*$"),
        Kind::List(item) => json!({"type": "array", "items": of(item)}),
        Kind::Pair(first, second) => {
            json!({"type": "array", "prefixItems": [of(first), of(second)], "minItems": 2, "maxItems": 2})
        }
        Kind::Map(value) => json!({"type": "object", "additionalProperties": of(value)}),
        Kind::Keyed(fields, other) => object(fields, of(other)),
        Kind::Object(fields) => object(fields, json!(false)),
        Kind::Open(fields) => object(fields, json!(true)),
        Kind::OneOf(kinds) => json!({"anyOf": kinds.iter().map(of).collect::<Vec<_>>()}),
        Kind::Tagged(tag, kinds, bare) => {
            let tagged = kinds.iter().map(|(name, kind)| {
                let mut schema = of(kind);
                schema["properties"][tag] = json!({"const": name});
                schema
            });
            let mut all: Vec<Value> = tagged.collect();
            all.push(of(bare));
            json!({"anyOf": all})
        }
    }
}

fn either_number(pattern: &str) -> Value {
    json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": pattern}]})
}

fn object(fields: &[Field], other: Value) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut schema = of(&field.kind);
        if let Value::Object(schema) = &mut schema
            && !field.about.is_empty()
        {
            schema.insert("description".to_owned(), json!(field.about));
        }
        properties.insert(field.name.to_owned(), schema);
    }
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": other});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: Value, want: bool) {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        assert_eq!(validator.is_valid(&settings), want, "{settings}");
    }

    #[test]
    fn it_says_what_the_reader_says() {
        for fine in [
            json!({"$schema": "x", "model": "a/b", "permission": {"*": "ask", "bash": {"git *": "allow"}}}),
            json!({"agent": {"a": {"color": "#00ff00", "steps": 1, "reasoningEffort": "high"}}}),
            json!({"mcp": {"a": {"type": "local", "command": ["x"]}, "b": {"type": "remote", "url": "u"}, "c": {"enabled": true}}}),
            json!({"snapshot": {"quota": "2 GiB", "retention": 7}, "server": {"port": 80}, "plugin": [["a", {}]]}),
            json!({"provider": {"p": {"options": {"timeout": false, "any": 1}}}}),
        ] {
            check(fine, true);
        }
        for wrong in [
            json!([]),
            json!({"modle": 1}),
            json!({"permission": {"bash": "yes"}}),
            json!({"permission": {"webfetch": {"x": "ask"}}}),
            json!({"agent": {"a": {"color": "red"}}}),
            json!({"mcp": {"a": {"type": "local", "url": "u"}}}),
            json!({"snapshot": {"quota": "much"}}),
            json!({"server": {"port": 70_000}}),
            json!({"command": {"c": {}}}),
            json!({"provider": {"p": {"options": {"timeout": true}}}}),
        ] {
            check(wrong, false);
        }
    }
}
