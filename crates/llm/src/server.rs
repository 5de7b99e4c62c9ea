//! Whom to ask: what every dialect has to know of a vendor, and how a request shows who pays.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::{LlmError, Manners, Secret};

/// Whom to ask, and how.
#[derive(Clone, Default)]
pub struct Server {
    /// The vendor's name, for messages and for what is given back to them.
    pub provider: String,
    /// The address above the path of the dialect, for example `https://api.openai.com/v1`. A query is kept.
    pub base_url: String,
    /// How a request shows who pays. `None`: nobody asks.
    pub key: Option<Key>,
    /// Further headers. They win over our own, and their values are treated as secrets.
    pub headers: Vec<(String, String)>,
    /// How long it may be silent.
    pub deadlines: Deadlines,
    /// What it wants in each request beyond its dialect.
    pub manners: Manners,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Server")
            .field("provider", &self.provider)
            .field("key", &self.key)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// On whose machines a dialect is spoken, where that changes its form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Place {
    /// On those of whoever made it, or of somebody who does as they do.
    #[default]
    Own,
    /// On Google's Vertex AI.
    Vertex,
    /// On Amazon's Bedrock.
    Bedrock,
}

/// How a request shows who pays.
#[derive(Debug, Clone)]
pub enum Key {
    /// A key, sent in the header that the dialect has for it.
    Plain(Secret),
    /// A bearer token, whatever the dialect: what comes from signing in, and what many gateways want.
    Bearer(Secret),
    /// A key in a header of its own, with nothing before it.
    Header(HeaderName, Secret),
    /// Made anew for each request: tokens that expire, signatures.
    Signed(Arc<dyn Sign>),
}

/// Makes what lets a request in.
pub trait Sign: Send + Sync + fmt::Debug {
    /// The headers to lay over those of `asked`. Called for each attempt, so that an expired token is replaced.
    /// Dropping the future cancels what it asks of others.
    fn sign<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, LlmError>>;

    /// What must not stand in messages, as far as it is known now.
    fn secrets(&self) -> Vec<Secret>;

    /// Told that the vendor refused what [`Sign::sign`] gave. Whether the same request is worth one more try, because
    /// something else will be given.
    fn refused(&self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }
}

/// A request that is about to be sent: a `POST`.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Where it goes.
    pub url: &'a Url,
    /// Its headers so far.
    pub headers: &'a HeaderMap,
    /// What it says.
    pub body: &'a [u8],
}

/// How long a vendor may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// Until a connection is open, TLS included. 30 seconds.
    pub connect: Duration,
    /// From when a request is sent until the answer's headers, and from these until its first line. `None`: as long as it
    /// likes. 300 seconds.
    pub first_byte: Option<Duration>,
    /// Between two lines of an answer. Bytes that end none are no answer yet, unless there are many of them. `None`: as
    /// long as it likes. 300 seconds.
    pub idle: Option<Duration>,
    /// For the whole of a request and its answer. `None`, as by default: as long as it likes.
    pub whole: Option<Duration>,
}

/// One of the [`Deadlines`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`Deadlines::connect`].
    Connect,
    /// [`Deadlines::first_byte`].
    FirstByte,
    /// [`Deadlines::idle`].
    Idle,
    /// [`Deadlines::whole`].
    Whole,
}

impl Limit {
    /// The option of a provider that sets it, in milliseconds. All but the first are OpenCode's.
    pub fn option(self) -> &'static str {
        match self {
            Limit::Connect => "connectTimeout",
            Limit::FirstByte => "headerTimeout",
            Limit::Idle => "chunkTimeout",
            Limit::Whole => "timeout",
        }
    }

    /// What did not happen in time.
    pub(crate) fn missed(self) -> &'static str {
        match self {
            Limit::Connect => "could not be connected to",
            Limit::FirstByte => "did not begin its answer",
            Limit::Idle => "said no more of its answer",
            Limit::Whole => "did not end its answer",
        }
    }
}

impl Deadlines {
    /// The usual ones, changed by the `options` of a provider: milliseconds, or `false` for as long as it likes (but for
    /// `connectTimeout`, which always has an end). What is neither is left as it is.
    pub fn from_options(options: &Map<String, Value>) -> Self {
        let usual = Self::default();
        let set = |limit: Limit, usual: Option<Duration>| match options.get(limit.option()) {
            Some(Value::Bool(false)) => None,
            Some(Value::Number(number)) => {
                number.as_u64().filter(|&time| time > 0).map(Duration::from_millis).or(usual)
            }
            Some(_) | None => usual,
        };
        Self {
            connect: set(Limit::Connect, Some(usual.connect)).unwrap_or(usual.connect),
            first_byte: set(Limit::FirstByte, usual.first_byte),
            idle: set(Limit::Idle, usual.idle),
            whole: set(Limit::Whole, usual.whole),
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        let silence = Duration::from_secs(300);
        Self { connect: Duration::from_secs(30), first_byte: Some(silence), idle: Some(silence), whole: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn deadlines_are_those_of_the_options() {
        let row = |options: Value, want: Deadlines| {
            assert_eq!(Deadlines::from_options(options.as_object().unwrap()), want, "{options}");
        };
        let usual = Deadlines::default();
        let ms = Duration::from_millis;
        row(json!({}), usual);
        row(json!({"timeout": 7000}), Deadlines { whole: Some(ms(7000)), ..usual });
        row(
            json!({"headerTimeout": 10, "chunkTimeout": 20}),
            Deadlines { first_byte: Some(ms(10)), idle: Some(ms(20)), ..usual },
        );
        row(
            json!({"timeout": false, "headerTimeout": false, "chunkTimeout": false}),
            Deadlines { first_byte: None, idle: None, whole: None, ..usual },
        );
        row(json!({"connectTimeout": 5}), Deadlines { connect: ms(5), ..usual });
        row(json!({"connectTimeout": false, "timeout": 0, "headerTimeout": -1, "chunkTimeout": "7"}), usual);
        row(json!({"timeout": true, "chunkTimeout": null, "headerTimeout": 1.5}), usual);
    }
}
