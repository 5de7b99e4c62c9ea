//! A vendor as the catalogue knows it.

use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::local::is_here;

/// A vendor of models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Vendor {
    /// What it is called in `VENDOR/MODEL`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Variables that may hold its key, the usual one first, and others that its address is made of.
    pub env: Vec<String>,
    /// The driver that OpenCode would load, which says what it speaks: see [`super::driver`].
    pub npm: String,
    /// Its address, above the path of the dialect. `${NAME}` stands for a variable. `None`: that of the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// Where its models are documented.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub doc: String,
    /// How many models it has in the catalogue.
    pub count: usize,
}

impl Vendor {
    /// Whether it is a server on this machine, which may want no key.
    pub fn is_local(&self) -> bool {
        self.api.as_deref().and_then(|api| Url::parse(api).ok()).is_some_and(|url| is_here(&url))
    }

    /// The variables that may hold a key, the usual one first.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.env.iter().map(String::as_str).filter(|name| is_secret(name))
    }
}

/// Whether a variable of that name holds a key, and not a part of an address such as a region or an account.
pub fn is_secret(name: &str) -> bool {
    let words = ["KEY", "TOKEN", "SECRET", "PAT", "PASSWORD", "CREDENTIALS"];
    name.split('_').any(|word| words.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_key_is_told_from_what_an_address_is_made_of() {
        for name in
            ["OPENAI_API_KEY", "HF_TOKEN", "CLARIFAI_PAT", "AWS_SECRET_ACCESS_KEY", "ABLIT_KEY", "302AI_API_KEY"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["AWS_REGION", "AZURE_RESOURCE_NAME", "CLOUDFLARE_ACCOUNT_ID", "DATABRICKS_HOST", "KEYBOARD"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn a_server_on_this_machine_is_known_by_its_address() {
        let local = |api: Option<&str>| Vendor { api: api.map(str::to_owned), ..Vendor::default() }.is_local();
        assert!(local(Some("http://127.0.0.1:1234/v1")) && local(Some("http://localhost:8080/v1")));
        assert!(!local(Some("https://api.example/v1")) && !local(Some("${HOST}/v1")) && !local(None));
    }
}
