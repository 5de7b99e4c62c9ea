//! The network with real servers and proxies on this machine.

#![allow(clippy::unwrap_used, reason = "helpers of tests count as tests")]

mod offline;
mod proxy;
mod server;
mod trust;
