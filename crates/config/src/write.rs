//! Writing into a settings file by hand of the program, so that all else in it stays as the person wrote it: comments,
//! order, blanks. Pure.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstRootNode};
use serde_json::Value;

/// The text of a settings file, `text`, with `value` as `name` in the object `key`. In the place of what was there.
///
/// # Errors
///
/// A text for people, where the file cannot be made out or has something else there.
pub fn with_entry(text: &str, key: &str, name: &str, value: &Value) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let top = root.object_value_or_create().ok_or("there is no object in it")?;
    let set = top.object_value_or_create(key).ok_or_else(|| format!("{key} is no object in it"))?;
    match set.get(name) {
        Some(entry) => entry.set_value(input(value)),
        None => {
            top.ensure_multiline();
            set.ensure_multiline();
            set.append(name, input(value));
        }
    }
    Ok(root.to_string())
}

/// The text of a settings file, `text`, with `value` in the list `key`: in the place of the first item that `same` says
/// is the same thing, further ones of which go; `None` takes them all out. An item that is a list of two keeps its second.
///
/// # Errors
///
/// As [`with_entry`].
pub fn with_item(text: &str, key: &str, value: Option<&str>, same: &dyn Fn(&str) -> bool) -> Result<String, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let top = root.object_value_or_create().ok_or("there is no object in it")?;
    if value.is_none() && top.get(key).is_none() {
        return Ok(root.to_string());
    }
    let is_new = top.get(key).is_none();
    let list = top.array_value_or_create(key).ok_or_else(|| format!("{key} is no list in it"))?;
    if is_new {
        top.ensure_multiline();
    }
    let mut wanted = value;
    for item in list.elements() {
        let written = item.to_serde_value().unwrap_or_default();
        let named = written.as_str().or_else(|| written.get(0).and_then(Value::as_str));
        if !named.is_some_and(same) {
            continue;
        }
        match wanted.take() {
            None => item.remove(),
            Some(value) => match item.as_array().and_then(|pair| pair.elements().into_iter().next()) {
                Some(first) => replace(first, value),
                None => replace(item, value),
            },
        }
    }
    if let Some(value) = wanted {
        list.append(CstInputValue::String(value.to_owned()));
    }
    Ok(root.to_string())
}

fn replace(node: CstNode, value: &str) {
    if let Some(text) = node.as_string_lit() {
        // What it was is thrown away.
        let _ = text.replace_with(CstInputValue::String(value.to_owned()));
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_else_stays_as_it_was() {
        let text = "{\n  // mine\n  \"model\": \"a/b\", /* so */\n  \"mcp\": {\n    \"one\": {\"enabled\": false}, // off\n  },\n}\n";
        let new = with_entry(text, "mcp", "two", &json!({"type": "local", "command": ["x", "it's"]})).unwrap();
        for kept in ["// mine", "/* so */", "\"one\": {\"enabled\": false}", "// off"] {
            assert!(new.contains(kept), "{new}");
        }
        let read: Value = jsonc_parser::parse_to_serde_value(&new, &ParseOptions::default()).unwrap();
        assert_eq!(read["mcp"], json!({"one": {"enabled": false}, "two": {"type": "local", "command": ["x", "it's"]}}));
        assert_eq!(read["model"], "a/b");
    }

    #[test]
    fn what_is_not_there_is_made_and_what_is_there_replaced() {
        let read =
            |text: &str| -> Value { jsonc_parser::parse_to_serde_value(text, &ParseOptions::default()).unwrap() };
        for text in ["", " \n", "{}", "{\"mcp\": {\"a\": 5}}"] {
            let new = with_entry(text, "mcp", "a", &json!({"enabled": true})).unwrap();
            assert_eq!(read(&new), json!({"mcp": {"a": {"enabled": true}}}), "{text:?}");
        }
    }

    #[test]
    fn items_of_a_list_are_added_replaced_and_taken_out() {
        let row = |text: &str, value: Option<&str>, want: Value| {
            let new = with_item(text, "plugin", value, &|item| item.starts_with("a@") || item == "a").unwrap();
            let read: Value = jsonc_parser::parse_to_serde_value(&new, &ParseOptions::default()).unwrap();
            assert_eq!(read, want, "{text}");
            new
        };
        row("", Some("a@1"), json!({"plugin": ["a@1"]}));
        row("{\"x\": 1}", Some("a@1"), json!({"x": 1, "plugin": ["a@1"]}));
        let kept = row(
            "{\n  // mine\n  \"plugin\": [\"b\", /* so */ \"a@1\", \"a\"],\n}",
            Some("a@2"),
            json!({"plugin": ["b", "a@2"]}),
        );
        assert!(kept.contains("// mine") && kept.contains("/* so */"), "{kept}");
        row("{\"plugin\": [[\"a@1\", {\"o\": 1}]]}", Some("a@2"), json!({"plugin": [["a@2", {"o": 1}]]}));
        row("{\"plugin\": [[\"a\", {}], \"b\"]}", None, json!({"plugin": ["b"]}));
        row("{}", None, json!({}));
        assert!(with_item("{\"plugin\": 5}", "plugin", Some("a"), &|_| true).is_err());
    }

    #[test]
    fn what_is_no_settings_file_is_left_alone() {
        for text in ["[1]", "{\"mcp\": 5}", "{\"mcp\"", "nonsense ["] {
            assert!(with_entry(text, "mcp", "a", &json!({})).is_err(), "{text}");
        }
    }
}
