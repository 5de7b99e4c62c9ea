//! The dialects against a server that sends exactly the bytes it is told, and the formats against their page.

#![allow(clippy::unwrap_used, reason = "helpers of tests count as tests")]

mod chat;
mod docs;
mod local;
mod messages;
mod server;
