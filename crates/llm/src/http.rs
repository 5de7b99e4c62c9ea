//! One request over HTTP: sends the body, tells failures apart, hands out the events. Shared by all dialects.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Response, StatusCode, Url};

use crate::failure::{Told, excerpt, hide, page};
use crate::retry;
use crate::sse::{Decoder, Event};
use crate::{LlmError, Secret};

/// Most of a body that is not a stream that is read, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// Shortest word that counts as a secret. A shorter one would blot out words of messages.
const MIN_SECRET: usize = 8;

/// How long the end of a body is waited for once the answer is complete. Reading it keeps the connection for the next
/// request; servers that do not end it lose nothing but that.
const LINGER: Duration = Duration::from_millis(20);

/// A vendor's settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the settings of {provider} cannot be used: {message}")]
pub struct SetupError {
    provider: String,
    message: String,
}

/// How a key is sent.
pub(crate) struct Scheme {
    /// In which header.
    pub(crate) header: HeaderName,
    /// What stands before it there.
    pub(crate) before: &'static str,
}

/// Where requests go, and with what.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    inner: Arc<Inner>,
}

struct Inner {
    client: reqwest::Client,
    provider: String,
    url: Url,
    /// The URL as messages show it: without user, password and query.
    address: String,
    headers: HeaderMap,
    secrets: Vec<Secret>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Requests of `provider` go to `path` below `base_url`. `key` is sent as its scheme says, `fixed` are headers of
    /// the dialect; `headers` are laid over both and over our own.
    pub(crate) fn new(
        provider: &str,
        base_url: &str,
        path: &str,
        key: Option<(Scheme, Secret)>,
        fixed: &[(&'static str, &'static str)],
        headers: &[(String, String)],
    ) -> Result<Self, SetupError> {
        let wrong = |message: String| SetupError { provider: provider.to_owned(), message };
        let client = haft_net::client(haft_net::Options::default()).map_err(|error| wrong(error.to_string()))?;
        let url = below(base_url, path).map_err(wrong)?;
        let mut all = HeaderMap::new();
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        all.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some((Scheme { header, before }, key)) = &key {
            let value = sensitive(&format!("{before}{}", key.expose()));
            let value = value.ok_or_else(|| wrong("the key has characters that cannot be sent".to_owned()))?;
            all.insert(header, value);
        }
        for &(name, value) in fixed {
            all.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        for (name, value) in headers {
            let pair = name.parse::<HeaderName>().ok().zip(sensitive(value));
            let (name, value) = pair.ok_or_else(|| wrong(format!("{name:?} is no header, or its value is none")))?;
            all.insert(name, value);
        }
        let inner = Inner {
            client,
            provider: provider.to_owned(),
            address: shown(&url),
            headers: all,
            secrets: secrets(key.map(|(_, key)| key), &url, headers),
            url,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The vendor.
    pub(crate) fn provider(&self) -> &str {
        &self.inner.provider
    }

    /// What must not stand in messages.
    pub(crate) fn secrets(&self) -> &[Secret] {
        &self.inner.secrets
    }

    /// Sends `body` and waits until the answer begins.
    pub(crate) async fn post(&self, model: &str, body: Vec<u8>, more: HeaderMap) -> Result<Events, LlmError> {
        let Inner { client, url, headers, .. } = &*self.inner;
        tracing::info!(bytes = body.len(), "request sent");
        let request = client.post(url.clone()).headers(headers.clone()).headers(more).body(body);
        let response = request.send().await.map_err(|error| self.transport(error))?;
        match response.status() {
            status if status.is_success() => self.events(model, response).await,
            status => Err(self.refused(model, status, response).await),
        }
    }

    async fn refused(&self, model: &str, status: StatusCode, response: Response) -> LlmError {
        if status.is_redirection() {
            let target = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let target = target.and_then(|target| self.inner.url.join(target).ok());
            let message = format!(
                "{} points to {}; set baseURL to the address that answers",
                self.inner.address,
                target.map_or_else(|| "another address".to_owned(), |url| shown(&url)),
            );
            return LlmError::Rejected { provider: self.provider().to_owned(), status: Some(status.as_u16()), message };
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let after = retry::after(header, SystemTime::now());
        let body = read(response, Vec::new()).await;
        let hidden = hide(&body, self.secrets());
        // A server in trouble, and a guard in front of it, speak in pages too; elsewhere it is the wrong address.
        let guarded = status.is_server_error() || matches!(status.as_u16(), 401 | 403 | 408 | 429);
        match page(&hidden) {
            Some(page) if !guarded => self.page(&page),
            _ => self.told(model, Some(status.as_u16()), after, &body),
        }
    }

    /// The answer as events, if it is a stream. Some servers forget to say so, hence the look at its first bytes.
    async fn events(&self, model: &str, mut response: Response) -> Result<Events, LlmError> {
        let mut events = Events::new(self.clone());
        if !is_stream(response.headers()) {
            let first = response.chunk().await.map_err(|error| self.transport(error))?.unwrap_or_default();
            let first = first.to_vec();
            if !begins_like_events(&first) {
                let body = read(response, first).await;
                return Err(self.not_events(model, &body));
            }
            events.take(&first)?;
        }
        events.response = Some(response);
        Ok(events)
    }

    fn not_events(&self, model: &str, body: &str) -> LlmError {
        let hidden = hide(body, self.secrets());
        if let Some(page) = page(&hidden) {
            return self.page(&page);
        }
        let json: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        if json.get("error").is_some_and(|error| !error.is_null()) {
            return self.told(model, None, None, body);
        }
        let excerpt = match excerpt(&hidden) {
            text if text.is_empty() => "nothing at all".to_owned(),
            text => text,
        };
        self.malformed("an event stream", &excerpt)
    }

    fn told(&self, model: &str, status: Option<u16>, after: Option<Duration>, body: &str) -> LlmError {
        Told { provider: self.provider(), model, status, after, body, secrets: self.secrets() }.classify()
    }

    fn page(&self, page: &str) -> LlmError {
        self.malformed("a model's answer", &format!("{page} at {}; check baseURL", self.inner.address))
    }

    fn malformed(&self, wanted: &'static str, excerpt: &str) -> LlmError {
        LlmError::Malformed { provider: self.provider().to_owned(), wanted, excerpt: excerpt.to_owned() }
    }

    /// An answer that began and does not go on.
    fn broken(&self, error: reqwest::Error) -> LlmError {
        if error.is_timeout() {
            return self.transport(error);
        }
        tracing::warn!(error = ?error.without_url(), "the connection broke in the middle of an answer");
        LlmError::CutOff { provider: self.provider().to_owned() }
    }

    fn transport(&self, error: reqwest::Error) -> LlmError {
        LlmError::Transport {
            provider: self.provider().to_owned(),
            address: self.inner.address.clone(),
            // The URL may carry a key in its query.
            source: error.without_url().into(),
        }
    }
}

/// The events of an answer. Dropping them closes the connection.
#[derive(Debug)]
pub(crate) struct Events {
    endpoint: Endpoint,
    /// `None` once it has ended.
    response: Option<Response>,
    decoder: Decoder,
    /// The events of the bytes that came last.
    ready: VecDeque<Event>,
}

impl Events {
    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, response: None, decoder: Decoder::default(), ready: VecDeque::new() }
    }

    /// The next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, LlmError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(response) = &mut self.response else { return Ok(None) };
            match response.chunk().await {
                Ok(Some(bytes)) => self.take(&bytes)?,
                Ok(None) => {
                    self.response = None;
                    self.ready.extend(self.decoder.end());
                }
                Err(error) => {
                    self.response = None;
                    return Err(self.endpoint.broken(error));
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), LlmError> {
        let taken = self.decoder.push(bytes, &mut self.ready);
        taken.map_err(|_| {
            self.response = None;
            self.endpoint.malformed("a stream of events of at most 16 MiB", "an event that is larger")
        })
    }

    /// Reads what little is left behind the last event, so that the connection can be used again.
    pub(crate) async fn linger(self) {
        if let Some(mut response) = self.response {
            let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
            // Who does not end in time loses the connection, nothing else.
            let _ = tokio::time::timeout(LINGER, rest).await;
        }
    }
}

fn below(base_url: &str, path: &str) -> Result<Url, String> {
    let named = || format!("baseURL {:?}", bare(base_url));
    let mut url = Url::parse(base_url).map_err(|error| format!("{} is no address: {error}", named()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(format!("{} does not begin with https:// or http://", named()));
    }
    let whole = format!("{}/{path}", url.path().trim_end_matches('/'));
    url.set_path(&whole);
    Ok(url)
}

/// What is no address as messages show it: without what may be a password or a query.
fn bare(base_url: &str) -> &str {
    let whole = base_url.split(['?', '#']).next().unwrap_or_default();
    whole.rsplit('@').next().unwrap_or_default()
}

fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Everything in the settings that may be a key or a password.
fn secrets(key: Option<Secret>, url: &Url, headers: &[(String, String)]) -> Vec<Secret> {
    let mut secrets: Vec<_> = key.into_iter().collect();
    secrets.extend(headers.iter().flat_map(|(_, value)| value.split_whitespace()).map(Secret::new));
    secrets.extend(url.query_pairs().map(|(_, value)| Secret::new(value)));
    // As they are sent, too, where that differs.
    secrets.extend(url.query().into_iter().flat_map(|query| query.split(['&', '='])).map(Secret::new));
    secrets.extend([Some(url.username()), url.password()].into_iter().flatten().map(Secret::new));
    secrets.retain(|secret| secret.expose().len() >= MIN_SECRET);
    secrets
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start()
        .get(.."text/event-stream".len())
        .is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"))
}

fn begins_like_events(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    [&b":"[..], b"data:", b"event:", b"id:", b"retry:"].into_iter().any(|field| start.starts_with(field))
}

/// What is left of the body behind `start`, up to the limit. A body that breaks off still says something.
async fn read(mut response: Response, start: Vec<u8>) -> String {
    let mut body = start;
    while body.len() < MAX_BODY {
        match response.chunk().await {
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(MAX_BODY);
    String::from_utf8_lossy(&body).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str, headers: &[(&str, &str)]) -> Result<Endpoint, String> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Endpoint::new("v", base_url, "chat/completions", None, &[], &headers).map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_is_put_behind_the_base() {
        let row = |base: &str, url: &str, shown: &str| {
            let inner = endpoint(base, &[]).unwrap().inner;
            assert_eq!((inner.url.as_str(), inner.address.as_str()), (url, shown));
        };
        let plain = "https://api.example/v1/chat/completions";
        row("https://api.example/v1", plain, plain);
        row("https://api.example/v1/", plain, plain);
        row(
            "http://127.0.0.1:8080",
            "http://127.0.0.1:8080/chat/completions",
            "http://127.0.0.1:8080/chat/completions",
        );
        row("https://me:pass@api.example/v1?key=k", "https://me:pass@api.example/v1/chat/completions?key=k", plain);
    }

    #[test]
    fn settings_that_cannot_work_are_refused_with_the_reason() {
        let row = |base: &str, headers: &[(&str, &str)], want: &str| {
            assert_eq!(endpoint(base, headers).unwrap_err(), format!("the settings of v cannot be used: {want}"));
        };
        row("api.example/v1", &[], r#"baseURL "api.example/v1" is no address: relative URL without a base"#);
        row("ftp://api.example", &[], r#"baseURL "ftp://api.example" does not begin with https:// or http://"#);
        row("me:pass@host/v1", &[], r#"baseURL "host/v1" does not begin with https:// or http://"#);
        row("//me:pass@host?key=k", &[], r#"baseURL "host" is no address: relative URL without a base"#);
        row("https://a.example", &[("a b", "c")], r#""a b" is no header, or its value is none"#);
        row("https://a.example", &[("a", "c\nd")], r#""a" is no header, or its value is none"#);
    }

    #[test]
    fn whatever_may_be_a_key_is_a_secret() {
        let url = Url::parse("https://user-token:pass-word@h/v1?key=query%2Fkey&v=1").unwrap();
        let headers = [("authorization".to_owned(), "Basic header-key".to_owned())];
        let found = secrets(Some(Secret::new("the-own-key")), &url, &headers);
        let mut found: Vec<_> = found.iter().map(Secret::expose).collect();
        found.sort_unstable();
        let want = ["header-key", "pass-word", "query%2Fkey", "query/key", "the-own-key", "user-token"];
        assert_eq!(found, want);
    }

    #[test]
    fn nothing_secret_shows_in_debug() {
        let headers = &[("x-api-key", "very-secret")];
        let text = format!("{:?}", endpoint("https://api.example", headers).unwrap());
        assert!(!text.contains("very-secret"), "{text}");
    }
}
