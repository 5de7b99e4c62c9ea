//! One bounded question to a server that gives keys.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};

use super::Failure;
use crate::Secret;
use crate::failure::hide;

/// Longest answer, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

/// Longest that a server may take for a whole answer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Longest that a server beside this machine may take. Where there is none, nobody says so.
const NEAR: Duration = Duration::from_secs(2);

/// How far away a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    /// On this machine or its wire.
    Near,
    Far,
}

/// The status and the body of an answer. Redirects are not followed: a key goes nowhere else.
pub(super) async fn ask(
    method: Method,
    url: &Url,
    headers: HeaderMap,
    body: Vec<u8>,
    distance: Distance,
) -> Result<(u16, String), Failure> {
    let host = url.host_str().unwrap_or_default();
    let deadline = match distance {
        Distance::Near => NEAR,
        Distance::Far => DEADLINE,
    };
    let unreachable = |what: &str| Failure::Passing(format!("{host}, which gives keys, cannot be reached: {what}"));
    let failed = |error: reqwest::Error| match haft_net::hopeless(&error) {
        Some(why) => Failure::Wrong(why),
        None => unreachable(&because(&error)),
    };
    let options = haft_net::Options { connect_timeout: deadline, ..haft_net::Options::default() };
    let client = haft_net::client(options).map_err(|error| Failure::wrong(error.to_string()))?;
    // Some servers repeat what they refuse.
    let shown = headers.values().filter(|value| value.is_sensitive()).filter_map(|value| value.to_str().ok());
    let shown: Vec<Secret> = shown.filter(|value| !value.is_empty()).map(Secret::new).collect();
    let asked = async {
        let mut answer =
            client.request(method, url.clone()).headers(headers).body(body).send().await.map_err(failed)?;
        let status = answer.status().as_u16();
        let body = haft_net::body(&mut answer, MAX_ANSWER).await.map_err(failed)?;
        let long = || Failure::wrong(format!("the answer of {host}, which gives keys, is longer than 256 KiB"));
        let body = body.ok_or_else(long)?;
        let body = String::from_utf8_lossy(&body);
        Ok((status, if status == 200 { body.into_owned() } else { hide(&body, &shown).into_owned() }))
    };
    let late = || unreachable(&format!("no answer in {} seconds", deadline.as_secs()));
    tokio::time::timeout(deadline, asked).await.map_err(|_| late())?
}

/// The causes of an error, without the address, which may hold names of roles.
fn because(error: &reqwest::Error) -> String {
    let mut source = std::error::Error::source(error);
    let mut last = None;
    while let Some(cause) = source {
        last = Some(cause.to_string());
        source = cause.source();
    }
    last.unwrap_or_else(|| "the connection failed".to_owned())
}
