//! From the model's JSON to a tool's input, with an error that teaches.
//!
//! What can only mean one thing is taken for it (`mend`); all that is wrong is told at once (`problems`).

mod mend;
mod problems;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ToolError;
use crate::decode::mend::mend;
use crate::decode::problems::{misspelled, problems};

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
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !word.is_null());
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
/// it spells; a key in another case or with underscores for the key it is; one object for a list of one. Keys that the
/// tool does not know are left out, unless they look like a slip in one that it knows.
///
/// # Errors
///
/// [`ToolError::BadInput`] that lists every problem with its place.
pub(crate) fn decode<T: DeserializeOwned + JsonSchema>(tool: &str, input: Value) -> Result<T, ToolError> {
    let schema = schema::<T>();
    let mended = mend(input, &schema);
    let slips = misspelled(&schema, &mended);
    let error = match serde_path_to_error::deserialize::<_, T>(&mended) {
        Ok(decoded) if slips.is_empty() => return Ok(decoded),
        Ok(_) => return Err(bad_arguments(tool, &slips)),
        Err(error) => error,
    };
    let mut found = problems(&schema, &mended, tool);
    if found.is_empty() {
        found.push(told(&error.path().to_string(), &error.inner().to_string()));
    }
    Err(bad_arguments(tool, &found))
}

/// Reads `input` as arguments of `tool`, whose `schema` came from somewhere else: as text spelled numbers and the like
/// are mended as for a tool of our own. A schema that cannot be understood holds nothing back.
///
/// # Errors
///
/// [`ToolError::BadInput`] that lists every problem with its place.
pub fn fit(tool: &str, schema: &Value, input: Value) -> Result<Value, ToolError> {
    let mended = mend(input, schema);
    let found = problems(schema, &mended, tool);
    if found.is_empty() { Ok(mended) } else { Err(bad_arguments(tool, &found)) }
}

/// What the schema did not see: `why` in the decoder's words, where the path is `place`.
fn told(place: &str, why: &str) -> String {
    // A schema's integers have no end; ours do.
    let number = why.contains("floating point") || why.contains("integer");
    match place {
        "." => why.to_owned(),
        place if number => format!("{place} is out of range"),
        place => format!("{place}: {why}"),
    }
}

/// What a model is told of arguments for `tool`: all `problems` at once, so that it need not find them one by one.
pub fn bad_arguments(tool: &str, problems: &[String]) -> ToolError {
    let mut text = format!("bad arguments for {tool}:");
    for problem in problems {
        text.push_str("\n- ");
        text.push_str(problem);
    }
    text.push_str("\nCorrect them and call again.");
    ToolError::BadInput(text)
}

/// The words that `schema` allows, where it allows words only.
fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        return list.iter().map(Value::as_str).collect();
    }
    let either = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    let words = either.iter().map(|one| match one.get("const") {
        Some(word) => word.as_str().map(|word| vec![word]),
        None => words(one),
    });
    Some(words.collect::<Option<Vec<_>>>()?.concat())
}

/// A name without what people spell differently: case, underscores and hyphens.
pub(crate) fn bare(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
