//! ChatGPT: a subscription's sign-in, for OpenAI's models of the Codex family.
//!
//! The client and the addresses are those that OpenAI publishes with its open-source Codex CLI (`codex-rs/login`), and
//! that OpenCode uses too. Requests then go to ChatGPT's own endpoint and not to the API.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use haft_vault::{Entry, OAuth};
use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::browser::{LASTS, Page, begin};
use super::fresh::Renew;
use super::grant::{Client, Tokens};
use super::{AuthError, Context, PATIENCE, Started, shown};

/// Where signed-in requests go, above `/responses`.
pub(crate) const BASE_URL: &str = "https://chatgpt.com/backend-api/codex";

/// The Codex CLI, as OpenAI knows it. Programs on people's machines have no secret.
const CLIENT: &str = "app_EMoamEEZ73f0CkXaXp7hrann";

const ISSUER: &str = "https://auth.openai.com";

/// The port that is registered for the page to come back to.
const PORT: u16 = 1455;

/// Tokens that do not say how long they last count as good for an hour, as in the Codex CLI's other clients.
const USUAL: Duration = Duration::from_secs(3600);

/// Longest pause between two questions whether the code was typed.
const MAX_INTERVAL: u64 = 60;

/// The header that says which of the person's accounts pays.
static ACCOUNT: HeaderName = HeaderName::from_static("chatgpt-account-id");

fn client(context: &Context) -> Result<Client, AuthError> {
    let token = context.places.at(&format!("{ISSUER}/oauth/token"))?;
    Ok(Client { id: CLIENT.to_owned(), secret: None, token })
}

/// Signs in on a page that comes back to this machine.
pub(super) async fn browser(context: &Context) -> Result<Started, AuthError> {
    let page = Page {
        authorize: context.places.at(&format!("{ISSUER}/oauth/authorize"))?,
        scope: "openid profile email offline_access",
        more: &[("id_token_add_organizations", "true"), ("codex_cli_simplified_flow", "true"), ("originator", "haft")],
        port: PORT,
        host: "localhost",
        path: "/auth/callback",
    };
    let waiting = begin(client(context)?, page, context).await?;
    let (url, context) = (waiting.url.clone(), context.clone());
    let done = async move { Ok(Entry::OAuth(entry(waiting.tokens(&context).await?, None, context.now()))) };
    Ok(Started { url, code: None, lasts: LASTS, done: Box::pin(done) })
}

/// Signs in with a code that is typed on any device.
pub(super) async fn device(context: &Context) -> Result<Started, AuthError> {
    let asked = context.places.at(&format!("{ISSUER}/api/accounts/deviceauth/usercode"))?;
    let (status, answer) = context.post_json(&asked, &json!({ "client_id": CLIENT })).await?;
    let text = |value: &Value, name: &str| {
        let text = value[name].as_str().filter(|text| !text.is_empty() && text.len() <= 4096);
        text.map(str::to_owned)
    };
    let wanted = || AuthError::Malformed { at: shown(&asked), wanted: "a code to type" };
    if status != 200 {
        let message = format!(
            "status {status}; signing in with a code may be switched off for your account, a browser still works"
        );
        return Err(AuthError::Refused { at: shown(&asked), message });
    }
    let code = text(&answer, "user_code").or_else(|| text(&answer, "usercode"));
    let code = code.filter(|code| code.len() <= 64 && !code.contains(char::is_control)).ok_or_else(wanted)?;
    let id = text(&answer, "device_auth_id").ok_or_else(wanted)?;
    // A number that is written as text.
    let interval = answer["interval"].as_u64().or_else(|| answer["interval"].as_str()?.trim().parse().ok());
    let interval = Duration::from_secs(interval.unwrap_or(5).clamp(1, MAX_INTERVAL));
    let poll = context.places.at(&format!("{ISSUER}/api/accounts/deviceauth/token"))?;
    let question = json!({ "device_auth_id": id, "user_code": code });
    let typed = code;
    let (client, context) = (client(context)?, context.clone());
    let done = async move {
        let started = context.now();
        let (code, verifier) = loop {
            let (status, answer) = context.post_json(&poll, &question).await?;
            match status {
                200 => {
                    let both = text(&answer, "authorization_code").zip(text(&answer, "code_verifier"));
                    break both.ok_or_else(|| AuthError::Malformed { at: shown(&poll), wanted: "a code" })?;
                }
                // Nobody has typed it yet.
                403 | 404 => {}
                status => {
                    let message = format!("status {status}");
                    return Err(AuthError::Refused { at: shown(&poll), message });
                }
            }
            if context.now().saturating_sub(started) > u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX) {
                return Err(AuthError::Expired);
            }
            context.pause(interval).await;
        };
        // Nothing is listening there: it is the name of the way for the server.
        let redirect = format!("{ISSUER}/deviceauth/callback").parse();
        let redirect = redirect.map_err(|_| AuthError::Setup("the address is none".to_owned()))?;
        let tokens = client.exchange(code, verifier, &redirect, &context).await?;
        Ok(Entry::OAuth(entry(tokens, None, context.now())))
    };
    let url = format!("{ISSUER}/codex/device");
    Ok(Started { url, code: Some(typed), lasts: PATIENCE, done: Box::pin(done) })
}

/// What is stored of `tokens` that came at `now`, in place of `before`.
fn entry(tokens: Tokens, before: Option<&OAuth>, now: u64) -> OAuth {
    let Tokens { access, refresh, expires_in, id_token } = tokens;
    let lasts = u64::try_from(expires_in.unwrap_or(USUAL).as_millis()).unwrap_or(u64::MAX);
    let account_id = id_token.as_deref().and_then(account).or_else(|| account(&access));
    OAuth {
        refresh: refresh.or_else(|| before.map(|before| before.refresh.clone())).unwrap_or_default(),
        access,
        expires: now.saturating_add(lasts),
        account_id: account_id.or_else(|| before?.account_id.clone()),
        enterprise_url: before.and_then(|before| before.enterprise_url.clone()),
        more: before.map(|before| before.more.clone()).unwrap_or_default(),
    }
}

/// The account that the claims of a token name. It only says who pays, and the server checks it: so it is read without
/// looking at the signature.
fn account(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    let claims: Value =
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?).ok()?;
    let places = [
        &claims["chatgpt_account_id"],
        &claims["https://api.openai.com/auth"]["chatgpt_account_id"],
        &claims["organizations"][0]["id"],
    ];
    let found = places.into_iter().find_map(Value::as_str)?;
    // It becomes a header.
    let plain = !found.is_empty() && found.len() <= 256 && found.bytes().all(|byte| byte.is_ascii_graphic());
    plain.then(|| found.to_owned())
}

/// Keeps the tokens of ChatGPT fresh.
#[derive(Debug)]
pub(super) struct ChatGpt;

impl Renew for ChatGpt {
    fn renew<'a>(&'a self, tokens: &'a OAuth, context: &'a Context) -> BoxFuture<'a, Result<OAuth, AuthError>> {
        Box::pin(async move {
            let got = client(context)?.renew(&tokens.refresh, context).await?;
            Ok(entry(got, Some(tokens), context.now()))
        })
    }

    fn headers(&self, tokens: &OAuth) -> Vec<(HeaderName, String)> {
        tokens.account_id.iter().map(|account| (ACCOUNT.clone(), account.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &Value) -> String {
        format!("e30.{}.sig", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn the_account_is_found_where_it_may_stand() {
        let row = |claims: Value, want: Option<&str>| {
            assert_eq!(account(&token(&claims)).as_deref(), want, "{claims}");
        };
        row(json!({"chatgpt_account_id": "a1"}), Some("a1"));
        row(json!({"https://api.openai.com/auth": {"chatgpt_account_id": "a2"}}), Some("a2"));
        row(json!({"organizations": [{"id": "a3"}, {"id": "a4"}]}), Some("a3"));
        row(json!({"chatgpt_account_id": "a\r\nx: y"}), None);
        row(json!({"chatgpt_account_id": ""}), None);
        row(json!([]), None);
        for strange in ["", "a.b", "a.b.c", "..", "e30.e30", "a.!!.c"] {
            assert_eq!(account(strange), None, "{strange}");
        }
    }

    #[test]
    fn what_a_renewal_does_not_say_stays() {
        let before = OAuth {
            refresh: "r1".to_owned(),
            account_id: Some("a".to_owned()),
            more: json!({"note": 1}).as_object().unwrap().clone(),
            ..OAuth::default()
        };
        let new = |refresh: Option<&str>, expires_in| Tokens {
            access: "t2".to_owned(),
            refresh: refresh.map(str::to_owned),
            expires_in,
            id_token: None,
        };
        let kept = entry(new(None, None), Some(&before), 1000);
        assert_eq!((kept.refresh.as_str(), kept.account_id.as_deref(), kept.expires), ("r1", Some("a"), 3_601_000));
        assert_eq!(kept.more, before.more);
        let turned = entry(new(Some("r2"), Some(Duration::from_secs(u64::MAX))), Some(&before), 1000);
        assert_eq!((turned.refresh.as_str(), turned.expires), ("r2", u64::MAX));
    }
}
