//! Signing in on a page of the vendor that comes back to this machine: a code with PKCE.

use std::time::Duration;

use haft_net::{Callback, Came};
use oauth2::{CsrfToken, PkceCodeChallenge};
use reqwest::Url;

use super::grant::{Client, Tokens};
use super::web::words;
use super::{AuthError, Context};

/// Longest a person may take on the page.
pub(super) const LASTS: Duration = Duration::from_secs(5 * 60);

/// A page of a vendor, and where it comes back to.
pub(super) struct Page<'a> {
    /// Its address.
    pub(super) authorize: Url,
    /// The leave that is asked for.
    pub(super) scope: &'a str,
    /// What else this vendor wants in its address.
    pub(super) more: &'a [(&'a str, &'a str)],
    /// The port that the vendor knows; 0 for any.
    pub(super) port: u16,
    /// The host that the vendor knows: `localhost` or `127.0.0.1`.
    pub(super) host: &'static str,
    /// The path that the vendor knows.
    pub(super) path: &'static str,
}

/// A sign-in that waits for the page to come back.
pub(super) struct Waiting {
    /// Where the person has to go.
    pub(super) url: String,
    callback: Callback,
    client: Client,
    verifier: String,
    state: String,
}

/// Begins: listens for the page to come back, and says where it is. Where haft is offline, nobody is sent to a page whose
/// code could not be taken to its vendor.
pub(super) async fn begin(client: Client, page: Page<'_>, context: &Context) -> Result<Waiting, AuthError> {
    let Page { mut authorize, scope, more, port, host, path } = page;
    for url in [&authorize, &client.token] {
        haft_net::Network::default().check(url).map_err(|offline| AuthError::Setup(offline.to_string()))?;
    }
    let callback = listen(context.places.port(port), host, path).await?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let state = CsrfToken::new_random().into_secret();
    authorize
        .query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", callback.address().as_str())
        .append_pair("scope", scope)
        .append_pair("code_challenge", challenge.as_str())
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", &state)
        .extend_pairs(more);
    Ok(Waiting { url: authorize.into(), callback, client, verifier: verifier.into_secret(), state })
}

/// Listens on `port` of this machine, or on any where it is 0. Pages come back to `host` and `path`.
async fn listen(port: u16, host: &str, path: &str) -> Result<Callback, AuthError> {
    let address = Url::parse(&format!("http://{host}:{port}{path}"));
    let address = address.map_err(|error| AuthError::Setup(error.to_string()))?;
    Callback::listen(address).await.map_err(|error| {
        AuthError::Setup(format!(
            "cannot listen on 127.0.0.1:{port}, where the sign-in comes back ({error}); end the program that does, or \
             choose a method with a code"
        ))
    })
}

/// The code that the page brought.
fn code(came: Came) -> Result<String, AuthError> {
    match came {
        Came::Back { code, .. } => Ok(code),
        Came::Refused { error, .. } if error == "access_denied" => Err(AuthError::Denied),
        Came::Refused { error, why } => {
            let at = "the sign-in page".to_owned();
            Err(AuthError::Refused { at, message: words(&error, why.as_deref()) })
        }
    }
}

impl Waiting {
    /// Waits until the person has signed in, and gets the tokens.
    pub(super) async fn tokens(self, context: &Context) -> Result<Tokens, AuthError> {
        let Self { callback, client, verifier, state, .. } = self;
        let redirect = callback.address().clone();
        let waited = tokio::time::timeout(LASTS, callback.wait(&state, "haft auth login"));
        let code = code(waited.await.map_err(|_| AuthError::Expired)?)?;
        client.exchange(code, verifier, &redirect, context).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_says_is_told() {
        let refused = |error: &str, why: Option<&str>| {
            let came = Came::Refused { error: error.to_owned(), why: why.map(str::to_owned) };
            code(came).unwrap_err().to_string()
        };
        assert_eq!(refused("invalid_scope", Some("no plan")), "the sign-in page says: no plan (invalid_scope)");
        assert_eq!(refused("access_denied", None), AuthError::Denied.to_string());
    }
}
