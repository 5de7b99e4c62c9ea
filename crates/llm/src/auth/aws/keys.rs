//! What signs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_smithy_types::date_time::{DateTime, Format};
use serde::Deserialize;

use crate::Secret;

/// Keys for Amazon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// Names the other one. No secret, but nobody's business.
    pub id: String,
    /// The key itself.
    pub secret: Secret,
    /// What goes with keys that last for some hours.
    pub token: Option<Secret>,
    /// When they end, if they do.
    pub expires: Option<SystemTime>,
}

impl Keys {
    /// Keys that last. `None` where one of the two is missing.
    pub fn lasting(id: Option<&str>, secret: Option<&str>, token: Option<&str>) -> Option<Self> {
        let text = |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Self {
            id: text(id)?,
            secret: Secret::new(text(secret)?),
            token: text(token).map(Secret::new),
            expires: None,
        })
    }

    /// What must not stand in messages.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        [Secret::new(&self.id), self.secret.clone()].into_iter().chain(self.token.clone()).collect()
    }
}

/// Keys as Amazon's servers and programs write them in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Written {
    access_key_id: Option<String>,
    secret_access_key: Option<String>,
    /// Servers of machines call it `Token`.
    #[serde(alias = "Token")]
    session_token: Option<String>,
    expiration: Option<String>,
}

impl Written {
    /// `None` where something is missing, or the end is no time.
    pub(super) fn keys(self) -> Option<Keys> {
        let (id, secret) = (self.access_key_id.as_deref(), self.secret_access_key.as_deref());
        let keys = Keys::lasting(id, secret, self.session_token.as_deref())?;
        let expires = match self.expiration.filter(|end| !end.is_empty()) {
            Some(end) => Some(time(&end)?),
            None => None,
        };
        Some(Keys { expires, ..keys })
    }
}

/// A time such as `2030-01-01T00:00:00Z`. Some programs write `UTC`, or an offset, at its end.
pub(super) fn time(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let text = text.strip_suffix("UTC").map_or_else(|| text.to_owned(), |rest| format!("{}Z", rest.trim_end()));
    let time = DateTime::from_str(&text, Format::DateTimeWithOffset).ok()?;
    let seconds = u64::try_from(time.secs()).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let row = |text: &str, want: Option<u64>| {
            assert_eq!(time(text), want.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)), "{text}");
        };
        row("2023-11-14T22:13:20Z", Some(1_700_000_000));
        row("2023-11-14T22:13:20.5Z", Some(1_700_000_000));
        row("2023-11-14T22:13:20UTC", Some(1_700_000_000));
        row("2023-11-14T23:13:20+01:00", Some(1_700_000_000));
        row("1960-01-01T00:00:00Z", None);
        row("tomorrow", None);
        row("", None);
    }

    #[test]
    fn written_keys_are_whole_or_none() {
        let row = |json: &str, want: bool| {
            let keys = serde_json::from_str::<Written>(json).unwrap().keys();
            assert_eq!(keys.is_some(), want, "{json}");
        };
        row(r#"{"AccessKeyId":"a","SecretAccessKey":"b","Token":"c","Expiration":"2030-01-01T00:00:00Z"}"#, true);
        row(r#"{"AccessKeyId":"a","SecretAccessKey":"b"}"#, true);
        row(r#"{"AccessKeyId":"a","SecretAccessKey":" "}"#, false);
        row(r#"{"AccessKeyId":"a","SecretAccessKey":"b","Expiration":"soon"}"#, false);
        row("{}", false);
    }
}
