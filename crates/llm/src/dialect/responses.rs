//! OpenAI's responses, which its newer models want.

mod body;
mod family;
mod format;
mod items;
mod options;
mod parts;
mod read;

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use serde_json::Value;

use super::answering::answer;
use crate::http::{Asking, Endpoint, Scheme};
use crate::manners::Manners;
use crate::{Chunk, LlmError, Provider, Request, Server, SetupError, ToolSpec};
pub(crate) use family::Family;
pub(in crate::dialect) use read::Reader;

/// A vendor who speaks responses.
///
/// Nothing is left with the vendor (`store: false`): a conversation is sent whole. Thinking comes back to it encrypted,
/// with what the vendor's own tools did, to the vendor and the model that made it. The vendor's ids of items go back
/// only where the settings say `store: true`: what is not stored cannot be found by them.
///
/// Of [`Request::extra`], the names that OpenCode's driver uses are put into those of the wire: `reasoningEffort`,
/// `reasoningSummary`, `textVerbosity` and their like. Everything else goes as it is.
#[derive(Debug, Clone)]
pub struct Responses {
    endpoint: Endpoint,
    manners: Manners,
    written: Arc<items::Written>,
}

impl Responses {
    /// Asks nothing yet.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn new(server: &Server) -> Result<Self, SetupError> {
        let endpoint = Endpoint::new(server, Scheme::BEARER, &[])?;
        Ok(Self { endpoint, manners: server.manners, written: Arc::default() })
    }

    fn bytes(&self, request: &Request) -> Bytes {
        body::bytes(self.endpoint.provider(), self.manners, request, &self.written)
    }
}

impl Provider for Responses {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let endpoint = self.endpoint.clone();
        let body = self.bytes(&request);
        let headers = self.manners.headers(&request);
        let reader = Reader::new(endpoint.provider(), &request, &endpoint.secrets());
        answer(endpoint, Asking { path: "responses".to_owned(), headers }, request.model, body, reader)
    }

    fn body(&self, request: Request) -> Bytes {
        self.bytes(&request)
    }

    fn tools(&self, specs: &[ToolSpec]) -> Value {
        body::tools(specs)
    }
}

#[cfg(test)]
mod tests;
