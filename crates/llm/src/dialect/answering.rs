//! One request and its answer, whatever the dialect: sends, reads events, hands out chunks.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::letters;
use super::size::Size;
use crate::failure::{Told, excerpt, hide};
use crate::http::{Asking, Endpoint};
use crate::sse::Event;
use crate::{Chunk, Item, LlmError, Request, Secret};

/// Most calls in one answer.
pub(super) const MAX_CALLS: usize = 128;

/// Longest answer, in bytes: words, thoughts, arguments and what a vendor wants back.
const MAX_KEPT: usize = 64 * 1024 * 1024;

/// Chunks that wait to be handed out.
pub(super) type Chunks = VecDeque<Chunk>;

/// Whether an answer goes on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More may come.
    More,
    /// It is complete.
    End,
}

/// One answer in the words of a dialect, as far as it has come.
pub(super) trait Reader: Send + 'static {
    /// Takes one event and puts what it says behind `chunks`.
    fn push(&mut self, event: &Event, chunks: &mut Chunks) -> Result<Next, LlmError>;

    /// Whether the vendor said that the answer is complete.
    fn finished(&self) -> bool;

    /// What is said at the end, with [`Chunk::Finish`] as the last.
    fn end(self) -> Result<Chunks, LlmError>;
}

/// Whose answer is read: what it holds counts, and what is wrong with it is told.
pub(super) struct Source {
    pub(super) provider: String,
    model: String,
    secrets: Vec<Secret>,
    /// Bytes of the answer so far.
    kept: usize,
}

impl Source {
    /// The answer of `provider` to `request`. Nothing of `secrets` is told.
    pub(super) fn new(provider: &str, request: &Request, secrets: &[Secret]) -> Self {
        Self { provider: provider.to_owned(), model: request.model.clone(), secrets: secrets.to_vec(), kept: 0 }
    }

    /// Something that this vendor wants back.
    pub(super) fn item(&self, value: Value) -> Item {
        Item { vendor: self.provider.clone(), model: self.model.clone(), value }
    }

    /// Counts `bytes` more of the answer.
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), LlmError> {
        self.kept += bytes;
        if self.kept > MAX_KEPT { Err(self.malformed("an answer of at most 64 MiB", "more than that")) } else { Ok(()) }
    }

    /// What an event means that has not the form of one.
    pub(super) fn unreadable(&self, event: &Event, data: &str) -> Result<(), LlmError> {
        match serde_json::from_str::<Value>(data) {
            Ok(value) if event.name == "error" || value.get("error").is_some_and(|error| !error.is_null()) => {
                Err(self.failed(data))
            }
            Ok(event) => {
                let fields = field_names(&event);
                tracing::warn!(provider = self.provider, fields, "an event of an unknown form is left out");
                Ok(())
            }
            // The stream ended in the middle of it, which shows at its end.
            Err(_) if event.open => Ok(()),
            Err(_) => Err(self.malformed("JSON", &excerpt(&hide(data, &self.secrets)))),
        }
    }

    /// The error that an event tells of.
    pub(super) fn failed(&self, data: &str) -> LlmError {
        let Self { provider, model, secrets, .. } = self;
        Told { provider, model, status: None, after: None, body: data, secrets }.classify()
    }

    /// A text of the vendor, as messages may hold it.
    pub(super) fn quote(&self, text: &str) -> String {
        excerpt(&hide(text, &self.secrets))
    }

    /// It is not what was `wanted`.
    pub(super) fn malformed(&self, wanted: &'static str, excerpt: &str) -> LlmError {
        LlmError::Malformed { provider: self.provider.clone(), wanted, excerpt: excerpt.to_owned() }
    }
}

/// Sends `body` and hands out what `reader` makes of the answer.
pub(super) fn answer(
    endpoint: Endpoint,
    asking: Asking,
    model: String,
    body: impl Into<Bytes>,
    mut reader: impl Reader,
) -> BoxStream<'static, Result<Chunk, LlmError>> {
    let body = body.into();
    async_stream::stream! {
        let mut events = match endpoint.post(asking, &model, body).await {
            Ok(events) => events,
            Err(error) => {
                yield Err(error);
                return;
            }
        };
        let (mut chunks, mut size) = (Chunks::new(), Size::default());
        loop {
            let next = match events.next().await {
                Ok(Some(mut event)) => {
                    letters::mend(&mut event.data);
                    reader.push(&event, &mut chunks)
                }
                Ok(None) => Ok(Next::End),
                // All that matters was said; what broke is only the goodbye.
                Err(_) if reader.finished() => Ok(Next::End),
                Err(error) => Err(error),
            };
            while let Some(chunk) = chunks.pop_front() {
                if let Err(wanted) = size.take(&chunk) {
                    let (provider, excerpt) = (endpoint.provider().to_owned(), "more than that".to_owned());
                    yield Err(LlmError::Malformed { provider, wanted, excerpt });
                    return;
                }
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

/// Gateways send the requests of one conversation to one machine by this header, where its cache is warm.
pub(crate) fn affinity(session: Option<&str>) -> HeaderMap {
    let value = session.and_then(|session| HeaderValue::from_str(session).ok());
    value.map(|value| (HeaderName::from_static("x-session-affinity"), value)).into_iter().collect()
}

/// The names of the fields of an event, for the log. What they hold is part of a conversation, and not for it.
pub(super) fn field_names(event: &Value) -> String {
    let names: Vec<&str> = event.as_object().into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect();
    excerpt(&names.join(" "))
}
