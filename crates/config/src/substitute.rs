//! `{env:NAME}` and `{file:path}` in values.
//!
//! They are put in after the JSON was read, into text values alone, so what they stand for can hold anything.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::ConfigError;
use crate::layers::Sources;

/// Largest file that may stand in a value, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// Replaces them in every text below `value`, which stands in the file or variable called `origin`; relative paths
/// begin at `base`.
pub(crate) fn fill(value: &mut Value, origin: &str, base: &Path, sources: &Sources) -> Result<(), ConfigError> {
    match value {
        Value::String(text) => {
            if text.contains("{env:") || text.contains("{file:") {
                *text = replaced(text, origin, base, sources)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                fill(item, origin, base, sources)?;
            }
        }
        Value::Object(object) => {
            for (_, value) in object.iter_mut() {
                fill(value, origin, base, sources)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn replaced(text: &str, origin: &str, base: &Path, sources: &Sources) -> Result<String, ConfigError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let named = |kind: &str| {
            let inner = from.strip_prefix(kind)?;
            inner.split_once('}')
        };
        if let Some((name, after)) = named("{env:") {
            out.push_str(sources.env(name.trim()).unwrap_or_default());
            rest = after;
        } else if let Some((name, after)) = named("{file:") {
            out.push_str(&file(name.trim(), origin, base, sources)?);
            rest = after;
        } else {
            out.push('{');
            rest = &from[1..];
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The names of the variables that the keys and headers of providers stand for: what they hold is for the vendor, and
/// no command that an agent runs needs it.
pub(crate) fn secrets(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let providers = value.get("provider").and_then(Value::as_object);
    for provider in providers.into_iter().flat_map(|all| all.values()) {
        let options = provider.get("options");
        collect(options.and_then(|options| options.get("apiKey")), &mut found);
        collect(options.and_then(|options| options.get("headers")), &mut found);
        let models = provider.get("models").and_then(Value::as_object);
        for model in models.into_iter().flat_map(|all| all.values()) {
            collect(model.get("headers"), &mut found);
        }
        let named = provider.get("env").and_then(Value::as_array).into_iter().flatten();
        found.extend(named.filter_map(Value::as_str).map(str::to_owned));
    }
    found
}

fn collect(value: Option<&Value>, found: &mut Vec<String>) {
    match value {
        Some(Value::String(text)) => {
            let names = text.split("{env:").skip(1).filter_map(|rest| rest.split_once('}'));
            found.extend(names.map(|(name, _)| name.trim().to_owned()));
        }
        Some(Value::Object(object)) => object.values().for_each(|value| collect(Some(value), found)),
        _ => {}
    }
}

fn file(named: &str, origin: &str, base: &Path, sources: &Sources) -> Result<String, ConfigError> {
    let path: PathBuf = match named.strip_prefix("~/") {
        Some(below) => sources.home.join(below),
        None => base.join(named),
    };
    let read = || -> std::io::Result<String> {
        let meta = std::fs::metadata(&path)?;
        if !meta.is_file() || meta.len() > MAX_FILE {
            return Err(std::io::Error::other("it is not a file of at most 1 MiB"));
        }
        std::fs::read_to_string(&path)
    };
    let text = read().map_err(|source| ConfigError::File {
        origin: origin.to_owned(),
        named: named.to_owned(),
        path: path.clone(),
        source,
    })?;
    Ok(text.trim().to_owned())
}
