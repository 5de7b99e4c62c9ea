//! Signing in at servers of tools: OAuth 2.1 as the protocol has it.
//!
//! [`authorized`] gives a client that shows what is stored for a server, and gets new tokens where the old ones have
//! run out. Where the server wants more than that, [`SignIn::begin`] finds out who signs people in there, who we are to
//! them, and the page where the person says yes; [`SignIn::finish`] waits until that page comes back to this machine.
//!
//! Where no person signs in, [`Grant`] says how tokens are got instead: each time when one is needed and none is there.
//!
//! Every request goes through [`haft_net`]. Nothing here opens a browser or asks anybody.

mod callback;
mod credentials;
mod exchange;
mod machine;
mod sign_in;
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use haft_net::Url;
use rmcp::transport::auth::{
    AuthClient, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataResolution, OAuthClientConfig,
};

pub use callback::PATIENCE;
pub use exchange::MAX_ANSWER;
pub use machine::{Grant, MAX_SECRET_FILE, Organisation};
pub use rmcp::transport::auth::AuthError;
pub use sign_in::SignIn;
pub use store::{Kept, MAX_FILE, MAX_KEPT, State, Store};

use self::credentials::Credentials;
use self::exchange::Exchange;

/// Most characters of what a server says when it refuses a request.
const MAX_CHALLENGE: usize = 4096;

/// Where a browser comes back to, unless the settings say otherwise.
const PORT: u16 = 19876;

/// A server where one signs in, as the settings have it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The server's name.
    pub name: String,
    /// Its address.
    pub url: String,
    /// Who we are there, where that was arranged.
    pub client_id: Option<String>,
    /// The proof of it.
    pub client_secret: Option<String>,
    /// An address that says who we are, for servers that read one.
    pub client_page: Option<String>,
    /// What is asked for, its words apart by blanks. What the server says it needs, if left out.
    pub scope: Option<String>,
    /// The port on this machine that the browser comes back to; 0 for any.
    pub callback_port: Option<u16>,
    /// The address that the browser comes back to.
    pub redirect_uri: Option<String>,
    /// How tokens are got.
    pub grant: Grant,
    /// The file with the private key that proves who we are, instead of `client_secret`. For [`Grant`]s without a person.
    pub key_file: Option<PathBuf>,
}

impl Account {
    /// Whether a person signs in there.
    pub fn is_a_persons(&self) -> bool {
        self.grant == Grant::Person
    }

    /// The addresses that the settings themselves name.
    fn addresses(&self) -> Vec<String> {
        let further = match &self.grant {
            Grant::Organisation(organisation) => {
                [Some(&organisation.issuer), organisation.token_url.as_ref()].into_iter().flatten().cloned().collect()
            }
            Grant::Person | Grant::Client => Vec::new(),
        };
        std::iter::once(self.url.clone()).chain(further).collect()
    }

    /// Where the browser comes back to, if the port is not any.
    fn redirect(&self) -> String {
        match &self.redirect_uri {
            Some(uri) => uri.clone(),
            None => format!("http://127.0.0.1:{}{}", self.callback_port.unwrap_or(PORT), callback::PATH),
        }
    }
}

/// Why signing in did not work.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// The server takes only clients that it was told of beforehand.
    #[error(
        "{0} takes only clients that it knows: register one there, and set mcp.{0}.oauth.clientId (and clientSecret, if it gave one)"
    )]
    NeedsRegistration(String),
    /// The browser cannot come back.
    #[error("{0}")]
    Callback(String),
    /// The page said no.
    #[error("the sign-in was refused: {0}")]
    Refused(String),
    /// Nobody went there in time.
    #[error("nobody signed in within five minutes; start again")]
    Late,
    /// Tokens that need no person are not given.
    #[error("{name} gave no token: {why}")]
    NoToken {
        /// The server.
        name: String,
        /// Why.
        why: String,
    },
    /// The servers do not do what the protocol wants of them, or cannot be reached.
    #[error("signing in at {name} failed")]
    Failed {
        /// The server.
        name: String,
        /// Why.
        #[source]
        source: Box<AuthError>,
    },
    /// What is stored cannot be read or written.
    #[error("{path}: {why}")]
    Store {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
}

/// `http` as a client that shows what is stored for `account`. Where nothing is, it shows nothing, and the server's
/// refusal says what it wants. Where no person signs in, tokens are got first.
///
/// # Errors
///
/// When the address is none, the store cannot be read, or nobody gives tokens.
pub async fn authorized<C>(store: &Store, account: &Account, http: C) -> Result<AuthClient<C>, OAuthError> {
    let (mut manager, exchange) = manager(store, account).await?;
    if !account.is_a_persons() {
        machine::current(store, account).await?;
        prepare_machine(&mut manager, account)
            .map_err(|source| OAuthError::Failed { name: account.name.clone(), source: Box::new(source) })?;
        return Ok(AuthClient::new(http, manager));
    }
    if let Some(kept) = store.get(&account.name, &account.url)?
        && kept.tokens.is_some()
        && let Err(error) = prepare(&mut manager, &exchange, account, &kept).await
    {
        // What is stored may do for a while; it cannot be made new.
        tracing::info!(
            server = account.name,
            error = haft_tool::with_causes(&error),
            "who signs people in is not known"
        );
    }
    Ok(AuthClient::new(http, manager))
}

/// Gets tokens for `account`, where no person signs in, unless there are some that hold. Takes a minute at most.
///
/// # Errors
///
/// When nobody gives any.
pub async fn fetch(store: &Store, account: &Account) -> Result<(), OAuthError> {
    machine::current(store, account).await.map(drop)
}

/// Readies `manager` for a server whose tokens [`Credentials`] gets: there is nothing to renew, so it asks nobody.
fn prepare_machine(manager: &mut AuthorizationManager, account: &Account) -> Result<(), AuthError> {
    let mut nobody = AuthorizationMetadata::default();
    nobody.authorization_endpoint.clone_from(&account.url);
    nobody.token_endpoint.clone_from(&account.url);
    manager.set_metadata(nobody);
    manager.configure_client_id(account.client_id.as_deref().unwrap_or_default())
}

/// Readies `manager` to get new tokens for what is `kept`.
async fn prepare(
    manager: &mut AuthorizationManager,
    exchange: &Exchange,
    account: &Account,
    kept: &Kept,
) -> Result<(), AuthError> {
    let found = discover(manager, exchange, account, None).await?;
    manager.set_metadata(found.metadata);
    // Forgets what another server gave.
    if !manager.initialize_from_store().await? {
        return Ok(());
    }
    let Some(client) = &kept.client else { return Ok(()) };
    let mut config = OAuthClientConfig::new(&client.id, account.redirect());
    let own = account.client_id.as_ref() == Some(&client.id);
    if let Some(secret) = account.client_secret.as_ref().filter(|_| own).or(client.secret.as_ref()) {
        config = config.with_client_secret(secret);
    }
    manager.configure_client(config)
}

/// Whether `account` takes only clients that it was told of beforehand, and we are none. `challenge` is what it said when
/// it refused a request. Where that cannot be found out, it is left to the sign-in to say.
pub async fn needs_registration(store: &Store, account: &Account, challenge: Option<&str>) -> bool {
    if account.client_id.is_some() {
        return false;
    }
    let Ok((manager, exchange)) = manager(store, account).await else { return false };
    let Ok(found) = discover(&manager, &exchange, account, challenge).await else { return false };
    found.metadata.registration_endpoint.is_none() && found.source.is_discovered() && account.client_page.is_none()
}

/// Has the next request get other tokens for `account`, where that needs no person: the server refuses those that it was
/// shown. `challenge` is what it said. Says whether that may help.
pub fn renewed(store: &Store, account: &Account, challenge: Option<&str>) -> bool {
    if account.is_a_persons() {
        return false;
    }
    let challenge: Option<String> = challenge.map(|said| said.chars().take(MAX_CHALLENGE).collect());
    let forgotten = machine::refused(store, account, challenge.as_deref());
    if let Err(error) = &forgotten {
        tracing::warn!(server = account.name, error = haft_tool::with_causes(error), "its tokens are not forgotten");
    }
    forgotten.is_ok()
}

/// Remembers what a server said when it refused a request, for the next sign-in.
pub fn challenged(store: &Store, account: &Account, challenge: &str) {
    let challenge: String = challenge.chars().take(MAX_CHALLENGE).collect();
    let kept = store.get(&account.name, &account.url).map(Option::unwrap_or_default);
    let put = kept.and_then(|kept| {
        let kept = store::Kept { url: account.url.clone(), challenge: Some(challenge), ..kept };
        store.put(&account.name, &kept)
    });
    if let Err(error) = put {
        tracing::warn!(
            server = account.name,
            error = haft_tool::with_causes(&error),
            "what it wants is not remembered"
        );
    }
}

async fn manager(store: &Store, account: &Account) -> Result<(AuthorizationManager, Arc<Exchange>), OAuthError> {
    let failed = |source| OAuthError::Failed { name: account.name.clone(), source: Box::new(source) };
    let exchange = Exchange::new(account.addresses())
        .map_err(|error| failed(AuthError::InternalError(haft_tool::with_causes(&error))))?;
    let exchange = Arc::new(exchange);
    let made = AuthorizationManager::new_with_oauth_http_client(account.url.as_str(), exchange.clone()).await;
    let mut manager = made.map_err(failed)?;
    manager.set_credential_store(Credentials::new(store.clone(), account));
    Ok((manager, exchange))
}

/// Who signs people in at the server of `account`. `challenge` is what it said when it refused a request.
async fn discover(
    manager: &AuthorizationManager,
    exchange: &Exchange,
    account: &Account,
    challenge: Option<&str>,
) -> Result<AuthorizationMetadataResolution, AuthError> {
    let found = manager.resolve_metadata_from_challenge(challenge).await;
    let Err(AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer }) = &found else { return found };
    // Servers of the first revision (2025-03-26) describe themselves at the root of their host, whatever they are called
    // below it. Whoever names somebody to sign people in, as later ones do, is taken at their word.
    if exchange.has_seen_a_resource() || !is_at_root(&account.url, expected_issuer, received_issuer) {
        return found;
    }
    exchange.rename(received_issuer, expected_issuer);
    let mut found = manager.resolve_metadata_from_challenge(challenge).await?;
    found.metadata.issuer = Some(received_issuer.clone());
    Ok(found)
}

/// Whether `expected` is the root of the host that `server` is on, and `received` a name on the same host.
fn is_at_root(server: &str, expected: &str, received: &str) -> bool {
    let [Ok(server), Ok(expected), Ok(received)] = [server, expected, received].map(Url::parse) else { return false };
    let is_there = |url: &Url| url.origin() == server.origin() && url.query().is_none() && url.fragment().is_none();
    is_there(&expected) && is_there(&received) && expected.path() == "/"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_is_taken_on_the_same_host_only() {
        let row = |expected: &str, received: &str, want: bool| {
            assert_eq!(is_at_root("https://a.example/mcp", expected, received), want, "{expected} {received}");
        };
        row("https://a.example", "https://a.example/oauth", true);
        row("https://a.example/", "https://a.example/oauth", true);
        row("https://a.example/", "https://b.example/", false);
        row("https://a.example/", "http://a.example/oauth", false);
        row("https://a.example/", "https://a.example:8443/oauth", false);
        row("https://a.example/one", "https://a.example/two", false);
        row("https://b.example/", "https://b.example/oauth", false);
        row("https://a.example/", "nonsense", false);
    }
}
