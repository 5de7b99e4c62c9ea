//! The loop, played with scripted models and real tools on a temporary folder.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod aborts;
mod behind;
mod compaction;
mod crash;
mod designs;
mod ends;
mod forms;
mod hooks;
mod limits;
mod loops;
mod prompts;
mod room;
mod scene;
mod shown;
mod sources;
mod stored;
mod tasks;
mod titles;
mod undo;
mod undo_attacks;
mod undo_random;
mod wire;
mod within;
