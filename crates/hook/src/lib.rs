//! Commands of the user's that are told what happens, and may change or stop it: the key `hooks` of the settings, in the
//! form that Claude Code made known.
//!
//! A command reads a JSON object from its input and answers by its exit code and what it writes; see [`said`] for what that
//! means. [`Commands`] is a [`Hook`](haft_tool::Hook) like any other. Which commands there are, [`settings`] says.
//!
//! **Never here:** which settings count, and who is asked whether a project's may run. What comes here runs.

mod commands;
mod names;
mod run;
pub mod said;
pub mod settings;

pub use commands::{Commands, Surroundings, Tell};
