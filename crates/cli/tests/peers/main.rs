//! The binary against programs of others: a model server, a proxy that translates dialects, a server that plays vendors,
//! other agents that are given haft's tools, MCP's own server and inspector, published skills, and the vendors' own descriptions of what they may be asked.
//!
//! The tests install what they need into a folder of their own below `target`. Where that is impossible they say so and
//! pass, unless `HAFT_NEEDS_PEERS` is set.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stderr, reason = "what a machine lacks is for whoever reads the tests' output")]

mod agents;
mod aimock;
mod formatters;
mod install;
mod litellm;
mod llama;
mod mcp;
mod mcp_servers;
mod opencode;
mod plugins;
mod scene;
mod schemas;
mod service;
#[path = "../it/skills/shelf.rs"]
#[expect(dead_code, reason = "shared with the other tests, which use all of it")]
mod shelf;
mod skills;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other tests, which use all of it")]
mod support;
