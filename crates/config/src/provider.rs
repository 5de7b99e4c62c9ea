//! Providers and models as a file spells them.

use std::collections::BTreeMap;

use haft_vault::Secret;
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
    /// The only models of a known vendor that are offered; all of them where nothing is said.
    pub whitelist: Option<Vec<String>>,
    /// Models of a known vendor that are not offered.
    pub blacklist: Vec<String>,
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
    /// What it is a member of, such as `claude-haiku`.
    pub family: Option<String>,
    /// The day it came out, as `2025-09-29`.
    pub release_date: Option<String>,
    /// What it can take.
    pub limit: Limit,
    /// What it costs, in dollars for a million tokens.
    pub cost: Option<Prices>,
    /// Further fields of each request.
    pub options: Map<String, Value>,
    /// Further headers of each request.
    pub headers: BTreeMap<String, Secret>,
    /// Whether it reads files; not known where nothing is said, as with the next three.
    pub attachment: Option<bool>,
    /// Whether it thinks.
    pub reasoning: Option<bool>,
    /// Whether it takes a temperature.
    pub temperature: Option<bool>,
    /// Whether it calls tools.
    pub tool_call: Option<bool>,
    /// Where its thinking stands between its calls: `true`, a field's name, or `{"field": name}`.
    pub interleaved: Option<Value>,
    /// What it reads and writes.
    pub modalities: Option<Modalities>,
    /// `alpha`, `beta`, `deprecated` or `active`.
    pub status: Option<String>,
    /// The driver and the address of this model alone.
    pub provider: Option<ModelProvider>,
    /// Named sets of further fields; one with `disabled: true` is taken away.
    pub variants: BTreeMap<String, Map<String, Value>>,
}

/// What a model reads and writes: `text`, `audio`, `image`, `video`, `pdf`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Modalities {
    /// Reads.
    pub input: Vec<String>,
    /// Writes.
    pub output: Vec<String>,
}

/// The way to one model of a vendor, where it is not that of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ModelProvider {
    /// The driver.
    pub npm: Option<String>,
    /// The address.
    pub api: Option<String>,
}

/// What a model can take, in tokens. Zero: not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// Everything together.
    pub context: u64,
    /// What it may read, where that is less than everything.
    pub input: Option<u64>,
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
    pub cache_read: Option<f64>,
    /// Written to the vendor's cache.
    pub cache_write: Option<f64>,
    /// What it costs where a request has more than 200,000 tokens.
    pub context_over_200k: Option<Box<Prices>>,
}
