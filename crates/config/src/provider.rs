//! Providers and models as a file spells them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A vendor, or a server of one's own.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ProviderConfig {
    /// Its name for people.
    pub name: Option<String>,
    /// The driver OpenCode would load, which says what dialect it speaks.
    pub npm: Option<String>,
    /// Its address, where `options.baseURL` gives none.
    pub api: Option<String>,
    /// Names of environment variables that may hold its key.
    pub env: Vec<String>,
    /// `baseURL`, `apiKey`, `headers` and whatever else.
    pub options: Options,
    /// Its models by the name used here.
    pub models: BTreeMap<String, ModelConfig>,
}

/// How to reach a vendor.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Its address.
    #[serde(rename = "baseURL")]
    pub base_url: Option<String>,
    /// Its key.
    #[serde(rename = "apiKey")]
    pub api_key: Option<String>,
    /// Further headers of each request.
    pub headers: BTreeMap<String, String>,
    /// Whatever else the driver would take.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl std::fmt::Debug for Options {
    /// Leaves out the key and the headers, which may hold one.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// A model of a vendor.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ModelConfig {
    /// What the vendor calls it, if that is another name.
    pub id: Option<String>,
    /// Its name for people.
    pub name: Option<String>,
    /// What it can take.
    pub limit: Limit,
    /// What it costs, in dollars for a million tokens.
    pub cost: Option<Prices>,
    /// Further fields of each request.
    pub options: Map<String, Value>,
    /// Further headers of each request.
    pub headers: BTreeMap<String, String>,
}

/// What a model can take, in tokens. Zero: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// Everything together.
    pub context: u64,
    /// What it may write.
    pub output: u64,
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Prices {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the vendor's cache.
    pub cache_read: f64,
    /// Written to the vendor's cache.
    pub cache_write: f64,
}
