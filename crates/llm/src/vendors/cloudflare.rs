//! Cloudflare: its own models, and its gateway to those of others. Both stand below the user's account.

use reqwest::header::HeaderName;

use super::{KeyIn, Wanted, Wants, part};
use crate::catalogue::Dialect;

const ACCOUNT: &str = "CLOUDFLARE_ACCOUNT_ID";

/// Cloudflare's own models.
pub(super) fn workers(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let account = account(wanted)?;
    Ok(Wants {
        dialect: Some(Dialect::Chat),
        base_url: Some(format!("https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1")),
        variables: vec![(ACCOUNT, account)],
        ..Wants::default()
    })
}

/// The gateway, which speaks chat completions for every maker. A model is called `MAKER/MODEL` there.
pub(super) fn gateway(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let account = account(wanted)?;
    let gateway = wanted.needed("the name of your gateway", "gatewayId", &["CLOUDFLARE_GATEWAY_ID"])?;
    let gateway = part("the name of a gateway", gateway)?;
    Ok(Wants {
        dialect: Some(Dialect::Chat),
        base_url: Some(format!("https://gateway.ai.cloudflare.com/v1/{account}/{gateway}/compat")),
        // In the usual header it would be taken for the key of the maker.
        key_in: Some(KeyIn { header: HeaderName::from_static("cf-aig-authorization"), before: "Bearer " }),
        variables: vec![(ACCOUNT, account), ("CLOUDFLARE_GATEWAY_ID", gateway)],
        ..Wants::default()
    })
}

fn account(wanted: &Wanted<'_>) -> Result<String, String> {
    part("the id of an account", wanted.needed("the id of your account", "accountId", &[ACCOUNT])?)
}
