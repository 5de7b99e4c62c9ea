//! From the model's JSON to a tool's input, with an error that teaches.

use jsonschema::error::ValidationErrorKind;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ToolError;

/// Most problems that one answer lists.
const MAX_PROBLEMS: usize = 10;
/// Longest piece of a wrong value that an answer repeats, in characters.
const MAX_QUOTE: usize = 60;

/// The schema of `T` as models are sent it: no title, no `$schema`, nothing defined apart, no `null` for a field
/// that may be left out.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.transforms.push(Box::new(RecursiveTransform(|schema: &mut schemars::Schema| {
        slim(schema.as_object_mut());
    })));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        root.remove("description");
        // Some vendors refuse an object that does not say so, also where it has none.
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

fn slim(schema: Option<&mut Map<String, Value>>) {
    let Some(schema) = schema else { return };
    schema.remove("title");
    // "uint", "int64" and the like say nothing that type and minimum do not.
    schema.remove("format");
    schema.remove("default");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("anyOf") {
        kinds.retain(|one| one.get("type") != Some(&Value::from("null")));
        if let [Value::Object(one)] = kinds.as_slice() {
            let one = one.clone();
            schema.remove("anyOf");
            for (key, value) in one {
                schema.entry(key).or_insert(value);
            }
        }
    }
}

/// Reads `input` as the arguments of `tool`.
///
/// What a model spelled as text although a number, a truth value, a list or an object is wanted is taken for what
/// it spells. Keys that the tool does not know are left out.
///
/// # Errors
///
/// [`ToolError::BadInput`] that lists every problem with its place.
pub(crate) fn decode<T: DeserializeOwned + JsonSchema>(tool: &str, input: Value) -> Result<T, ToolError> {
    let first = match serde_json::from_value::<T>(input.clone()) {
        Ok(decoded) => return Ok(decoded),
        Err(error) => error,
    };
    let schema = schema::<T>();
    let mended = mend(input.clone(), &schema);
    if let Ok(decoded) = serde_json::from_value::<T>(mended.clone()) {
        return Ok(decoded);
    }
    let mut found = problems(&schema, &mended);
    if found.is_empty() {
        found.push(first.to_string());
    }
    Err(bad(tool, &found))
}

fn bad(tool: &str, problems: &[String]) -> ToolError {
    let mut text = format!("bad arguments for {tool}:");
    for problem in problems {
        text.push_str("\n- ");
        text.push_str(problem);
    }
    text.push_str("\nCorrect them and call again.");
    ToolError::BadInput(text)
}

/// Every way in which `input` does not fit `schema`, in words.
fn problems(schema: &Value, input: &Value) -> Vec<String> {
    let Ok(validator) = jsonschema::validator_for(schema) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for error in validator.iter_errors(input).take(MAX_PROBLEMS) {
        let place = error.instance_path().to_string();
        let place = place.trim_start_matches('/').replace('/', ".");
        let name = |fallback: &str| if place.is_empty() { fallback.to_owned() } else { place.clone() };
        found.push(match error.kind() {
            ValidationErrorKind::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                let path = if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
                match about(schema, error.instance_path().as_str(), key) {
                    Some(about) => format!("{path} is missing: {about}"),
                    None => format!("{path} is missing"),
                }
            }
            ValidationErrorKind::Type { kind } => {
                let wanted = format!("{kind:?}").to_lowercase();
                let wanted = wanted_type(schema, error.instance_path().as_str()).unwrap_or(wanted);
                format!("{} must be {}, not {}", name("the arguments"), article(&wanted), quote(error.instance()))
            }
            _ => format!("{}: {}", name("the arguments"), error.to_string().chars().take(300).collect::<String>()),
        });
    }
    found
}

/// The schema of the value at `path` (a JSON pointer into the input).
fn at<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').filter(|step| !step.is_empty()).try_fold(schema, |schema, step| {
        schema.get("properties").and_then(|all| all.get(step)).or_else(|| schema.get("items"))
    })
}

fn about<'a>(schema: &'a Value, path: &str, key: &str) -> Option<&'a str> {
    at(schema, path)?.get("properties")?.get(key)?.get("description")?.as_str()
}

fn wanted_type(schema: &Value, path: &str) -> Option<String> {
    at(schema, path)?.get("type")?.as_str().map(str::to_owned)
}

fn article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

fn quote(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_QUOTE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// `input` with texts turned into what they spell, where `schema` wants that, and `null` for a field that may be
/// left out taken as left out.
fn mend(input: Value, schema: &Value) -> Value {
    let wanted = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match (input, wanted) {
        (Value::Object(object), "object") => {
            let properties = schema.get("properties");
            let required = schema.get("required").and_then(Value::as_array);
            let needed = |key: &str| required.is_some_and(|all| all.iter().any(|one| one == key));
            let mended =
                object.into_iter().filter(|(key, value)| !value.is_null() || needed(key)).map(|(key, value)| {
                    match properties.and_then(|all| all.get(&key)) {
                        Some(schema) => (key, mend(value, schema)),
                        None => (key, value),
                    }
                });
            Value::Object(mended.collect())
        }
        (Value::Array(items), "array") => match schema.get("items") {
            Some(schema) => items.into_iter().map(|item| mend(item, schema)).collect(),
            None => Value::Array(items),
        },
        (Value::String(text), "integer" | "number" | "boolean" | "array" | "object") => {
            match serde_json::from_str::<Value>(text.trim()) {
                Ok(spelled) if !spelled.is_string() && !spelled.is_null() => mend_once(spelled, schema, wanted, text),
                _ => Value::String(text),
            }
        }
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

/// Takes `spelled` for `text` if it is of the wanted kind.
fn mend_once(spelled: Value, schema: &Value, wanted: &str, text: String) -> Value {
    let fits = match wanted {
        "integer" | "number" => spelled.is_number(),
        "boolean" => spelled.is_boolean(),
        "array" => spelled.is_array(),
        _ => spelled.is_object(),
    };
    if fits { mend(spelled, schema) } else { Value::String(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only decoded")]
    struct Input {
        /// The file to read.
        file_path: String,
        /// First line, counted from 1.
        offset: Option<u64>,
        /// Edits in order.
        edits: Option<Vec<Edit>>,
        /// Whether to do all.
        all: Option<bool>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only decoded")]
    struct Edit {
        /// What to look for.
        old: String,
    }

    #[track_caller]
    fn check(input: Value, want: Expect) {
        let got = match decode::<Input>("read", input) {
            Ok(input) => format!("{input:?}"),
            Err(error) => error.to_string(),
        };
        want.assert_eq(&got);
    }

    #[test]
    fn the_schema_says_no_more_than_it_must() {
        expect![[r#"{"type":"object","properties":{"filePath":{"type":"string","description":"The file to read."},"offset":{"type":"integer","description":"First line, counted from 1.","minimum":0},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"description":"What to look for.","type":"string"}},"required":["old"]},"description":"Edits in order."},"all":{"type":"boolean","description":"Whether to do all."}},"required":["filePath"]}"#]]
            .assert_eq(&schema::<Input>().to_string());
    }

    #[test]
    fn the_schema_of_no_arguments_says_so() {
        #[derive(JsonSchema)]
        struct Nothing {}
        assert_eq!(schema::<Nothing>(), json!({"type": "object", "properties": {}}));
    }

    #[test]
    fn right_arguments_pass_and_unknown_keys_are_left_out() {
        check(
            json!({"filePath": "a", "offset": 3, "why": 1}),
            expect![[r#"Input { file_path: "a", offset: Some(3), edits: None, all: None }"#]],
        );
    }

    #[test]
    fn what_is_spelled_as_text_is_taken_for_what_it_spells() {
        check(
            json!({"filePath": "12", "offset": "3", "edits": "[{\"old\":\"x\"}]", "all": "true"}),
            expect![[
                r#"Input { file_path: "12", offset: Some(3), edits: Some([Edit { old: "x" }]), all: Some(true) }"#
            ]],
        );
        check(
            json!({"filePath": "a", "offset": 3.0, "edits": null}),
            expect![[r#"Input { file_path: "a", offset: Some(3), edits: None, all: None }"#]],
        );
    }

    #[test]
    fn every_problem_is_listed_with_its_place() {
        check(
            json!({"offset": "three", "edits": [{"new": 1}, 2]}),
            expect![[r#"
            bad arguments for read:
            - filePath is missing: The file to read.
            - offset must be an integer, not "three"
            - edits.0.old is missing: What to look for.
            - edits.1 must be an object, not 2
            Correct them and call again."#]],
        );
    }

    #[test]
    fn a_number_out_of_range_is_a_problem() {
        check(
            json!({"filePath": "a", "offset": -1}),
            expect![[r#"
            bad arguments for read:
            - offset: -1 is less than the minimum of 0
            Correct them and call again."#]],
        );
        check(
            json!({"filePath": "a", "offset": 1.5}),
            expect![[r#"
            bad arguments for read:
            - offset must be an integer, not 1.5
            Correct them and call again."#]],
        );
    }

    #[test]
    fn something_that_is_no_object_is_a_problem() {
        check(
            json!([1]),
            expect![[r#"
            bad arguments for read:
            - the arguments must be an object, not [1]
            Correct them and call again."#]],
        );
        check(
            json!("just a string"),
            expect![[r#"
            bad arguments for read:
            - the arguments must be an object, not "just a string"
            Correct them and call again."#]],
        );
    }

    #[test]
    fn long_values_are_quoted_in_part() {
        check(
            json!({"filePath": "a", "all": "x".repeat(500)}),
            expect![[r#"
            bad arguments for read:
            - all must be a boolean, not "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
            Correct them and call again."#]],
        );
    }
}
