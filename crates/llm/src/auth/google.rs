//! Google's application default credentials: tokens for Vertex AI.
//!
//! They are looked for where Google's own programs look: what the settings hold, the file that
//! `GOOGLE_APPLICATION_CREDENTIALS` names, the one that `gcloud auth application-default login` writes, and on Google's
//! own machines the server that knows them. Nothing is read or asked before the first request.
//!
//! Tokens live in memory only: each is got from something that lasts.

mod ask;
mod credentials;
mod jwt;
mod metadata;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::Value;

use crate::{Asked, LlmError, Secret, Sign};
use ask::Teller;
use credentials::Credentials;

pub use metadata::Metadata;

/// What the tokens are for; the scope that Vertex AI asks for.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// How long before its end a token is replaced: a request that has begun must not outlive it.
const MARGIN: Duration = Duration::from_secs(60);

/// How long a token is asked for where that can be said, and how long it lasts where nobody says.
const LIFETIME: Duration = Duration::from_secs(3600);

/// Longest file with credentials, in bytes.
const MAX_FILE: usize = 256 * 1024;

/// What a person is told who has none.
const NONE: &str = "there are no Google credentials; run `gcloud auth application-default login`, or set \
    GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account";

/// Where credentials are looked for, in this order.
#[derive(Default)]
pub struct Lookup {
    /// In the settings, in the form of a file.
    pub written: Option<Value>,
    /// In the file that was named. It must be there.
    pub named: Option<PathBuf>,
    /// In the file where `gcloud` puts them, if it is there.
    pub usual: Option<PathBuf>,
    /// From the server that machines of Google's cloud have.
    pub metadata: Metadata,
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is written in the settings is a key.
        let Self { written, named, usual, metadata } = self;
        f.debug_struct("Lookup")
            .field("written", &written.is_some())
            .field("named", named)
            .field("usual", usual)
            .field("metadata", metadata)
            .finish()
    }
}

/// Signs with a token of Google's, kept fresh.
pub struct Google {
    provider: String,
    lookup: Lookup,
    held: Mutex<Held>,
    /// One request for a token at a time, and what they are got with.
    turn: tokio::sync::Mutex<Option<Credentials>>,
}

impl fmt::Debug for Google {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Google").field("provider", &self.provider).field("lookup", &self.lookup).finish_non_exhaustive()
    }
}

/// What is known by now.
#[derive(Default)]
struct Held {
    token: Option<Token>,
    /// What must not stand in messages.
    secrets: Vec<Secret>,
    /// Who pays, where the credentials say it.
    payer: Option<String>,
}

/// A token for requests.
#[derive(Clone)]
pub(super) struct Token {
    access: Secret,
    expires: SystemTime,
}

impl Token {
    /// One that lasts for `lifetime` from now on.
    fn new(access: &str, lifetime: Duration) -> Self {
        let now = SystemTime::now();
        Self { access: Secret::new(access), expires: now.checked_add(lifetime).unwrap_or(now) }
    }

    fn lasts(&self) -> bool {
        self.expires.duration_since(SystemTime::now()).is_ok_and(|left| left > MARGIN)
    }
}

impl Google {
    /// Tokens for `provider`. Nothing is looked for yet.
    pub fn new(provider: &str, lookup: Lookup) -> Self {
        Self { provider: provider.to_owned(), lookup, held: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        // Nothing under the lock leaves it half done.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A good token, got anew where it must be.
    async fn token(&self) -> Result<Token, LlmError> {
        let mut credentials = self.turn.lock().await;
        // Somebody else may have waited for it.
        if let Some(token) = self.held().token.clone().filter(Token::lasts) {
            return Ok(token);
        }
        let credentials = match &mut *credentials {
            Some(credentials) => credentials,
            none => none.insert(self.find().await?),
        };
        {
            let mut held = self.held();
            held.secrets = credentials.secrets();
            held.payer = credentials.payer().map(str::to_owned);
        }
        let token = Teller::new(&self.provider, credentials.secrets())?.token(credentials).await?;
        self.held().token = Some(token.clone());
        Ok(token)
    }

    /// The credentials, wherever they are.
    async fn find(&self) -> Result<Credentials, LlmError> {
        let Lookup { written, named, usual, metadata } = &self.lookup;
        let wrong = |message: String| self.unauthorized(message);
        if let Some(written) = written {
            return Credentials::of(written).map_err(|why| wrong(format!("the credentials of the settings {why}")));
        }
        for (path, must) in [(named, true), (usual, false)] {
            let Some(path) = path else { continue };
            let said = |why: &str| wrong(format!("the credentials in {} {why}", path.display()));
            match read(path.clone()).await {
                Ok(Some(text)) => {
                    let value: Value = serde_json::from_str(&text).map_err(|_| said("are no JSON"))?;
                    return Credentials::of(&value).map_err(|why| said(&why));
                }
                Ok(None) if must => return Err(said("are not there; GOOGLE_APPLICATION_CREDENTIALS names them")),
                Ok(None) => {}
                Err(why) => return Err(said(&why)),
            }
        }
        match metadata.host().await.map_err(wrong)? {
            Some(host) => Ok(Credentials::Machine(host)),
            None => Err(wrong(NONE.to_owned())),
        }
    }

    fn unauthorized(&self, message: String) -> LlmError {
        LlmError::Unauthorized { provider: self.provider.clone(), status: None, message }
    }

    fn header(&self, value: &str) -> Result<HeaderValue, LlmError> {
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| self.unauthorized("the token has characters that cannot be sent".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl Sign for Google {
    fn sign<'a>(&'a self, _asked: Asked<'a>) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, LlmError>> {
        Box::pin(async {
            let good = self.held().token.clone().filter(Token::lasts);
            let token = match good {
                Some(token) => token,
                None => self.token().await?,
            };
            let mut headers = vec![(AUTHORIZATION, self.header(&format!("Bearer {}", token.access.expose()))?)];
            if let Some(payer) = self.held().payer.clone() {
                headers.push((HeaderName::from_static("x-goog-user-project"), self.header(&payer)?));
            }
            Ok(headers)
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        let held = self.held();
        held.secrets.iter().cloned().chain(held.token.iter().map(|token| token.access.clone())).collect()
    }

    /// The token may have been revoked, or the file replaced: both are looked at again.
    fn refused(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            let had = self.held().token.take().is_some();
            *self.turn.lock().await = None;
            had
        })
    }
}

/// The text of a file, or `None` where there is none.
async fn read(path: PathBuf) -> Result<Option<String>, String> {
    use std::io::Read;
    let read = move || {
        let file = match std::fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot be read: {error}")),
        };
        let mut text = String::new();
        let most = MAX_FILE as u64 + 1;
        file.take(most).read_to_string(&mut text).map_err(|error| format!("cannot be read: {error}"))?;
        match text.len() > MAX_FILE {
            true => Err("are longer than 256 KiB".to_owned()),
            false => Ok(Some(text)),
        }
    };
    let done = tokio::task::spawn_blocking(read).await;
    done.unwrap_or_else(|_| Err("cannot be read".to_owned()))
}
