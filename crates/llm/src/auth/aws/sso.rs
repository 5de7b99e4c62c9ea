//! Keys for somebody who signed in with `aws sso login`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fetch::{Distance, ask};
use super::{Failure, Keys, Settings, files, keys};
use crate::failure::excerpt;
use crate::vendors::aws_suffix;

/// How long before its end a token is replaced.
const MARGIN: Duration = Duration::from_secs(300);

/// What a profile says of signing in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sso {
    /// What it is called, for messages.
    pub(super) profile: String,
    /// By what the token is kept: the session's name, else the address where one signs in.
    pub(super) kept_as: String,
    pub(super) region: String,
    pub(super) account: String,
    pub(super) role: String,
}

/// Keys for the account and the role of a profile.
pub(super) async fn keys(sso: &Sso, settings: &Settings, now: SystemTime) -> Result<Keys, Failure> {
    let Sso { account, role, .. } = sso;
    let token = token(sso, settings, now).await?;
    let mut url = address(sso, settings, "AWS_ENDPOINT_URL_SSO", "portal.sso")?;
    url.set_path(&format!("{}/federation/credentials", url.path().trim_end_matches('/')));
    url.query_pairs_mut().append_pair("role_name", role).append_pair("account_id", account);
    let mut value = HeaderValue::from_str(&token).map_err(|_| again(sso))?;
    value.set_sensitive(true);
    let headers = HeaderMap::from_iter([(HeaderName::from_static("x-amz-sso_bearer_token"), value)]);
    let (status, body) = ask(Method::GET, &url, headers, Vec::new(), Distance::Far).await?;
    given(sso, status, &body)
}

fn given(sso: &Sso, status: u16, body: &str) -> Result<Keys, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        role_credentials: Given,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Given {
        access_key_id: String,
        secret_access_key: String,
        session_token: String,
        /// In milliseconds since the Unix epoch.
        expiration: u64,
    }
    match status {
        200 => {}
        401 => return Err(again(sso)),
        429 | 500.. => {
            return Err(Failure::Passing(format!("keys of {} were not given (status {status})", sso.account)));
        }
        _ => {
            let words = serde_json::from_str::<Value>(body).unwrap_or_default();
            let words = words["message"].as_str().map_or_else(|| format!("status {status}"), excerpt);
            let Sso { role, account, .. } = sso;
            return Err(Failure::wrong(format!("the role {role} of the account {account} was not given: {words}")));
        }
    }
    let answer = serde_json::from_str::<Answer>(body).ok().map(|answer| answer.role_credentials);
    let keys = answer.and_then(|given| {
        let (id, secret, token) = (&given.access_key_id, &given.secret_access_key, &given.session_token);
        let expires = UNIX_EPOCH.checked_add(Duration::from_millis(given.expiration))?;
        Some(Keys { expires: Some(expires), ..Keys::lasting(Some(id), Some(secret), Some(token))? })
    });
    keys.ok_or_else(|| Failure::wrong(format!("the answer about the role {} holds no keys", sso.role)))
}

/// What can be done about a token that is not there, or not good.
fn again(sso: &Sso) -> Failure {
    Failure::wrong(format!("nobody is signed in to the profile {0}; run `aws sso login --profile {0}`", sso.profile))
}

fn address(sso: &Sso, settings: &Settings, variable: &str, host: &str) -> Result<Url, Failure> {
    let usual = format!("https://{host}.{}.{}", sso.region, aws_suffix(&sso.region));
    let address = settings.env.endpoint(variable, usual);
    Url::parse(&address).map_err(|error| Failure::wrong(format!("{address:?} of {variable} is no address: {error}")))
}

/// Where the token of a session is kept.
fn place(kept_as: &str, settings: &Settings) -> Option<PathBuf> {
    let sum = digest(&SHA1_FOR_LEGACY_USE_ONLY, kept_as.as_bytes());
    let name: String = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(settings.env.home()?.join(".aws/sso/cache").join(format!("{name}.json")))
}

/// The token, a new one where the old one ends and can be replaced.
async fn token(sso: &Sso, settings: &Settings, now: SystemTime) -> Result<String, Failure> {
    let path = place(&sso.kept_as, settings).ok_or_else(|| again(sso))?;
    let from = path.clone();
    let read = tokio::task::spawn_blocking(move || files::small(&from)).await;
    let read = read.map_err(|error| Failure::Passing(error.to_string()))??.ok_or_else(|| again(sso))?;
    let Ok(Value::Object(mut kept)) = serde_json::from_str(&read) else { return Err(again(sso)) };
    let text = |kept: &Map<String, Value>, key: &str| kept.get(key).and_then(Value::as_str).map(str::to_owned);
    let ends = text(&kept, "expiresAt").and_then(|end| keys::time(&end)).ok_or_else(|| again(sso))?;
    let token = text(&kept, "accessToken").ok_or_else(|| again(sso))?;
    if ends > now + MARGIN {
        return Ok(token);
    }
    let refresh = ["clientId", "clientSecret", "refreshToken"].map(|key| text(&kept, key));
    let [Some(client), Some(secret), Some(refresh)] = refresh else {
        // It may still do for this one.
        return if ends > now { Ok(token) } else { Err(again(sso)) };
    };
    let mut url = address(sso, settings, "AWS_ENDPOINT_URL_SSO_OIDC", "oidc")?;
    url.set_path(&format!("{}/token", url.path().trim_end_matches('/')));
    let body = json!({
        "clientId": client, "clientSecret": secret, "grantType": "refresh_token", "refreshToken": refresh,
    });
    let kind = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let (status, answer) = ask(Method::POST, &url, kind, body.to_string().into_bytes(), Distance::Far).await?;
    if status != 200 {
        let passes = status >= 500 || status == 429;
        return Err(if passes {
            Failure::Passing(format!("a new token was not given (status {status})"))
        } else {
            again(sso)
        });
    }
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    let (Some(token), Some(seconds)) = (answer["accessToken"].as_str(), answer["expiresIn"].as_u64()) else {
        return Err(again(sso));
    };
    let ends = now.checked_add(Duration::from_secs(seconds)).unwrap_or(now);
    kept.insert("accessToken".to_owned(), token.into());
    kept.insert("expiresAt".to_owned(), written(ends).into());
    if let Some(refresh) = answer["refreshToken"].as_str() {
        kept.insert("refreshToken".to_owned(), refresh.into());
    }
    // The old refresh token may be worth nothing now, so Amazon's own programs must find the new one.
    let bytes = Value::Object(kept).to_string();
    let stored = tokio::task::spawn_blocking(move || haft_vault::own::replace(&path, bytes.as_bytes())).await;
    if !matches!(stored, Ok(Ok(()))) {
        tracing::warn!(profile = sso.profile, "a new token cannot be kept; the next sign-in may be needed earlier");
    }
    Ok(token.to_owned())
}

/// A time as Amazon's programs write it.
fn written(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let time = aws_smithy_types::DateTime::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
    time.fmt(aws_smithy_types::date_time::Format::DateTime).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sso() -> Sso {
        let text = str::to_owned;
        Sso {
            profile: text("p"),
            kept_as: text("corp"),
            region: text("eu-west-1"),
            account: text("1"),
            role: text("r"),
        }
    }

    #[test]
    fn an_answer_is_keys_or_a_reason() {
        let whole = r#"{"roleCredentials":{"accessKeyId":"a","secretAccessKey":"b","sessionToken":"c","expiration":1700000000000}}"#;
        let keys = given(&sso(), 200, whole).unwrap();
        assert_eq!(keys.expires, Some(UNIX_EPOCH + Duration::from_secs(1_700_000_000)));
        let row = |status: u16, body: &str, want: &str| match given(&sso(), status, body).unwrap_err() {
            Failure::Wrong(text) => assert_eq!(text, want),
            Failure::Passing(text) => assert_eq!(format!("passing: {text}"), want),
        };
        row(200, "{}", "the answer about the role r holds no keys");
        row(401, "{}", "nobody is signed in to the profile p; run `aws sso login --profile p`");
        row(403, r#"{"message":"No access"}"#, "the role r of the account 1 was not given: No access");
        row(404, "<html>", "the role r of the account 1 was not given: status 404");
        row(503, "", "passing: keys of 1 were not given (status 503)");
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert_eq!(written(time), "2023-11-14T22:13:20Z");
        assert_eq!(keys::time(&written(time)), Some(time));
    }
}
