//! Servers that are programs, good ones and hostile ones; and what clients of ours are told.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calls;
mod hostile;
mod scene;
mod served;
mod told;
