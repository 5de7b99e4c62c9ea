//! What haft can do, a file each.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod auth;
pub(crate) mod command;
pub(crate) mod completion;
pub(crate) mod debug;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod formatter;
pub(crate) mod import_opencode;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod permission;
pub(crate) mod plugin;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod skill;
pub(crate) mod stats;
pub(crate) mod tool;
pub(crate) mod trust;
