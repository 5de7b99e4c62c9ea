//! The name of a content.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What lists of changes are hashed for, so that no content of a file ever has the name of one.
const LISTS: &str = "haft-snapshot 2026-11-22 lists of changes";

/// The BLAKE3 hash of a content: equal for equal bytes, and different for different ones for all that is known. Lists of
/// changes have names of their own: bytes that a file holds are no list, whatever they say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hash([u8; 32]);

/// A text that is not the name of a content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a content, which has 64 hexadecimal digits")]
pub struct BadHash(String);

impl Hash {
    /// The hash of `content`.
    pub fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }

    /// The name of a list of changes that is written as `text`.
    pub(crate) fn of_list(text: &[u8]) -> Self {
        Self(blake3::derive_key(LISTS, text))
    }

    /// The hash of what `hasher` was given.
    pub(crate) fn finished(hasher: &blake3::Hasher) -> Self {
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = BadHash;

    fn from_str(text: &str) -> Result<Self, BadHash> {
        let parsed = blake3::Hash::from_hex(text).map_err(|_| BadHash(text.chars().take(80).collect()))?;
        Ok(Self(*parsed.as_bytes()))
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for Hash {
    type Error = BadHash;

    fn try_from(text: String) -> Result<Self, BadHash> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = Hash::of(b"abc");
        assert_eq!(hash.to_string(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_ne!(Hash::of_list(b"abc"), hash);
        for bad in ["", "64", "../../etc/passwd", &"g".repeat(64)] {
            assert!(bad.parse::<Hash>().is_err(), "{bad}");
        }
    }
}
