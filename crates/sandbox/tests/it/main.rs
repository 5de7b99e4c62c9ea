//! Real programs in real cages: what counts is what they bring about.

#![cfg(target_os = "linux")]
// What fails here is the test, and what is not here is told to whoever runs it.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod calls;
mod files;
mod launcher;
mod limits;
mod namespaces;
mod others;
mod scene;
mod sockets;
