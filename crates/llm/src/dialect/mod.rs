//! The wire formats. Each module turns a [`crate::Request`] into its bytes, and its bytes into [`crate::Chunk`]s.

mod answering;
mod arguments;
pub mod chat;
mod fields;
#[cfg(test)]
pub(crate) mod histories;
mod ids;
mod mark;
pub(crate) mod media;
pub mod messages;
#[cfg(test)]
mod streams;
mod written;
