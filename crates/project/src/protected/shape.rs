//! What is at a path, with all that is in it, so that it can be made again.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, fstat, readlinkat, statat};
use rustix::io::Errno;

use super::survey::Id;
use crate::door::{self, FOLDER, kind};
use crate::files::READ;
use crate::write::split;

/// How much is remembered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes of one file.
    pub(super) file: u64,
    /// Bytes of all files together.
    pub(super) bytes: u64,
    /// Files, folders and links.
    pub(super) entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file: 256 * 1024, bytes: 16 * 1024 * 1024, entries: 4096 }
    }
}

/// Deepest folder below a protected one that is remembered.
pub(super) const MAX_DEPTH: usize = 32;

/// What is at a path.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    File(Plain),
    /// A link, and what it says.
    Link(OsString),
    Folder(Folder),
    /// A pipe, a socket or a device.
    Other,
}

#[derive(Debug, Clone)]
pub(super) struct Plain {
    pub(super) mode: u32,
    pub(super) links: u64,
    id: Id,
    size: i64,
    /// Whether a later change must show in `id`.
    settled: bool,
    /// `None`: too much of it.
    pub(super) content: Option<Arc<[u8]>>,
}

#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) mode: u32,
    pub(super) entries: BTreeMap<OsString, Shape>,
    /// Whether that is all that is in it.
    pub(super) whole: bool,
}

impl Shape {
    /// Whether both hold the same and may run the same.
    pub(super) fn same_content(&self, other: &Shape) -> bool {
        match (self, other) {
            (Shape::File(one), Shape::File(other)) => {
                one.content.is_some() && one.content == other.content && (one.mode ^ other.mode) & 0o6111 == 0
            }
            (Shape::Link(one), Shape::Link(other)) => one == other,
            (Shape::Folder(one), Shape::Folder(other)) => {
                one.whole
                    && other.whole
                    && one.entries.len() == other.entries.len()
                    && one
                        .entries
                        .iter()
                        .all(|(name, shape)| other.entries.get(name).is_some_and(|other| shape.same_content(other)))
            }
            (Shape::File(_) | Shape::Link(_) | Shape::Folder(_) | Shape::Other, _) => false,
        }
    }
}

impl Plain {
    /// Whether `stat` shows that nothing has changed. That it does not show is no sign of a change.
    pub(super) fn is_untouched(&self, stat: &Stat) -> bool {
        self.settled && self.id == Id::of(stat) && self.size == stat.st_size
    }

    /// The same for a file that was too large: as far as that can be told.
    pub(super) fn looks_untouched(&self, stat: &Stat) -> bool {
        self.id == Id::of(stat) && self.size == stat.st_size
    }
}

/// Contents that were read before, by path.
pub(super) type Contents = HashMap<PathBuf, Plain>;

/// Takes shapes, within limits.
pub(super) struct Taking<'a> {
    limits: Limits,
    now: i128,
    known: &'a Contents,
    /// What is known from now on.
    pub(super) contents: Contents,
    /// What was too much, with all that is below.
    pub(super) left_out: Vec<PathBuf>,
    bytes: u64,
    entries: usize,
}

impl<'a> Taking<'a> {
    pub(super) fn new(limits: Limits, now: i128, known: &'a Contents) -> Self {
        Self { limits, now, known, contents: Contents::new(), left_out: Vec::new(), bytes: 0, entries: 0 }
    }

    /// What is at `path`; `None` if nothing is there, or it cannot be looked at.
    pub(super) fn take(&mut self, path: &Path) -> Option<Shape> {
        let (folder, name) = split(path).ok()?;
        let dir = door::open(folder, FOLDER).ok()?;
        self.at(&dir, name, path, 0).ok()
    }

    fn at(&mut self, dir: &OwnedFd, name: &Path, path: &Path, depth: usize) -> Result<Shape, Errno> {
        self.entries += 1;
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match kind(&stat) {
            FileType::RegularFile => self.file(dir, name, path, &stat),
            FileType::Symlink => Ok(Shape::Link(link(dir, name)?)),
            FileType::Directory => self.folder(dir, name, path, depth, &stat),
            _ => Ok(Shape::Other),
        }
    }

    fn file(&mut self, dir: &OwnedFd, name: &Path, path: &Path, stat: &Stat) -> Result<Shape, Errno> {
        if let Some(held) = self.known.get(path)
            && held.is_untouched(stat)
            && held.mode == door::mode(stat)
        {
            self.keep(path, held.clone());
            return Ok(Shape::File(held.clone()));
        }
        let left = self.limits.file.min(self.limits.bytes - self.bytes);
        let (id, size) = (Id::of(stat), stat.st_size);
        let (mode, links) = (door::mode(stat), links(stat));
        let mut held = Plain { mode, links, id, size, settled: id.settled(self.now), content: None };
        if u64::try_from(size).is_ok_and(|size| size <= left) {
            held.content = read(dir, name, left)?.map(Arc::from);
        }
        if held.content.is_some() {
            self.keep(path, held.clone());
        } else {
            self.left_out.push(path.to_owned());
        }
        Ok(Shape::File(held))
    }

    fn keep(&mut self, path: &Path, held: Plain) {
        self.bytes += held.content.as_ref().map_or(0, |content| content.len() as u64);
        self.contents.insert(path.to_owned(), held);
    }

    fn folder(&mut self, dir: &OwnedFd, name: &Path, path: &Path, depth: usize, stat: &Stat) -> Result<Shape, Errno> {
        let mut folder = Folder { mode: door::mode(stat), entries: BTreeMap::new(), whole: true };
        if depth == MAX_DEPTH {
            folder.whole = false;
            self.left_out.push(path.to_owned());
            return Ok(Shape::Folder(folder));
        }
        let dir = door::step(dir, name, READ | OFlags::DIRECTORY)?;
        for name in names(&dir)? {
            if self.entries >= self.limits.entries {
                folder.whole = false;
                self.left_out.push(path.to_owned());
                break;
            }
            match self.at(&dir, Path::new(&name), &path.join(&name), depth + 1) {
                Ok(shape) => _ = folder.entries.insert(name, shape),
                Err(Errno::NOENT) => {}
                Err(_) => folder.whole = false,
            }
        }
        Ok(Shape::Folder(folder))
    }
}

#[allow(clippy::useless_conversion, reason = "its width is the system's own")]
pub(super) fn links(stat: &Stat) -> u64 {
    u64::from(stat.st_nlink)
}

pub(super) fn link(dir: &OwnedFd, name: &Path) -> Result<OsString, Errno> {
    Ok(OsString::from_vec(readlinkat(dir, name, Vec::new())?.into_bytes()))
}

/// What is in an open folder.
pub(super) fn names(dir: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
        if name != OsStr::new(".") && name != OsStr::new("..") {
            names.push(name);
        }
    }
    Ok(names)
}

/// The content of a plain file of at most `max` bytes; `None` for anything else.
pub(super) fn read(dir: &OwnedFd, name: &Path, max: u64) -> Result<Option<Vec<u8>>, Errno> {
    let fd = door::step(dir, name, READ)?;
    let stat = fstat(&fd)?;
    if kind(&stat) != FileType::RegularFile || u64::try_from(stat.st_size).is_ok_and(|size| size > max) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = File::from(fd).take(max + 1).read_to_end(&mut bytes);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}
