//! OpenAI's chat completions, which most vendors and all local servers speak.

mod body;
mod read;

use std::collections::VecDeque;
use std::fmt;

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use crate::http::{Endpoint, Scheme};
use crate::{Chunk, LlmError, Provider, Request, Secret, SetupError};
pub use body::tools;
use read::{Next, Reader};

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
}

impl Chat {
    /// Asks nothing yet.
    ///
    /// # Errors
    ///
    /// [`SetupError`] when the address, the key or a header cannot be sent.
    pub fn new(config: ChatConfig) -> Result<Self, SetupError> {
        let ChatConfig { provider, base_url, key, headers } = config;
        let key = key.map(|key| (Scheme { header: AUTHORIZATION, before: "Bearer " }, key));
        Ok(Self { endpoint: Endpoint::new(&provider, &base_url, "chat/completions", key, &headers)? })
    }
}

impl Provider for Chat {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>> {
        let endpoint = self.endpoint.clone();
        let body = body::bytes(endpoint.provider(), &request);
        let headers = affinity(request.session.as_deref());
        let mut reader = Reader::new(endpoint.provider(), &request, endpoint.secrets());
        async_stream::stream! {
            let mut events = match endpoint.post(&request.model, body, headers).await {
                Ok(events) => events,
                Err(error) => {
                    yield Err(error);
                    return;
                }
            };
            let mut chunks = VecDeque::new();
            loop {
                let next = match events.next().await {
                    Ok(Some(event)) => reader.push(&event, &mut chunks),
                    Ok(None) => Ok(Next::End),
                    // All that matters was said; what broke is only the goodbye.
                    Err(_) if reader.finished() => Ok(Next::End),
                    Err(error) => Err(error),
                };
                while let Some(chunk) = chunks.pop_front() {
                    yield Ok(chunk);
                }
                match next {
                    Ok(Next::More) => {}
                    Ok(Next::End) => break,
                    Err(error) => {
                        yield Err(error);
                        return;
                    }
                }
            }
            match reader.end() {
                Ok(last) => {
                    // Whoever has the last chunk drops this stream, and with it a connection that was not read to its end.
                    events.linger().await;
                    for chunk in last {
                        yield Ok(chunk);
                    }
                }
                Err(error) => yield Err(error),
            }
        }
        .boxed()
    }
}

/// Gateways send the requests of one conversation to one machine by this header, where its cache is warm.
fn affinity(session: Option<&str>) -> HeaderMap {
    let value = session.and_then(|session| HeaderValue::from_str(session).ok());
    value.map(|value| (HeaderName::from_static("x-session-affinity"), value)).into_iter().collect()
}

#[cfg(test)]
mod tests;
