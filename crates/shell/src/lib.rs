//! What would this command line do? Bash text in; what it runs, reads and writes out.
//!
//! Two parsers look at the text. One builds the tree that [`analyse`] walks; the other only has to agree that no
//! command was missed. Whatever they disagree about, or this crate has no words for, makes the answer *unknown*, and
//! who asks must then show the whole text to a person.
//!
//! ```
//! use std::path::Path;
//!
//! let around = haft_shell::Surroundings::new(Path::new("/home/u/p")).home(Path::new("/home/u"));
//! let found = haft_shell::analyse("sudo rm -rf ~/x && cd src", &around);
//! assert_eq!(found.patterns, ["sudo rm -rf ~/x", "rm -rf ~/x"]);
//! assert_eq!(found.writes(), [Path::new("/home/u/x")]);
//! assert!(found.is_known());
//! ```
//!
//! **Never here:** running anything, looking at a disk, deciding whether something is allowed.

mod analysis;
mod arithmetic;
pub mod arity;
mod braces;
mod judge;
mod parse;
mod path;
mod programs;
mod second;
mod state;
mod text;
mod variables;
mod walk;
mod word;
mod words;
mod wrapper;

pub use analysis::{Analysis, Dialect, Simple, Surroundings, Touch, Touching};
pub use parse::{MAX_LENGTH, MAX_NESTING, analyse};
pub use path::normal;
pub use walk::{MAX_COMMANDS, MAX_SCRIPTS};
