//! A registry, over HTTP.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_net::{Options, Url};
use reqwest::StatusCode;

use crate::error::PackageError;
use crate::manifest::Packument;
use crate::settings::Settings;

/// Longest answer about a package, in bytes, unpacked.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// Largest archive of a package, in bytes, as it comes.
pub const MAX_TARBALL: usize = 128 * 1024 * 1024;
/// Longest that a registry may say nothing.
const SILENCE: Duration = Duration::from_secs(60);
/// How often a request is made again that broke off on its way.
const TRIES: usize = 3;
/// The short form of what is known of a package.
const SHORT: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";

/// Where packages come from. What it said of a package is asked once.
pub struct Registry {
    client: reqwest::Client,
    settings: Settings,
    known: Mutex<HashMap<String, Arc<Packument>>>,
}

impl Registry {
    /// As `settings` say. Asks nobody yet.
    ///
    /// # Errors
    ///
    /// [`haft_net::NetError`].
    pub fn new(settings: Settings) -> Result<Self, haft_net::NetError> {
        let client = haft_net::client(Options { idle_timeout: SILENCE, ..Options::default() })?;
        Ok(Self { client, settings, known: Mutex::default() })
    }

    /// What there is of the package `name`. Dropping the future ends the request.
    pub(crate) async fn packument(&self, name: &str) -> Result<Arc<Packument>, PackageError> {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Ok(known.clone());
        }
        let base = self.settings.registry(name);
        let url = base.join(&name.replace('/', "%2f")).map_err(|error| self.broken(name, error.to_string()))?;
        let bytes = self.get(&url, SHORT, MAX_ANSWER, name).await?;
        let found = serde_json::from_slice(&bytes)
            .map_err(|error| self.broken(name, format!("its answer is not understood: {error}")))?;
        let found = Arc::new(found);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), Arc::clone(&found));
        Ok(found)
    }

    /// The archive of the package `name` at `address`, which must be of the registry's own host.
    pub(crate) async fn tarball(&self, name: &str, address: &str) -> Result<Vec<u8>, PackageError> {
        let base = self.settings.registry(name);
        let url = Url::parse(address).map_err(|error| self.broken(name, format!("{address:?}: {error}")))?;
        if url.origin() != base.origin() {
            let host = url.host_str().unwrap_or_default();
            return Err(self.broken(name, format!("its files are said to be at {host}, which you did not choose")));
        }
        self.get(&url, "*/*", MAX_TARBALL, name).await
    }

    async fn get(&self, url: &Url, accept: &str, most: usize, name: &str) -> Result<Vec<u8>, PackageError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.ask(url, accept, most, name).await {
                Err(Failed::Way(error)) if tries < TRIES && haft_net::hopeless(&error).is_none() => {}
                Err(Failed::Way(error)) => return Err(self.broken(name, why(&error))),
                Err(Failed::Told(error)) => return Err(error),
                Ok(bytes) => return Ok(bytes),
            }
        }
    }

    async fn ask(&self, url: &Url, accept: &str, most: usize, name: &str) -> Result<Vec<u8>, Failed> {
        let mut request = self.client.get(url.clone()).header("accept", accept);
        if let Some(token) = self.settings.token(url) {
            request = request.bearer_auth(token);
        }
        let mut answer = request.send().await.map_err(Failed::Way)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                let registry = self.settings.registry(name).to_string();
                return Err(Failed::Told(PackageError::Missing { registry, what: name.to_owned() }));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let why = "it wants to know who asks; put its token into your .npmrc".to_owned();
                return Err(Failed::Told(self.broken(name, why)));
            }
            other => return Err(Failed::Told(self.broken(name, format!("it answered {other}")))),
        }
        let body = haft_net::body(&mut answer, most).await.map_err(Failed::Way)?;
        let large = || PackageError::Large { what: name.to_owned(), why: format!("more than {most} bytes came") };
        body.ok_or_else(|| Failed::Told(large()))
    }

    pub(crate) fn missing(&self, name: &str, range: &str) -> PackageError {
        let registry = self.settings.registry(name).to_string();
        PackageError::Missing { registry, what: format!("{name}@{range}") }
    }

    fn broken(&self, name: &str, why: String) -> PackageError {
        let registry = self.settings.registry(name).to_string();
        PackageError::Registry { registry, what: name.to_owned(), why }
    }
}

enum Failed {
    /// On the way; it may go better another time.
    Way(reqwest::Error),
    /// The registry has spoken.
    Told(PackageError),
}

/// An error with what is behind it.
fn why(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
