//! The store as its users see it.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod behaviour;
mod crash;
mod damage;
mod faults;
mod file;
mod opencode;
mod samples;
mod watch;
