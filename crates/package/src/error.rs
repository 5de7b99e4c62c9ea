//! What can go wrong with a package.

use std::path::PathBuf;

/// Why a package cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A name or version that is none.
    #[error("{spec:?} names no package: {why}")]
    Spec {
        /// What was written.
        spec: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The registry has no such thing.
    #[error("{registry} has no {what}; look at its name and version")]
    Missing {
        /// The registry.
        registry: String,
        /// The package, or one of its versions.
        what: String,
    },
    /// The registry cannot be asked, or says what cannot be understood.
    #[error("{what} cannot be fetched from {registry}: {why}")]
    Registry {
        /// The registry.
        registry: String,
        /// What was asked for.
        what: String,
        /// What went wrong.
        why: String,
    },
    /// What came is not what was to come.
    #[error("{what} is not what its checksum says: {why}; nothing was installed")]
    Integrity {
        /// The package and its version.
        what: String,
        /// Both checksums.
        why: String,
    },
    /// It is larger than anything that is installed.
    #[error("{what} is too large: {why}; nothing was installed")]
    Large {
        /// The package.
        what: String,
        /// The bound.
        why: String,
    },
    /// An archive that is none, or one that wants to write elsewhere.
    #[error("the archive of {what} is not taken: {why}; nothing was installed")]
    Archive {
        /// The package and its version.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// The disk does not take it.
    #[error("cannot write {}", .path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A lock file that cannot be made out.
    #[error("{}: {why}", .path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}
