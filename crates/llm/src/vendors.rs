//! What single vendors want beyond their entry in the catalogue, once for all their requests: an address put together from
//! several settings, headers of their own, a key that is sent otherwise, tokens that are fetched. Pure, but for the keys
//! that are made later, and for Bedrock's and Vertex AI's files, which say where they are.

mod azure;
mod bedrock;
mod chatgpt;
mod cloudflare;
mod copilot;
mod courtesy;
mod gitlab;
mod google;
mod openai;
mod sap;
mod snowflake;
mod vertex;
mod xai;

pub(crate) use bedrock::suffix as aws_suffix;
use reqwest::header::HeaderName;
use serde_json::{Map, Value};

use crate::catalogue::Dialect;
use crate::{Key, Manners, Place, Secret};

/// What is known of the way to a model before its vendor has a say.
pub struct Wanted<'a> {
    /// The vendor's id in the catalogue.
    pub vendor: &'a str,
    /// What the vendor calls the model.
    pub model: &'a str,
    /// The driver that OpenCode would load.
    pub driver: Option<&'a str>,
    /// The vendor's `options` of the settings.
    pub options: &'a Map<String, Value>,
    /// What was stored beside its key when the user signed in.
    pub stored: &'a Map<String, Value>,
    /// Variables of the environment that are set and not empty.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// What a vendor wants otherwise. What is `None` or empty stays as it is.
#[derive(Debug, Default)]
pub struct Wants {
    /// What it speaks.
    pub dialect: Option<Dialect>,
    /// On whose machines: for [`crate::dialect::messages::Messages::at`] and its like.
    pub place: Place,
    /// Its address, above the path of the dialect.
    pub base_url: Option<String>,
    /// What it calls the model.
    pub model: Option<String>,
    /// How a request shows who pays.
    pub key: Option<Key>,
    /// Where a key that was found elsewhere goes, if not where the dialect puts it.
    pub key_in: Option<KeyIn>,
    /// Whether it is asked without a key.
    pub free: bool,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// Further fields of each request; those of the settings win.
    pub extra: Map<String, Value>,
    /// What it wants in each request beyond its dialect.
    pub manners: Manners,
    /// What stands for `${NAME}` in addresses of the catalogue. It wins over the environment.
    pub variables: Vec<(&'static str, String)>,
}

/// Where a key goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyIn {
    /// In which header.
    pub header: HeaderName,
    /// What stands before it there.
    pub before: &'static str,
}

impl KeyIn {
    /// `secret`, sent there.
    pub fn key(&self, secret: &Secret) -> Key {
        Key::Header(self.header.clone(), Secret::new(format!("{}{}", self.before, secret.expose())))
    }
}

impl Wanted<'_> {
    /// A setting: the vendor's option of that name, else what was stored with the key, else a variable.
    fn setting(&self, name: &str, variables: &[&str]) -> Option<String> {
        let text = |map: &Map<String, Value>| map.get(name).and_then(Value::as_str).map(str::to_owned);
        let text = text(self.options)
            .or_else(|| text(self.stored))
            .or_else(|| variables.iter().find_map(|one| (self.env)(one)));
        text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The same, for one that there must be.
    fn needed(&self, what: &str, name: &str, variables: &[&'static str]) -> Result<String, String> {
        self.setting(name, variables).ok_or_else(|| {
            let vendor = self.vendor;
            let variable = variables.first().map(|one| format!("set {one}, or ")).unwrap_or_default();
            format!("{vendor} needs {what}; {variable}write it to provider.{vendor}.options.{name} in haft.json")
        })
    }

    /// Whether an option is switched on.
    fn is_on(&self, name: &str) -> bool {
        self.options.get(name) == Some(&Value::Bool(true))
    }

    /// Whether an option is switched off.
    fn is_off(&self, name: &str) -> bool {
        self.options.get(name) == Some(&Value::Bool(false))
    }
}

/// A part of an address that a setting names, such as an account: letters, digits, `-`, `_` and `.`. Anything else
/// could send the key to another place.
fn part(what: &str, text: String) -> Result<String, String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    match !text.is_empty() && text.chars().all(fits) && !text.split('.').any(str::is_empty) {
        true => Ok(text),
        false => Err(format!("{text:?} cannot be {what}: it may have letters, digits, -, _ and . only")),
    }
}

/// What the vendor of `wanted` wants otherwise.
///
/// # Errors
///
/// Text for a person: which setting is missing, and where it can be set.
pub fn wants(wanted: &Wanted<'_>) -> Result<Wants, String> {
    let mut wants = match (wanted.vendor, wanted.driver) {
        ("openai", None | Some(openai::DRIVER)) => openai::wants(wanted),
        ("azure" | "azure-cognitive-services", _) | (_, Some(azure::DRIVER)) => azure::wants(wanted)?,
        ("xai", None | Some(xai::DRIVER)) => xai::wants(wanted),
        ("github-copilot" | "github-copilot-enterprise", _) => copilot::wants(wanted)?,
        ("cloudflare-workers-ai", _) => cloudflare::workers(wanted)?,
        ("cloudflare-ai-gateway", _) => cloudflare::gateway(wanted)?,
        ("gitlab", _) => gitlab::wants(wanted)?,
        ("sap-ai-core", _) => sap::wants(wanted)?,
        ("snowflake-cortex", _) => snowflake::wants(wanted)?,
        (vendor, driver) if bedrock::is_it(vendor, driver) => bedrock::wants(wanted)?,
        ("google", _) | (_, Some("@ai-sdk/google")) => google::wants(wanted),
        ("google-vertex" | "google-vertex-anthropic", _)
        | (_, Some("@ai-sdk/google-vertex" | "@ai-sdk/google-vertex/anthropic")) => vertex::wants(wanted)?,
        (_, Some(openai::DRIVER)) => openai::wants(wanted),
        (_, Some(xai::DRIVER)) => xai::wants(wanted),
        (_, _) => Wants::default(),
    };
    wants.headers.extend(courtesy::headers(wanted.vendor));
    Ok(wants)
}

#[cfg(test)]
mod tests;
