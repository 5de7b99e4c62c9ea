//! Signing in: how tokens are got, kept fresh, and shown to vendors.
//!
//! [`methods`] says which ways a vendor has; [`start`] begins one and gives what a person has to do, and a future that
//! ends with what is to be stored. [`credential`] makes of what is stored the [`crate::Key`] of a request.
//!
//! **Never here:** questions to a person, where things are stored, and vendors whose terms leave signing in to their own
//! programs; [`note`] says which those are.

pub mod aws;
mod browser;
pub(crate) mod chatgpt;
pub(crate) mod copilot;
mod fetched;
mod fresh;
pub mod gitlab;
pub mod google;
mod grant;
mod methods;
pub mod organisation;
pub mod sap;
mod snowflake;
mod stored;
mod web;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use futures::future::BoxFuture;
use haft_vault::{Entry, VaultError};
use reqwest::Url;
use serde_json::{Map, Value};

pub use methods::{Choice, Method, Prompt, PromptKind, Way, When, methods, note};
pub use stored::{Credential, credential};
pub use web::Context;

use crate::failure::excerpt;
use crate::http;

/// Longest a person may take in a browser. Codes of vendors last as long as they say, at most this.
pub const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Why signing in, or getting a new token, did not work.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// What was asked for cannot be done so.
    #[error("{0}")]
    Setup(String),
    /// The server that signs in cannot be reached; the same may work later.
    #[error("{at} cannot be reached")]
    Unreachable {
        /// Its address, without a query.
        at: String,
        /// What happened.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server has trouble of its own; the same may work later.
    #[error("{at} failed with status {status}")]
    Trouble {
        /// Its address, without a query.
        at: String,
        /// The HTTP status.
        status: u16,
    },
    /// The server says no. Signing in again may help.
    #[error("{at} says: {message}")]
    Refused {
        /// Its address, without a query.
        at: String,
        /// Its words.
        message: String,
    },
    /// The person said no.
    #[error("the sign-in was refused in the browser")]
    Denied,
    /// Nobody went there in time.
    #[error("nobody signed in before the code or the page expired; start again")]
    Expired,
    /// The answer is not what it should be.
    #[error("{at} answered with something that is not {wanted}")]
    Malformed {
        /// Its address, without a query.
        at: String,
        /// What was expected.
        wanted: &'static str,
    },
    /// What was got cannot be stored.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// Where servers that sign in are found.
///
/// Tests of the whole program set one server on this machine in the place of all: `HAFT_AUTH_SERVER=http://127.0.0.1:PORT`.
/// `https://github.com/login` is then `http://127.0.0.1:PORT/github.com/login`. Only this machine can be named, so that
/// no variable sends anybody's password elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Places {
    stand_in: Option<Url>,
}

impl Places {
    /// The variable that names a server in the place of all.
    pub const VARIABLE: &'static str = "HAFT_AUTH_SERVER";

    /// The usual ones, unless `value` of the variable names another.
    ///
    /// # Errors
    ///
    /// When it names none on this machine.
    pub fn from_variable(value: Option<&str>) -> Result<Self, AuthError> {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(Self::default()) };
        let url = Url::parse(value).ok().filter(is_loopback);
        let stand_in = url.ok_or_else(|| {
            AuthError::Setup(format!(
                "{} must be an address of this machine, such as http://127.0.0.1:8000",
                Self::VARIABLE
            ))
        })?;
        Ok(Self { stand_in: Some(stand_in) })
    }

    /// Where `url` is found.
    fn at(&self, url: &str) -> Result<Url, AuthError> {
        let wanted = Url::parse(url).map_err(|error| AuthError::Setup(format!("{url:?} is no address: {error}")))?;
        let Some(stand_in) = self.stand_in.as_ref().filter(|_| !is_loopback(&wanted)) else { return Ok(wanted) };
        let mut there = stand_in.clone();
        there.set_path(&format!("{}{}", wanted.host_str().unwrap_or_default(), wanted.path()));
        there.set_query(wanted.query());
        Ok(there)
    }

    /// The port for a page to come back to: the one that the vendor knows, or any with a server in its place.
    fn port(&self, registered: u16) -> u16 {
        if self.stand_in.is_some() { 0 } else { registered }
    }
}

/// Whether `url` is on this machine by its number, so that what is secret can go there without TLS. A name counts
/// nothing: somebody else could say what it stands for.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    matches!(url.scheme(), "http" | "https") && host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A sign-in that waits for a person.
pub struct Started {
    /// Where they have to go.
    pub url: String,
    /// What they have to type there; `None` where the page comes back by itself.
    pub code: Option<String>,
    /// How long they may take.
    pub lasts: Duration,
    /// Waits for them, and gives what is to be stored. Dropping it gives the sign-in up.
    pub done: BoxFuture<'static, Result<Entry, AuthError>>,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address and the code let somebody in.
        f.debug_struct("Started").field("lasts", &self.lasts).finish_non_exhaustive()
    }
}

/// Begins to sign in by `way`, with what a person answered to its prompts.
///
/// # Errors
///
/// When an answer cannot be used, or the server does not begin.
pub async fn start(way: Way, answers: &Map<String, Value>, context: &Context) -> Result<Started, AuthError> {
    let answer = |key: &str| answers.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    match way {
        Way::Key => Err(AuthError::Setup("a key is not signed in for; type it".to_owned())),
        Way::CopilotDevice => copilot::start(answer("enterpriseUrl"), context).await,
        Way::ChatGptBrowser => chatgpt::browser(context).await,
        Way::ChatGptDevice => chatgpt::device(context).await,
        Way::SnowflakeBrowser => {
            let account = answer("account")
                .ok_or_else(|| AuthError::Setup("Snowflake needs the account, such as myorg-myaccount".to_owned()))?;
            snowflake::browser(account, answer("role"), context).await
        }
    }
}

/// Why a server will not be reached, however often it is tried.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Hopeless(String);

/// The address of `url` as messages show it, shortened: servers may name any.
fn shown(url: &Url) -> String {
    excerpt(&http::shown(url))
}

#[cfg(test)]
mod tests;
