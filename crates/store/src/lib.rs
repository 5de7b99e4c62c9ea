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
//! | connections that read | 2, and one for each watcher | readers take turns |
//! | messages of a history that are read at once | 128 | the next block follows |
//! | wait of a watcher before it looks again | 100 ms | |
//! | a log that is checked when opening; one that is salvaged | 64 MiB; 256 MiB | not checked; left out |
//! | a row that is salvaged | 256 MiB | counts as lost |
//! | write-ahead log left on disk | 16 MiB | cut back at the next checkpoint |
//! | left lock files looked at when opening | 64 | the next opening takes more |
//! | OpenCode's files that are read | 64 MiB each, 100,000 in a folder, 100,000 sessions | left out |
//! | backups | one for each format it migrated from | replaced |
//!
//! A file that is damaged is put aside when it is opened, and what can be read of it goes into a new one ([`Remark`] says
//! so). A row that cannot be read is stood for by words that say so; they are for people, and no model is sent them.
//!
//! **Never here:** what an event means, what a model is sent, repairs of a history.

mod beacon;
mod disk;
mod error;
mod growing;
mod journal;
mod lease;
mod machine;
mod memory;
mod migrate;
mod open;
mod opencode;
mod reader;
mod rows;
mod salvage;
mod sqlite;
mod watch;
mod writer;

#[cfg(test)]
#[path = "../tests/it/samples.rs"]
mod samples;

pub use disk::network_of;
pub use error::{Cause, StoreError};
pub use journal::{Filter, Journal};
pub use lease::{Lease, Owner};
pub use open::Remark;
pub use opencode::{Listed, Opencode};
pub use salvage::Salvaged;
pub use watch::Watch;
