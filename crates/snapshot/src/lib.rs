//! Remember what a set of files was, and bring it back.
//!
//! [`Keep`] holds contents under their hash, each once. A [`Change`] says what one path was before somebody changed it and
//! after; a list of them is kept beside, and its [`struct@Hash`] is all that a session has to remember. No content of a file has
//! the name of a list, so nobody can make one by writing a file. What is older than the retention goes with the next [`Keep::sweep`], and more than the quota is never kept.
//!
//! **Never here:** sessions, tools, leave; who changed a file and why; looking at the files themselves.

mod change;
pub mod diff;
mod hash;
mod keep;
mod sweep;
pub mod undo;
mod usage;

pub use change::{Change, State};
pub use hash::{BadHash, Hash};
pub use keep::{Keep, KeepError, MAX_CONTENT, Packer, QUOTA};
pub use sweep::{RETENTION, Swept};
