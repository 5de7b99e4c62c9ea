//! Reading a file of bounded size.

use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// The text of the file at `path`.
///
/// # Errors
///
/// When it cannot be read, is no plain file, is larger than `most` bytes, or is no UTF-8. Nothing is waited for: a
/// pipe or a device is refused before it is opened.
pub(crate) fn read(path: &Path, most: u64) -> Result<String> {
    let meta = std::fs::metadata(path)?;
    let large = || Error::other(format!("it is not a file of at most {} MiB", most / (1024 * 1024)));
    if !meta.is_file() || meta.len() > most {
        return Err(large());
    }
    let mut text = String::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
    // It may grow between the look and the reading.
    std::fs::File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most { Err(large()) } else { Ok(text) }
}

/// Whether `error` means that there is no such file for us.
pub(crate) fn is_absent(error: &Error) -> bool {
    // A folder of somebody else's between here and the top is as good as empty.
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}
