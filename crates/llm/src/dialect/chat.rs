//! OpenAI's chat completions, which most vendors and all local servers speak.

mod body;
mod options;
mod read;

use std::fmt;
use std::sync::Arc;

use futures::stream::BoxStream;
use reqwest::header::AUTHORIZATION;

use super::answering::{affinity, answer};
use crate::http::{Endpoint, Scheme};
use crate::{Chunk, LlmError, Provider, Request, Secret, SetupError};
pub use body::tools;
use read::Reader;

/// Whom to ask, and how.
#[derive(Clone)]
pub struct ChatConfig {
    /// The vendor's name, for messages and for what is given back to them.
    pub provider: String,
    /// The address above `/chat/completions`, for example `https://api.openai.com/v1`. A query is kept.
    pub base_url: String,
    /// Sent as a bearer token.
    pub key: Option<Secret>,
    /// Further headers. They win over our own, and their values are treated as secrets.
    pub headers: Vec<(String, String)>,
    /// The field of an answer in which its thinking is given back, whoever made it and also when there is none, for
    /// servers that want it so: `reasoning_content` is the usual one. `None`: thinking goes back as it came.
    pub thinking_field: Option<String>,
}

impl fmt::Debug for ChatConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ChatConfig")
            .field("provider", &self.provider)
            .field("key", &self.key)
            .field("headers", &headers)
            .finish_non_exhaustive()
    }
}

/// A vendor who speaks chat completions.
///
/// Thinking is given back only to the vendor and the model that made it, under the name of the field that it came
/// in: `reasoning_content`, `reasoning`, or whole `reasoning_details` with their signatures.
#[derive(Debug, Clone)]
pub struct Chat {
    endpoint: Endpoint,
    thinking_field: Option<String>,
    written: Arc<body::Written>,
}

impl Chat {
    /// Asks nothing yet.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn new(config: ChatConfig) -> Result<Self, SetupError> {
        let ChatConfig { provider, base_url, key, headers, thinking_field } = config;
        let key = key.map(|key| (Scheme { header: AUTHORIZATION, before: "Bearer " }, key));
        let endpoint = Endpoint::new(&provider, &base_url, "chat/completions", key, &[], &headers)?;
        Ok(Self { endpoint, thinking_field, written: Arc::default() })
    }
}

/// The body of `request` to nobody in particular.
pub(crate) fn body(request: &Request) -> Vec<u8> {
    body::bytes("", None, request, &body::Written::default())
}

impl Provider for Chat {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let endpoint = self.endpoint.clone();
        let body = body::bytes(endpoint.provider(), self.thinking_field.as_deref(), &request, &self.written);
        let headers = affinity(request.session.as_deref());
        let reader = Reader::new(endpoint.provider(), &request, endpoint.secrets());
        answer(endpoint, request.model, body, headers, reader)
    }

    fn body(&self, request: Request) -> Vec<u8> {
        body::bytes(self.endpoint.provider(), self.thinking_field.as_deref(), &request, &self.written)
    }
}

#[cfg(test)]
mod tests;
