//! What one vendor gave, and how it stands in the file. Pure.
//!
//! The form is OpenCode's: an object whose `type` is `api`, `oauth` or `wellknown`. Fields that are not known are kept.

use std::fmt;

use serde_json::{Map, Value};

/// Longest key, token or other text of an entry, in bytes. Tokens that carry claims have a few thousand.
pub const MAX_TEXT: usize = 64 * 1024;

/// What one vendor gave. It never shows a secret, not in `Debug` either.
#[derive(Clone, PartialEq)]
pub enum Entry {
    /// A key.
    Api(Api),
    /// Tokens from signing in.
    OAuth(OAuth),
    /// An organisation's token, and its settings.
    WellKnown(WellKnown),
    /// In the system's keyring, under the same name.
    Elsewhere,
    /// Something that another program put there. It is left as it is.
    Other(Value),
}

/// A key.
#[derive(Clone, Default, PartialEq)]
pub struct Api {
    /// The key.
    pub key: String,
    /// What else the vendor wants, such as the name of an account. No secrets.
    pub metadata: Map<String, Value>,
    /// Fields that are not known.
    pub more: Map<String, Value>,
}

/// Tokens from signing in.
#[derive(Clone, Default, PartialEq)]
pub struct OAuth {
    /// What gets the next access token.
    pub refresh: String,
    /// What lets a request in.
    pub access: String,
    /// When it stops to, in milliseconds since the Unix epoch; 0 if it never does.
    pub expires: u64,
    /// Which of the person's accounts it is for.
    pub account_id: Option<String>,
    /// The server of an enterprise that signed them in, where it is not the vendor's own.
    pub enterprise_url: Option<String>,
    /// Fields that are not known.
    pub more: Map<String, Value>,
}

/// An organisation's token, and its settings.
#[derive(Clone, Default, PartialEq)]
pub struct WellKnown {
    /// The variable in which programs look for the token.
    pub key: String,
    /// The token.
    pub token: String,
    /// The organisation's settings as they were when the user signed in.
    pub config: Option<Value>,
    /// Fields that are not known.
    pub more: Map<String, Value>,
}

impl Entry {
    /// A key without anything else.
    pub fn key(key: impl Into<String>) -> Self {
        Self::Api(Api { key: key.into(), ..Api::default() })
    }

    /// What kind it is, as the file names it; for people, too.
    pub fn kind(&self) -> &'static str {
        match self {
            Entry::Api(_) => "api",
            Entry::OAuth(_) => "oauth",
            Entry::WellKnown(_) => "wellknown",
            Entry::Elsewhere => "keyring",
            Entry::Other(_) => "unknown",
        }
    }

    /// Every text of it that must not be shown.
    pub fn secrets(&self) -> Vec<&str> {
        let all = match self {
            Entry::Api(api) => vec![api.key.as_str()],
            Entry::OAuth(oauth) => vec![oauth.refresh.as_str(), oauth.access.as_str()],
            Entry::WellKnown(known) => vec![known.token.as_str()],
            Entry::Elsewhere | Entry::Other(_) => Vec::new(),
        };
        all.into_iter().filter(|text| !text.is_empty()).collect()
    }

    /// What `value` says.
    pub fn from_json(value: &Value) -> Self {
        let known = value.as_object().and_then(|fields| known(fields.clone()));
        known.unwrap_or_else(|| Entry::Other(value.clone()))
    }

    /// As it stands in the file.
    pub fn to_json(&self) -> Value {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        let text = |text: &str| Some(Value::from(text));
        let more = match self {
            Entry::Other(value) => return value.clone(),
            Entry::Elsewhere => {
                put("type", text("keyring"));
                None
            }
            Entry::Api(Api { key, metadata, more }) => {
                put("type", text("api"));
                put("key", text(key));
                put("metadata", (!metadata.is_empty()).then(|| metadata.clone().into()));
                Some(more)
            }
            Entry::OAuth(OAuth { refresh, access, expires, account_id, enterprise_url, more }) => {
                put("type", text("oauth"));
                put("refresh", text(refresh));
                put("access", text(access));
                put("expires", Some((*expires).into()));
                put("accountId", account_id.clone().map(Value::from));
                put("enterpriseUrl", enterprise_url.clone().map(Value::from));
                Some(more)
            }
            Entry::WellKnown(WellKnown { key, token, config, more }) => {
                put("type", text("wellknown"));
                put("key", text(key));
                put("token", text(token));
                put("config", config.clone());
                Some(more)
            }
        };
        for (name, value) in more.into_iter().flatten() {
            // What is known is said by what is known.
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Value::Object(fields)
    }
}

/// What the fields mean, where they are whole.
fn known(mut fields: Map<String, Value>) -> Option<Entry> {
    let kind = text(&mut fields, "type")?;
    Some(match kind.as_str() {
        "api" => {
            let key = text(&mut fields, "key")?;
            let metadata = match fields.remove("metadata") {
                None | Some(Value::Null) => Map::new(),
                Some(Value::Object(metadata)) => metadata,
                Some(_) => return None,
            };
            Entry::Api(Api { key, metadata, more: fields })
        }
        "oauth" => {
            let (refresh, access) = (text(&mut fields, "refresh")?, text(&mut fields, "access")?);
            // OpenCode writes a number that may be larger than any time, for keys that never expire.
            let expires = fields.remove("expires")?;
            let expires = expires.as_u64().or_else(|| expires.as_f64().map(|at| at.max(0.0) as u64))?;
            let account_id = maybe(&mut fields, "accountId")?;
            let enterprise_url = maybe(&mut fields, "enterpriseUrl")?;
            Entry::OAuth(OAuth { refresh, access, expires, account_id, enterprise_url, more: fields })
        }
        "wellknown" => {
            let (key, token) = (text(&mut fields, "key")?, text(&mut fields, "token")?);
            Entry::WellKnown(WellKnown { key, token, config: fields.remove("config"), more: fields })
        }
        "keyring" if fields.is_empty() => Entry::Elsewhere,
        _ => return None,
    })
}

fn text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    match fields.remove(name)? {
        Value::String(text) if text.len() <= MAX_TEXT => Some(text),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A text that may be left out; the outer `None` where something else stands there.
fn maybe(fields: &mut Map<String, Value>, name: &str) -> Option<Option<String>> {
    match fields.get(name) {
        None => Some(None),
        Some(Value::Null) => {
            fields.remove(name);
            Some(None)
        }
        Some(_) => text(fields, name).map(Some),
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({}, …)", self.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// It is read as `kind`, and written as it was.
    #[track_caller]
    fn check(value: Value, kind: &str) -> Entry {
        let entry = Entry::from_json(&value);
        assert_eq!(entry.kind(), kind, "{value}");
        assert_eq!(entry.to_json(), value);
        entry
    }

    #[test]
    fn opencodes_forms_are_read_and_written_as_they_are() {
        check(json!({"type": "api", "key": "k"}), "api");
        let entry = check(json!({"type": "api", "key": "k", "metadata": {"accountId": "a"}, "note": 1}), "api");
        let Entry::Api(api) = entry else { panic!() };
        assert_eq!((api.metadata["accountId"].as_str(), api.more["note"].as_i64()), (Some("a"), Some(1)));
        let entry = check(
            json!({"type": "oauth", "refresh": "r", "access": "a", "expires": 5, "accountId": "i", "enterpriseUrl": "e.example", "scope": "x"}),
            "oauth",
        );
        let Entry::OAuth(oauth) = entry else { panic!() };
        assert_eq!((oauth.expires, oauth.account_id.as_deref()), (5, Some("i")));
        check(json!({"type": "wellknown", "key": "N", "token": "t", "config": {"model": "a/b"}}), "wellknown");
        check(json!({"type": "keyring"}), "keyring");
    }

    #[test]
    fn what_is_not_understood_is_left_as_it_is() {
        for strange in [
            json!(null),
            json!([1]),
            json!({"type": "passkey", "x": 1}),
            json!({"type": "api"}),
            json!({"type": "api", "key": 5}),
            json!({"type": "api", "key": "k", "metadata": "m"}),
            json!({"type": "oauth", "refresh": "r", "access": "a"}),
            json!({"type": "oauth", "refresh": "r", "access": "a", "expires": 1, "accountId": {}}),
            json!({"type": "keyring", "where": "x"}),
            json!({"type": "api", "key": "k".repeat(MAX_TEXT + 1)}),
        ] {
            check(strange, "unknown");
        }
    }

    #[test]
    fn a_time_beyond_all_times_is_one() {
        let entry = Entry::from_json(&json!({"type": "oauth", "refresh": "", "access": "a", "expires": 1e300}));
        let Entry::OAuth(oauth) = entry else { panic!() };
        assert_eq!(oauth.expires, u64::MAX);
    }

    #[test]
    fn no_secret_shows_itself() {
        for value in [
            json!({"type": "api", "key": "marker"}),
            json!({"type": "oauth", "refresh": "marker", "access": "marker", "expires": 1}),
            json!({"type": "wellknown", "key": "N", "token": "marker"}),
            json!({"type": "none", "token": "marker"}),
        ] {
            let entry = Entry::from_json(&value);
            assert!(!format!("{entry:?} {:#?}", Some(&entry)).contains("marker"), "{value}");
            assert!(entry.secrets().iter().all(|secret| *secret == "marker"));
        }
    }
}
