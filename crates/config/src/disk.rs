//! Files, each read once: what was looked at, asked about and used are the same bytes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use crate::file;

/// What was read so far.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    texts: RefCell<BTreeMap<PathBuf, std::result::Result<String, Failure>>>,
}

/// An error that can be told again.
#[derive(Debug)]
struct Failure {
    number: Option<i32>,
    kind: ErrorKind,
    message: String,
}

impl Failure {
    fn again(&self) -> Error {
        self.number.map_or_else(|| Error::new(self.kind, self.message.clone()), Error::from_raw_os_error)
    }
}

impl Disk {
    /// As [`file::read`]; what it found the first time.
    pub(crate) fn read(&self, path: &Path, most: u64) -> Result<String> {
        let mut texts = self.texts.borrow_mut();
        let read = texts.entry(path.to_path_buf()).or_insert_with(|| {
            file::read(path, most).map_err(|error| Failure {
                number: error.raw_os_error(),
                kind: error.kind(),
                message: error.to_string(),
            })
        });
        match read {
            Ok(text) if text.len() as u64 > most => {
                Err(Error::other(format!("it is not a file of at most {} MiB", most / (1024 * 1024))))
            }
            Ok(text) => Ok(text.clone()),
            Err(failure) => Err(failure.again()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_that_changes_is_what_it_was_first() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        let disk = Disk::default();
        fs::write(&path, "one").unwrap();
        assert_eq!(disk.read(&path, 10).unwrap(), "one");
        assert_eq!(disk.read(&other, 10).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(&path, "two").unwrap();
        fs::write(&other, "three").unwrap();
        assert_eq!(disk.read(&path, 10).unwrap(), "one");
        assert!(disk.read(&path, 2).is_err());
        assert_eq!(disk.read(&other, 10).unwrap_err().to_string(), "No such file or directory (os error 2)");
    }
}
