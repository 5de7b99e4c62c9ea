//! Where a sign-in comes back to: an address of this machine alone.

use std::time::Duration;

use haft_net::{Came, Url};

use super::OAuthError;

/// Longest a person may take on the page.
pub const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// The path that pages come back to.
pub(super) const PATH: &str = "/mcp/oauth/callback";

/// Listens for a page to come back.
pub(super) struct Callback(haft_net::Callback);

impl Callback {
    /// Listens where `redirect` leads, if that is this machine; at any port where it names 0.
    pub(super) async fn listen(redirect: &str) -> Result<Self, OAuthError> {
        let wrong = |why: String| OAuthError::Callback(why);
        let address =
            Url::parse(redirect).map_err(|error| wrong(format!("redirectUri {redirect} is no address: {error}")))?;
        if address.scheme() != "http" || !matches!(address.host_str(), Some("127.0.0.1" | "localhost")) {
            return Err(wrong(format!(
                "redirectUri {redirect} does not lead to this machine; use http://127.0.0.1:PORT{PATH}"
            )));
        }
        let port = address.port_or_known_default().unwrap_or(80);
        let listening = haft_net::Callback::listen(address).await.map_err(|error| {
            wrong(format!(
                "cannot listen on 127.0.0.1:{port}, where the sign-in comes back ({error}); end the program that does, or \
                 set oauth.callbackPort"
            ))
        });
        listening.map(Self)
    }

    /// Where pages come back to.
    pub(super) fn address(&self) -> &Url {
        self.0.address()
    }

    /// Waits for the page that comes back with `state`, at most five minutes; gives its whole address. Dropping the future
    /// stops listening.
    pub(super) async fn back(self, state: &str) -> Result<String, OAuthError> {
        let came = tokio::time::timeout(PATIENCE, self.0.wait(state, "haft mcp auth")).await;
        told(came.map_err(|_| OAuthError::Late)?)
    }
}

/// The address that the page brought.
fn told(came: Came) -> Result<String, OAuthError> {
    match came {
        Came::Back { address, .. } => Ok(address.into()),
        Came::Refused { error, why } => {
            let why = why.map_or_else(|| error.clone(), |why| format!("{why} ({error})"));
            Err(OAuthError::Refused(why.chars().filter(|char| !char.is_control()).take(300).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_come_back_to_this_machine_alone() {
        for wrong in ["https://127.0.0.1:1/x", "http://evil.example/x", "nonsense", "http://0.0.0.0:1/"] {
            assert!(Callback::listen(wrong).await.is_err(), "{wrong}");
        }
        let there = Callback::listen("http://127.0.0.1:0/mcp/oauth/callback").await.unwrap();
        assert!(there.address().port().is_some_and(|port| port != 0));
    }

    #[test]
    fn a_refusal_is_told_in_words_that_a_terminal_takes() {
        let came = Came::Refused { error: "access_denied".to_owned(), why: Some("no \u{1b}plan".to_owned()) };
        assert_eq!(told(came).unwrap_err().to_string(), "the sign-in was refused: no plan (access_denied)");
        let address = Url::parse("http://127.0.0.1:1/x?code=c1&state=s1").unwrap();
        let came = Came::Back { code: "c1".to_owned(), address };
        assert_eq!(told(came).unwrap(), "http://127.0.0.1:1/x?code=c1&state=s1");
    }
}
