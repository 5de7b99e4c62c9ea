//! Tokens that are got with something lasting, such as a key, and kept in memory while they are good.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::fresh::{bearer, told};
use super::{AuthError, Context};
use crate::{Asked, Key, LlmError, Secret, Sign};

/// How a vendor gives tokens.
pub(super) trait Fetch: Send + Sync + fmt::Debug + 'static {
    /// The vendor's id.
    const VENDOR: &'static str;

    /// A new token.
    fn fetch<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Token, AuthError>>;

    /// What it is got with.
    fn secret(&self) -> &Secret;
}

/// What a vendor gives.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) access: Secret,
    /// What goes with it.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// How long it is used.
    pub(super) lasts: Duration,
}

/// Lets requests in with the tokens of `fetch`. The first is got when it is needed.
pub(super) fn key(fetch: impl Fetch, context: Context) -> Key {
    Key::Signed(Arc::new(Fetched { fetch, context, held: Mutex::default(), turn: tokio::sync::Mutex::default() }))
}

#[derive(Debug)]
struct Fetched<F> {
    fetch: F,
    context: Context,
    /// The token, and when it is used no more, in milliseconds since the Unix epoch.
    held: Mutex<Option<(Token, u64)>>,
    /// One request for a token at a time.
    turn: tokio::sync::Mutex<()>,
}

impl<F: Fetch> Fetched<F> {
    fn held(&self) -> MutexGuard<'_, Option<(Token, u64)>> {
        // Nothing under the lock leaves it half done.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn token(&self) -> Result<Token, AuthError> {
        let _turn = self.turn.lock().await;
        let held = self.held().clone();
        if let Some((token, _)) = held.filter(|(_, until)| *until > self.context.now()) {
            return Ok(token);
        }
        let token = self.fetch.fetch(&self.context).await?;
        let lasts = u64::try_from(token.lasts.as_millis()).unwrap_or(u64::MAX);
        *self.held() = Some((token.clone(), self.context.now().saturating_add(lasts)));
        Ok(token)
    }
}

impl<F: Fetch> Sign for Fetched<F> {
    fn sign<'a>(&'a self, _asked: Asked<'a>) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, LlmError>> {
        Box::pin(async {
            let Token { access, mut headers, .. } = self.token().await.map_err(|error| told(F::VENDOR, error))?;
            headers.push((AUTHORIZATION, bearer(F::VENDOR, access.expose())?));
            Ok(headers)
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        let token = self.held().as_ref().map(|(token, _)| token.access.clone());
        token.into_iter().chain([self.fetch.secret().clone()]).collect()
    }

    /// It may have been revoked: another one is worth a try.
    fn refused(&self) -> BoxFuture<'_, bool> {
        let had = self.held().take().is_some();
        Box::pin(std::future::ready(had))
    }
}
