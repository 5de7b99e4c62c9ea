//! Remember what a set of files was, and bring it back.
//!
//! [`Keep`] holds contents under their hash, each once. A [`Change`] says what one path was before somebody changed it and
//! after; a list of them is a content like any other, so its [`Hash`] is all that a session has to remember.
//!
//! **Never here:** sessions, tools, leave; who changed a file and why.

mod change;
pub mod diff;
mod hash;
mod keep;
pub mod undo;

pub use change::{Change, State};
pub use hash::{BadHash, Hash};
pub use keep::{Keep, KeepError};
