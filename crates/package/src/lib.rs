//! Packages of the npm registry: which versions go together, fetched, held against their checksums and unpacked.
//!
//! [`resolve`] asks a [`Registry`] what a [`Spec`] and all that it depends on come to, and gives a [`Tree`]: a list of
//! versions with checksums, which is what a lock file keeps. [`install`] puts exactly that into a folder, or nothing.
//!
//! No script of a package ever runs here: what is unpacked is files. Everything that a registry or an archive says is
//! taken for hostile; each number of it has a bound, and no file is written but below the folder that was named.
//!
//! **Never here:** which packages somebody wants, and running one.

mod error;
mod install;
mod lock;
mod manifest;
mod place;
mod range;
mod registry;
mod resolve;
mod settings;
mod spec;
mod unpack;

pub use error::PackageError;
pub use install::{MAX_FILES, MAX_TREE, install};
pub use lock::{Lock, Locked, Tree};
pub use registry::{MAX_ANSWER, MAX_TARBALL, Registry};
pub use resolve::{MAX_PACKAGES, resolve};
pub use settings::Settings;
pub use spec::Spec;
