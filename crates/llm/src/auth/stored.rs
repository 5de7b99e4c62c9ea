//! What is stored, as the key of a request.

use std::sync::Arc;

use haft_vault::{Api, Entry, OAuth, Vault};
use serde_json::{Map, Value};

use super::chatgpt::ChatGpt;
use super::fresh::{Fresh, Renew};
use super::sap::ServiceKey;
use super::snowflake::Snowflake;
use super::{AuthError, Context};
use crate::{Key, Secret};

/// What somebody who signed in brings to a request.
#[derive(Debug, Clone)]
pub struct Credential {
    /// How a request shows who pays.
    pub key: Key,
    /// What was stored beside it: the answers to a vendor's prompts, `accountId`, `enterpriseUrl`; and `type`, which is
    /// `api` or `oauth`. No secrets.
    pub stored: Map<String, Value>,
}

/// What `entry`, stored in `vault` for `vendor`, brings to a request. `None` where it is no key: an organisation's token
/// is found by its variable.
///
/// # Errors
///
/// When it has expired and this program cannot renew it, or it is in a keyring that does not answer.
pub fn credential(
    vendor: &str,
    entry: &Entry,
    vault: &Vault,
    context: &Context,
) -> Result<Option<Credential>, AuthError> {
    let stored = |fields: Vec<(&str, Option<&String>)>| -> Map<String, Value> {
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.clone().into())));
        fields.collect()
    };
    match entry {
        Entry::Elsewhere => match vault.get(vendor)? {
            Some(Entry::Elsewhere) | None => Ok(None),
            Some(entry) => credential(vendor, &entry, vault, context),
        },
        Entry::WellKnown(_) | Entry::Other(_) => Ok(None),
        Entry::Api(Api { key, metadata, .. }) => {
            let mut stored = metadata.clone();
            stored.insert("type".to_owned(), "api".into());
            // Its key is not sent: tokens are got with it, and it says where the models are.
            if vendor == "sap-ai-core" {
                let key = ServiceKey::parse(key).map_err(AuthError::Setup)?;
                stored.insert("baseURL".to_owned(), key.api.clone().into());
                return Ok(Some(Credential { key: key.key(context.clone()), stored }));
            }
            Ok((!key.is_empty()).then(|| Credential { key: Key::Plain(Secret::new(key)), stored }))
        }
        Entry::OAuth(tokens) => {
            let OAuth { access, expires, account_id, enterprise_url, .. } = tokens;
            let kind = "oauth".to_owned();
            let stored = stored(vec![
                ("accountId", account_id.as_ref()),
                ("account", account_id.as_ref().filter(|_| vendor == "snowflake-cortex")),
                ("enterpriseUrl", enterprise_url.as_ref()),
                ("type", Some(&kind)),
            ]);
            let renew: Option<Box<dyn Renew>> = match vendor {
                "openai" => Some(Box::new(ChatGpt)),
                "snowflake-cortex" => Some(Box::new(Snowflake)),
                _ => None,
            };
            let key = match renew {
                Some(renew) => {
                    Key::Signed(Arc::new(Fresh::new(vendor, tokens.clone(), vault.clone(), context.clone(), renew)))
                }
                // GitHub's token stands in both places, and older files have it only in this one.
                None if vendor.starts_with("github-copilot") => {
                    let token = if tokens.refresh.is_empty() { access } else { &tokens.refresh };
                    Key::Bearer(Secret::new(token))
                }
                None if *expires != 0 && *expires <= context.now() => {
                    return Err(AuthError::Setup(format!(
                        "what you signed in to {vendor} with has expired, and haft cannot renew it; run `haft auth login {vendor}`"
                    )));
                }
                None => Key::Bearer(Secret::new(access)),
            };
            Ok(Some(Credential { key, stored }))
        }
    }
}
