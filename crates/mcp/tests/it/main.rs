//! Servers that are programs, good ones and hostile ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calls;
mod hostile;
mod scene;
mod told;
