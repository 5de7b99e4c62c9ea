//! The code being worked on: its files and the processes that work on it. Every door wants a
//! [`Grant`](haft_permission::Grant).
//!
//! [`Place`] finds the project around a folder. [`Files::locate`] says where a name truly leads, with all links
//! followed: to a [`Target`] inside the project, or [`Outside`] of it, which becomes a target only with leave to go
//! there. A tool asks for leave to the target's path, and the doors of [`Files`] then open exactly that path without
//! following a link: one that somebody put there meanwhile makes the door fail. [`Processes`] runs a command line,
//! on a terminal if need be; all that it started ends with its handle.
//!
//! **Never here:** what a tool shows, which permission a path needs, diffs. Unix only for now.

mod door;
mod error;
mod files;
mod passing;
mod place;
mod process;
mod protected;
mod put;
mod recorder;
mod repository;
mod search;
mod shell;
mod stamp;
mod standing;
mod target;
mod transaction;
mod tree;
mod watch;
mod worktree;
mod write;

pub use error::FilesError;
pub use files::{EditLock, Entry, Files, Listing, MAX_ENTRIES, Opened, Reading};
pub use passing::sweep_passing;
pub use place::Place;
pub use process::{
    COLUMNS, Caging, Command, End, LINGER, Looked, Mode, ProcessError, Processes, ROWS, Running, Streams, Talk, Walls,
    preset_names, secrets, temporary,
};
pub use protected::{Guarded, Held, Protection, Repair, Secrets, What, is_protected};
pub use put::Put;
pub use recorder::{Announced, Commanded, Planned, Recorder};
pub use repository::{Blob, Blobs, LastSeen, Tracked, top_of};
pub use search::{
    BadPattern, FileMatches, Find, FoundFiles, Gaps, Grep, Line, LinePattern, Matches, Names, Order, Role, SomeFiles,
    Want,
};
pub use shell::{named_shell, pick_shell};
pub use stamp::Stamp;
pub use standing::Standing;
pub use target::{Found, Located, Outside, Target};
pub use transaction::{Becomes, Change};
pub use tree::{Diff, Look, MAX_TREE, Refused, Seen, Spot, Tree, Was};
pub use watch::{Happened, MAX_WATCHED, NotWatched, Watcher};
pub use worktree::{MAX_TREES, Merge, Worktree, WorktreeError};
pub use write::IfExists;
