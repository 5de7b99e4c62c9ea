//! The other direction: what this program has, offered to any client.
//!
//! An [`Offer`] says what there is and answers calls; one stands behind each client. [`stdio`] and [`http`] bring
//! clients to it. [`content`] puts results into the protocol's words, [`asks`] what a person is asked.
//!
//! The newest revision spoken is 2025-11-25. The one after it knows no sessions, and no way to ask in the middle of a
//! call: what was read before an edit, and the gate's questions, need both.

pub mod asks;
mod client;
pub mod content;
mod handler;
pub mod hints;
pub mod http;
mod offer;
mod stdio;

pub use client::{ALIVE, Client};
pub use handler::{MAX_CALLS, MAX_WATCHED};
pub use offer::Offer;
pub use stdio::{ServeError, stdio, stream};
