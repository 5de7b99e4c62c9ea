//! Contents in a folder, each once, under their hash.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::{Change, Hash};

/// How hard contents are packed: the fastest that still halves text.
const LEVEL: i32 = 1;

/// Where contents are kept. A handle, cheap to clone.
#[derive(Debug, Clone)]
pub struct Keep {
    folder: PathBuf,
}

/// Why a content cannot be kept or brought back.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// There is none of that name, or no longer.
    #[error("the old content {0} is not kept (any more)")]
    Missing(Hash),
    /// What is kept under the name is not what was put there.
    #[error("what is kept as {0} is damaged")]
    Damaged(Hash),
    /// The folder cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Keep {
    /// What is kept in `folder`, which is made when the first content comes.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps `content` and returns its name. Keeping the same once more costs nothing.
    ///
    /// # Errors
    ///
    /// [`KeepError::Io`]; nothing was kept then.
    pub fn put(&self, content: &[u8]) -> Result<Hash, KeepError> {
        let hash = Hash::of(content);
        let path = self.path(&hash);
        if path.exists() {
            return Ok(hash);
        }
        let io = |source| KeepError::Io { path: path.clone(), source };
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(io)?;
        let packed = zstd::bulk::compress(content, LEVEL).map_err(io)?;
        // A name of its own, so that no reader ever sees half a content.
        let passing = folder.join(format!(".{}.{hash}", std::process::id()));
        let written = fs::File::create(&passing).and_then(|mut file| file.write_all(&packed));
        written.and_then(|()| fs::rename(&passing, &path)).map_err(|source| {
            // It may not even be there.
            let _ = fs::remove_file(&passing);
            io(source)
        })?;
        Ok(hash)
    }

    /// The content called `hash`.
    ///
    /// # Errors
    ///
    /// [`KeepError`].
    pub fn get(&self, hash: &Hash) -> Result<Vec<u8>, KeepError> {
        let path = self.path(hash);
        let packed = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => KeepError::Missing(*hash),
            _ => KeepError::Io { path: path.clone(), source },
        })?;
        let content = zstd::decode_all(packed.as_slice()).map_err(|_| KeepError::Damaged(*hash))?;
        if Hash::of(&content) == *hash { Ok(content) } else { Err(KeepError::Damaged(*hash)) }
    }

    /// Keeps a list of changes as a content.
    ///
    /// # Errors
    ///
    /// As [`Keep::put`].
    pub fn put_changes(&self, changes: &[Change]) -> Result<Hash, KeepError> {
        let text = serde_json::to_vec(changes)
            .map_err(|error| KeepError::Io { path: self.folder.clone(), source: io::Error::other(error) })?;
        self.put(&text)
    }

    /// The list of changes called `hash`.
    ///
    /// # Errors
    ///
    /// [`KeepError`].
    pub fn changes(&self, hash: &Hash) -> Result<Vec<Change>, KeepError> {
        serde_json::from_slice(&self.get(hash)?).map_err(|_| KeepError::Damaged(*hash))
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        let name = hash.to_string();
        let (first, rest) = name.split_at(2);
        Path::new(&self.folder).join(first).join(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    #[test]
    fn what_is_kept_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let keep = Keep::new(folder.path().join("keep"));
        for content in [&b""[..], b"words", &[0; 100_000]] {
            let hash = keep.put(content).unwrap();
            assert_eq!(keep.put(content).unwrap(), hash);
            assert_eq!(keep.get(&hash).unwrap(), content);
        }
        let change =
            Change { path: "/a".into(), before: State::Absent, after: State::Unkept { why: "big".to_owned() } };
        let hash = keep.put_changes(std::slice::from_ref(&change)).unwrap();
        assert_eq!(keep.changes(&hash).unwrap(), [change]);
        assert!(matches!(keep.get(&Hash::of(b"other")), Err(KeepError::Missing(_))));
    }
}
