//! What must not be shown. Pure.

use serde_json::Value;

/// What stands in the place of a secret that is not shown.
pub(crate) const HIDDEN: &str = "(hidden)";

/// How the names of keys end that hold a secret, in lower case and without `_` and `-`.
const ENDS: [&str; 14] = [
    "apikey",
    "token",
    "secret",
    "password",
    "passphrase",
    "credential",
    "credentials",
    "headers",
    "authorization",
    "accesskey",
    "privatekey",
    "secretkey",
    "servicekey",
    "cookie",
];

/// Names of fields in the query of an address that hold a secret, where they do not end like those of keys.
const QUERIES: [&str; 4] = ["key", "sig", "signature", "code"];

/// Keys below which names say little about what they hold, so that all of it is kept from the screen.
const SETS: [&str; 2] = ["environment", "env"];

/// Whether what stands under `key` is a secret, and a variable that it is taken from nobody else's business.
pub(crate) fn is_secret(key: &str) -> bool {
    let plain: String = key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect();
    ENDS.iter().any(|end| plain.ends_with(end))
}

/// Hides every secret in `value`: texts under keys that hold one, what variables hold whose names say so, and passwords
/// in addresses. `written` is the same with `{env:}` as it is written; what stands for a secret is shown so.
pub(crate) fn hide(value: &mut Value, written: Option<&Value>, secret: bool) {
    let reference = written.and_then(Value::as_str).filter(|text| text.contains("{env:"));
    if reference.is_some_and(names_secret) || (secret && reference.is_some_and(is_reference)) {
        *value = reference.into();
        return;
    }
    match value {
        Value::String(text) if secret => *text = HIDDEN.to_owned(),
        Value::String(text) => {
            hide_userinfo(text);
            hide_query(text);
        }
        // Names of variables, as in `provider.x.env`, are no secret; so lists keep what they hold unless a key says so.
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                hide(item, written.and_then(|written| written.get(index)), secret);
            }
        }
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                let names = key == "env" && value.is_array();
                let below = written.and_then(|written| written.get(key));
                hide(value, below, !names && (secret || is_secret(key) || SETS.contains(&key.as_str())));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether `text` takes something from a variable whose name says that it holds a secret.
fn names_secret(text: &str) -> bool {
    let names = text.split("{env:").skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
    names.into_iter().any(|name| is_secret(name) || name.to_ascii_lowercase().ends_with("key"))
}

/// Whether `text` only names where its value comes from.
fn is_reference(text: &str) -> bool {
    let inner = text.strip_prefix("{env:").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|name| !name.contains(['{', '}']))
}

/// Hides `user:password@` of an address.
fn hide_userinfo(text: &mut String) {
    let Some(start) = text.find("://").map(|found| found + 3) else { return };
    let end = text[start..].find(['/', '?', '#', ' ']).map_or(text.len(), |end| start + end);
    if let Some(at) = text[start..end].rfind('@') {
        text.replace_range(start..start + at, HIDDEN);
    }
}

/// Hides what the fields of an address's query hold whose names say that it is a secret.
fn hide_query(text: &mut String) {
    let Some((before, query)) = text.split_once('?').filter(|(before, _)| before.contains("://")) else { return };
    let hidden = query.split('&').map(|field| match field.split_once('=') {
        Some((name, _)) if is_secret(name) || QUERIES.contains(&name.to_ascii_lowercase().as_str()) => {
            format!("{name}={HIDDEN}")
        }
        Some(_) | None => field.to_owned(),
    });
    *text = format!("{before}?{}", hidden.collect::<Vec<_>>().join("&"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(mut value: Value, want: Value) {
        let written = value.clone();
        hide(&mut value, Some(&written), false);
        assert_eq!(value, want);
    }

    #[test]
    fn keys_headers_and_passwords_are_hidden() {
        check(json!({"options": {"apiKey": "k"}}), json!({"options": {"apiKey": "(hidden)"}}));
        check(json!({"headers": {"X": "k"}}), json!({"headers": {"X": "(hidden)"}}));
        check(json!({"environment": {"A": "k"}}), json!({"environment": {"A": "(hidden)"}}));
        check(json!({"client-secret": ["a"]}), json!({"client-secret": ["(hidden)"]}));
        check(json!("http://u:p@h/x@y"), json!("http://(hidden)@h/x@y"));
        let keys = json!({"accessKeyId": "a", "secretAccessKey": "k", "private_key": "k", "serviceKey": "k"});
        let hidden = json!({
            "accessKeyId": "a", "secretAccessKey": "(hidden)", "private_key": "(hidden)", "serviceKey": "(hidden)"
        });
        check(keys, hidden);
        let query = |key: &str| json!(format!("https://h/v1?api-version=1&key={key}&api_key={key}"));
        check(query("k"), query("(hidden)"));
    }

    #[test]
    fn what_a_variable_holds_is_shown_unless_a_name_says_that_it_is_a_secret() {
        let written =
            json!({"user": "{env:ME}", "note": "for {env:MY_TOKEN}", "apiKey": "{env:ANY}", "deep": ["{env:A_KEY}"]});
        let mut value = json!({"user": "me", "note": "for s3cret", "apiKey": "s3cret", "deep": [{"filled": "s3cret"}]});
        hide(&mut value, Some(&written), false);
        let want = json!({"user": "me", "note": "for {env:MY_TOKEN}", "apiKey": "{env:ANY}", "deep": ["{env:A_KEY}"]});
        assert_eq!(value, want);
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        for shown in [
            json!({"env": ["A_KEY"], "model": "a/b", "max_tokens": 5, "keybinds": {"leader": "x"}}),
            json!({"apiKey": "{env:A_KEY}"}),
            json!("http://h/a@b"),
            json!("is it ?key=5"),
        ] {
            check(shown.clone(), shown);
        }
        check(json!({"apiKey": "{env:A}-tail{env:B}"}), json!({"apiKey": "(hidden)"}));
    }
}
