//! Talk to any language model: one [`Request`] in, a stream of [`Chunk`]s out.
//!
//! A *dialect* is a wire format; a *vendor* is somebody who speaks one. Adding a vendor is data, in what
//! [`dialect::chat::Chat::new`] and its siblings are given. Adding a dialect is one module.
//!
//! [`Script`] plays a written scenario and [`Replay`] plays a recording. Both are providers like any other, used by
//! tests, by the demo and by users; [`Recorder`] makes the recordings.
//!
//! **Never here:** sessions, tools that run, permission, the doing of retries. [`LlmError::retry_after`]
//! decides; whoever tries again needs to know what a turn is.

mod answer;
pub mod catalogue;
mod chunk;
pub mod dialect;
mod error;
mod failure;
mod http;
mod kept;
pub mod local;
mod player;
mod playlist;
pub mod quirks;
mod record;
mod request;
pub mod retry;
mod script;
mod secret;
mod sse;

use futures::stream::BoxStream;
use serde_json::Value;

pub use answer::{Answer, Beat, FailKind, Failing, Step};
pub use chunk::{Chunk, Finish, Item, Usage};
pub use error::LlmError;
pub use http::SetupError;
pub use player::{Replay, Script};
pub use playlist::Playlist;
pub use record::Recorder;
pub use request::{AssistantPart, Content, Message, Request, ToolChoice, ToolResult, ToolSpec};
pub use script::{MAX_BYTES, ScriptError, parse_recording, parse_scenario, read_recording, read_scenario};
pub use secret::Secret;

/// Somebody who answers requests.
pub trait Provider: Send + Sync {
    /// Streams one answer. The last chunk is [`Chunk::Finish`], and nothing follows an error.
    ///
    /// Dropping the stream cancels the request.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>>;

    /// The body that [`Provider::stream`] would send, byte for byte. Players, which send none, show that of chat
    /// completions.
    fn body(&self, request: Request) -> Vec<u8> {
        dialect::chat::body(&request)
    }

    /// The tools array exactly as a request would hold it. Players, which send none, show that of chat completions.
    fn tools(&self, specs: &[ToolSpec]) -> Value {
        dialect::chat::tools(specs)
    }
}
