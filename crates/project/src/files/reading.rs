//! A file that is handed out piece by piece.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::blocking;
use crate::FilesError;
use crate::stamp::{ContentHash, Stamp};

/// Size of the pieces in which [`Reading`] hands out a file, in bytes.
pub(super) const PIECE: usize = 64 * 1024;
/// Size of the pieces in which it pours one, in bytes: large enough that reading costs little more than the copy.
pub(super) const POURED: usize = 256 * 1024;
/// Larger files, in bytes, are not hashed when they are read piece by piece.
const MAX_HASHED: u64 = 1024 * 1024;

/// A file that is read piece by piece, so that its size does not matter.
#[derive(Debug)]
pub struct Reading {
    file: Arc<File>,
    path: PathBuf,
    /// How it was when it was opened.
    opened: Stamp,
    /// Read and not handed out yet: a small file takes one visit beside the runtime, not three.
    ahead: Option<Vec<u8>>,
    ended: bool,
    /// Of what was handed out; `None` for files that are too large to be hashed.
    hash: Option<ContentHash>,
}

impl Reading {
    pub(super) fn begin(file: File, opened: Stamp, path: PathBuf) -> Result<Self, FilesError> {
        let hash = (opened.size <= MAX_HASHED).then(ContentHash::new);
        let first = piece(&file, &path)?;
        Ok(Self { file: Arc::new(file), path, opened, ended: first.len() < PIECE, ahead: Some(first), hash })
    }

    /// Its size when it was opened, in bytes.
    pub fn len(&self) -> u64 {
        self.opened.size
    }

    /// Whether it was empty when it was opened.
    pub fn is_empty(&self) -> bool {
        self.opened.size == 0
    }

    /// The next bytes, never none; `None` at the end.
    ///
    /// # Errors
    ///
    /// [`FilesError::Io`].
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, FilesError> {
        let piece = match self.ahead.take() {
            Some(piece) => piece,
            None if self.ended => Vec::new(),
            None => {
                let (file, path) = (Arc::clone(&self.file), self.path.clone());
                let piece = blocking(move || piece(&file, &path)).await?;
                self.ended = piece.len() < PIECE;
                piece
            }
        };
        if let Some(hash) = &mut self.hash {
            hash.add(&piece);
        }
        Ok((!piece.is_empty()).then_some(piece))
    }

    /// Hands what was not handed out yet to `take`, piece by piece, until the file ends or `take` has enough of it, and
    /// gives back what that made of it.
    ///
    /// All of it is one visit beside the runtime, however large the file. Dropping the future stops it after the piece
    /// at hand.
    ///
    /// # Errors
    ///
    /// [`FilesError::Io`].
    pub async fn pour<T: Send + 'static>(
        &mut self,
        mut made: T,
        mut take: impl FnMut(&mut T, &[u8]) -> ControlFlow<()> + Send + 'static,
    ) -> Result<T, FilesError> {
        if self.ahead.is_some()
            && let Some(piece) = self.next().await?
            && take(&mut made, &piece).is_break()
        {
            return Ok(made);
        }
        if self.ended {
            return Ok(made);
        }
        let (file, path, mut hash) = (Arc::clone(&self.file), self.path.clone(), self.hash.take());
        let stop = StopOnDrop::default();
        let stopped = Arc::clone(&stop.0);
        let (made, hash, ended) = blocking(move || {
            let mut buffer = vec![0; POURED];
            while !stopped.load(Ordering::Relaxed) {
                let piece = match (&*file).read(&mut buffer) {
                    Ok(0) => return Ok((made, hash, true)),
                    Ok(read) => &buffer[..read],
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(FilesError::io(&path, "read", error)),
                };
                if let Some(hash) = &mut hash {
                    hash.add(piece);
                }
                if take(&mut made, piece).is_break() {
                    break;
                }
            }
            Ok((made, hash, false))
        })
        .await?;
        (self.hash, self.ended) = (hash, ended);
        Ok(made)
    }

    /// Reads on to the end, for the hash of the content alone, and says how the file was. A file of more than 1 MiB is
    /// not hashed, and what is left of it not read.
    ///
    /// # Errors
    ///
    /// [`FilesError::Io`].
    pub async fn finish(mut self) -> Result<Stamp, FilesError> {
        let mut read = 0;
        while self.hash.is_some() {
            let Some(piece) = self.next().await? else { break };
            read += piece.len() as u64;
            // It has grown since it was opened, and may go on to.
            if read > MAX_HASHED {
                self.hash = None;
            }
        }
        Ok(Stamp { content: self.hash.map(|hash| hash.value()), ..self.opened })
    }
}

/// Tells the work that nobody waits for it any more.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The next bytes of `file`: as many as make a piece, fewer only at its end.
fn piece(file: &File, path: &Path) -> Result<Vec<u8>, FilesError> {
    let mut piece = Vec::new();
    file.take(PIECE as u64).read_to_end(&mut piece).map_err(|error| FilesError::io(path, "read", error))?;
    Ok(piece)
}
