//! The wire formats. Each module turns a [`crate::Request`] into its bytes, and its bytes into [`crate::Chunk`]s.

pub(crate) mod answering;
mod arguments;
pub mod chat;
mod conversation;
pub mod converse;
mod door;
mod fields;
pub mod gemini;
#[cfg(test)]
pub(crate) mod histories;
pub(crate) mod ids;
mod letters;
mod mark;
pub(crate) mod media;
pub mod messages;
pub mod responses;
mod size;
#[cfg(test)]
mod streams;
mod written;

#[doc(hidden)]
pub use door::read_any;
