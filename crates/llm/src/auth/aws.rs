//! Keys for Amazon, from the places where its own programs keep them, and signatures made with them.
//!
//! In this order: keys of the settings; the profile that the settings name; keys of the environment; a role with a
//! token from a file (`AWS_WEB_IDENTITY_TOKEN_FILE`); a profile of `~/.aws`; what a container is given; what a machine
//! of Amazon's is given. The first place that has something is the one: if it fails there, that is told.
//!
//! Where nothing is asked for, nothing is asked: files are read and servers spoken to when the first request is signed.

mod fetch;
mod files;
mod given;
mod keys;
mod process;
mod profile;
mod role;
mod signature;
mod sources;
mod sso;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use reqwest::header::{HeaderName, HeaderValue};

use crate::{Asked, LlmError, Secret, Sign};
pub use files::region_of_profile;
pub use keys::Keys;
use sources::Found;
pub use sources::{Environment, Settings, VARIABLES};

/// How long before their end keys are replaced: a request that has begun must not outlive them.
const MARGIN: Duration = Duration::from_secs(120);

/// The time, for tests that have their own.
type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Why there are no keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Somebody has to do something. Text for a person.
    Wrong(String),
    /// It may work later.
    Passing(String),
}

impl Failure {
    fn wrong(text: impl Into<String>) -> Self {
        Self::Wrong(text.into())
    }

    fn told(self, provider: &str) -> LlmError {
        let provider = provider.to_owned();
        match self {
            Self::Wrong(message) => LlmError::Unauthorized { provider, status: None, message },
            Self::Passing(message) => LlmError::Server { provider, status: None, message, after: None },
        }
    }
}

/// Signs requests with Amazon's signature, version 4.
pub struct Aws {
    settings: Settings,
    clock: Clock,
    held: Mutex<Held>,
    /// Keys are got once at a time.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Held {
    found: Option<Found>,
    /// Those before them: a refusal that comes late must not show them.
    before: Option<Keys>,
}

impl fmt::Debug for Aws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aws").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Aws {
    /// Asks nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self::at(settings, Arc::new(SystemTime::now))
    }

    fn at(settings: Settings, clock: Clock) -> Self {
        Self { settings, clock, held: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// The keys, if they are still good.
    fn good(&self) -> Option<Keys> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = &held.found.as_ref()?.keys;
        let lasts = keys.expires.is_none_or(|end| end > (self.clock)() + MARGIN);
        lasts.then(|| keys.clone())
    }

    async fn keys(&self) -> Result<Keys, Failure> {
        if let Some(keys) = self.good() {
            return Ok(keys);
        }
        let _turn = self.turn.lock().await;
        // Somebody else was faster.
        if let Some(keys) = self.good() {
            return Ok(keys);
        }
        self.get().await
    }

    async fn get(&self) -> Result<Keys, Failure> {
        let found = sources::find(&self.settings, (self.clock)()).await?;
        let keys = found.keys.clone();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.before = held.found.replace(found).map(|found| found.keys);
        Ok(keys)
    }
}

impl Sign for Aws {
    fn sign<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, LlmError>> {
        Box::pin(async move {
            let Settings { provider, region, service, .. } = &self.settings;
            let keys = self.keys().await.map_err(|failure| failure.told(provider))?;
            let scope = signature::Scope { region, service, time: (self.clock)() };
            let made = signature::headers(&keys, scope, "POST", asked.url, asked.headers, asked.body);
            made.map_err(|failure| failure.told(provider))
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let all = held.found.as_ref().map(|found| &found.keys).into_iter().chain(&held.before);
        all.flat_map(Keys::secrets).chain(self.settings.secrets()).collect()
    }

    /// Gets keys anew. What was written down by hand stays what it is.
    fn refused(&self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            let old = {
                let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                match &held.found {
                    Some(found) if found.can_change => Some(found.keys.clone()),
                    Some(_) | None => None,
                }
            };
            match old {
                Some(old) => self.get().await.is_ok_and(|new| new != old),
                None => false,
            }
        })
    }
}

#[cfg(test)]
mod tests;
