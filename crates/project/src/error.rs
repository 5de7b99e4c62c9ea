//! What can go wrong with a file.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Why a file could not be had. Variants differ where the caller acts differently; the texts are fit for a model.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// Nothing is there.
    #[error("{} does not exist", .path.display())]
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// A file was wanted.
    #[error("{} is a folder, not a file", .path.display())]
    Folder {
        /// Where.
        path: PathBuf,
    },
    /// A folder was wanted.
    #[error("{} is a file, not a folder", .path.display())]
    NotAFolder {
        /// Where.
        path: PathBuf,
    },
    /// A pipe, a socket or a device: opening one may wait for ever or do something. Or what the system shows of a process:
    /// its variables, its memory.
    #[error("{} is a pipe, a socket, a device or part of a process; only plain files and folders can be opened", .path.display())]
    Special {
        /// Where.
        path: PathBuf,
    },
    /// Leave was given for the true path, and now a part of it is a link.
    #[error("{} has turned into a link since leave was given for it; look where it leads now and call again", .path.display())]
    Link {
        /// The path that leave was given for.
        path: PathBuf,
    },
    /// Larger than the caller can take.
    #[error("{} has {size} bytes, more than the {max} that can be taken at once", .path.display())]
    TooBig {
        /// Where.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The most bytes that the caller takes.
        max: u64,
    },
    /// It was to be made, and is there.
    #[error("{} exists already; read it before you change it", .path.display())]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// It is no longer what the change was made for.
    #[error("{} was changed by somebody else meanwhile; read it again and repeat the change", .path.display())]
    Changed {
        /// Where.
        path: PathBuf,
    },
    /// The caller did not ask, or asked for something else.
    #[error("no leave was given for {}", .path.display())]
    NotGranted {
        /// Where.
        path: PathBuf,
    },
    /// A name that no file can have.
    #[error("{name:?} cannot be a path: {why}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A pattern that means nothing.
    #[error(transparent)]
    Pattern(#[from] crate::BadPattern),
    /// Of several changes that belong together one failed, and some of those before it could not be taken back.
    #[error(
        "the change failed half way and could not be taken back in {}; what stood there before lies beside it in a file called .haft-….tmp",
        shown(.paths)
    )]
    Torn {
        /// The files that have changed all the same.
        paths: Vec<PathBuf>,
        /// Why the change failed.
        source: Box<FilesError>,
    },
    /// The system said no.
    #[error("cannot {doing} {}", .path.display())]
    Io {
        /// A verb.
        doing: &'static str,
        /// What with.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl FilesError {
    /// The error that `errno` means when a path that was free of links is opened.
    pub(crate) fn at(path: &Path, doing: &'static str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT | Errno::NOTDIR => FilesError::Missing { path },
            Errno::LOOP => FilesError::Link { path },
            Errno::ISDIR => FilesError::Folder { path },
            Errno::NXIO => FilesError::Special { path },
            other => FilesError::Io { doing, path, source: other.into() },
        }
    }

    pub(crate) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        FilesError::Io { doing, path: path.to_owned(), source }
    }
}
