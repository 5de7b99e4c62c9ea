//! The servers where one signs in, as the settings have them.

use anyhow::Result;
use haft_config::{Config, McpPlace};
use haft_mcp::oauth::Account;

use crate::report::Usage;

/// All servers of `config` where one may have to sign in, by name.
pub(super) fn accounts(config: &Config) -> Vec<Account> {
    config.mcp.iter().filter_map(|(name, server)| account(name, &server.place)).collect()
}

/// The one called `name`; the only one where none is named.
///
/// # Errors
///
/// When there is none of that name, or nobody can tell which is meant.
pub(super) fn named(config: &Config, name: Option<&str>) -> Result<Account> {
    let accounts = accounts(config);
    let names = accounts.iter().map(|account| account.name.as_str()).collect::<Vec<_>>().join(", ");
    let why = match (name, &accounts[..]) {
        (_, []) => {
            "no server in the settings is at an address where one could sign in; `haft mcp add` adds one".to_owned()
        }
        (None, [only]) => return Ok(only.clone()),
        (None, _) => format!("which one? There is {names}"),
        (Some(name), _) => match accounts.iter().find(|account| account.name == name) {
            Some(account) => return Ok(account.clone()),
            None if config.mcp.contains_key(name) => {
                format!("{name:?} needs no sign-in: it is a program, or its \"oauth\" is false. There is {names}")
            }
            None => format!("there is no server called {name:?} in the settings; there is {names}"),
        },
    };
    Err(Usage(why).into())
}

/// How one signs in at the server called `name` in `place`; `None`: not at all.
pub(crate) fn account(name: &str, place: &McpPlace) -> Option<Account> {
    let McpPlace::Remote { url, oauth: Some(oauth), .. } = place else { return None };
    Some(Account {
        name: name.to_owned(),
        url: url.clone(),
        client_id: oauth.client_id.clone(),
        client_secret: oauth.client_secret.clone(),
        client_page: None,
        scope: oauth.scope.clone(),
        callback_port: oauth.callback_port,
        redirect_uri: oauth.redirect_uri.clone(),
    })
}
