//! The wire formats. Each module turns a [`crate::Request`] into its bytes, and its bytes into [`crate::Chunk`]s.

pub mod chat;
