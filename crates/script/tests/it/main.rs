//! Scripts in a process of their own, with a world that the tests see.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod engine;
mod plugin;
mod scene;
