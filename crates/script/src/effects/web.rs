//! `fetch`: to where leave was given for, step by step.

use std::time::Duration;

use haft_net::{Place, Url, WebError};
use haft_permission::{Access, Done, Effect};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CallWorld, pack, unpack};
use crate::error::Refusal;

/// Most bytes of an answer.
const MAX_ANSWER: usize = 8 * 1024 * 1024;
/// Most redirects in a row.
const MAX_HOPS: usize = 10;
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
pub(super) struct Fetch {
    url: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body: Option<String>,
    #[serde(default)]
    redirect: String,
}

impl CallWorld<'_> {
    pub(super) async fn fetch(&self, fetch: Fetch) -> Result<Value, Refusal> {
        let Fetch { url, mut method, mut headers, body, redirect } = fetch;
        let mut url = Url::parse(&url).map_err(|error| Refusal::coded("ERR_INVALID_URL", format!("{url}: {error}")))?;
        let mut body = body.as_deref().map(unpack).transpose()?;
        for hop in 0..=MAX_HOPS {
            if !matches!(url.scheme(), "http" | "https") {
                return Err(Refusal::new(format!("fetch goes to http and https alone, not to {url}")));
            }
            let grant = self.granted(access(&url, &method)).await?;
            let web = &self.doors.web;
            let place = timed(web.place(&url)).await?;
            self.inside(&url, &place).await?;
            grant.note(Done::Spoke(host(&url)));
            let pairs: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let answer = timed(web.send(&place, &method, &pairs, body.clone())).await?;
            let status = answer.status();
            let onward = matches!(status, 301 | 302 | 303 | 307 | 308).then(|| answer.location()).flatten();
            match onward.filter(|_| redirect != "manual") {
                Some(_) if redirect == "error" => return Err(Refusal::new(format!("{url} redirects"))),
                Some(location) => {
                    let next = url.join(&location).map_err(|error| Refusal::new(format!("{location}: {error}")))?;
                    if next.origin() != url.origin() {
                        // What was meant for one host is not shown to another.
                        let kept = ["authorization", "cookie", "proxy-authorization"];
                        headers.retain(|(name, _)| !kept.contains(&name.as_str()));
                    }
                    if status == 303 || (matches!(status, 301 | 302) && method == "POST") {
                        (method, body) = ("GET".to_owned(), None);
                    }
                    url = next;
                }
                None => {
                    let headers: Vec<(String, String)> = answer.headers().collect();
                    let bytes = timed(answer.body(MAX_ANSWER)).await?;
                    return Ok(json!({
                        "status": status, "headers": headers, "body": pack(&bytes), "url": url.as_str(),
                        "redirected": hop > 0,
                    }));
                }
            }
        }
        Err(Refusal::new(format!("{url} redirects again after {MAX_HOPS} redirects")))
    }

    /// Leave to go to a place that is not the public internet.
    async fn inside(&self, url: &Url, place: &Place) -> Result<(), Refusal> {
        let Some((address, why)) = place.inside() else { return Ok(()) };
        let origin = url.origin().ascii_serialization();
        let always = if origin.contains(['*', '?', '\\']) { Vec::new() } else { vec![format!("{origin}/*")] };
        let mut access = Access { always, ..Access::new("webfetch_private", url.as_str()) }.show("url", url.as_str());
        if let Some(address) = address {
            access = access.show("address", address.to_string());
        }
        self.granted(access.show("reason", why.words())).await.map(drop)
    }
}

fn access(url: &Url, method: &str) -> Access {
    let access = Access::new("webfetch", url.as_str()).with(Effect::Host(host(url))).show("url", url.as_str());
    if matches!(method, "GET" | "") { access } else { access.show("method", method) }
}

fn host(url: &Url) -> String {
    let port = url.port_or_known_default().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}{port}", url.host_str().unwrap_or_default())
}

async fn timed<T>(work: impl Future<Output = Result<T, WebError>>) -> Result<T, Refusal> {
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(done) => done.map_err(|error| Refusal::coded("ECONNREFUSED", format!("fetch failed: {error}"))),
        Err(_) => Err(Refusal::coded("ETIMEDOUT", format!("fetch failed: no answer within {} s", TIMEOUT.as_secs()))),
    }
}
