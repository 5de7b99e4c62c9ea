//! The servers where one signs in, as the settings have them.

use anyhow::Result;
use haft_mcp::oauth::Account;

use crate::report::Usage;
use crate::servers;
use crate::wire::Ground;

/// All servers of the settings where one may have to sign in, by name.
pub(super) fn accounts(ground: &Ground) -> Vec<Account> {
    ground.config.mcp.iter().filter_map(|(name, server)| servers::account(ground, name, server)).collect()
}

/// The one called `name`; the only one where none is named.
///
/// # Errors
///
/// When there is none of that name, or nobody can tell which is meant.
pub(super) fn named(ground: &Ground, name: Option<&str>) -> Result<Account> {
    let accounts = accounts(ground);
    let names = accounts.iter().map(|account| account.name.as_str()).collect::<Vec<_>>().join(", ");
    let why = match (name, &accounts[..]) {
        (_, []) => {
            "no server in the settings is at an address where one could sign in; `haft mcp add` adds one".to_owned()
        }
        (None, [only]) => return Ok(only.clone()),
        (None, _) => format!("which one? There is {names}"),
        (Some(name), _) => match accounts.iter().find(|account| account.name == name) {
            Some(account) => return Ok(account.clone()),
            None if ground.config.mcp.contains_key(name) => {
                format!("{name:?} needs no sign-in: it is a program, or its \"oauth\" is false. There is {names}")
            }
            None => format!("there is no server called {name:?} in the settings; there is {names}"),
        },
    };
    Err(Usage(why).into())
}
