//! Azure: OpenAI's models at an address that carries the name of the user's resource, with the key in a header of its
//! own. What the catalogue calls a model is what the user called its deployment.

use reqwest::Url;
use reqwest::header::HeaderName;

use super::{KeyIn, Wanted, Wants, openai, part};
use crate::catalogue::Dialect;

/// OpenCode's driver for it.
pub(super) const DRIVER: &str = "@ai-sdk/azure";

/// The version of the interface that has no date and changes only by additions.
const VERSION: &str = "v1";

/// Where Azure's own servers are.
const HOSTS: [&str; 3] = [".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"];

/// The variable that names the resource, and where it stands in the host.
fn resource(vendor: &str) -> (&'static str, &'static str) {
    match vendor {
        "azure-cognitive-services" => ("AZURE_COGNITIVE_SERVICES_RESOURCE_NAME", "cognitiveservices"),
        _ => ("AZURE_RESOURCE_NAME", "openai"),
    }
}

pub(super) fn wants(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let (variable, service) = resource(wanted.vendor);
    let name = wanted.setting("resourceName", &[variable]);
    let name = name.map(|name| part("the name of an Azure resource", name)).transpose()?;
    let variables: Vec<_> = name.iter().map(|name| (variable, name.clone())).collect();
    let key_in = Some(KeyIn { header: HeaderName::from_static("api-key"), before: "" });
    match wanted.driver {
        None | Some(DRIVER) => {}
        // Models of Anthropic take the key where Anthropic does.
        Some("@ai-sdk/anthropic") => return Ok(Wants { variables, ..Wants::default() }),
        // Others stand at an address of their own, which the catalogue knows.
        Some(_) => return Ok(Wants { key_in, variables, ..Wants::default() }),
    }
    let above = match wanted.setting("baseURL", &[]) {
        Some(base) => base,
        None => {
            let name = match name {
                Some(name) => name,
                None => wanted.needed("the name of your Azure resource", "resourceName", &[variable])?,
            };
            format!("https://{name}.{service}.azure.com/openai")
        }
    };
    let version = wanted.setting("apiVersion", &[]).unwrap_or_else(|| VERSION.to_owned());
    let deployment = wanted.is_on("useDeploymentBasedUrls").then_some(wanted.model);
    // Deployments of that form know nothing newer.
    let chats = wanted.is_on("useCompletionUrls") || deployment.is_some();
    let mut extra = if chats { Default::default() } else { openai::extra(wanted) };
    // Refused by some of its versions.
    extra.remove("textVerbosity");
    Ok(Wants {
        dialect: Some(if chats { Dialect::Chat } else { Dialect::Responses }),
        base_url: Some(address(&above, &version, deployment)?),
        key_in,
        variables,
        extra,
        ..Wants::default()
    })
}

/// The address above the path of the dialect: Azure's own carry a version, those of gateways are as they are.
fn address(above: &str, version: &str, deployment: Option<&str>) -> Result<String, String> {
    let mut url = Url::parse(above).map_err(|error| format!("baseURL {above:?} is no address: {error}"))?;
    let host = url.host_str().unwrap_or_default();
    let is_azure = HOSTS.iter().any(|end| host.ends_with(end));
    let path = url.path().trim_end_matches('/').to_owned();
    let is_project = host.ends_with(".services.ai.azure.com") && path.starts_with("/api/projects/");
    let is_versioned = path.to_ascii_lowercase().ends_with("/openai/v1");
    if let Some(deployment) = deployment {
        let deployment = part("the name of a deployment", deployment.to_owned())?;
        url.set_path(&format!("{path}/deployments/{deployment}"));
    } else if !is_azure || is_versioned {
        return Ok(above.trim_end_matches('/').to_owned());
    } else {
        url.set_path(&format!("{path}/v1"));
    }
    if deployment.is_some() || !is_project {
        url.query_pairs_mut().append_pair("api-version", version);
    }
    Ok(url.to_string())
}
