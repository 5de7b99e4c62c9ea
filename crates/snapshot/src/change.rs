//! What became of one path.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Hash;

/// What one path was before somebody changed it, and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path, absolute and without links in its folders.
    #[serde(with = "bytes")]
    pub path: PathBuf,
    /// What stood there before.
    pub before: State,
    /// What stood there after.
    pub after: State,
    /// Whether it was found by looking, so that somebody else may have done it. What was not was known before it happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub found: bool,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum State {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// Its content.
        content: Hash,
        /// Its size in bytes.
        size: u64,
        /// The last twelve bits of its mode.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads, as a content.
        to: Hash,
    },
    /// A folder, whatever is in it.
    Folder {
        /// The last twelve bits of its mode.
        mode: u32,
    },
    /// Something that is not kept, and cannot be brought back.
    Unkept {
        /// Why not, for people.
        why: String,
    },
}

impl State {
    /// What is not kept, and why.
    pub fn unkept(why: impl Into<String>) -> Self {
        Self::Unkept { why: why.into() }
    }

    /// The content it names, if it names one.
    pub fn content(&self) -> Option<&Hash> {
        match self {
            Self::File { content, .. } => Some(content),
            Self::Link { to } => Some(to),
            Self::Absent | Self::Folder { .. } | Self::Unkept { .. } => None,
        }
    }
}

impl Change {
    /// One that was known before it happened.
    pub fn new(path: impl Into<PathBuf>, before: State, after: State) -> Self {
        Self { path: path.into(), before, after, found: false }
    }

    /// Several changes with those of one path that follow on each other as one. Where somebody else changed the path in
    /// between they stay apart, because what was there then is not ours to take back. A path that is after all what it was
    /// is left out. In the order in which the paths were first changed.
    pub fn squashed(changes: impl IntoIterator<Item = Change>) -> Vec<Change> {
        let mut squashed: Vec<Change> = Vec::new();
        let mut last: HashMap<PathBuf, usize> = HashMap::new();
        for change in changes {
            let known = last.get(&change.path).and_then(|place| squashed.get_mut(*place));
            match known.filter(|last| last.after == change.before) {
                Some(last) => {
                    last.after = change.after;
                    last.found |= change.found;
                }
                None => {
                    last.insert(change.path.clone(), squashed.len());
                    squashed.push(change);
                }
            }
        }
        // Two things that are not kept may differ for the same reason.
        squashed.retain(|change| change.before != change.after || matches!(change.after, State::Unkept { .. }));
        squashed
    }
}

/// A path as text, or where it is none, as its bytes in hexadecimal digits: JSON has no other way to write it.
mod bytes {
    use std::borrow::Cow;
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written<'a> {
        Text(Cow<'a, str>),
        Bytes { hex: String },
    }

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => Written::Text(text.into()),
            None => {
                let hex = path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                Written::Bytes { hex }
            }
        }
        .serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        match Written::deserialize(from)? {
            Written::Text(text) => Ok(PathBuf::from(text.into_owned())),
            Written::Bytes { hex } => {
                let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(pair).collect();
                let bytes = bytes.ok_or_else(|| de::Error::custom("a path must be written in hexadecimal digits"))?;
                Ok(OsString::from_vec(bytes).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    fn file(text: &str) -> State {
        State::File { content: Hash::of(text.as_bytes()), size: text.len() as u64, mode: 0o644 }
    }

    #[test]
    fn a_path_of_any_bytes_is_read_as_it_was_written() {
        for path in [&b"/a/b c"[..], b"/a/\xff\xfe", "/ä/\u{1b}[1m".as_bytes(), b"/a\nb"] {
            let path = Path::new(OsStr::from_bytes(path)).to_path_buf();
            let change = Change::new(path, State::Absent, file("x"));
            let text = serde_json::to_string(&change).unwrap();
            assert_eq!(serde_json::from_str::<Change>(&text).unwrap(), change, "{text}");
        }
        assert!(
            serde_json::from_str::<Change>(r#"{"path":{"hex":"zz"},"before":{"is":"absent"},"after":{"is":"absent"}}"#)
                .is_err()
        );
    }

    #[test]
    fn several_changes_of_a_path_are_one() {
        let change = |path: &str, before: State, after: State| Change::new(path, before, after);
        let row = |changes: &[Change], want: &[Change]| assert_eq!(Change::squashed(changes.to_vec()), want);
        row(
            &[
                change("/a", State::Absent, file("1")),
                change("/b", file("0"), file("1")),
                change("/a", file("1"), file("2")),
            ],
            &[change("/a", State::Absent, file("2")), change("/b", file("0"), file("1"))],
        );
        row(&[change("/a", file("1"), file("2")), change("/a", file("2"), file("1"))], &[]);
        // What the user wrote in between is not part of it.
        let apart = [change("/a", file("1"), file("2")), change("/a", file("user"), file("3"))];
        row(&apart, &apart);
        let big = || State::unkept("big");
        row(&[change("/a", big(), big())], &[change("/a", big(), big())]);
    }
}
