//! How reading the configuration fails.

use std::path::PathBuf;

/// Why the configuration cannot be used. Each names the file and what to change in it.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file is there but cannot be read.
    #[error("cannot read {origin}: {source}")]
    Unreadable {
        /// The file.
        origin: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is no JSON with comments.
    #[error("{origin}, line {line}, column {column}: {message}")]
    Syntax {
        /// The file, or the variable.
        origin: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A value is of the wrong kind.
    #[error("{origin}: {key} {message}")]
    Value {
        /// The file that set it.
        origin: String,
        /// The key, with dots.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// A `{file:…}` names nothing readable.
    #[error("{origin}: {{file:{named}}} stands for {path}, which cannot be read: {source}")]
    File {
        /// The file that names it.
        origin: String,
        /// As it is named.
        named: String,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}
