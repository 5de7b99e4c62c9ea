//! GitLab Duo: a token for GitLab's gateway to models, for a token of GitLab's own.
//!
//! The gateway's token comes with headers that must go with it, and lasts half an hour. The facts are those of GitLab's
//! own driver: <https://gitlab.com/vglafirov/gitlab-ai-provider>, package `gitlab-ai-provider`.

use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;

use super::fetched::{self, Fetch, Token};
use super::{AuthError, Context, is_loopback, shown};
use crate::{Key, Secret};

/// Where a gateway's token is got, below a GitLab.
const PATH: &str = "/api/v4/ai/third_party_agents/direct_access";

/// How long a gateway's token is used. It lasts for five minutes more.
const LASTS: Duration = Duration::from_secs(25 * 60);

/// Most headers that go with a token.
const MAX_HEADERS: usize = 32;

/// Beginnings of the headers that go with a token. Whatever else is named would change the request itself.
const TAKEN: [&str; 3] = ["x-gitlab-", "anthropic-", "openai-"];

/// What lets requests in at the gateway of the GitLab at `instance`, for its own `token`.
///
/// # Errors
///
/// Text for a person, when `instance` is no address that is encrypted or on this machine.
pub fn key(instance: &str, token: Secret, context: Context) -> Result<Key, String> {
    let safe = |url: &Url| url.scheme() == "https" || is_loopback(url);
    let url = Url::parse(&format!("{}{PATH}", instance.trim_end_matches('/'))).ok().filter(safe);
    let url =
        url.ok_or_else(|| format!("{instance:?} is no address of a GitLab; write it as https://gitlab.example.com"))?;
    Ok(fetched::key(Gateway { url, token }, context))
}

/// Where the gateway's tokens are got, and with what.
#[derive(Debug)]
struct Gateway {
    url: Url,
    token: Secret,
}

impl Fetch for Gateway {
    const VENDOR: &'static str = "gitlab";

    fn fetch<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Token, AuthError>> {
        Box::pin(self.ask(context))
    }

    fn secret(&self) -> &Secret {
        &self.token
    }
}

impl Gateway {
    async fn ask(&self, context: &Context) -> Result<Token, AuthError> {
        let url = context.places.at(self.url.as_str())?;
        let at = shown(&url);
        let json = HeaderValue::from_static("application/json");
        let request = http::Request::post(url.as_str())
            .header(ACCEPT, json.clone())
            .header(CONTENT_TYPE, json)
            .header(AUTHORIZATION, format!("Bearer {}", self.token.expose()))
            .body(br#"{"feature_flags":{"DuoAgentPlatformNext":true}}"#.to_vec());
        let answer = context.send(request.map_err(|error| AuthError::Setup(error.to_string()))?).await?;
        let refused = |message: &str| AuthError::Refused { at: at.clone(), message: message.to_owned() };
        match answer.status().as_u16() {
            200..=299 => {}
            401 => return Err(refused("the token is not taken; make one with the scope `api` at your GitLab")),
            403 => return Err(refused("GitLab Duo with agents of others is not switched on for this account")),
            404 => return Err(refused("this GitLab has no Duo for agents of others")),
            status => return Err(refused(&format!("no token for models is given (status {status})"))),
        }
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let token = body["token"].as_str().filter(|token| !token.is_empty());
        let token = token.ok_or(AuthError::Malformed { at, wanted: "a token for models" })?;
        Ok(Token { access: Secret::new(token), headers: headers(&body["headers"]), lasts: LASTS })
    }
}

/// The headers that go with a token, without those that would change what is asked.
fn headers(told: &Value) -> Vec<(HeaderName, HeaderValue)> {
    let pairs = told.as_object().into_iter().flatten().filter_map(|(name, value)| {
        let name: HeaderName = name.parse().ok()?;
        let taken = TAKEN.iter().any(|begin| name.as_str().starts_with(begin));
        taken.then(|| Some((name, HeaderValue::from_str(value.as_str()?).ok()?)))?
    });
    pairs.take(MAX_HEADERS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::auth::Places;

    #[test]
    fn only_headers_that_belong_to_the_token_are_taken() {
        let told = json!({
            "X-Gitlab-Realm": "saas", "x-api-key": "k", "Authorization": "a", "Host": "evil", "anthropic-version": "v",
            "x-gitlab-odd": 7, "x-gitlab-line": "a\nb",
        });
        let names: Vec<String> = headers(&told).iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(names, ["x-gitlab-realm", "anthropic-version"]);
        assert!(headers(&json!("none")).is_empty());
    }

    #[test]
    fn a_token_goes_to_a_gitlab_that_is_encrypted_or_here() {
        let row = |instance: &str, want: bool| {
            let key = key(instance, Secret::new("t"), Context::new(Places::default()).unwrap());
            assert_eq!(key.is_ok(), want, "{instance}");
        };
        row("https://gitlab.com/", true);
        row("http://127.0.0.1:8080", true);
        row("http://gitlab.example", false);
        row("gitlab.com", false);
    }
}
