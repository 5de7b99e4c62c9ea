//! Google's Gemini, by its own interface and by Vertex AI.

mod body;
mod models;
mod options;
mod parts;
mod read;

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use reqwest::header::HeaderName;
use serde_json::Value;

use super::answering::answer;
use super::written::segment;
use crate::http::{Asking, Endpoint, Scheme};
use crate::manners::common;
use crate::{Chunk, LlmError, Place, Provider, Request, Server, SetupError, ToolSpec};
pub(in crate::dialect) use read::Reader;

pub use models::thinks;

/// A vendor who speaks Gemini's `streamGenerateContent`.
///
/// Thoughts, signatures and parts that only the vendor knows are given back unchanged to the vendor and the model that
/// made them. Gemini 3 refuses calls without a signature; those that another model made carry the one that its makers
/// have for that.
///
/// Of [`Request::extra`], what belongs into `generationConfig` is put there (`thinkingConfig`, `stopSequences`, `seed`,
/// …), and `threshold` becomes `safetySettings`. Everything else goes as it is.
///
/// A form for the answer is asked for unless tools are offered to a model before Gemini 3, which refuses both together.
#[derive(Debug, Clone)]
pub struct Gemini {
    endpoint: Endpoint,
    place: Place,
    written: Arc<parts::Written>,
}

impl Gemini {
    /// Asks nothing yet.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn new(server: &Server) -> Result<Self, SetupError> {
        Self::at(server, Place::Own)
    }

    /// The same at `place`. The address ends above the models: `…/publishers/google` on Vertex AI.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn at(server: &Server, place: Place) -> Result<Self, SetupError> {
        let scheme = Scheme { header: HeaderName::from_static("x-goog-api-key"), before: "" };
        Ok(Self { endpoint: Endpoint::new(server, scheme, &[])?, place, written: Arc::default() })
    }
}

impl Provider for Gemini {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let endpoint = self.endpoint.clone();
        let body = body::bytes(endpoint.provider(), self.place, &request, &self.written);
        let asking = Asking { path: path(&request.model), headers: common(&request) };
        let reader = Reader::new(endpoint.provider(), &request, &endpoint.secrets());
        answer(endpoint, asking, request.model, body, reader)
    }

    fn body(&self, request: Request) -> Bytes {
        body::bytes(self.endpoint.provider(), self.place, &request, &self.written).into()
    }

    fn tools(&self, specs: &[ToolSpec]) -> Value {
        body::tools(specs)
    }
}

/// Where `model` is asked, below the address. A name with a folder in front says itself what it is: `tunedModels/mine`,
/// `endpoints/12`.
fn path(model: &str) -> String {
    let mut path = if model.contains('/') { String::new() } else { "models/".to_owned() };
    for (at, name) in model.split('/').enumerate() {
        if at > 0 {
            path.push('/');
        }
        path.push_str(&segment(name));
    }
    path + ":streamGenerateContent?alt=sse"
}

#[cfg(test)]
mod tests;
