//! One sign-in, from the server's refusal to tokens.

use haft_net::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, WWWAuthenticateParams,
};

use super::callback::Callback;
use super::store::{Client, Kept, now};
use super::{Account, OAuthError, Store, discover, manager};

/// The name under which we ask to be let in.
const CLIENT_NAME: &str = "haft";

/// A sign-in that waits for the person.
pub struct SignIn {
    session: AuthorizationSession,
    callback: Callback,
    state: String,
    store: Store,
    account: Account,
}

impl SignIn {
    /// Begins to sign in at `account`: finds out who signs people in there and who we are to them, and listens for the
    /// page to come back. `challenge` is what the server said when it refused a request, the value of its
    /// `WWW-Authenticate` header; what it said last, if left out. What was allowed before is asked for again with what it wants now.
    ///
    /// # Errors
    ///
    /// [`OAuthError::NeedsRegistration`] where only a person can say who we are; otherwise what went wrong.
    pub async fn begin(store: &Store, account: &Account, challenge: Option<&str>) -> Result<Self, OAuthError> {
        let failed = |source| OAuthError::Failed { name: account.name.clone(), source: Box::new(source) };
        let (mut manager, exchange) = manager(store, account).await?;
        let kept = store.get(&account.name, &account.url)?;
        let challenge = challenge.or(kept.as_ref().and_then(|kept| kept.challenge.as_deref()));
        let found = discover(&manager, &exchange, account, challenge).await.map_err(failed)?;
        manager.set_metadata(found.metadata.clone());
        let callback = Callback::listen(&account.redirect()).await?;
        let redirect = callback.address().to_string();
        let scopes = scopes(&manager, account, kept.as_ref(), challenge).await;
        let mut request =
            AuthorizationRequest::new(&redirect).with_scopes(scopes.iter().cloned()).with_client_name(CLIENT_NAME);
        let reads_pages = found.metadata.additional_fields.get("client_id_metadata_document_supported");
        let reads_pages = reads_pages.and_then(serde_json::Value::as_bool).unwrap_or_default();
        // Another one to sign people in was not told of us.
        let same = |kept: &Kept| kept.issuer.is_none() || kept.issuer == found.metadata.issuer;
        let known = kept.as_ref().filter(|kept| same(kept)).and_then(|kept| kept.client.clone());
        if let Some(id) = &account.client_id {
            request = request.with_preregistered_client(id);
            if let Some(secret) = &account.client_secret {
                request = request.with_client_secret(secret.expose());
            }
        } else if let Some(page) = account.client_page.as_ref().filter(|_| reads_pages) {
            request = request.with_client_metadata_url(page);
        } else if let Some(Client { id, secret, .. }) = known.filter(|client| client.holds(now())) {
            request = request.with_preregistered_client(id);
            if let Some(secret) = secret {
                request = request.with_client_secret(secret);
            }
        } else {
            if found.metadata.registration_endpoint.is_none() {
                return Err(OAuthError::NeedsRegistration(account.name.clone()));
            }
            let words: Vec<&str> = scopes.iter().map(String::as_str).collect();
            let client = manager.register_client(CLIENT_NAME, &redirect, &words).await.map_err(failed)?;
            request = request.with_preregistered_client(&client.client_id);
            if let Some(secret) = &client.client_secret {
                request = request.with_client_secret(secret);
            }
            // Kept before the person goes on, so that a second try is no second client.
            let issuer = found.metadata.issuer.clone();
            let client = Client { id: client.client_id, secret: client.client_secret, secret_expires: None };
            let before = kept.clone().unwrap_or_default();
            let kept = Kept { url: account.url.clone(), client: Some(client), issuer, tokens: None, ..before };
            store.put(&account.name, &kept)?;
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| failed(error))?;
        let state = state(session.get_authorization_url()).map_err(failed)?;
        Ok(Self { session, callback, state, store: store.clone(), account: account.clone() })
    }

    /// The page where the person says yes.
    pub fn url(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits until the page comes back, at most five minutes, and stores what it brings. Dropping the future gives up.
    ///
    /// # Errors
    ///
    /// When nobody says yes, or what comes back brings no tokens.
    pub async fn finish(self) -> Result<(), OAuthError> {
        let back = self.callback.back(&self.state).await?;
        let Self { session, store, account, .. } = self;
        let got = session.handle_callback_url(&back).await;
        got.map_err(|source| OAuthError::Failed { name: account.name.clone(), source: Box::new(source) })?;
        // What was wanted has been given.
        if let Some(kept) = store.get(&account.name, &account.url)? {
            store.put(&account.name, &Kept { challenge: None, ..kept })?;
        }
        Ok(())
    }
}

/// What to ask for: what the settings say, or what the server says it needs; with what was allowed before, where it
/// wants more than that.
pub(super) async fn scopes(
    manager: &AuthorizationManager,
    account: &Account,
    kept: Option<&Kept>,
    challenge: Option<&str>,
) -> Vec<String> {
    let words = |scope: &str| -> Vec<String> { scope.split_whitespace().map(str::to_owned).collect() };
    let mut scopes = match &account.scope {
        Some(scope) => words(scope),
        None => manager.select_initial_scopes(&[]).await,
    };
    let base = Url::parse(&account.url).ok();
    let wanted = challenge.zip(base).map(|(challenge, base)| WWWAuthenticateParams::parse(challenge, &base));
    if let Some(wanted) = wanted.filter(WWWAuthenticateParams::is_insufficient_scope) {
        let before = kept.and_then(|kept| kept.tokens.as_ref()).and_then(|tokens| tokens.scope.as_deref());
        let all =
            words(before.unwrap_or_default()).into_iter().chain(words(wanted.scope.as_deref().unwrap_or_default()));
        for scope in all {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
    }
    scopes
}

/// What comes back with the page, so that nobody else's page is taken for it.
fn state(url: &str) -> Result<String, AuthError> {
    let url = Url::parse(url)?;
    let state = url.query_pairs().find(|(key, _)| key == "state").map(|(_, value)| value.into_owned());
    state.ok_or_else(|| AuthError::InternalError("the page to sign in at has no state".to_owned()))
}
