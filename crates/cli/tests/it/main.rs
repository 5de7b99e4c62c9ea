//! The built binary, as a user calls it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod demo;
mod face;
mod house;
mod jobs;
mod kill;
mod ledger;
mod models;
mod rules;
mod run;
mod session;
mod settings;
mod support;
mod task;
mod terminal;
mod tool;
