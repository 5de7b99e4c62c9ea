//! Contents in a folder, each once, under their hash.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zstd::bulk::Compressor;

use crate::usage::Usage;
use crate::{Change, Hash};

/// How hard contents are packed: the fastest that still halves text.
const LEVEL: i32 = 1;
/// Largest content that is read back, in bytes unpacked. What claims to be larger was not put here by anybody who keeps to
/// [`Keep::put_file`]'s limit.
pub const MAX_CONTENT: u64 = 256 * 1024 * 1024;
/// How much is kept at most, in bytes as packed, where nothing else is said.
pub const QUOTA: u64 = 2 * 1024 * 1024 * 1024;
/// A content that is needed again is made young when it is older than this.
pub(crate) const FRESH: Duration = Duration::from_secs(60 * 60);
/// How many bytes of a content are read at once.
const PIECE: usize = 128 * 1024;

/// Where contents are kept. A handle, cheap to clone.
///
/// Folders and files in it are for this user alone. Each content is written beside its place and then takes its name, so
/// nobody ever sees half of one, whenever the process ends. It is not forced to the disk: what a power cut leaves damaged
/// is told by its hash, and replaced when the same content comes again.
#[derive(Debug, Clone)]
pub struct Keep {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) folder: PathBuf,
    pub(crate) quota: u64,
    pub(crate) usage: Usage,
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
    /// It is larger than what is kept of one file.
    #[error("it is larger than {max} bytes")]
    TooBig {
        /// The most that is kept.
        max: u64,
    },
    /// As much is kept as may be.
    #[error("{quota} bytes of old contents are kept, which is the limit; snapshot.quota sets another")]
    Full {
        /// The limit, in bytes.
        quota: u64,
    },
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
        Self::with_quota(folder, QUOTA)
    }

    /// The same, with at most `quota` bytes as packed.
    pub fn with_quota(folder: PathBuf, quota: u64) -> Self {
        let usage = Usage::new(&folder);
        Self { inner: Arc::new(Inner { folder, quota, usage }) }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// The most that is kept, in bytes as packed.
    pub fn quota(&self) -> u64 {
        self.inner.quota
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Keeps `content` and returns its name. Keeping the same once more costs nothing.
    ///
    /// # Errors
    ///
    /// [`KeepError::Full`] or [`KeepError::Io`]; nothing was kept then.
    pub fn put(&self, content: &[u8]) -> Result<Hash, KeepError> {
        self.put_as(content, Hash::of(content), || self.room(), |content| zstd::bulk::compress(content, LEVEL))
    }

    fn put_as(
        &self,
        content: &[u8],
        hash: Hash,
        room: impl FnOnce() -> Result<(), KeepError>,
        pack: impl FnOnce(&[u8]) -> io::Result<Vec<u8>>,
    ) -> Result<Hash, KeepError> {
        if self.has(&hash) {
            return Ok(hash);
        }
        room()?;
        let io = |source| KeepError::Io { path: self.path(&hash), source };
        let packed = pack(content).map_err(io)?;
        let mut passing = self.passing()?;
        passing.file.write_all(&packed).map_err(io)?;
        self.place(passing, &hash, packed.len() as u64)?;
        Ok(hash)
    }

    /// Keeps what is in one file; see [`Packer::put_file`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn put_file(&self, file: impl Read, max: u64) -> Result<(Hash, u64), KeepError> {
        self.packer().put_file(file, max)
    }

    /// What keeps many files, one after the other, with the same memory of about a megabyte.
    pub fn packer(&self) -> Packer<'_> {
        Packer { keep: self, packer: None, piece: Vec::new() }
    }

    /// Whether a content of that name is kept. One that is comes to count as young, so that no sweep takes it soon. What is
    /// in it is not looked at.
    pub fn has(&self, hash: &Hash) -> bool {
        let path = self.path(hash);
        // An empty file is what a power cut leaves of one.
        let Ok(meta) = path.metadata() else { return false };
        if !meta.is_file() || meta.len() == 0 {
            return false;
        }
        let old = meta.modified().ok().and_then(|time| time.elapsed().ok()).is_none_or(|age| age > FRESH);
        if old {
            // One that is not ours to touch is still there.
            let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        true
    }

    /// The content called `hash`.
    ///
    /// # Errors
    ///
    /// [`KeepError`].
    pub fn get(&self, hash: &Hash) -> Result<Vec<u8>, KeepError> {
        self.get_as(hash, Hash::of)
    }

    fn get_as(&self, hash: &Hash, named: fn(&[u8]) -> Hash) -> Result<Vec<u8>, KeepError> {
        let path = self.path(hash);
        let packed = File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => KeepError::Missing(*hash),
            _ => KeepError::Io { path: path.clone(), source },
        })?;
        let mut content = Vec::new();
        let unpacked = zstd::Decoder::new(packed);
        let read = unpacked.and_then(|unpacked| unpacked.take(MAX_CONTENT + 1).read_to_end(&mut content));
        match read {
            Ok(_) if named(&content) == *hash => Ok(content),
            // The disk does not give it, or there is no room to unpack it.
            Err(source) if source.raw_os_error().is_some() || source.to_string().contains("memory") => {
                Err(KeepError::Io { path, source })
            }
            // A list is no content, and the other way round.
            Ok(_) if [Hash::of, Hash::of_list].iter().any(|named| named(&content) == *hash) => {
                Err(KeepError::Damaged(*hash))
            }
            Ok(_) | Err(_) => {
                // Of no use to anybody, and in the way of who keeps the same once more.
                let _ = fs::remove_file(&path);
                Err(KeepError::Damaged(*hash))
            }
        }
    }

    /// Keeps a list of changes, also beyond the quota: it is small, and says what is not kept. Its name is none that a
    /// content can have.
    ///
    /// # Errors
    ///
    /// [`KeepError::Io`]; it was not kept then.
    pub fn put_changes(&self, changes: &[Change]) -> Result<Hash, KeepError> {
        let text = serde_json::to_vec(changes)
            .map_err(|error| KeepError::Io { path: self.inner.folder.clone(), source: io::Error::other(error) })?;
        // What they name must live as long as the list.
        for hash in changes.iter().flat_map(|change| [change.before.content(), change.after.content()]).flatten() {
            self.has(hash);
        }
        self.put_as(&text, Hash::of_list(&text), || Ok(()), |text| zstd::bulk::compress(text, LEVEL))
    }

    /// The list of changes called `hash`. A content that reads like one is none.
    ///
    /// # Errors
    ///
    /// [`KeepError`].
    pub fn changes(&self, hash: &Hash) -> Result<Vec<Change>, KeepError> {
        serde_json::from_slice(&self.get_as(hash, Hash::of_list)?).map_err(|_| KeepError::Damaged(*hash))
    }

    /// How many bytes are kept, as packed, as far as is known.
    pub fn used(&self) -> u64 {
        self.inner.usage.bytes()
    }

    fn room(&self) -> Result<(), KeepError> {
        let quota = self.inner.quota;
        if self.used() < quota { Ok(()) } else { Err(KeepError::Full { quota }) }
    }

    /// A file under a name that nobody can guess.
    fn passing(&self) -> Result<Passing, KeepError> {
        let folder = &self.inner.folder;
        let random = RandomState::new().build_hasher().finish();
        let path = folder.join(format!("{PASSING}{}-{random:016x}", std::process::id()));
        let make = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let made = make().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => private(folder).and_then(|()| make()),
            _ => Err(error),
        });
        match made {
            Ok(file) => Ok(Passing { path, file, kept: false }),
            Err(source) => Err(KeepError::Io { path, source }),
        }
    }

    fn place(&self, mut passing: Passing, hash: &Hash, packed: u64) -> Result<(), KeepError> {
        let path = self.path(hash);
        let name = || fs::rename(&passing.path, &path);
        let named = name().or_else(|error| match (error.kind(), path.parent()) {
            (io::ErrorKind::NotFound, Some(folder)) => private(folder).and_then(|()| name()),
            _ => Err(error),
        });
        named.map_err(|source| KeepError::Io { path: path.clone(), source })?;
        passing.kept = true;
        self.inner.usage.add(packed);
        Ok(())
    }

    pub(crate) fn path(&self, hash: &Hash) -> PathBuf {
        let name = hash.to_string();
        let (first, rest) = name.split_at(2);
        self.inner.folder.join(first).join(rest)
    }
}

/// Keeps files one after the other. Of many small ones most of the time would go into fresh memory for each.
pub struct Packer<'a> {
    keep: &'a Keep,
    packer: Option<Compressor<'static>>,
    piece: Vec<u8>,
}

impl Packer<'_> {
    /// Keeps what is in `file` from where it stands, of at most `max` bytes, and says how many there were. No more than a
    /// piece of it is in memory at any time.
    ///
    /// # Errors
    ///
    /// [`KeepError::TooBig`], or as [`Keep::put`]; nothing was kept then.
    pub fn put_file(&mut self, mut file: impl Read, max: u64) -> Result<(Hash, u64), KeepError> {
        let Self { keep, packer, piece } = self;
        let io = |source| KeepError::Io { path: keep.inner.folder.clone(), source };
        let mut fill = |piece: &mut Vec<u8>| {
            piece.clear();
            piece.reserve_exact(PIECE);
            (&mut file).take(PIECE as u64).read_to_end(piece).map_err(io)
        };
        let mut size = fill(piece)? as u64;
        if size > max {
            return Err(KeepError::TooBig { max });
        }
        // Most files end here, and most of what is kept was kept before.
        if piece.len() < PIECE {
            let pack = |content: &[u8]| match packer {
                Some(packer) => packer.compress(content),
                None => packer.insert(Compressor::new(LEVEL)?).compress(content),
            };
            return Ok((keep.put_as(piece, Hash::of(piece), || keep.room(), pack)?, size));
        }
        keep.room()?;
        let passing = keep.passing()?;
        let mut packer = zstd::Encoder::new(&passing.file, LEVEL).map_err(io)?;
        let mut hasher = blake3::Hasher::new();
        while !piece.is_empty() {
            hasher.update(piece);
            packer.write_all(piece).map_err(io)?;
            size += fill(piece)? as u64;
            if size > max {
                return Err(KeepError::TooBig { max });
            }
        }
        packer.finish().map_err(io)?;
        let hash = Hash::finished(&hasher);
        if !keep.has(&hash) {
            let packed = passing.file.metadata().map_err(io)?.len();
            keep.place(passing, &hash, packed)?;
        }
        Ok((hash, size))
    }
}

/// What names of contents that are being written begin with.
pub(crate) const PASSING: &str = ".new-";

/// A content that has no name yet. It is gone again unless it gets one.
struct Passing {
    path: PathBuf,
    file: File,
    kept: bool,
}

impl Drop for Passing {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes a folder for this user alone.
pub(crate) fn private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;
    use std::os::unix::fs::PermissionsExt;

    fn keep() -> (tempfile::TempDir, Keep) {
        let folder = tempfile::tempdir().unwrap();
        let keep = Keep::new(folder.path().join("keep"));
        (folder, keep)
    }

    #[test]
    fn what_is_kept_comes_back() {
        let (_folder, keep) = keep();
        let long: Vec<u8> = (0..3 * PIECE).map(|number| (number * number / 7) as u8).collect();
        for content in [&b""[..], b"words", &[0; 100_000], &long, &long[..PIECE]] {
            let hash = keep.put(content).unwrap();
            assert_eq!(keep.put(content).unwrap(), hash);
            assert_eq!(keep.put_file(content, u64::MAX).unwrap(), (hash, content.len() as u64));
            assert_eq!(keep.get(&hash).unwrap(), content);
        }
        let change = Change::new("/a", State::Absent, State::Unkept { why: "big".to_owned() });
        let hash = keep.put_changes(std::slice::from_ref(&change)).unwrap();
        assert_eq!(keep.changes(&hash).unwrap(), [change]);
        assert!(matches!(keep.get(&Hash::of(b"other")), Err(KeepError::Missing(_))));
    }

    #[test]
    fn what_a_file_holds_is_never_a_list() {
        let (_folder, keep) = keep();
        let change = Change::new("/home/me/.profile", State::Absent, State::Absent);
        let list = keep.put_changes(std::slice::from_ref(&change)).unwrap();
        // A project may hold a file of the same bytes, and whoever wrote it knows their hash.
        let hostile = serde_json::to_vec(&[change]).unwrap();
        let content = keep.put(&hostile).unwrap();
        assert!(matches!(keep.changes(&content), Err(KeepError::Damaged(_))));
        assert!(matches!(keep.get(&list), Err(KeepError::Damaged(_))));
        assert_eq!(keep.get(&content).unwrap(), hostile);
        assert!(keep.changes(&list).is_ok());
    }

    #[test]
    fn a_file_that_comes_in_pieces_is_kept_as_one() {
        let (_folder, keep) = keep();
        let long: Vec<u8> = (0..3 * PIECE + 5).map(|number| (number / 7) as u8).collect();
        let (hash, size) = keep.put_file(long.as_slice(), u64::MAX).unwrap();
        assert_eq!((hash, size), (Hash::of(&long), long.len() as u64));
        assert_eq!(keep.get(&hash).unwrap(), long);
    }

    #[test]
    fn what_is_too_large_is_not_kept_and_leaves_nothing() {
        let (_folder, keep) = keep();
        let content = vec![1; 3 * PIECE];
        for max in [0, 10, PIECE as u64, 2 * PIECE as u64] {
            assert!(matches!(keep.put_file(content.as_slice(), max), Err(KeepError::TooBig { .. })), "{max}");
        }
        let left: Vec<_> = fs::read_dir(keep.folder()).into_iter().flatten().collect();
        assert_eq!(left.len(), 0, "{left:?}");
        assert!(keep.put_file(content.as_slice(), content.len() as u64).is_ok());
    }

    #[test]
    fn no_more_is_kept_than_the_quota() {
        let folder = tempfile::tempdir().unwrap();
        let keep = Keep::with_quota(folder.path().join("keep"), 1);
        let first = keep.put(b"first").unwrap();
        assert!(matches!(keep.put(b"second"), Err(KeepError::Full { quota: 1 })));
        assert!(matches!(keep.put_file(vec![1; 2 * PIECE].as_slice(), u64::MAX), Err(KeepError::Full { quota: 1 })));
        // What is there costs nothing.
        assert_eq!(keep.put(b"first").unwrap(), first);
    }

    #[test]
    fn what_is_damaged_is_told_and_comes_again() {
        let (_folder, keep) = keep();
        let hash = keep.put(b"content").unwrap();
        let path = keep.path(&hash);
        let packed = fs::read(&path).unwrap();
        let other = zstd::bulk::compress(b"another", 1).unwrap();
        for damage in [&b""[..], b"x", &packed[..packed.len() - 1], &other] {
            fs::write(&path, damage).unwrap();
            assert!(matches!(keep.get(&hash), Err(KeepError::Damaged(_))), "{damage:?}");
            keep.put(b"content").unwrap();
            assert_eq!(keep.get(&hash).unwrap(), b"content", "{damage:?}");
        }
        fs::write(&path, "").unwrap();
        keep.put(b"content").unwrap();
        assert_eq!(keep.get(&hash).unwrap(), b"content");
    }

    #[test]
    fn a_folder_that_cannot_be_written_keeps_nothing_half() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("keep"), "").unwrap();
        let keep = Keep::new(folder.path().join("keep"));
        assert!(matches!(keep.put(b"x"), Err(KeepError::Io { .. })));
    }

    #[test]
    fn nobody_else_can_read_it() {
        let (_folder, keep) = keep();
        let path = keep.path(&keep.put(b"secret").unwrap());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap()), mode(keep.folder())), (0o600, 0o700, 0o700));
    }

    #[test]
    fn what_is_needed_again_is_young() {
        let (_folder, keep) = keep();
        let hash = keep.put(b"old").unwrap();
        let path = keep.path(&hash);
        let long_ago = SystemTime::now() - 10 * FRESH;
        File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        let change = Change::new("/a", State::Absent, State::Link { to: hash });
        keep.put_changes(&[change]).unwrap();
        assert!(path.metadata().unwrap().modified().unwrap() > long_ago + FRESH);
    }
}
