//! One request over HTTP: sends the body, tells failures apart, hands out the events. Shared by all dialects.

mod address;
mod events;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Response, StatusCode, Url};
use tokio::time::Instant;

pub(crate) use self::address::shown;
use self::address::{base, below, secrets};
pub(crate) use self::events::Events;
use self::events::Framing;
use crate::failure::{Told, excerpt, hide, page};
use crate::patience::Patience;
use crate::retry;
use crate::server::{Asked, Deadlines, Key, Limit, Server, Sign};
use crate::{LlmError, Secret};

/// Most of a body that is not a stream that is read, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// How long a body that is no stream is read for, where the idle limit is no shorter: it only says what went wrong.
const BODY_TIME: Duration = Duration::from_secs(10);

/// How many bytes show whether a text is made of events: `event:` and the like.
const LONGEST_FIELD: usize = 6;

/// A vendor's settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the settings of {provider} cannot be used: {message}")]
pub struct SetupError {
    provider: String,
    message: String,
}

/// How a dialect sends a plain key.
#[derive(Debug, Clone)]
pub(crate) struct Scheme {
    /// In which header.
    pub(crate) header: HeaderName,
    /// What stands before it there.
    pub(crate) before: &'static str,
}

impl Scheme {
    /// As a bearer token.
    pub(crate) const BEARER: Scheme = Scheme { header: AUTHORIZATION, before: "Bearer " };
}

/// What one request has that others of its server have not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking {
    /// Below the server's address; may end in a query.
    pub(crate) path: String,
    /// Laid over all other headers but those that sign.
    pub(crate) headers: HeaderMap,
}

/// Where requests go, and with what.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    inner: Arc<Inner>,
    /// Where the request went that messages are about.
    asked: Option<Url>,
}

struct Inner {
    client: reqwest::Client,
    provider: String,
    /// Above the paths of requests.
    base: Url,
    headers: HeaderMap,
    secrets: Vec<Secret>,
    sign: Option<Arc<dyn Sign>>,
    deadlines: Deadlines,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("address", &shown(&self.base))
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Requests to `server`. A plain key is sent as `scheme` says, `fixed` are headers of the dialect; the server's own
    /// headers are laid over both and over our own.
    pub(crate) fn new(
        server: &Server,
        scheme: Scheme,
        fixed: &[(&'static str, &'static str)],
    ) -> Result<Self, SetupError> {
        let Server { provider, base_url, key, headers, deadlines, manners: _ } = server;
        let wrong = |message: String| SetupError { provider: provider.clone(), message };
        // What is silent is noticed here, where it is known what was waited for.
        let (connect_timeout, idle_timeout) = (deadlines.connect, Duration::MAX);
        let options = haft_net::Options { connect_timeout, idle_timeout, ..haft_net::Options::default() };
        let client = haft_net::client(options).map_err(|error| wrong(error.to_string()))?;
        let base = base(base_url).map_err(wrong)?;
        let mut all = HeaderMap::new();
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        all.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let (sent, sign) = match key {
            None => (None, None),
            Some(Key::Plain(key)) => (Some((scheme, key)), None),
            Some(Key::Bearer(key)) => (Some((Scheme::BEARER, key)), None),
            Some(Key::Header(header, key)) => (Some((Scheme { header: header.clone(), before: "" }, key)), None),
            Some(Key::Signed(sign)) => (None, Some(sign.clone())),
        };
        if let Some((Scheme { header, before }, key)) = &sent {
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
            provider: provider.clone(),
            headers: all,
            secrets: secrets(sent.map(|(_, key)| key.clone()), &base, headers),
            base,
            sign,
            deadlines: *deadlines,
        };
        Ok(Self { inner: Arc::new(inner), asked: None })
    }

    /// The vendor.
    pub(crate) fn provider(&self) -> &str {
        &self.inner.provider
    }

    /// What must not stand in messages.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let signer = self.inner.sign.as_ref().map(|sign| sign.secrets()).unwrap_or_default();
        self.inner.secrets.iter().cloned().chain(signer).collect()
    }

    /// Where requests go, as messages show it: without user, password and query.
    fn address(&self) -> String {
        shown(self.asked.as_ref().unwrap_or(&self.inner.base))
    }

    /// Sends `body` to `path` below the server's address and waits until the answer begins. Where what lets requests in
    /// was refused and can be had anew, the request is sent once more.
    pub(crate) async fn post(&self, asking: Asking, model: &str, body: Bytes) -> Result<Events, LlmError> {
        let Asking { path, headers: more } = asking;
        let Inner { base, sign, provider, deadlines, .. } = &*self.inner;
        let here = Self { inner: self.inner.clone(), asked: Some(below(base, &path)) };
        let patience = Patience::begin(provider, *deadlines);
        let mut response = here.send(&more, &body, &patience).await?;
        if let (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(sign)) = (response.status(), sign)
            && sign.refused().await
        {
            response = here.send(&more, &body, &patience).await?;
        }
        match response.status() {
            status if status.is_success() => here.events(model, response, patience).await,
            status => Err(here.refused(model, status, response).await),
        }
    }

    /// Sends one request and waits for the headers of its answer.
    async fn send(&self, more: &HeaderMap, body: &Bytes, patience: &Patience) -> Result<Response, LlmError> {
        let Inner { client, base, headers, sign, .. } = &*self.inner;
        let url = self.asked.as_ref().unwrap_or(base);
        // Who signs may run programs and ask other servers, for a request that will not be sent.
        haft_net::Network::default().check(url).map_err(|offline| self.unreachable(offline.to_string()))?;
        let mut headers = headers.clone();
        headers.extend(more.clone());
        if let Some(sign) = sign {
            let made = sign.sign(Asked { url, headers: &headers, body }).await?;
            headers.extend(made);
        }
        tracing::info!(bytes = body.len(), "request sent");
        let request = client.post(url.clone()).headers(headers).body(body.clone()).send();
        let sent = patience.wait(Limit::FirstByte, Instant::now(), request).await?;
        sent.map_err(|error| match error.is_timeout() && error.is_connect() {
            true => patience.unconnected(),
            false => self.transport(error),
        })
    }

    async fn refused(&self, model: &str, status: StatusCode, response: Response) -> LlmError {
        if status.is_redirection() {
            let target = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let target = target.and_then(|target| self.inner.base.join(target).ok());
            let message = format!(
                "{} points to {}; set baseURL to the address that answers",
                self.address(),
                target.map_or_else(|| "another address".to_owned(), |url| shown(&url)),
            );
            let (provider, message) = (self.provider().to_owned(), hide(&message, &self.secrets()).into_owned());
            return LlmError::Rejected { provider, status: Some(status.as_u16()), message };
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let now = SystemTime::now();
        let (after, reset) = (retry::after(header, now), retry::reset(header, now));
        let body = self.read(response, Vec::new()).await;
        let hidden = hide(&body, &self.secrets());
        // A server in trouble, and a guard in front of it, speak in pages too; elsewhere it is the wrong address.
        let guarded = status.is_server_error() || matches!(status.as_u16(), 401 | 403 | 408 | 429);
        match page(&hidden) {
            Some(page) if !guarded => self.page(&page),
            _ => match self.told(model, Some(status.as_u16()), after, &body) {
                LlmError::RateLimited { provider, message, after: None } => {
                    LlmError::RateLimited { provider, message, after: reset }
                }
                other => other,
            },
        }
    }

    /// The answer as events, if it is a stream. Some servers forget to say so, hence the look at its first bytes.
    async fn events(&self, model: &str, mut response: Response, patience: Patience) -> Result<Events, LlmError> {
        let mut events = Events::new(self.clone(), Framing::of(response.headers()), patience);
        if matches!(events.decoder, Framing::Unknown) {
            let mut first = Vec::new();
            events.decoder = loop {
                let more = events.pulse.wait(response.chunk()).await?.map_err(|error| self.transport(error))?;
                first.extend_from_slice(more.as_deref().unwrap_or_default());
                match Framing::of_bytes(&first) {
                    Framing::Unknown if more.is_some() && first.trim_ascii_start().len() < LONGEST_FIELD => {}
                    Framing::Unknown => {
                        let body = self.read(response, first).await;
                        return Err(self.not_events(model, &body));
                    }
                    known => break known,
                }
            };
            events.take(&first);
        }
        events.response = Some(response).filter(|_| events.wrong.is_none());
        Ok(events)
    }

    fn not_events(&self, model: &str, body: &str) -> LlmError {
        let hidden = hide(body, &self.secrets());
        if let Some(page) = page(&hidden) {
            return self.page(&page);
        }
        let json: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        // Some vendors put it into a list.
        if json.get(0).unwrap_or(&json).get("error").is_some_and(|error| !error.is_null()) {
            return self.told(model, None, None, body);
        }
        let excerpt = match excerpt(&hidden) {
            text if text.is_empty() => "nothing at all".to_owned(),
            text => text,
        };
        self.malformed("an event stream", &excerpt)
    }

    /// What is left of the body behind `start`, up to the limit. A body that breaks off, or takes too long, still says
    /// something.
    async fn read(&self, mut response: Response, start: Vec<u8>) -> String {
        let idle = self.inner.deadlines.idle.unwrap_or(BODY_TIME);
        let end = Instant::now() + idle.min(BODY_TIME);
        let mut body = start;
        while body.len() < MAX_BODY {
            match tokio::time::timeout_at(end, response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        body.truncate(MAX_BODY);
        String::from_utf8_lossy(&body).into_owned()
    }

    fn told(&self, model: &str, status: Option<u16>, after: Option<Duration>, body: &str) -> LlmError {
        Told { provider: self.provider(), model, status, after, body, secrets: &self.secrets() }.classify()
    }

    fn page(&self, page: &str) -> LlmError {
        self.malformed("a model's answer", &format!("{page} at {}; check baseURL", self.address()))
    }

    fn malformed(&self, wanted: &'static str, excerpt: &str) -> LlmError {
        LlmError::Malformed { provider: self.provider().to_owned(), wanted, excerpt: excerpt.to_owned() }
    }

    /// An answer that began and does not go on.
    fn broken(&self, error: reqwest::Error) -> LlmError {
        tracing::warn!(error = ?error.without_url(), "the connection broke in the middle of an answer");
        LlmError::CutOff { provider: self.provider().to_owned() }
    }

    fn unreachable(&self, reason: String) -> LlmError {
        LlmError::Unreachable { provider: self.provider().to_owned(), address: self.address(), reason }
    }

    fn transport(&self, error: reqwest::Error) -> LlmError {
        if let Some(reason) = haft_net::hopeless(&error) {
            return self.unreachable(reason);
        }
        LlmError::Transport {
            provider: self.provider().to_owned(),
            address: self.address(),
            // The URL may carry a key in its query.
            source: error.without_url().into(),
        }
    }
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(base_url: &str, headers: &[(&str, &str)]) -> Result<Endpoint, String> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (provider, base_url) = ("v".to_owned(), base_url.to_owned());
        let server = Server { provider, base_url, headers, ..Server::default() };
        Endpoint::new(&server, Scheme::BEARER, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_that_cannot_work_are_refused_with_the_reason() {
        let row = |base: &str, headers: &[(&str, &str)], want: &str| {
            assert_eq!(endpoint(base, headers).unwrap_err(), format!("the settings of v cannot be used: {want}"));
        };
        row("api.example/v1", &[], r#"baseURL "api.example/v1" does not begin with https:// or http://"#);
        row("ftp://api.example", &[], r#"baseURL "ftp://api.example" does not begin with https:// or http://"#);
        row("me:pass@host/v1", &[], r#"baseURL "host/v1" does not begin with https:// or http://"#);
        row("//me:pass@host?key=k", &[], r#"baseURL "host" does not begin with https:// or http://"#);
        row("https://a.example", &[("a b", "c")], r#""a b" is no header, or its value is none"#);
        row("https://a.example", &[("a", "c\nd")], r#""a" is no header, or its value is none"#);
    }

    #[test]
    fn nothing_secret_shows_in_debug() {
        let headers = &[("x-api-key", "very-secret")];
        let text = format!("{:?}", endpoint("https://api.example", headers).unwrap());
        assert!(!text.contains("very-secret"), "{text}");
    }
}
