//! Anthropic's messages, which some other vendors' servers speak, too.

mod blocks;
mod body;
mod options;
mod read;

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use reqwest::Url;
use reqwest::header::HeaderName;
use serde_json::Value;

use super::answering::answer;
use super::written::segment;
use crate::eventstream::CONTENT_TYPE;
use crate::http::{Asking, Endpoint, Scheme};
use crate::{Chunk, LlmError, Manners, Place, Provider, Request, Server, SetupError, ToolSpec};
pub(in crate::dialect) use read::Reader;

/// The version of the interface that this dialect speaks.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// What is not in that version and asked for all the same: thinking between calls, and arguments as they are written
/// instead of in one piece at their end. Only Anthropic's own servers are asked, because others refuse what they do
/// not know.
const BETA: &str = "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14";

/// The same on Vertex AI, which refuses what it does not know in this header.
const VERTEX_BETA: &str = "interleaved-thinking-2025-05-14";

/// The header that asks for it.
const BETA_HEADER: &str = "anthropic-beta";

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
    place: Place,
    manners: Manners,
    written: Arc<blocks::Written>,
}

impl Messages {
    /// Asks nothing yet.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn new(server: &Server) -> Result<Self, SetupError> {
        Self::at(server, Place::Own)
    }

    /// The same at `place`, where the model stands in the address and the version in the body. The address ends above
    /// the models: `…/publishers/anthropic` on Vertex AI.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn at(server: &Server, place: Place) -> Result<Self, SetupError> {
        let (fixed, beta): (&[_], _) = match place {
            Place::Own if is_anthropic(&server.base_url) => (&[VERSION], Some(BETA)),
            Place::Own => (&[VERSION], None),
            Place::Vertex => (&[], Some(VERTEX_BETA)),
            Place::Bedrock => (&[("accept", CONTENT_TYPE)], None),
        };
        let server = Server { headers: joined(beta, &server.headers), ..server.clone() };
        let scheme = Scheme { header: HeaderName::from_static("x-api-key"), before: "" };
        let endpoint = Endpoint::new(&server, scheme, fixed)?;
        Ok(Self { endpoint, place, manners: server.manners, written: Arc::default() })
    }
}

impl Provider for Messages {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let endpoint = self.endpoint.clone();
        let body = body::bytes(endpoint.provider(), self.place, &request, &self.written);
        let path = path(self.place, &request.model);
        let headers = self.manners.headers(&request);
        let reader = Reader::new(endpoint.provider(), &request, &endpoint.secrets());
        answer(endpoint, Asking { path, headers }, request.model, body, reader)
    }

    fn body(&self, request: Request) -> Bytes {
        body::bytes(self.endpoint.provider(), self.place, &request, &self.written).into()
    }

    fn tools(&self, specs: &[ToolSpec]) -> Value {
        body::tools(specs)
    }
}

/// Where `model` is asked, below the address.
fn path(place: Place, model: &str) -> String {
    match place {
        Place::Own => "messages".to_owned(),
        Place::Vertex => format!("models/{}:streamRawPredict", segment(model)),
        Place::Bedrock => format!("model/{}/invoke-with-response-stream", segment(model)),
    }
}

/// `headers` with all that is asked for beyond the version in one of them: what this dialect wants, and what those of a
/// model or of the settings add to it.
fn joined(wanted: Option<&str>, headers: &[(String, String)]) -> Vec<(String, String)> {
    let is_beta = |(name, _): &&(String, String)| name.eq_ignore_ascii_case(BETA_HEADER);
    let added = headers.iter().filter(is_beta).map(|(_, value)| value.as_str());
    let mut names: Vec<&str> = Vec::new();
    for name in wanted.into_iter().chain(added).flat_map(|list| list.split(',')).map(str::trim) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    let beta = (!names.is_empty()).then(|| (BETA_HEADER.to_owned(), names.join(",")));
    headers.iter().filter(|header| !is_beta(header)).cloned().chain(beta).collect()
}

/// Whether an address is one of Anthropic's own.
fn is_anthropic(base_url: &str) -> bool {
    let url = Url::parse(base_url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    host == "anthropic.com" || host.ends_with(".anthropic.com")
}

#[cfg(test)]
mod tests;
