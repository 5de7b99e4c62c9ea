//! One folder of a tree, packed: a large tree has many.

use std::ffi::CStr;

use super::Seen;
use crate::search::Ignored;

/// A folder as it looked.
#[derive(Debug, Clone)]
pub(super) struct Folder<S> {
    pub(super) name: Vec<u8>,
    /// The folder it is in.
    pub(super) above: Option<usize>,
    pub(super) seen: Seen,
    /// Whether names could have been added after they were read without another time.
    pub(super) doubtful: bool,
    /// Whether it could not be read.
    pub(super) unread: bool,
    /// Whether it is ignored itself: only what git tracks of it is looked at.
    pub(super) within: bool,
    /// Whether something in it is not looked at because it is ignored, and git does not track it.
    pub(super) leaves_out: bool,
    /// Tells whether the files that say what is ignored are what they were.
    pub(super) rules: u64,
    /// What is ignored here.
    pub(super) ignored: Ignored,
    /// The names of the files one after the other, each with a zero byte behind it.
    names: Vec<u8>,
    /// Sorted by name.
    pub(super) files: Vec<File<S>>,
    /// The folders in it.
    pub(super) below: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct File<S> {
    /// Where its name begins.
    start: u32,
    /// It has changed within the clock's grain of the last look.
    pub(super) doubtful: bool,
    pub(super) seen: Seen,
    pub(super) source: S,
}

impl<S> Folder<S> {
    pub(super) fn new(name: Vec<u8>, above: Option<usize>, seen: Seen, ignored: Ignored) -> Self {
        Self {
            name,
            above,
            seen,
            doubtful: true,
            unread: false,
            within: false,
            leaves_out: false,
            rules: 0,
            ignored,
            names: Vec::new(),
            files: Vec::new(),
            below: Vec::new(),
        }
    }

    /// Adds a file; the names must come sorted.
    pub(super) fn push(&mut self, name: &[u8], seen: Seen, doubtful: bool, source: S) {
        // More than 4 GiB of names in one folder do not come: a tree has a limit.
        let Ok(start) = u32::try_from(self.names.len()) else { return };
        self.names.extend_from_slice(name);
        self.names.push(0);
        self.files.push(File { start, doubtful, seen, source });
    }

    /// The name of a file, for the system.
    pub(super) fn c_name(&self, file: &File<S>) -> &CStr {
        let rest = self.names.get(file.start as usize..).unwrap_or_default();
        CStr::from_bytes_until_nul(rest).unwrap_or_default()
    }

    pub(super) fn each(&self) -> impl Iterator<Item = (&[u8], &File<S>)> {
        self.files.iter().map(|file| (self.c_name(file).to_bytes(), file))
    }

    /// Where the file of that name is.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        self.files.binary_search_by(|file| self.c_name(file).to_bytes().cmp(name)).ok()
    }
}
