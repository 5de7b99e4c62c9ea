//! GitHub Copilot: a code that is typed at GitHub.
//!
//! GitHub documents the flow ("Authorizing OAuth apps", device flow) and lets Copilot be used through apps that it knows.
//! The token does not expire and is sent as it is; there is no second token to be got for it.

use std::time::Duration;

use haft_vault::{Entry, OAuth};
use reqwest::Url;

use super::grant::Client;
use super::{AuthError, Context, Started};

/// The app under which terminal agents sign in to Copilot, as OpenCode does; it needs no secret. GitHub's page shows that
/// app's name. `HAFT_GITHUB_CLIENT_ID` names another one, for organisations that register their own.
const CLIENT: &str = "Ov23li8tweQw6odWQebz";

/// The variable that names another app.
pub(crate) const CLIENT_VARIABLE: &str = "HAFT_GITHUB_CLIENT_ID";

/// To know who it is; Copilot needs no more.
const SCOPE: &str = "read:user";

/// The usual server.
const GITHUB: &str = "github.com";

/// Added to each pause, so that a clock that runs a little fast asks for nothing too early.
const MARGIN: Duration = Duration::from_secs(1);

/// The address of Copilot's API for who signed in at the server `enterprise`, or at github.com. Servers of enterprises
/// have it under a name of their own.
pub(crate) fn base_url(enterprise: Option<&str>) -> String {
    match enterprise.and_then(|server| domain(server).ok()).filter(|domain| domain != GITHUB) {
        Some(domain) => format!("https://copilot-api.{domain}"),
        None => "https://api.githubcopilot.com".to_owned(),
    }
}

/// The bare name of a `server` that was typed as a name or as an address.
pub(crate) fn domain(server: &str) -> Result<String, AuthError> {
    let wrong =
        || AuthError::Setup(format!("{server:?} is no server of GitHub; type its name, such as company.ghe.com"));
    let whole = if server.contains("://") { server.to_owned() } else { format!("https://{server}") };
    let url = Url::parse(&whole).map_err(|_| wrong())?;
    let host = url.domain().filter(|host| host.contains('.')).ok_or_else(wrong)?;
    let bare = url.scheme() == "https" && url.username().is_empty() && url.password().is_none() && url.path() == "/";
    if !bare || url.query().is_some() || url.fragment().is_some() {
        return Err(wrong());
    }
    Ok(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// Asks GitHub, or the server `enterprise`, for a code to type.
pub(super) async fn start(enterprise: Option<&str>, context: &Context) -> Result<Started, AuthError> {
    let named = std::env::var(CLIENT_VARIABLE).ok().filter(|id| !id.is_empty());
    let server = enterprise.map(domain).transpose()?.filter(|domain| domain != GITHUB);
    let host = server.as_deref().unwrap_or(GITHUB);
    let token = context.places.at(&format!("https://{host}/login/oauth/access_token"))?;
    let page = context.places.at(&format!("https://{host}/login/device/code"))?;
    let client = Client { id: named.unwrap_or_else(|| CLIENT.to_owned()), secret: None, token };
    let device = client.device(&page, &[SCOPE], context).await?;
    let (url, code, lasts, context) = (device.url.clone(), device.code.clone(), device.lasts, context.patient(MARGIN));
    let done = async move {
        let token = client.typed(device, &context).await?.access;
        let tokens =
            OAuth { refresh: token.clone(), access: token, expires: 0, enterprise_url: server, ..OAuth::default() };
        Ok(Entry::OAuth(tokens))
    };
    Ok(Started { url, code: Some(code), lasts, done: Box::pin(done) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enterprises_have_an_address_of_their_own() {
        let row = |server: Option<&str>, want: &str| assert_eq!(base_url(server), want, "{server:?}");
        row(None, "https://api.githubcopilot.com");
        row(Some("github.com"), "https://api.githubcopilot.com");
        row(Some("company.ghe.com"), "https://copilot-api.company.ghe.com");
        row(Some("https://Company.ghe.com/"), "https://copilot-api.company.ghe.com");
        row(Some("git.example.com:8443"), "https://copilot-api.git.example.com:8443");
    }

    #[test]
    fn what_is_no_server_is_said_so() {
        for wrong in [
            "",
            "company",
            "http://company.ghe.com",
            "https://u:p@company.ghe.com",
            "a.example/x",
            "a.example?x",
            "127.0.0.1",
            "a b.example",
        ] {
            let error = domain(wrong).unwrap_err().to_string();
            assert!(error.contains("company.ghe.com"), "{wrong}: {error}");
        }
    }
}
