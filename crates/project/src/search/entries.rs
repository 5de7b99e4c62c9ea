//! What is in a folder, read by the block into memory that is used again for the next one.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, statat};
use rustix::io::Errno;

use crate::door::kind;

/// How many bytes of a folder the system hands over at once.
#[cfg(target_os = "linux")]
const BLOCK: usize = 32 * 1024;

/// Names and kinds, in no order. Those of the next folder take the place of the last one's.
#[derive(Default)]
pub(crate) struct Entries {
    /// The names, one after the other.
    names: Vec<u8>,
    /// Where each ends, and what it is.
    ends: Vec<(usize, FileType)>,
    #[cfg(target_os = "linux")]
    block: Vec<u8>,
}

impl Entries {
    /// Reads the open folder `dir`, until `go_on` says no.
    pub(crate) fn read(&mut self, dir: &OwnedFd, mut go_on: impl FnMut() -> bool) -> Result<(), Errno> {
        self.names.clear();
        self.ends.clear();
        let Self { names, ends, .. } = self;
        let mut add = |name: &[u8], found: FileType| {
            if matches!(name, b"." | b"..") {
                return true;
            }
            if !go_on() {
                return false;
            }
            let found = match found {
                FileType::Unknown => {
                    let stat = statat(dir, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW);
                    stat.map_or(FileType::Unknown, |stat| kind(&stat))
                }
                known => known,
            };
            names.extend_from_slice(name);
            ends.push((names.len(), found));
            true
        };
        #[cfg(target_os = "linux")]
        {
            self.block.reserve(BLOCK);
            let mut raw = rustix::fs::RawDir::new(dir, self.block.spare_capacity_mut());
            while let Some(entry) = raw.next() {
                let entry = entry?;
                if !add(entry.file_name().to_bytes(), entry.file_type()) {
                    break;
                }
            }
        }
        #[cfg(not(target_os = "linux"))]
        for entry in rustix::fs::Dir::read_from(dir)? {
            let entry = entry?;
            if !add(entry.file_name().to_bytes(), entry.file_type()) {
                break;
            }
        }
        Ok(())
    }

    /// What was read.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, FileType)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, kind)| {
            let name = &self.names[std::mem::replace(&mut start, *end)..*end];
            (Path::new(OsStr::from_bytes(name)), *kind)
        })
    }
}
