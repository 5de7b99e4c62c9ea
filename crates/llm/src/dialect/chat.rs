//! OpenAI's chat completions, which most vendors and all local servers speak.

mod answer;
mod body;
mod options;
mod read;
mod taste;
mod wire;

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use reqwest::Url;

use super::answering::answer;
use super::conversation::Conversations;
use crate::http::{Asking, Endpoint, Scheme};
use crate::{Chunk, LlmError, Provider, Request, Server, SetupError};
pub use body::tools;
pub(in crate::dialect) use read::Reader;
use taste::Listener;

/// How a server wants to be spoken to, beyond the dialect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatManners {
    /// The field of an answer in which its thinking is given back, whoever made it and also when there is none, for
    /// servers that want it so: `reasoning_content` is the usual one. `None`: thinking goes back as it came.
    pub thinking_field: Option<String>,
}

/// A vendor who speaks chat completions.
///
/// Thinking is given back only to the vendor and the model that made it, under the name of the field that it came
/// in: `reasoning_content`, `reasoning`, or whole `reasoning_details` with their signatures.
#[derive(Debug, Clone)]
pub struct Chat {
    endpoint: Endpoint,
    listener: Listener,
    written: Arc<Conversations>,
}

impl Chat {
    /// Asks nothing yet.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn new(server: &Server, manners: ChatManners) -> Result<Self, SetupError> {
        let endpoint = Endpoint::new(server, Scheme::BEARER, &[])?;
        let url = Url::parse(&server.base_url).ok();
        let listener = Listener {
            provider: server.provider.clone(),
            host: url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned(),
            manners: server.manners,
            thinking_field: manners.thinking_field,
        };
        Ok(Self { endpoint, listener, written: Arc::default() })
    }
}

/// The body of `request` to nobody in particular.
pub(crate) fn body(request: &Request) -> Bytes {
    body::bytes(&Listener::default(), request, &Conversations::default())
}

impl Provider for Chat {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let endpoint = self.endpoint.clone();
        let body = body::bytes(&self.listener, &request, &self.written);
        let headers = self.listener.manners.headers(&request);
        let reader = Reader::new(endpoint.provider(), &request, &endpoint.secrets());
        answer(endpoint, Asking { path: "chat/completions".to_owned(), headers }, request.model, body, reader)
    }

    fn body(&self, request: Request) -> Bytes {
        body::bytes(&self.listener, &request, &self.written)
    }
}

#[cfg(test)]
mod tests;
