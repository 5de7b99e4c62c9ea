//! Tokens that expire: replaced before they do, by one process at a time.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use haft_vault::{Entry, Held, OAuth, Vault};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::{AuthError, Context, Hopeless};
use crate::{Asked, LlmError, Secret, Sign};

/// How long before its end a token is replaced, in milliseconds: a request that has begun must not outlive it.
const MARGIN: u64 = 60_000;

/// How often, and how far apart, another process that gets new tokens is waited for: a minute.
const TURNS: (u32, Duration) = (600, Duration::from_millis(100));

/// How a vendor replaces its tokens.
pub(super) trait Renew: Send + Sync + fmt::Debug {
    /// New tokens for old ones.
    fn renew<'a>(&'a self, tokens: &'a OAuth, context: &'a Context) -> BoxFuture<'a, Result<OAuth, AuthError>>;

    /// What goes with the token.
    fn headers(&self, tokens: &OAuth) -> Vec<(HeaderName, String)>;
}

/// Signs with tokens that are kept fresh.
#[derive(Debug)]
pub(super) struct Fresh(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    vendor: String,
    vault: Vault,
    context: Context,
    renew: Box<dyn Renew>,
    held: Mutex<State>,
    /// One renewal at a time in this process.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    tokens: OAuth,
    /// The vendor did not take the access token, whatever its time says.
    refused: bool,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("refused", &self.refused).finish_non_exhaustive()
    }
}

impl Fresh {
    /// Signs for `vendor` with `tokens`, which stand in `vault`.
    pub(super) fn new(vendor: &str, tokens: OAuth, vault: Vault, context: Context, renew: Box<dyn Renew>) -> Self {
        let held = Mutex::new(State { tokens, refused: false });
        Self(Arc::new(Inner {
            vendor: vendor.to_owned(),
            vault,
            context,
            renew,
            held,
            turn: tokio::sync::Mutex::default(),
        }))
    }
}

impl Inner {
    /// The tokens as they are now, if they are good.
    fn good(&self) -> Option<OAuth> {
        let state = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        (!state.refused && self.lasts(&state.tokens)).then(|| state.tokens.clone())
    }

    fn lasts(&self, tokens: &OAuth) -> bool {
        let lasts = tokens.expires == 0 || tokens.expires > self.context.now().saturating_add(MARGIN);
        lasts && !tokens.access.is_empty()
    }

    fn take(&self, tokens: &OAuth) {
        let state = State { tokens: tokens.clone(), refused: false };
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Good tokens, got anew where they must be.
    async fn tokens(self: Arc<Self>) -> Result<OAuth, AuthError> {
        let _turn = self.turn.lock().await;
        if let Some(tokens) = self.good() {
            return Ok(tokens);
        }
        let _held = self.alone().await?;
        let had = self.held.lock().unwrap_or_else(PoisonError::into_inner).tokens.clone();
        let known = match self.vault.get(&self.vendor)? {
            Some(Entry::OAuth(known)) => known,
            Some(Entry::Api(_) | Entry::WellKnown(_) | Entry::Elsewhere | Entry::Other(_)) | None => {
                let message = "you signed out, or in another way, while this ran".to_owned();
                return Err(AuthError::Refused { at: "the store of keys".to_owned(), message });
            }
        };
        // Another process was faster.
        if known.access != had.access && self.lasts(&known) {
            self.take(&known);
            return Ok(known);
        }
        if known.refresh.is_empty() {
            return Err(AuthError::Expired);
        }
        let new = self.renew.renew(&known, &self.context).await?;
        self.take(&new);
        let (vault, vendor, entry) = (self.vault.clone(), self.vendor.clone(), Entry::OAuth(new.clone()));
        let stored = tokio::task::spawn_blocking(move || vault.put(&vendor, &entry)).await;
        if !matches!(stored, Ok(Ok(_))) {
            // The tokens are good all the same, as long as this runs.
            tracing::warn!(vendor = self.vendor, "new tokens cannot be stored; sign in again if the next run cannot");
        }
        Ok(new)
    }

    /// Waits until no other process gets new tokens.
    async fn alone(&self) -> Result<Held, AuthError> {
        let (turns, pause) = TURNS;
        for _ in 0..turns {
            if let Some(held) = self.vault.hold()? {
                return Ok(held);
            }
            self.context.pause(pause).await;
        }
        Err(AuthError::Setup("another haft has been getting new tokens for a minute; end it and try again".to_owned()))
    }
}

impl Sign for Fresh {
    fn sign<'a>(&'a self, _asked: Asked<'a>) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, LlmError>> {
        Box::pin(async {
            let inner = &self.0;
            let tokens = match inner.good() {
                Some(tokens) => tokens,
                // A request that is given up must not lose new tokens on their way to the file: the old ones may be gone.
                None => match tokio::spawn(inner.clone().tokens()).await {
                    Ok(tokens) => tokens.map_err(|error| told(&inner.vendor, error))?,
                    Err(_) => {
                        return Err(told(&inner.vendor, AuthError::Setup("getting new tokens crashed".to_owned())));
                    }
                },
            };
            let mut headers = vec![(AUTHORIZATION, bearer(&inner.vendor, &tokens.access)?)];
            for (name, value) in inner.renew.headers(&tokens) {
                headers.push((name, sensitive(&inner.vendor, &value)?));
            }
            Ok(headers)
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        let state = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        let OAuth { access, refresh, .. } = &state.tokens;
        [access, refresh].into_iter().filter(|text| !text.is_empty()).map(Secret::new).collect()
    }

    fn refused(&self) -> BoxFuture<'_, bool> {
        let mut state = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        state.refused = true;
        Box::pin(std::future::ready(!state.tokens.refresh.is_empty() && state.tokens.expires != 0))
    }
}

/// A bearer token as a header.
pub(super) fn bearer(vendor: &str, token: &str) -> Result<HeaderValue, LlmError> {
    sensitive(vendor, &format!("Bearer {token}"))
}

fn sensitive(vendor: &str, value: &str) -> Result<HeaderValue, LlmError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        let message = "what is stored has characters that cannot be sent".to_owned();
        told(vendor, AuthError::Refused { at: "the store of keys".to_owned(), message })
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// What a failure to get tokens means for the request that needed them.
pub(super) fn told(vendor: &str, error: AuthError) -> LlmError {
    let provider = vendor.to_owned();
    match error {
        AuthError::Unreachable { at: address, source } => match source.downcast::<Hopeless>() {
            Ok(reason) => LlmError::Unreachable { provider, address, reason: reason.0 },
            Err(source) => LlmError::Transport { provider, address, source },
        },
        AuthError::Trouble { status, .. } => {
            let message = "its server for tokens has trouble of its own".to_owned();
            LlmError::Server { provider, status: Some(status), message, after: None }
        }
        error @ (AuthError::Setup(_)
        | AuthError::Refused { .. }
        | AuthError::Denied
        | AuthError::Expired
        | AuthError::Malformed { .. }
        | AuthError::Vault(_)) => {
            let why = match error {
                AuthError::Expired => "what you signed in with has expired".to_owned(),
                error => error.to_string(),
            };
            let message = format!("{why}; run `haft auth login {vendor}`");
            LlmError::Unauthorized { provider, status: None, message }
        }
    }
}
