//! Anthropic's messages, which some other vendors' servers speak, too.

mod blocks;
mod body;
mod options;
mod read;

use std::fmt;
use std::sync::Arc;

use futures::stream::BoxStream;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName};
use serde_json::Value;

use super::answering::{affinity, answer};
use crate::http::{Endpoint, Scheme};
use crate::{Chunk, LlmError, Provider, Request, Secret, SetupError, ToolSpec};
use read::Reader;

/// The version of the interface that this dialect speaks.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// What is not in that version and asked for all the same: thinking between calls, and arguments as they are written
/// instead of in one piece at their end. Only Anthropic's own servers are asked, because others refuse what they do
/// not know.
const BETA: (&str, &str) = ("anthropic-beta", "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14");

/// Whom to ask, and how.
#[derive(Clone)]
pub struct MessagesConfig {
    /// The vendor's name, for messages and for what is given back to them.
    pub provider: String,
    /// The address above `/messages`, for example `https://api.anthropic.com/v1`. A query is kept.
    pub base_url: String,
    /// How the program shows who pays.
    pub key: Option<MessagesKey>,
    /// Further headers. They win over our own, and their values are treated as secrets.
    pub headers: Vec<(String, String)>,
}

/// How a key is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagesKey {
    /// As `x-api-key`.
    ApiKey(Secret),
    /// As a bearer token: what comes from signing in, and what many gateways want.
    Bearer(Secret),
}

impl fmt::Debug for MessagesConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("MessagesConfig")
            .field("provider", &self.provider)
            .field("key", &self.key)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// A vendor who speaks messages.
///
/// Thinking and blocks of the vendor's own tools are given back unchanged, with their signatures, to the vendor and the
/// model that made them. The prefix that a vendor's cache may keep is marked in each request: the system prompt and
/// the last two messages.
///
/// Of [`Request::extra`], the names that OpenCode's driver uses are put into those of the wire: `thinking.budgetTokens`,
/// `effort`, `disableParallelToolUse`. Everything else goes as it is.
#[derive(Debug, Clone)]
pub struct Messages {
    endpoint: Endpoint,
    written: Arc<blocks::Written>,
}

impl Messages {
    /// Asks nothing yet.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn new(config: MessagesConfig) -> Result<Self, SetupError> {
        let MessagesConfig { provider, base_url, key, headers } = config;
        let key = key.map(|key| match key {
            MessagesKey::ApiKey(key) => (Scheme { header: HeaderName::from_static("x-api-key"), before: "" }, key),
            MessagesKey::Bearer(key) => (Scheme { header: AUTHORIZATION, before: "Bearer " }, key),
        });
        let fixed: &[_] = if is_anthropic(&base_url) { &[VERSION, BETA] } else { &[VERSION] };
        let endpoint = Endpoint::new(&provider, &base_url, "messages", key, fixed, &headers)?;
        Ok(Self { endpoint, written: Arc::default() })
    }
}

impl Provider for Messages {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let endpoint = self.endpoint.clone();
        let body = body::bytes(endpoint.provider(), &request, &self.written);
        let headers = affinity(request.session.as_deref());
        let reader = Reader::new(endpoint.provider(), &request, endpoint.secrets());
        answer(endpoint, request.model, body, headers, reader)
    }

    fn body(&self, request: Request) -> Vec<u8> {
        body::bytes(self.endpoint.provider(), &request, &self.written)
    }

    fn tools(&self, specs: &[ToolSpec]) -> Value {
        body::tools(specs)
    }
}

/// Whether an address is one of Anthropic's own.
fn is_anthropic(base_url: &str) -> bool {
    let url = Url::parse(base_url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    host == "anthropic.com" || host.ends_with(".anthropic.com")
}

#[cfg(test)]
mod tests;
