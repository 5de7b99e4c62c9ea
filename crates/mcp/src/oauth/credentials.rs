//! The store of one server, in the library's words.

use std::time::Duration;

use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, OAuthTokenResponse, StoredCredentials,
};
use serde_json::json;

use super::store::{Client, Kept, Store, Tokens, now};
use super::{Account, OAuthError, machine};

pub(super) struct Credentials {
    store: Store,
    account: Account,
}

impl Credentials {
    pub(super) fn new(store: Store, account: &Account) -> Self {
        Self { store, account: account.clone() }
    }

    fn kept(&self) -> Result<Option<Kept>, AuthError> {
        self.store.get(&self.account.name, &self.account.url).map_err(failed)
    }
}

fn failed(error: OAuthError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

/// What is `kept`, in the library's words, at `now`. `None` where there is no client.
fn stored(kept: &Kept, now: u64) -> Option<StoredCredentials> {
    let client = kept.client.as_ref()?;
    let scope = kept.tokens.as_ref().and_then(|tokens| tokens.scope.as_deref()).unwrap_or_default();
    let granted = scope.split_whitespace().map(str::to_owned).collect();
    let tokens = kept.tokens.as_ref().and_then(|tokens| {
        let left = tokens.expires.map(|expires| expires.saturating_sub(now));
        let mut told = json!({ "access_token": tokens.access, "token_type": "Bearer" });
        if let Some(left) = left {
            told["expires_in"] = left.into();
        }
        if let Some(refresh) = &tokens.refresh {
            told["refresh_token"] = refresh.as_str().into();
        }
        if let Some(scope) = &tokens.scope {
            told["scope"] = scope.as_str().into();
        }
        serde_json::from_value::<OAuthTokenResponse>(told).ok()
    });
    let stored = StoredCredentials::new(client.id.clone(), tokens, granted, Some(now));
    Some(stored.with_issuer(kept.issuer.clone()))
}

/// The other way round; `before` is what was kept, whose proof of who we are stays with the same client.
fn kept(stored: &StoredCredentials, url: &str, before: Option<Kept>, now: u64) -> Kept {
    let told = stored.token_response.as_ref().and_then(|told| serde_json::to_value(told).ok());
    let tokens = told.and_then(|told| {
        let text = |key: &str| told.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        let left = told.get("expires_in").and_then(serde_json::Value::as_u64);
        let since = stored.token_received_at.unwrap_or(now);
        let granted = stored.granted_scopes.join(" ");
        Some(Tokens {
            access: text("access_token")?,
            refresh: text("refresh_token"),
            expires: left.map(|left| since.saturating_add(Duration::from_secs(left).as_secs())),
            scope: Some(granted).filter(|scope| !scope.is_empty()).or_else(|| text("scope")),
        })
    });
    let (client, challenge) = before.map_or((None, None), |kept| (kept.client, kept.challenge));
    let same = client.filter(|client| client.id == stored.client_id);
    let client = same.unwrap_or_else(|| Client { id: stored.client_id.clone(), secret: None, secret_expires: None });
    Kept { url: url.to_owned(), tokens, client: Some(client), issuer: stored.issuer.clone(), challenge }
}

#[async_trait::async_trait]
impl CredentialStore for Credentials {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = match self.account.is_a_persons() {
            true => self.kept()?,
            // Whoever shows a token asks here for it, so that is where one that has run out is replaced.
            false => Some(machine::current(&self.store, &self.account).await.map_err(failed)?),
        };
        Ok(kept.and_then(|kept| stored(&kept, now())))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let kept = kept(&credentials, &self.account.url, self.kept()?, now());
        self.store.put(&self.account.name, &kept).map_err(failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.store.forget(&self.account.name).map(drop).map_err(failed)
    }

    async fn on_refresh_token_rejected(&self, rejected: &StoredCredentials) -> Result<(), AuthError> {
        let Some(mut kept) = self.kept()? else { return Ok(()) };
        // Somebody may have signed in again meanwhile.
        if stored(&kept, now()).is_some_and(|now| refresh(&now) == refresh(rejected)) {
            kept.tokens = None;
            self.store.put(&self.account.name, &kept).map_err(failed)?;
        }
        Ok(())
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let store = self.store.clone();
        let held = tokio::task::spawn_blocking(move || store.hold()).await;
        let held = held.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        Ok(Some(CredentialRefreshGuard::new(held.map_err(failed)?)))
    }
}

fn refresh(stored: &StoredCredentials) -> Option<String> {
    let told = serde_json::to_value(stored.token_response.as_ref()?).ok()?;
    told.get("refresh_token")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_as_it_was() {
        let before = Kept {
            url: "https://s.example".to_owned(),
            tokens: Some(Tokens {
                access: "a".to_owned(),
                refresh: Some("r".to_owned()),
                expires: Some(1600),
                scope: Some("read write".to_owned()),
            }),
            client: Some(Client { id: "c".to_owned(), secret: Some("x".to_owned()), secret_expires: Some(0) }),
            issuer: Some("https://sign.example".to_owned()),
            challenge: Some("Bearer".to_owned()),
        };
        let told = stored(&before, 1000).unwrap();
        assert!(kept(&told, &before.url, Some(before.clone()), 1000) == before);
        // Who we are to somebody else has no proof from here.
        let mut other = told.clone();
        other.client_id = "d".to_owned();
        assert!(
            kept(&other, "https://s.example", Some(before), 1000).client.is_some_and(|client| client.secret.is_none())
        );
        assert_eq!(refresh(&told).as_deref(), Some("r"));
        assert!(stored(&Kept::default(), 0).is_none());
    }
}
