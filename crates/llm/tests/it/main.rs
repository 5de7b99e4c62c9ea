//! The dialects against a server that sends exactly the bytes it is told, and the formats against their page.

#![allow(clippy::unwrap_used, reason = "helpers of tests count as tests")]

mod bedrock;
mod chat;
mod docs;
mod faults;
mod gemini;
mod local;
mod messages;
mod responses;
mod server;
mod sign;
mod spoken;
mod vertex;
