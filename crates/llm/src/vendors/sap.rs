//! SAP AI Core: a deployment of a model of OpenAI's, below the address that the service key names. The token comes from
//! signing in with that key.

use reqwest::Url;

use super::{Wanted, Wants, part};
use crate::auth::sap::{ServiceKey, VARIABLE};
use crate::auth::{Context, Places};
use crate::catalogue::Dialect;

/// The version of the interface of its deployments.
const VERSION: &str = "2024-10-21";

pub(super) fn wants(wanted: &Wanted<'_>) -> Result<Wants, String> {
    // What was stored brings the address that its key names, and tokens of its own.
    let address = wanted.setting("baseURL", &[]);
    let is_stored = wanted.stored.contains_key("baseURL") && wanted.setting("serviceKey", &[]).is_none();
    let key = match is_stored {
        true => None,
        false => Some(ServiceKey::parse(&wanted.needed("its service key", "serviceKey", &[VARIABLE])?)?),
    };
    let above = address.or_else(|| key.as_ref().map(|key| key.api.clone())).unwrap_or_default();
    let deployment = wanted.needed("the id of a deployment", "deploymentId", &["AICORE_DEPLOYMENT_ID"])?;
    let deployment = part("the id of a deployment", deployment)?;
    let version = wanted.setting("apiVersion", &[]).unwrap_or_else(|| VERSION.to_owned());
    let wrong = |error: &dyn std::fmt::Display| format!("the address {above:?} of sap-ai-core is none: {error}");
    let mut url = Url::parse(&above).map_err(|error| wrong(&error))?;
    let path = url.path().trim_end_matches('/').trim_end_matches("/v2").to_owned();
    url.set_path(&format!("{path}/v2/inference/deployments/{deployment}"));
    url.query_pairs_mut().append_pair("api-version", &version);
    let group = wanted.setting("resourceGroup", &["AICORE_RESOURCE_GROUP"]).unwrap_or_else(|| "default".to_owned());
    let places = Places::from_variable((wanted.env)(Places::VARIABLE).as_deref());
    let context = places.and_then(Context::new).map_err(|error| error.to_string())?;
    Ok(Wants {
        dialect: Some(Dialect::Chat),
        base_url: Some(url.to_string()),
        key: key.map(|key| key.key(context)),
        headers: vec![("ai-resource-group".to_owned(), group)],
        ..Wants::default()
    })
}
