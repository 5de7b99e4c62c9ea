//! Snowflake: the sign-in that each account has for programs on people's machines.
//!
//! Snowflake documents it as "Snowflake OAuth for local applications": the integration `SNOWFLAKE$LOCAL_APPLICATION` with
//! a client that everybody may use, a page that comes back to any port of this machine, and PKCE.

use std::time::Duration;

use futures::future::BoxFuture;
use haft_vault::{Entry, OAuth};
use reqwest::header::HeaderName;

use super::browser::{LASTS, Page, begin};
use super::fresh::Renew;
use super::grant::{Client, Tokens};
use super::{AuthError, Context, Started};
use crate::Secret;

/// The name and, because the standard wants one, the secret of the built-in client.
const CLIENT: &str = "LOCAL_APPLICATION";

/// Access tokens are good for ten minutes where nothing else is said.
const USUAL: Duration = Duration::from_secs(600);

/// The bare name of an `account` that was typed as a name or as an address.
fn bare(account: &str) -> Result<String, AuthError> {
    let name = account.trim_start_matches("https://").trim_end_matches('/');
    let name = name.strip_suffix(".snowflakecomputing.com").unwrap_or(name);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if name.is_empty() || name.len() > 200 || !name.chars().all(plain) || name.starts_with('.') {
        return Err(AuthError::Setup(format!("{account:?} is no account of Snowflake; type it as myorg-myaccount")));
    }
    Ok(name.to_owned())
}

fn client(account: &str, context: &Context) -> Result<Client, AuthError> {
    let token = context.places.at(&format!("https://{account}.snowflakecomputing.com/oauth/token-request"))?;
    Ok(Client { id: CLIENT.to_owned(), secret: Some(Secret::new(CLIENT)), token })
}

/// The leave to ask for: to stay signed in, and to act as `role`.
fn scope(role: Option<&str>) -> String {
    match role {
        None => "refresh_token".to_owned(),
        Some(role) if role.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) => {
            format!("refresh_token session:role:{role}")
        }
        Some(role) => {
            let encoded: String = reqwest::Url::parse_with_params("https://a/", [("", role)])
                .ok()
                .and_then(|url| Some(url.query()?.trim_start_matches('=').replace('+', "%20")))
                .unwrap_or_default();
            format!("refresh_token session:role-encoded:{encoded}")
        }
    }
}

/// Signs in to `account` on a page that comes back to this machine.
pub(super) async fn browser(account: &str, role: Option<&str>, context: &Context) -> Result<Started, AuthError> {
    let account = bare(account)?;
    let page = Page {
        authorize: context.places.at(&format!("https://{account}.snowflakecomputing.com/oauth/authorize"))?,
        scope: &scope(role),
        more: &[],
        port: 0,
        host: "127.0.0.1",
        path: "/",
    };
    let waiting = begin(client(&account, context)?, page, context).await?;
    let (url, context) = (waiting.url.clone(), context.clone());
    let done = async move {
        let before = OAuth { account_id: Some(account), ..OAuth::default() };
        Ok(Entry::OAuth(entry(waiting.tokens(&context).await?, &before, context.now())))
    };
    Ok(Started { url, code: None, lasts: LASTS, done: Box::pin(done) })
}

fn entry(tokens: Tokens, before: &OAuth, now: u64) -> OAuth {
    let lasts = u64::try_from(tokens.expires_in.unwrap_or(USUAL).as_millis()).unwrap_or(u64::MAX);
    OAuth {
        access: tokens.access,
        refresh: tokens.refresh.unwrap_or_else(|| before.refresh.clone()),
        expires: now.saturating_add(lasts),
        ..before.clone()
    }
}

/// Keeps the tokens of Snowflake fresh.
#[derive(Debug)]
pub(super) struct Snowflake;

impl Renew for Snowflake {
    fn renew<'a>(&'a self, tokens: &'a OAuth, context: &'a Context) -> BoxFuture<'a, Result<OAuth, AuthError>> {
        Box::pin(async move {
            let account = bare(tokens.account_id.as_deref().unwrap_or_default())?;
            let got = client(&account, context)?.renew(&tokens.refresh, context).await?;
            Ok(entry(got, tokens, context.now()))
        })
    }

    fn headers(&self, _tokens: &OAuth) -> Vec<(HeaderName, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_a_bare_name() {
        for (typed, want) in [
            ("myorg-acc", "myorg-acc"),
            ("https://myorg-acc.snowflakecomputing.com/", "myorg-acc"),
            ("xy123.eu-central-1", "xy123.eu-central-1"),
        ] {
            assert_eq!(bare(typed).unwrap(), want);
        }
        for wrong in ["", "a/b", "a@evil.example", "a?b", "http://a.example", ".a", "a:80"] {
            assert!(bare(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_role_is_asked_for_by_its_name() {
        assert_eq!(scope(None), "refresh_token");
        assert_eq!(scope(Some("MY-ROLE_1")), "refresh_token session:role:MY-ROLE_1");
        assert_eq!(scope(Some("my role&x")), "refresh_token session:role-encoded:my%20role%26x");
    }
}
