//! Files under passing names that a killed process left.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, OFlags, unlinkat};

use crate::Standing;
use crate::door::{self, FOLDER};
use crate::files::READ;
use crate::search::Entries;

/// Most names of one folder that are looked at.
const MAX_NAMES: usize = 100_000;

/// Removes from the folder, absolute and without links, the plain files and the links under passing names that are `ours`, and
/// returns how many there were. A name alone makes none ours. Blocks.
pub fn sweep_passing(folder: &Path, mut ours: impl FnMut(Standing) -> bool) -> usize {
    let Ok(listed) = door::open(folder, READ | OFlags::DIRECTORY) else { return 0 };
    let Ok(dir) = door::open(folder, FOLDER) else { return 0 };
    let (mut entries, mut seen) = (Entries::default(), 0);
    let go_on = || {
        seen += 1;
        seen <= MAX_NAMES
    };
    if entries.read(&listed, go_on).is_err() {
        return 0;
    }
    let mut removed = 0;
    for (name, kind) in entries.iter() {
        let name: &OsStr = name.as_ref();
        if !matches!(kind, FileType::RegularFile | FileType::Symlink) || !is_passing(name.as_bytes()) {
            continue;
        }
        if ours(Standing::at(&folder.join(name))) && unlinkat(&dir, name, AtFlags::empty()).is_ok() {
            removed += 1;
        }
    }
    removed
}

/// Whether a name is one of those that [`crate::write::passing_names`] makes.
pub(crate) fn is_passing(name: &[u8]) -> bool {
    let random = name.strip_prefix(b".haft-").and_then(|rest| rest.strip_suffix(b".tmp"));
    random.is_some_and(|random| random.len() == 16 && random.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_made_are_told_from_others() {
        for name in crate::write::passing_names() {
            assert!(is_passing(name.as_os_str().as_bytes()), "{name:?}");
        }
        for name in ["a", ".haft-.tmp", ".haft-1.tmp", ".haft-0123456789abcdeg.tmp", ".haft-0123456789abcdef.tmp2"] {
            assert!(!is_passing(name.as_bytes()), "{name}");
        }
    }
}
