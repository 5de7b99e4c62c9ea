//! Paths as text that JSON can hold: any name that a file can have, or one file with an odd name would keep every command
//! from running. Used as `#[serde(with = …)]`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What begins a path that is spelled in hexadecimal digits: no path begins so, or holds it.
const HEX: char = '\0';

fn to_text(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => path.as_os_str().as_bytes().iter().fold(HEX.to_string(), |text, byte| text + &format!("{byte:02x}")),
    }
}

fn to_path(text: &str) -> Option<PathBuf> {
    let Some(digits) = text.strip_prefix(HEX) else { return Some(text.into()) };
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = digits.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    Some(OsString::from_vec(bytes).into())
}

/// A path.
pub(crate) mod one {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to_text(path).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        to_path(&String::deserialize(from)?).ok_or_else(|| serde::de::Error::custom("a path is misspelled"))
    }
}

/// Several paths.
pub(crate) mod many {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| to_text(path)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let paths: Option<Vec<PathBuf>> = texts.iter().map(|text| to_path(text)).collect();
        paths.ok_or_else(|| serde::de::Error::custom("a path is misspelled"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back() {
        for bytes in [&b"/p"[..], b"", "/ä\n\"\\".as_bytes(), b"/p/\xff\xfe", b"\xff", b"/a\xc3"] {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            assert_eq!(to_path(&to_text(&path)), Some(path));
        }
        assert_eq!(to_path("\0zz"), None);
    }
}
