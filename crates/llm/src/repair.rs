//! JSON as weak models write it, read for what it can only mean. Pure.
//!
//! What is mended: a fence around it, commas too many or missing, single and typographic quotes, names without quotes,
//! `True` and `None`, line ends in texts, unknown escapes, comments, closing braces too many or missing, an object written
//! as a text. What is cut off within a text, a number or a name stays broken: nobody knows what would have followed.

mod reader;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use reader::Reader;

/// Longest text that is mended, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Most times that an object may be written as a text within a text.
const MAX_LAYERS: usize = 2;

/// The arguments of a call as JSON: `text` itself where it is JSON or cannot be mended, else the object that it means.
pub fn readable(text: &str) -> Cow<'_, str> {
    let sound = || serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    if text.trim().is_empty() || sound() {
        return text.into();
    }
    object(text).map_or_else(|| text.into(), |object| object.to_string().into())
}

/// The object that `text` means; `None` if that cannot be told.
pub fn object(text: &str) -> Option<Value> {
    (text.len() <= MAX_BYTES).then_some(())?;
    let mut text: Cow<'_, str> = text.into();
    for _ in 0..=MAX_LAYERS {
        match whole(&text)? {
            Value::String(inner) => text = inner.into(),
            object @ Value::Object(_) => return Some(object),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
        }
    }
    None
}

/// The one value that is all of `text`.
fn whole(text: &str) -> Option<Value> {
    let text = unfenced(text.trim());
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let mut reader = Reader::new(text, None);
    let mut value = reader.value()?;
    // Some gateways put an empty object before the real one.
    if value.as_object().is_some_and(serde_json::Map::is_empty) && reader.rest().trim_start().starts_with('{') {
        value = reader.value()?;
    }
    let rest = reader.rest().trim_matches(|one: char| one.is_whitespace() || matches!(one, '}' | ']' | ';'));
    rest.is_empty().then_some(value)
}

/// What stands in a fence, if `text` is one.
fn unfenced(text: &str) -> &str {
    let inner = || {
        let inner = text.strip_prefix("```")?.strip_suffix("```")?;
        let (label, inner) = inner.split_once('\n')?;
        label.trim().chars().all(char::is_alphanumeric).then(|| inner.trim())
    };
    inner().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn row(text: &str, want: Value) {
        let got = readable(text);
        assert_eq!(serde_json::from_str::<Value>(&got).ok(), Some(want), "{text} became {got}");
    }

    #[track_caller]
    fn broken(text: &str) {
        assert_eq!(readable(text), text);
        assert!(matches!(readable(text), Cow::Borrowed(_)), "{text}");
    }

    #[test]
    fn what_is_json_stays_as_it_is() {
        for text in ["", "  ", "{}", r#" {"a": [1, 2.50, "é"]} "#, r#"{"a":"\ud83d\ude00"}"#] {
            assert!(matches!(readable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn slips_of_the_pen_are_mended() {
        row(r#"{"a": 1,}"#, json!({"a": 1}));
        row(r#"{"a": [1, 2,], }"#, json!({"a": [1, 2]}));
        row(r#"{'a': 'it is'}"#, json!({"a": "it is"}));
        row(r#"{'a': 'say "hi"'}"#, json!({"a": "say \"hi\""}));
        row(r#"{a: 1, filePath: "x", some-key: 2}"#, json!({"a": 1, "filePath": "x", "some-key": 2}));
        row(r#"{"a": True, "b": False, "c": None}"#, json!({"a": true, "b": false, "c": null}));
        row("{\"a\": \"one\ntwo\tthree\"}", json!({"a": "one\ntwo\tthree"}));
        row("{“a”: “b”}", json!({"a": "b"}));
        row("{‘a’: ‘b’}", json!({"a": "b"}));
        row(r#"{"pattern": "\d+\.\w"}"#, json!({"pattern": "\\d+\\.\\w"}));
        row(
            r#"{"pattern": "\bfn \w+\b\(", "plain": "a\u0008\b"}"#,
            json!({"pattern": "\\bfn \\w+\\b\\(", "plain": "a\u{8}\u{8}"}),
        );
        row("{\"command\": \"make \\\n  all\"}", json!({"command": "make \\\n  all"}));
        row(r#"{"a": "b\'c"}"#, json!({"a": "b'c"}));
        row(r#"{"a": 1 "b": 2}"#, json!({"a": 1, "b": 2}));
        row("{\"a\": 1 // one\n, /* two */ \"b\": 2}", json!({"a": 1, "b": 2}));
        row(r#"{"a": """one "and" two"""}"#, json!({"a": "one \"and\" two"}));
        row(r#"{"a": .5, "b": 1., "c": +3}"#, json!({"a": 0.5, "b": 1.0, "c": 3}));
    }

    #[test]
    fn what_is_wrapped_is_unwrapped() {
        row("```json\n{\"a\": 1}\n```", json!({"a": 1}));
        row("```\n{'a': 1}\n```", json!({"a": 1}));
        row(r#""{\"a\": \"b\"}""#, json!({"a": "b"}));
        row(r#""{'a': 1}""#, json!({"a": 1}));
        row(r#"{}{"a": 1}"#, json!({"a": 1}));
    }

    #[test]
    fn braces_are_put_in_where_nothing_was_cut_off() {
        row(r#"{"a": {"b": "c""#, json!({"a": {"b": "c"}}));
        row(r#"{"a": ["b", true"#, json!({"a": ["b", true]}));
        row(r#"{"a": "b"}}"#, json!({"a": "b"}));
        row(r#"{"a": "b"};"#, json!({"a": "b"}));
        broken(r#"{"a": "b"#);
        broken(r#"{"a": 1"#);
        broken(r#"{"a": tru"#);
        broken(r#"{"a": "b", "c"#);
        broken(r#"{"a": "b", "c""#);
        broken(r#"{"a": "b", "c":"#);
        broken(r#"{"a": 'it's'}"#);
    }

    #[test]
    fn what_nobody_can_tell_stays_broken() {
        for text in ["ls -la", "{broken", "[1, 2]", "7", r#"{"a": 1} and more"#, "{\"a\": b c}", "{]", r#"{"a" 1}"#] {
            broken(text);
        }
        broken(&format!("{}1", "{\"a\":".repeat(10_000)));
        broken(&format!("{{'a': '{}'}}", "x".repeat(MAX_BYTES)));
    }

    #[test]
    fn halves_of_a_letter_become_a_sign_for_one() {
        row(
            r#"{"a": "\ud83d", "b": "\ud83d\ude00", "c": "\ude00x"}"#,
            json!({"a": "\u{fffd}", "b": "😀", "c": "\u{fffd}x"}),
        );
    }

    proptest! {
        #[test]
        fn anything_is_read_without_an_end_in_tears(text in "[\\{\\}\\[\\]\"',:`a1.\\\\ \n\u{201c}ué-]{0,60}") {
            let got = readable(&text);
            // What is mended needs no more mending.
            if let Cow::Owned(mended) = &got {
                prop_assert!(serde_json::from_str::<Value>(mended).unwrap().is_object());
            }
        }

        #[test]
        fn what_means_something_keeps_its_meaning(key in "[a-z]{1,8}", text in "[^'\\\\]{0,40}") {
            let python = format!("{{'{key}': '{text}', 'flag': True,}}");
            prop_assert_eq!(object(&python), Some(json!({key: text, "flag": true})));
        }
    }
}
