//! The requests of signing in, through the one client of the program.

use haft_net::{NetError, Options};
use reqwest::Url;
use reqwest::header::LOCATION;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use std::time::Duration;

/// Longest answer, in bytes.
pub const MAX_ANSWER: usize = 1024 * 1024;

/// Most answers of the kind "look there" in a row, all within one server.
const MAX_REDIRECTS: usize = 5;

/// Longest an answer may take.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) struct Exchange(reqwest::Client);

impl Exchange {
    pub(super) fn new() -> Result<Self, NetError> {
        let options = Options { connect_timeout: LIMIT, idle_timeout: LIMIT, ..Options::default() };
        Ok(Self(haft_net::client(options)?))
    }

    async fn answer(&self, asked: OAuthHttpRequest) -> Result<axum::http::Response<Vec<u8>>, OAuthHttpClientError> {
        let OAuthHttpRequest { request, redirect_policy, .. } = asked;
        let mut request = reqwest::Request::try_from(request)?;
        let mut left = match redirect_policy {
            OAuthHttpRedirectPolicy::Follow => MAX_REDIRECTS,
            // A code or a token is shown to the one it is for.
            _ => 0,
        };
        loop {
            let (at, again) = (request.url().clone(), request.try_clone());
            let mut response = self.0.execute(request).await?;
            if let (Some(mut next), Some(url), true) = (again, next(&response, &at), left > 0) {
                left -= 1;
                *next.url_mut() = url;
                request = next;
                continue;
            }
            let mut answer = axum::http::Response::builder().status(response.status());
            if let Some(headers) = answer.headers_mut() {
                headers.clone_from(response.headers());
            }
            let body = haft_net::body(&mut response, MAX_ANSWER).await?;
            let body = body.ok_or_else(|| format!("the answer of {at} has more than {MAX_ANSWER} bytes"))?;
            return Ok(answer.body(body)?);
        }
    }
}

/// Where an answer to a look at `at` says to look, if that is at the same server.
fn next(response: &reqwest::Response, at: &Url) -> Option<Url> {
    if !response.status().is_redirection() {
        return None;
    }
    let there = at.join(response.headers().get(LOCATION)?.to_str().ok()?).ok()?;
    (there.origin() == at.origin()).then_some(there)
}

impl OAuthHttpClient for Exchange {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let late = || -> OAuthHttpClientError { format!("no answer within {} s", LIMIT.as_secs()).into() };
            tokio::time::timeout(LIMIT, self.answer(request)).await.unwrap_or_else(|_| Err(late()))
        })
    }
}
