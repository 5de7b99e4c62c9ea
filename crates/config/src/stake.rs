//! What is at stake with a project's own settings: what would give more or run, told item by item, and one digest of it
//! all that an answer can be bound to.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// What a setting would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Gives more than holds without it.
    Loosens,
    /// Runs a program.
    Runs,
}

impl Effect {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Effect::Loosens => "loosens",
            Effect::Runs => "runs",
        }
    }
}

/// One setting or file of the project that does not count unless the project is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stake {
    /// What it would do.
    pub effect: Effect,
    /// The key, with dots; the name of a file where the file itself would run.
    pub key: String,
    /// The file that says it.
    pub origin: String,
    /// What it would do, in words that go after the key.
    pub why: String,
    /// What it says, as JSON or as it is written, without secrets. At most 16 KiB, and then says so.
    pub text: String,
    /// A digest of all that it says and of the files in the project that it names.
    pub digest: String,
}

/// All that is at stake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stakes {
    /// In the order of the places that settings come from.
    pub items: Vec<Stake>,
    /// Changes whenever an item does, comes or goes; empty where there is none.
    pub digest: String,
    /// What could not be looked at, as there is too much of it. Such a project cannot be trusted by its content.
    pub unseen: Option<String>,
}

/// Longest text of an item, in bytes.
const MAX_TEXT: usize = 16 * 1024;

/// Most items.
pub(crate) const MAX_STAKES: usize = 1_000;

impl Stake {
    /// `value` is what is bound, `shown` what a person is shown of it, `files` are the contents that it names.
    pub(crate) fn new(effect: Effect, key: &str, origin: &str, why: &str, shown: String, content: &Content) -> Self {
        let mut text = shown;
        if text.len() > MAX_TEXT {
            let cut = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
            let left = text.len() - cut;
            text.truncate(cut);
            // Writing to a text cannot fail.
            let _ = write!(text, " … and {left} bytes more");
        }
        let (key, origin, why) = (key.to_owned(), origin.to_owned(), why.to_owned());
        let mut hash = Hash::new();
        for part in [effect.word(), &key, &origin] {
            hash.add(part.as_bytes());
        }
        hash.add(content.value.to_string().as_bytes());
        for (name, digest) in &content.files {
            hash.add(name.as_bytes());
            hash.add(digest.as_bytes());
        }
        Self { effect, key, origin, why, text, digest: hash.end() }
    }
}

/// What an item is bound to.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub value: Value,
    /// Files that it names, each with the digest of what it holds.
    pub files: Vec<(String, String)>,
}

impl Stakes {
    pub(crate) fn of(items: Vec<Stake>, mut unseen: Option<String>) -> Self {
        if items.len() > MAX_STAKES {
            unseen = Some(format!("{} settings", items.len()));
        }
        let mut hash = Hash::new();
        for item in &items {
            hash.add(item.digest.as_bytes());
        }
        let digest = if items.is_empty() { String::new() } else { hash.end() };
        Self { items, digest, unseen }
    }

    /// Whether there is nothing that anybody would have to be asked about.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.unseen.is_none()
    }
}

/// A digest of several parts, each with its length, so that no two lists of parts look alike.
pub(crate) struct Hash(Sha256);

impl Hash {
    pub(crate) fn new() -> Self {
        Self(Sha256::new_with_prefix(b"haft stakes 1\0"))
    }

    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub(crate) fn end(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a text cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stake(key: &str, value: Value, files: &[(&str, &str)]) -> Stake {
        let files = files.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned())).collect();
        Stake::new(Effect::Runs, key, "f", "runs", String::new(), &Content { value, files })
    }

    #[test]
    fn everything_that_is_said_counts_for_the_digest() {
        let digests = [
            stake("a", json!({"x": 1}), &[]),
            stake("a", json!({"x": 2}), &[]),
            stake("a.x", json!(1), &[]),
            stake("a", json!({"x": 1}), &[("s", "1")]),
            stake("a", json!({"x": 1}), &[("s", "2")]),
            stake("a", json!({"x": 1}), &[("s1", "")]),
        ]
        .map(|stake| stake.digest);
        let different: std::collections::BTreeSet<&String> = digests.iter().collect();
        assert_eq!(different.len(), digests.len());
        assert_eq!(stake("a", json!(1), &[]), stake("a", json!(1), &[]));
    }

    #[test]
    fn the_digest_of_all_follows_each_and_their_order() {
        let (a, b) = (stake("a", json!(1), &[]), stake("b", json!(1), &[]));
        let digest = |items: &[&Stake]| Stakes::of(items.iter().map(|item| (*item).clone()).collect(), None).digest;
        assert_eq!(digest(&[]), "");
        assert_ne!(digest(&[&a]), digest(&[&b]));
        assert_ne!(digest(&[&a, &b]), digest(&[&b, &a]));
        assert_eq!(digest(&[&a]).len(), 64);
    }

    #[test]
    fn there_are_bounds() {
        let many = vec![stake("a", json!(1), &[]); MAX_STAKES + 1];
        assert!(Stakes::of(many.clone(), None).unseen.is_some());
        assert!(Stakes::of(many[1..].to_vec(), None).unseen.is_none());
        let long = Stake::new(Effect::Runs, "a", "f", "", "é".repeat(MAX_TEXT), &Content::default());
        assert!(long.text.len() < MAX_TEXT + 40 && long.text.ends_with(&format!(" … and {MAX_TEXT} bytes more")));
    }
}
