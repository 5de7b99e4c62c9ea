//! What a repository remembers of the files of its work tree, so that nobody else has to keep it: read from git's own
//! index, and later by git from its objects.

mod attributes;
mod index;
mod objects;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::attributes::Attributes;
use self::index::{Index, Kind};
pub use self::objects::Blobs;
use crate::Seen;
use crate::place;

/// The name of a content in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blob {
    bytes: [u8; 32],
    /// Twenty bytes, or with newer repositories all.
    len: u8,
}

impl Blob {
    fn new(bytes: &[u8]) -> Option<Self> {
        let len = u8::try_from(bytes.len()).ok().filter(|len| matches!(len, 20 | 32))?;
        let mut blob = Self { bytes: [0; 32], len };
        blob.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(blob)
    }

    /// As hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.bytes.iter().take(usize::from(self.len)).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// What a work tree's index said when it was read.
#[derive(Debug)]
pub struct Tracked {
    top: PathBuf,
    index: Index,
    attributes: Attributes,
}

impl Tracked {
    /// Reads the index of the work tree `top`. `None` where there is none that can be understood: then nothing in it is
    /// known to be remembered.
    pub fn read(top: &Path) -> Option<Self> {
        let own = git_folder(top)?;
        let index = Index::read(&own.join("index"), is_sha256(&place::repository(top)))?;
        let attributes = Attributes::read(top, &place::repository(top), index.named(b".gitattributes"));
        Some(Self { top: top.to_owned(), index, attributes })
    }

    /// How the index file looks that would be read, to tell whether it changed.
    pub fn seen(top: &Path) -> Option<(u64, std::time::SystemTime)> {
        let meta = git_folder(top)?.join("index").metadata().ok()?;
        Some((meta.len(), meta.modified().ok()?))
    }

    /// The content in the repository that the file at the absolute `path`, which looks so, is known to be byte for byte.
    pub fn blob(&self, path: &Path, seen: &Seen) -> Option<Blob> {
        let below = path.as_os_str().as_bytes().strip_prefix(self.top.as_os_str().as_bytes())?.strip_prefix(b"/")?;
        let entry = self.index.find(below)?;
        let same = match entry.kind {
            Kind::File => seen.is_file(),
            Kind::Link => seen.is_link(),
        };
        let clean = same && entry.looks_like(seen) && !self.index.is_racy(entry);
        (clean && !self.attributes.changes(Path::new(OsStr::from_bytes(below)))).then_some(entry.blob)
    }
}

/// What an index says of a file, however the file looks now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastSeen {
    /// Its content in the repository; `None` where the file may have been kept other than it is, byte for byte.
    pub blob: Option<Blob>,
    /// Its size in bytes, as far as 32 bits tell it.
    pub size: u64,
    /// When anything of the file had changed last when git saw it, in nanoseconds since the Unix epoch.
    pub changed: i64,
    /// Whether it is a symbolic link.
    pub is_link: bool,
    /// Whether its owner may run it.
    pub executable: bool,
}

impl Tracked {
    /// What the index says of the file at the absolute `path`.
    pub fn last_seen(&self, path: &Path) -> Option<LastSeen> {
        let below = path.as_os_str().as_bytes().strip_prefix(self.top.as_os_str().as_bytes())?.strip_prefix(b"/")?;
        let entry = self.index.find(below)?;
        let as_it_is = !self.index.is_racy(entry) && !self.attributes.changes(Path::new(OsStr::from_bytes(below)));
        Some(LastSeen { blob: as_it_is.then_some(entry.blob), ..entry.last_seen() })
    }

    /// The files that nobody asked for so far, absolute, and when each had changed last when git saw it.
    pub fn unasked(&self) -> impl Iterator<Item = (PathBuf, i64)> + '_ {
        let unasked = self.index.unasked();
        unasked.map(|(below, entry)| (self.top.join(OsStr::from_bytes(below)), entry.last_seen().changed))
    }

    /// All files that the index names, absolute.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.index.all().map(|below| self.top.join(OsStr::from_bytes(below)))
    }
}

/// The names alone of what an index tracks.
#[derive(Debug)]
pub(crate) struct Names {
    top: PathBuf,
    index: Index,
}

impl Names {
    /// Those of the work tree `top`. `None` where there is no index that can be understood.
    pub(crate) fn read(top: &Path) -> Option<Self> {
        let index = Index::read(&git_folder(top)?.join("index"), is_sha256(&place::repository(top)))?;
        Some(Self { top: top.to_owned(), index })
    }

    /// Whether the file at the absolute `path` is tracked, or something in the folder there.
    pub(crate) fn has(&self, path: &Path, is_folder: bool) -> bool {
        let below = path.as_os_str().as_bytes().strip_prefix(self.top.as_os_str().as_bytes());
        let below = below.and_then(|below| below.strip_prefix(b"/"));
        below.is_some_and(|below| if is_folder { self.index.has_below(below) } else { self.index.has(below) })
    }
}

/// The folder of a work tree's own index.
fn git_folder(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    match place::pointer(&git) {
        Some(named) => Some(top.join(named.strip_prefix("gitdir:")?.trim())),
        None => git.is_dir().then_some(git),
    }
}

fn is_sha256(repository: &Path) -> bool {
    let settings = place::pointer(&repository.join("config")).unwrap_or_default().to_ascii_lowercase();
    settings.lines().any(|line| line.trim().starts_with("objectformat") && line.contains("sha256"))
}

/// The top of the repository that `path` belongs to, at `root` or below it.
pub fn top_of(path: &Path, root: &Path, known: &mut HashMap<PathBuf, bool>) -> Option<PathBuf> {
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    for folder in folders {
        let has = *known.entry(folder.to_owned()).or_insert_with(|| folder.join(".git").symlink_metadata().is_ok());
        if has {
            return Some(folder.to_owned());
        }
    }
    None
}
