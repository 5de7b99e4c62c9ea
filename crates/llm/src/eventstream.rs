//! Amazon's binary event streams (`application/vnd.amazon.eventstream`) out of bytes that may be cut anywhere. Pure.
//!
//! A frame is: its length and that of its headers, four bytes each; a checksum of these; headers; a payload; a checksum
//! of all. Reading one frame is the library's work. What is ours is how many bytes may come before one is whole, and
//! what a frame means: an event is handed on in the form of a server-sent one, so that a dialect reads either.

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::{HeaderValue, Message};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{Bytes, BytesMut};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::sse::{Event, MAX_EVENT};

/// What answers of this kind are called.
pub(crate) const CONTENT_TYPE: &str = "application/vnd.amazon.eventstream";

/// Shortest frame, in bytes: nothing but lengths and checksums.
const MIN_FRAME: usize = 16;

/// Why a stream cannot be read on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A frame is longer than [`MAX_EVENT`].
    TooLong,
    /// It is no frame, or was changed on its way.
    Damaged,
}

/// The bytes so far, as far as they are not a frame yet.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    bytes: BytesMut,
}

impl Decoder {
    /// Takes `bytes` and puts the events of the frames that they complete behind those in `events`. A frame that the
    /// end of a stream cuts off says nothing.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut impl Extend<Event>) -> Result<(), Broken> {
        self.bytes.extend_from_slice(bytes);
        while let Some((length, _)) = self.bytes.split_first_chunk() {
            let length = u32::from_be_bytes(*length) as usize;
            if length > MAX_EVENT {
                return Err(Broken::TooLong);
            }
            if length < MIN_FRAME {
                return Err(Broken::Damaged);
            }
            if self.bytes.len() < length {
                break;
            }
            let frame = self.bytes.split_to(length).freeze();
            let message = read_message_from(frame).map_err(|_| Broken::Damaged)?;
            events.extend(event(&message));
        }
        Ok(())
    }
}

/// What a frame says. `None`: nothing that a dialect has to know.
fn event(message: &Message) -> Option<Event> {
    let header = |wanted: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == wanted)?;
        match found.value() {
            HeaderValue::String(text) => Some(text.as_str()),
            _ => None,
        }
    };
    let payload = message.payload();
    match header(":message-type").unwrap_or("event") {
        "exception" => Some(failure(header(":exception-type"), None, payload)),
        "error" => Some(failure(header(":error-code"), header(":error-message"), payload)),
        "event" => match header(":event-type") {
            Some("chunk") => chunk(payload),
            name => Some(told(name.unwrap_or_default(), payload)),
        },
        kind => {
            tracing::debug!(kind, "a frame of an unknown kind is left out");
            None
        }
    }
}

fn told(name: &str, payload: &[u8]) -> Event {
    Event { name: name.to_owned(), data: String::from_utf8_lossy(payload).into_owned(), open: false }
}

/// An event in the model's own words, wrapped up.
fn chunk(payload: &[u8]) -> Option<Event> {
    #[derive(Deserialize)]
    struct Wrapped<'a> {
        bytes: &'a str,
    }
    let wrapped = serde_json::from_slice::<Wrapped<'_>>(payload).ok();
    let inner = wrapped.and_then(|wrapped| BASE64_STANDARD.decode(wrapped.bytes).ok());
    // Whatever else it is, the dialect says what is wrong with it.
    Some(told("", inner.as_deref().unwrap_or(payload)))
}

/// A failure in the form that vendors of other dialects give it.
fn failure(kind: Option<&str>, message: Option<&str>, payload: &Bytes) -> Event {
    let mut fields: Map<String, Value> = serde_json::from_slice(payload).unwrap_or_default();
    let mut take = |name: &str| fields.remove(name).filter(|value| !value.is_null());
    // What the model behind it said is the better reason.
    let said = take("originalMessage").or_else(|| take("message")).or_else(|| take("Message"));
    let said = said.or_else(|| message.map(Value::from)).unwrap_or_else(|| kind.unwrap_or("no reason given").into());
    let error = json!({"type": kind, "message": said, "status": take("originalStatusCode")});
    Event { name: "error".to_owned(), data: json!({"error": error}).to_string(), open: false }
}

#[cfg(test)]
pub(crate) mod frames;
#[cfg(test)]
mod tests;
