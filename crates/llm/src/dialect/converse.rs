//! Amazon Bedrock's Converse: one form for the models of all makers there, in Amazon's binary framing.
//!
//! What a maker's models want otherwise is in `converse/family.rs`. Anthropic's models on Bedrock can also be asked in Anthropic's
//! own words, see [`super::messages`].

mod blocks;
mod body;
mod family;
mod files;
mod names;
mod options;
mod read;
mod tools;

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use reqwest::header::{ACCEPT, HeaderValue};
use serde_json::Value;

use super::answering::answer;
use super::written::segment;
use crate::eventstream::CONTENT_TYPE;
use crate::http::{Asking, Endpoint, Scheme};
use crate::manners::added;
use crate::{Chunk, LlmError, Provider, Request, Server, SetupError, ToolSpec};
pub(in crate::dialect) use read::Reader;

/// A vendor who speaks it.
///
/// Signed and redacted thoughts are given back unchanged to the vendor and the model that made them; thoughts that
/// nobody signed are not, for some models repeat them aloud. The prefix that a vendor's cache may keep is marked for
/// models that are known to have one: tools, system prompt and the last two messages.
///
/// Of [`Request::extra`], the names that OpenCode's driver uses are put into those of the wire: `reasoningConfig`,
/// `anthropicBeta`, `serviceTier`, `disableParallelToolUse`. Fields of Converse itself go where they belong; everything
/// else goes to the model, as `additionalModelRequestFields`. `cachePoint` is ours: `false` leaves marks out,
/// `{"ttl": "1h"}` is what they hold. `modelFamily: "anthropic"` says what hides behind the name of a profile.
#[derive(Debug, Clone)]
pub struct Converse {
    endpoint: Endpoint,
    written: Arc<blocks::Written>,
}

impl Converse {
    /// Asks nothing yet. A plain key is sent as a bearer token.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn new(server: &Server) -> Result<Self, SetupError> {
        Ok(Self { endpoint: Endpoint::new(server, Scheme::BEARER, &[])?, written: Arc::default() })
    }
}

impl Provider for Converse {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let endpoint = self.endpoint.clone();
        let body = body::bytes(endpoint.provider(), &request, &self.written);
        let mut headers = added(&request);
        headers.insert(ACCEPT, HeaderValue::from_static(CONTENT_TYPE));
        let reader = Reader::new(endpoint.provider(), &request, &endpoint.secrets());
        let path = format!("model/{}/converse-stream", segment(&request.model));
        answer(endpoint, Asking { path, headers }, request.model, body, reader)
    }

    fn body(&self, request: Request) -> Bytes {
        body::bytes(self.endpoint.provider(), &request, &self.written).into()
    }

    fn tools(&self, specs: &[ToolSpec]) -> Value {
        tools::array(specs)
    }
}

#[cfg(test)]
mod tests;
