//! The built binary, as a user calls it.

mod bad_input;
mod demo;
mod house;
mod kill;
mod run;
mod session;
mod support;
mod tool;
