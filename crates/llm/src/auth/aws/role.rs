//! Roles: other keys for keys, or for a token, from Amazon's Security Token Service.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Url};

use super::fetch::{Distance, ask};
use super::signature::{Scope, headers};
use super::{Failure, Keys, Settings, files, keys};
use crate::Secret;
use crate::failure::{excerpt, hide};
use crate::vendors::aws_suffix;

/// The version of the interface.
const VERSION: &str = "2011-06-15";

/// A role that is taken with other keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) arn: String,
    /// What the account's records call who takes it.
    pub(super) session: Option<String>,
    pub(super) external_id: Option<String>,
    /// How long the keys are to last, in seconds. `None`: as long as usual, an hour.
    pub(super) seconds: Option<u32>,
    pub(super) region: Option<String>,
}

/// A role for whoever has a token that somebody else signed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) file: PathBuf,
    pub(super) role: String,
    pub(super) session: Option<String>,
    pub(super) region: Option<String>,
}

impl Role {
    /// Takes the role with `keys`.
    pub(super) async fn take(&self, keys: &Keys, settings: &Settings, now: SystemTime) -> Result<Keys, Failure> {
        let Self { arn, session, external_id, seconds, region } = self;
        let seconds = seconds.map(|seconds| seconds.to_string());
        let form = form(&[
            ("Action", Some("AssumeRole")),
            ("RoleArn", Some(arn)),
            ("RoleSessionName", Some(&named(session.as_deref(), now))),
            ("DurationSeconds", seconds.as_deref()),
            ("ExternalId", external_id.as_deref()),
        ]);
        let region = region.as_deref().unwrap_or(&settings.region);
        let url = address(settings, region)?;
        let mut all = plain();
        let scope = Scope { region, service: "sts", time: now };
        all.extend(headers(keys, scope, "POST", &url, &all, form.as_bytes())?);
        answered(arn, ask(Method::POST, &url, all, form.into_bytes(), Distance::Far).await?)
    }
}

/// Takes a role with the token in a file, which is read each time: it is replaced by whoever signs it.
pub(super) async fn by_token(token: &Token, settings: &Settings, now: SystemTime) -> Result<Keys, Failure> {
    let Token { file, role, session, region } = token;
    let path = file.clone();
    let read = tokio::task::spawn_blocking(move || files::small(&path)).await;
    let read = read.map_err(|error| Failure::Passing(error.to_string()))??;
    let Some(text) = read else {
        return Err(Failure::wrong(format!("there is no token at {} for the role {role}", file.display())));
    };
    let form = form(&[
        ("Action", Some("AssumeRoleWithWebIdentity")),
        ("RoleArn", Some(role)),
        ("RoleSessionName", Some(&named(session.as_deref(), now))),
        ("WebIdentityToken", Some(text.trim())),
    ]);
    let url = address(settings, region.as_deref().unwrap_or(&settings.region))?;
    let (status, body) = ask(Method::POST, &url, plain(), form.into_bytes(), Distance::Far).await?;
    // Some servers repeat what they refuse.
    let body = if status == 200 { body } else { hide(&body, &[Secret::new(text.trim())]).into_owned() };
    answered(role, (status, body))
}

fn named(session: Option<&str>, now: SystemTime) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    session.map_or_else(|| format!("haft-{seconds}"), str::to_owned)
}

fn plain() -> HeaderMap {
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded; charset=utf-8");
    HeaderMap::from_iter([(CONTENT_TYPE, kind)])
}

fn form(fields: &[(&str, Option<&str>)]) -> String {
    // A query is a form.
    let mut url = reqwest::Url::parse("form:").ok();
    if let Some(url) = &mut url {
        let mut pairs = url.query_pairs_mut();
        for (name, value) in fields.iter().filter_map(|(name, value)| Some((name, value.as_deref()?))) {
            pairs.append_pair(name, value);
        }
        pairs.append_pair("Version", VERSION);
    }
    url.and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

fn address(settings: &Settings, region: &str) -> Result<Url, Failure> {
    let usual = format!("https://sts.{region}.{}", aws_suffix(region));
    let address = settings.env.endpoint("AWS_ENDPOINT_URL_STS", usual);
    Url::parse(&address)
        .map_err(|error| Failure::wrong(format!("{address:?} of AWS_ENDPOINT_URL_STS is no address: {error}")))
}

/// What the service's XML says.
fn answered(role: &str, (status, body): (u16, String)) -> Result<Keys, Failure> {
    if status != 200 {
        let said = inner(&body, "Message").map_or_else(|| format!("status {status}"), |words| excerpt(&words));
        let code = inner(&body, "Code").unwrap_or_default();
        let text = format!("the role {role} was not given: {said}");
        let passes = status >= 500 || status == 429 || code.contains("Throttl") || code == "IDPCommunicationError";
        return Err(if passes { Failure::Passing(text) } else { Failure::Wrong(text) });
    }
    let get = |tag: &str| inner(&body, tag);
    let (id, secret, token) = (get("AccessKeyId"), get("SecretAccessKey"), get("SessionToken"));
    let keys = Keys::lasting(id.as_deref(), secret.as_deref(), token.as_deref());
    let expires = get("Expiration").and_then(|end| keys::time(&end));
    keys.zip(expires)
        .map(|(keys, end)| Keys { expires: Some(end), ..keys })
        .ok_or_else(|| Failure::wrong(format!("the role {role} was not given: its answer holds no keys")))
}

/// What stands between the first `tag` and its end. The service writes no attributes and nothing twice.
fn inner(xml: &str, tag: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{tag}>"))?;
    let (text, _) = rest.split_once(&format!("</{tag}>"))?;
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    Some(pairs.into_iter().fold(text.trim().to_owned(), |text, (escaped, plain)| text.replace(escaped, plain)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const GIVEN: &str = "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult>\
        <Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s&amp;k+/=</SecretAccessKey>\
        <SessionToken>t</SessionToken><Expiration>2023-11-14T22:13:20Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";

    #[test]
    fn an_answer_is_keys_or_a_reason() {
        let keys = answered("r", (200, GIVEN.to_owned())).unwrap();
        assert_eq!((keys.id.as_str(), keys.secret.expose()), ("ASIA", "s&k+/="));
        assert_eq!(keys.expires, Some(UNIX_EPOCH + Duration::from_secs(1_700_000_000)));
        let row = |status: u16, body: &str, want: Failure| {
            assert_eq!(answered("r", (status, body.to_owned())), Err(want), "{body}");
        };
        let denied =
            "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not &lt;you&gt;</Message></Error></ErrorResponse>";
        row(403, denied, Failure::wrong("the role r was not given: not <you>"));
        row(400, "", Failure::wrong("the role r was not given: status 400"));
        row(503, "busy", Failure::Passing("the role r was not given: status 503".to_owned()));
        let limited = "<Error><Code>Throttling</Code><Message>slow</Message></Error>";
        row(400, limited, Failure::Passing("the role r was not given: slow".to_owned()));
        row(200, "<html>", Failure::wrong("the role r was not given: its answer holds no keys"));
        row(200, &GIVEN.replace("2023", "x"), Failure::wrong("the role r was not given: its answer holds no keys"));
    }

    #[test]
    fn a_form_holds_what_there_is() {
        let got = form(&[("Action", Some("A")), ("RoleArn", Some("arn:aws:iam::1:role/a b")), ("ExternalId", None)]);
        assert_eq!(got, "Action=A&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa+b&Version=2011-06-15");
    }
}
