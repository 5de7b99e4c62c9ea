//! What a tool gives back.

use haft_protocol::Object;
use serde_json::Value;

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// What a person sees in one line.
    pub title: String,
    /// What the model reads.
    pub text: String,
    /// What clients draw, in the tool's own form. A tool that cuts its output itself says so with `truncated`.
    pub metadata: Object,
    /// Files that go with the text.
    pub attachments: Vec<Attachment>,
}

/// A file that goes with an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its MIME type.
    pub mime: String,
    /// Its name, for people.
    pub filename: Option<String>,
    /// A `data:` address that holds it.
    pub url: String,
}

/// What the program itself writes into a call's metadata, and takes at its word.
const RESERVED: [&str; 3] = ["truncated", "outputPath", "interrupted"];

/// The `metadata` that somebody else's tool gave back, as far as it is kept: without what only the program itself may say
/// there, and nothing where it has more than `most` bytes as JSON.
pub fn foreign(metadata: Object, most: usize) -> Object {
    let fits = serde_json::to_string(&metadata).is_ok_and(|text| text.len() <= most);
    metadata.into_iter().filter(|(key, _)| fits && !RESERVED.contains(&key.as_str())).collect()
}

impl Output {
    /// A title for people and a text for the model.
    pub fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into(), ..Self::default() }
    }

    /// A title for people, and what another program gave back: a text as it is, nothing as no text, anything else as
    /// JSON laid out to be read.
    pub fn of_value(title: impl Into<String>, value: &Value) -> Self {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => format!("{value:#}"),
        };
        Self::new(title, text)
    }

    /// The same with `value` as `key` in the metadata.
    #[must_use]
    pub fn meta(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_say_is_not_taken_for_our_own_word() {
        let given = json!({"truncated": false, "outputPath": "/etc/passwd", "interrupted": true, "own": 1});
        let Value::Object(given) = given else { unreachable!("it is one") };
        assert_eq!(Value::from(foreign(given.clone(), 1000)), json!({"own": 1}));
        assert!(foreign(given, 10).is_empty());
    }

    #[test]
    fn what_is_no_text_becomes_json_that_can_be_read() {
        let check = |value: Value, want: &str| assert_eq!(Output::of_value("t", &value).text, want);
        check(json!("as it \"is\"\n"), "as it \"is\"\n");
        check(json!({"b": 1, "a": [true, null]}), "{\n  \"b\": 1,\n  \"a\": [\n    true,\n    null\n  ]\n}");
        check(json!(1.5), "1.5");
        check(json!(null), "");
        check(json!([]), "[]");
    }
}
