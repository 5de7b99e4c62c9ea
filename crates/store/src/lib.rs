//! Keep sessions and tell listeners what changed.
//!
//! There is one way in, [`Journal::record`]: it stores an event, then tells it. So what is on disk and what listeners
//! heard cannot differ, and a process that is killed loses nothing it told. The one exception is growing text, which
//! is told at once and stored within 250 ms, or when its part ends.
//!
//! What is bounded, and what happens at the bound:
//!
//! | what | bound | beyond it |
//! | --- | --- | --- |
//! | events that wait for the writer | 1,024 | [`Journal::record`] waits |
//! | events in one transaction | 256 | the rest goes into the next one |
//! | text that is told and not stored yet | 64 parts, 4 MiB, 250 ms | stored at once |
//! | events a listener may be behind | 4,096 | it is told how many it missed and reads again |
//! | wait for another process that writes | 10 s | [`StoreError::Locked`] |
//! | wait for another process that migrates | 30 s | [`StoreError::Locked`] |
//! | connections that read | 2 | readers take turns |
//! | write-ahead log left on disk | 16 MiB | cut back at the next checkpoint |
//! | left lock files looked at when opening | 64 | the next opening takes more |
//! | backups | one for each format it migrated from | replaced |
//!
//! **Never here:** what an event means, what a model is sent, repairs of a history. A row that cannot be read is
//! reported, not mended.

mod error;
mod growing;
mod journal;
mod lease;
mod memory;
mod migrate;
mod rows;
mod sqlite;
mod writer;

#[cfg(test)]
#[path = "../tests/it/samples.rs"]
mod samples;

pub use error::{Cause, StoreError};
pub use journal::{Filter, Journal};
pub use lease::Lease;
