//! SAP AI Core: a token for the program, for the service key that an account has.
//!
//! The key is a JSON text that SAP's cockpit gives out: name and secret of a client, where its tokens are got (`url`), and
//! the address of the API (`serviceurls.AI_API_URL`).

use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::Url;
use serde_json::Value;

use super::fetched::{self, Fetch, Token};
use super::grant::Client;
use super::{AuthError, Context, is_loopback};
use crate::{Key, Secret};

/// The variable that holds a service key.
pub const VARIABLE: &str = "AICORE_SERVICE_KEY";

/// How long before its end a token is replaced.
const MARGIN: Duration = Duration::from_secs(60);

/// A token that does not say how long it lasts is asked for anew after so long.
const USUAL: Duration = Duration::from_secs(600);

/// A service key.
#[derive(Clone)]
pub struct ServiceKey {
    /// The address of the API.
    pub api: String,
    id: String,
    secret: Secret,
    token: Url,
}

impl std::fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceKey").field("api", &self.api).finish_non_exhaustive()
    }
}

impl ServiceKey {
    /// Reads the key.
    ///
    /// # Errors
    ///
    /// Text for a person: what is missing in it. No part of it is repeated.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!("the service key of SAP AI Core (variable {VARIABLE}) {what}; copy it whole from the cockpit")
        };
        let key: Value = serde_json::from_str(text).map_err(|_| wrong("is no JSON"))?;
        // Some places wrap it.
        let key = key.get("credentials").unwrap_or(&key);
        let field = |value: &Value, name: &str| {
            let text = value[name].as_str().filter(|text| !text.is_empty());
            text.map(str::to_owned).ok_or_else(|| wrong(&format!("has no {name}")))
        };
        let base = field(key, "url")?;
        let safe = |url: &Url| url.scheme() == "https" || is_loopback(url);
        let token = Url::parse(&format!("{}/oauth/token", base.trim_end_matches('/'))).ok().filter(safe);
        let api = field(&key["serviceurls"], "AI_API_URL")?;
        Url::parse(&api).ok().filter(safe).ok_or_else(|| wrong("has an AI_API_URL without https"))?;
        Ok(Self {
            api: api.trim_end_matches('/').to_owned(),
            id: field(key, "clientid")?,
            secret: Secret::new(field(key, "clientsecret")?),
            token: token.ok_or_else(|| wrong("has a url without https"))?,
        })
    }

    /// What lets requests in.
    ///
    /// # Errors
    ///
    /// Those of [`Context::new`].
    pub fn key(self, context: Context) -> Key {
        fetched::key(self, context)
    }
}

impl Fetch for ServiceKey {
    const VENDOR: &'static str = "sap-ai-core";

    fn fetch<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Token, AuthError>> {
        Box::pin(async {
            let Self { id, secret, token, .. } = self;
            let client = Client { id: id.clone(), secret: Some(secret.clone()), token: token.clone() };
            let tokens = client.own(context).await?;
            let lasts = tokens.expires_in.unwrap_or(USUAL).saturating_sub(MARGIN);
            Ok(Token { access: Secret::new(tokens.access), headers: Vec::new(), lasts })
        })
    }

    fn secret(&self) -> &Secret {
        &self.secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_service_key_says_what_is_missing_and_nothing_else() {
        let whole = json!({
            "clientid": "id", "clientsecret": "marker", "url": "https://a.authentication.example/",
            "serviceurls": {"AI_API_URL": "https://api.ai.example/"}
        });
        let key = ServiceKey::parse(&whole.to_string()).unwrap();
        assert_eq!(
            (key.api.as_str(), key.token.as_str()),
            ("https://api.ai.example", "https://a.authentication.example/oauth/token")
        );
        assert!(!format!("{key:?}").contains("marker"));
        ServiceKey::parse(&json!({"credentials": whole}).to_string()).unwrap();
        let without = |field: &str, value: Value, want: &str| {
            let mut key = whole.clone();
            key[field] = value;
            let error = ServiceKey::parse(&key.to_string()).unwrap_err();
            assert!(error.contains(want) && !error.contains("marker"), "{error}");
        };
        without("clientid", Value::Null, "no clientid");
        without("clientsecret", json!(""), "no clientsecret");
        without("url", json!("http://a.example"), "a url without https");
        without("serviceurls", json!({}), "no AI_API_URL");
        assert!(ServiceKey::parse("{marker").unwrap_err().contains("no JSON"));
    }
}
