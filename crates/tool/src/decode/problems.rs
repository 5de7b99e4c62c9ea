//! All that is wrong with arguments, in words that say how it would be right.

use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value};

use super::{bare, words};

/// Most problems that one answer lists.
const MAX_PROBLEMS: usize = 10;
/// Longest piece of a wrong value or key that an answer repeats, in characters.
const MAX_QUOTE: usize = 60;
/// Longest key that is compared with others to see what it may mean, in bytes.
const MAX_KEY: usize = 64;

/// Every way in which `input` does not fit `schema`, at most [`MAX_PROBLEMS`] of them.
pub(super) fn problems(schema: &Value, input: &Value, tool: &str) -> Vec<String> {
    let Ok(validator) = jsonschema::validator_for(schema) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    let mut strange: Vec<String> = Vec::new();
    for error in validator.iter_errors(input).take(MAX_PROBLEMS) {
        let pointer = error.instance_path().to_string();
        let place = Place { pointer: &pointer };
        if let (Kind::Required { .. }, Some(schema), Value::Object(object)) =
            (error.kind(), at(schema, &pointer), error.instance().as_ref())
        {
            for key in unknown(schema, object) {
                let line = stranger(schema, object, &place, key, tool);
                if !strange.contains(&line) {
                    strange.push(line);
                }
            }
        }
        found.push(problem(schema, &place, error.instance(), error.kind(), &error.to_string()));
    }
    found.append(&mut strange);
    found.truncate(MAX_PROBLEMS);
    found
}

fn problem(schema: &Value, place: &Place<'_>, value: &Value, kind: &Kind, otherwise: &str) -> String {
    let what = place.or("the arguments");
    let here = at(schema, place.pointer);
    match kind {
        Kind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            let about = here.and_then(|here| here.get("properties")?.get(key)?.get("description")?.as_str());
            match about {
                Some(about) => format!("{} is missing: {about}", place.of(key)),
                None => format!("{} is missing", place.of(key)),
            }
        }
        Kind::Type { kind } => {
            let wanted = here.and_then(|here| here.get("type")?.as_str().map(str::to_owned));
            let wanted = article(&wanted.unwrap_or_else(|| format!("{kind:?}").to_lowercase()));
            match broken(value, &wanted) {
                Some(why) => format!("{what} must be {wanted}; the text given is no JSON: {why}"),
                None => format!("{what} must be {wanted}, not {}", quote(value)),
            }
        }
        Kind::Enum { .. } | Kind::OneOfNotValid { .. } | Kind::AnyOf { .. } | Kind::Constant { .. } => {
            match here.and_then(words) {
                Some(words) => format!("{what} must be one of {}, not {}", words.join(", "), quote(value)),
                None => format!("{what}: {}", cut(otherwise)),
            }
        }
        Kind::Minimum { limit } => format!("{what} must be at least {limit}, not {}", quote(value)),
        Kind::ExclusiveMinimum { limit } => format!("{what} must be more than {limit}, not {}", quote(value)),
        Kind::Maximum { limit } => format!("{what} must be at most {limit}, not {}", quote(value)),
        Kind::ExclusiveMaximum { limit } => format!("{what} must be less than {limit}, not {}", quote(value)),
        Kind::MinItems { limit } => format!("{what} must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("{what} must have at most {limit} items"),
        Kind::MinLength { limit } => format!("{what} must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("{what} must have at most {limit} characters"),
        // The words of the validator, for what our own schemas never say.
        _ => format!("{what}: {}", cut(otherwise)),
    }
}

/// Why a text that looks like a list or an object in JSON is none.
fn broken(value: &Value, wanted: &str) -> Option<String> {
    let text = value.as_str()?.trim_start();
    let begins = (wanted == "an array" && text.starts_with('[')) || (wanted == "an object" && text.starts_with('{'));
    if !begins {
        return None;
    }
    Some(serde_json::from_str::<serde::de::IgnoredAny>(text).err()?.to_string())
}

/// Keys that are known to no tool's author and look like a slip in one that is known and was not given. Taken for
/// nothing, they would change what the call does without a word.
pub(super) fn misspelled(schema: &Value, input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    slips(schema, input, "", &mut found);
    found
}

fn slips(schema: &Value, input: &Value, pointer: &str, found: &mut Vec<String>) {
    if found.len() >= MAX_PROBLEMS {
        return;
    }
    match input {
        Value::Object(object) => {
            for key in unknown(schema, object) {
                if let Some(meant) = nearest(schema, object, key, is_slip) {
                    let place = Place { pointer };
                    found.push(format!("{} is unknown; {meant} is probably meant", place.of(&short(key))));
                }
            }
            let properties = schema.get("properties").and_then(Value::as_object);
            for (key, value) in object {
                if let Some(schema) = properties.and_then(|all| all.get(key)) {
                    slips(schema, value, &format!("{pointer}/{key}"), found);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (number, item) in items.iter().enumerate() {
                slips(schema, item, &format!("{pointer}/{number}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What is said about an unknown key where another one is missing.
fn stranger(schema: &Value, object: &Map<String, Value>, place: &Place<'_>, key: &str, tool: &str) -> String {
    let name = place.of(&short(key));
    match nearest(schema, object, key, is_near) {
        Some(meant) => format!("{name} is unknown; is it {meant}?"),
        None => {
            let known = schema.get("properties").and_then(Value::as_object);
            let known: Vec<&str> = known.into_iter().flat_map(|all| all.keys()).map(String::as_str).collect();
            let owner = if place.pointer.is_empty() { tool } else { "it" };
            format!("{name} is unknown; {owner} takes {}", known.join(", "))
        }
    }
}

/// The keys of `object` that `schema` does not name, if it names any.
fn unknown<'a>(schema: &Value, object: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
    let known = schema.get("properties").and_then(Value::as_object).filter(|known| !known.is_empty());
    let strange = move |key: &&String| known.is_some_and(|known| !known.contains_key(key.as_str()));
    let keys: Vec<&str> = object.keys().filter(strange).map(String::as_str).take(MAX_PROBLEMS).collect();
    keys.into_iter()
}

/// The key that `schema` names, `object` lacks and `key` is likest to, if `fits` finds them alike.
fn nearest<'a>(
    schema: &'a Value,
    object: &Map<String, Value>,
    key: &str,
    fits: fn(&str, &str) -> bool,
) -> Option<&'a str> {
    if key.len() > MAX_KEY {
        return None;
    }
    let bared = bare(key);
    let known = schema.get("properties")?.as_object()?.keys().filter(|known| !object.contains_key(known.as_str()));
    let alike = known.filter(|known| fits(&bared, &bare(known)));
    let far = |known: &&String| strsim::damerau_levenshtein(&bared, &bare(known));
    alike.min_by_key(far).map(String::as_str)
}

/// One or two letters wrong in a word that is long enough for them.
fn is_slip(key: &str, known: &str) -> bool {
    let allowed = match key.len().min(known.len()) {
        0..=3 => 0,
        4..=5 => 1,
        _ => 2,
    };
    strsim::damerau_levenshtein(key, known) <= allowed
}

/// A slip, a part of it, or a short form of it.
fn is_near(key: &str, known: &str) -> bool {
    let is_part = key.len() >= 3 && (known.contains(key) || key.contains(known));
    is_slip(key, known) || is_part || strsim::jaro_winkler(key, known) >= 0.8
}

/// A place in the arguments, from a JSON pointer.
struct Place<'a> {
    pointer: &'a str,
}

impl Place<'_> {
    fn name(&self) -> String {
        cut(&self.pointer.trim_start_matches('/').replace('/', "."))
    }

    /// Its name, or `whole` for the arguments themselves.
    fn or(&self, whole: &str) -> String {
        if self.pointer.is_empty() { whole.to_owned() } else { self.name() }
    }

    /// The name of `key` in it.
    fn of(&self, key: &str) -> String {
        if self.pointer.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name()) }
    }
}

/// The schema of the value at `pointer`, a JSON pointer into the input.
fn at<'a>(schema: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').filter(|step| !step.is_empty()).try_fold(schema, |schema, step| {
        schema.get("properties").and_then(|all| all.get(step)).or_else(|| schema.get("items"))
    })
}

fn article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// `value` as JSON, as much of it as helps.
fn quote(value: &Value) -> String {
    short(&match value {
        // Not more of a long text than is shown of it.
        Value::String(text) => Value::from(text.chars().take(MAX_QUOTE + 1).collect::<String>()).to_string(),
        other => other.to_string(),
    })
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(300).collect()
}
