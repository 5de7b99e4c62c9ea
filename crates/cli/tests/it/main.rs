//! The built binary, as a user calls it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod demo;
mod house;
mod kill;
mod run;
mod session;
mod support;
mod terminal;
mod tool;
