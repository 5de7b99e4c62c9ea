//! Talk to any language model: one [`Request`] in, a stream of [`Chunk`]s out.
//!
//! A *dialect* is a wire format; there are five, one module each. A *vendor* is somebody who speaks one. Most vendors are
//! data: an entry of the [`catalogue`], or the user's settings. What one of them wants otherwise has one place, by what it
//! is about:
//!
//! | it is about | place |
//! | --- | --- |
//! | where and as whom a vendor is asked: address, headers, key, its names for models, fields of all its requests | [`vendors`], one file each |
//! | headers, or the place of a field, that follow from the single request | [`Manners`], which dialects heed |
//! | what a model is asked: messages, ids, files, tools, sampling, whatever the dialect | [`quirks`]; schemas in [`schema`] |
//! | how one dialect spells it for a server or a family of models | beside the dialect: `chat/taste.rs`, `responses/family.rs`, `converse/family.rs`, `gemini/models.rs` |
//! | what a model writes: calls as text, broken JSON | [`rescue`], [`repair`] |
//! | how a failure is told, and whether it passes | `failure`, [`retry`] |
//! | settings that steer one of these and are sent to nobody | `steering`, which lists them all |
//!
//! Whoever asks puts these together in that order: [`vendors::wants`] gives a [`Server`], a dialect makes a [`Provider`] of
//! it, and [`quirks::Quirks::around`] goes around that.
//!
//! [`Script`] plays a written scenario and [`Replay`] plays a recording. Both are providers like any other, used by
//! tests, by the demo and by users; [`Recorder`] makes the recordings.
//!
//! **Never here:** sessions, tools that run, permission, the doing of retries. [`LlmError::retry_after`]
//! decides; whoever tries again needs to know what a turn is.

mod answer;
pub mod auth;
pub mod catalogue;
mod chunk;
pub mod dialect;
mod error;
mod eventstream;
mod failure;
mod http;
mod kept;
pub mod local;
mod manners;
mod messages;
mod patience;
mod player;
mod playlist;
pub mod quirks;
mod record;
pub mod repair;
mod request;
pub mod rescue;
pub mod retry;
pub mod schema;
mod script;
mod server;
mod sse;
mod steering;
mod streams;
pub mod vendors;

use bytes::Bytes;
use futures::stream::BoxStream;
use serde_json::Value;

pub use answer::{Answer, Beat, FailKind, Failing, Step};
pub use chunk::{Chunk, Finish, Item, Usage};
pub use error::LlmError;
/// What keys are handed in as.
pub use haft_vault::Secret;
pub use http::SetupError;
pub use manners::Manners;
pub use messages::Messages;
pub use player::{Replay, Script};
pub use playlist::Playlist;
pub use record::Recorder;
pub use request::{AssistantPart, Content, Format, Message, Purpose, Request, ToolChoice, ToolResult, ToolSpec};
pub use script::{MAX_BYTES, ScriptError, parse_recording, parse_scenario, read_recording, read_scenario};
pub use server::{Asked, Deadlines, Key, Limit, Place, Server, Sign};

/// Somebody who answers requests.
pub trait Provider: Send + Sync {
    /// Streams one answer. The last chunk is [`Chunk::Finish`], and nothing follows an error.
    ///
    /// Dropping the stream cancels the request.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Chunk, LlmError>>;

    /// Whether it can be asked for that at all: a player only where such answers were written down.
    fn serves(&self, _purpose: Purpose) -> bool {
        true
    }

    /// The body that [`Provider::stream`] would send, byte for byte. Players, which send none, show that of chat
    /// completions.
    fn body(&self, request: Request) -> Bytes {
        dialect::chat::body(&request)
    }

    /// The tools array exactly as a request would hold it. Players, which send none, show that of chat completions.
    fn tools(&self, specs: &[ToolSpec]) -> Value {
        dialect::chat::tools(specs)
    }
}
