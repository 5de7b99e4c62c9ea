//! What became of one path.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Hash;

/// What one path was before somebody changed it, and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path, absolute and without links in its folders.
    pub path: PathBuf,
    /// What stood there before.
    pub before: State,
    /// What stood there after.
    pub after: State,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum State {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// Its content.
        content: Hash,
        /// Its size in bytes.
        size: u64,
        /// The last twelve bits of its mode.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, as a content.
        to: Hash,
    },
    /// A folder, whatever is in it.
    Folder {
        /// The last twelve bits of its mode.
        mode: u32,
    },
    /// Something that is not kept, and cannot be brought back.
    Unkept {
        /// Why not, for people.
        why: String,
    },
}
