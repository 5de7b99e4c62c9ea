//! The built binary, as a user calls it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod apart;
#[cfg(target_os = "linux")]
mod attacks;
mod audit;
mod auth;
mod bad_input;
mod budget;
mod cage;
mod chat;
mod client;
mod commands;
#[cfg(target_os = "linux")]
mod crash;
mod demo;
mod doctor;
mod editor;
#[cfg(target_os = "linux")]
mod everyday;
mod extensions;
mod face;
mod formatters;
mod hooks;
mod hostile;
mod house;
mod jobs;
mod kept;
mod kill;
mod ledger;
mod manner;
mod mcp;
mod models;
mod network;
#[cfg(target_os = "linux")]
mod packages;
#[cfg(target_os = "linux")]
mod plan;
mod plugins;
#[cfg(target_os = "linux")]
mod power;
#[cfg(target_os = "linux")]
mod replay;
mod rules;
mod run;
mod scripts;
mod session;
mod settings;
mod skills;
mod support;
mod task;
mod terminal;
mod tool;
mod trust;
mod undo;
#[cfg(target_os = "linux")]
mod wire;
