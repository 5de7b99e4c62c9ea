//! Asking a server that signs in: one bounded question, one bounded answer.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, Request, Response};
use reqwest::Url;
use serde_json::Value;

use super::{AuthError, Hopeless, Places, shown};
use crate::failure::excerpt;

/// Longest that a server which signs in may take for a whole answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Longest answer of such a server, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

/// What signing in needs of the world: servers, a clock, patience. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub(super) places: Places,
    client: reqwest::Client,
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    pause: Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("places", &self.places).finish_non_exhaustive()
    }
}

impl Context {
    /// The world as it is. Redirects are not followed: no token goes where nobody said.
    ///
    /// # Errors
    ///
    /// When there can be no connections.
    pub fn new(places: Places) -> Result<Self, AuthError> {
        let client = haft_net::client(haft_net::Options::default());
        let client = client.map_err(|error| AuthError::Setup(error.to_string()))?;
        let now = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        };
        Ok(Self { places, client, now: Arc::new(now), pause: Arc::new(|time| Box::pin(tokio::time::sleep(time))) })
    }

    /// The same, where each pause is `margin` longer.
    pub(super) fn patient(&self, margin: Duration) -> Self {
        let pause = self.pause.clone();
        Self { pause: Arc::new(move |time| pause(time + margin)), ..self.clone() }
    }

    /// The same with another clock, in milliseconds since the Unix epoch, and another way to wait.
    #[cfg(test)]
    pub(super) fn scripted(
        self,
        now: impl Fn() -> u64 + Send + Sync + 'static,
        pause: impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), pause: Arc::new(pause), ..self }
    }

    /// The time, in milliseconds since the Unix epoch.
    pub(super) fn now(&self) -> u64 {
        (self.now)()
    }

    /// Waits.
    pub(super) fn pause(&self, time: Duration) -> BoxFuture<'static, ()> {
        (self.pause)(time)
    }

    /// Sends `request` and reads the whole answer; of its headers the place that it points to is kept. One whose `error`
    /// hides behind a good status is given the status of an error, and a token without a type is a bearer token, as
    /// everywhere where it is not said.
    pub(super) async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, AuthError> {
        let request = reqwest::Request::try_from(request).map_err(|error| AuthError::Setup(error.to_string()))?;
        let at = shown(request.url());
        let failed = |error: reqwest::Error| AuthError::Unreachable {
            at: at.clone(),
            source: match haft_net::hopeless(&error) {
                Some(reason) => Box::new(Hopeless(reason)),
                None => error.without_url().into(),
            },
        };
        let asked = async {
            let mut answer = self.client.execute(request).await.map_err(failed)?;
            let (status, place) = (answer.status(), answer.headers().get(LOCATION).cloned());
            let body = haft_net::body(&mut answer, MAX_ANSWER).await.map_err(failed)?;
            let long = || AuthError::Malformed { at: at.clone(), wanted: "an answer of at most 256 KiB" };
            body.ok_or_else(long).map(|body| (status, place, body))
        };
        let late = || AuthError::Unreachable { at: at.clone(), source: "it did not answer in 30 seconds".into() };
        let (mut status, place, mut body) = tokio::time::timeout(DEADLINE, asked).await.map_err(|_| late())??;
        if status.is_server_error() || status.as_u16() == 429 {
            return Err(AuthError::Trouble { at, status: status.as_u16() });
        }
        if status.is_success()
            && let Ok(Value::Object(mut fields)) = serde_json::from_slice::<Value>(&body)
        {
            if fields.get("error").is_some_and(Value::is_string) {
                status = http::StatusCode::BAD_REQUEST;
            } else if fields.contains_key("access_token") && !fields.contains_key("token_type") {
                fields.insert("token_type".to_owned(), "bearer".into());
                body = Value::Object(fields).to_string().into_bytes();
            }
        }
        let mut response = Response::new(body);
        *response.status_mut() = status;
        if let Some(place) = place {
            response.headers_mut().insert(LOCATION, place);
        }
        Ok(response)
    }

    /// Sends `body` as JSON to `url`; gives the status and what came, if it is JSON.
    pub(super) async fn post_json(&self, url: &Url, body: &Value) -> Result<(u16, Value), AuthError> {
        let json = HeaderValue::from_static("application/json");
        let request = Request::builder().method(Method::POST).uri(url.as_str());
        let request =
            request.header(ACCEPT, json.clone()).header(CONTENT_TYPE, json).body(body.to_string().into_bytes());
        let response = self.send(request.map_err(|error| AuthError::Setup(error.to_string()))?).await?;
        let value = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
        Ok((response.status().as_u16(), value))
    }
}

/// The words of a server that says no: what the standard has for it, shortened.
pub(super) fn words(code: &str, description: Option<&str>) -> String {
    match description.filter(|description| !description.trim().is_empty()) {
        Some(description) => excerpt(&format!("{description} ({code})")),
        None => excerpt(code),
    }
}
