//! `skills.json` in haft's data folder: what was fetched from addresses, file by file, with a hash of each. Only what is
//! exactly so is used.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::index;
use crate::own_file::{self, Content as _, MAX_FILE};

/// The name of the file.
pub(super) const FILE: &str = "skills.json";
/// Most addresses that are remembered; the oldest give way.
const MAX_PINS: usize = 32;

/// A file as it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    /// Below the folder of its skill.
    pub path: String,
    /// SHA-256 of what it holds, in hexadecimal.
    pub hash: String,
}

/// A skill as it was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Skill {
    pub name: String,
    pub files: Vec<File>,
}

/// What was fetched from one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pin {
    pub url: String,
    pub skills: Vec<Skill>,
}

/// The file: the addresses that were fetched, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pins(pub Vec<Pin>);

/// What is new at an address.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    pub new: Vec<String>,
    /// Names, each with the files that are new, gone or not what they were.
    pub changed: Vec<(String, Vec<String>)>,
    pub gone: Vec<String>,
}

impl Change {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Pin {
    /// Names all of it: the same skills with the same contents have the same.
    pub(super) fn digest(&self) -> String {
        hash(self.to_json().to_string().as_bytes())
    }

    /// What is new in it, compared with `before`.
    pub(super) fn since(&self, before: &Pin) -> Change {
        let find = |pin: &Pin, name: &str| pin.skills.iter().find(|skill| skill.name == name).cloned();
        let mut change = Change::default();
        for skill in &self.skills {
            match find(before, &skill.name) {
                None => change.new.push(skill.name.clone()),
                Some(old) if old == *skill => {}
                Some(old) => change.changed.push((skill.name.clone(), skill.since(&old))),
            }
        }
        let gone = before.skills.iter().filter(|skill| find(self, &skill.name).is_none());
        change.gone = gone.map(|skill| skill.name.clone()).collect();
        change
    }

    fn to_json(&self) -> Value {
        let file = |file: &File| json!([file.path, file.hash]);
        let skill =
            |skill: &Skill| json!({"name": skill.name, "files": skill.files.iter().map(file).collect::<Vec<_>>()});
        json!({"url": self.url, "skills": self.skills.iter().map(skill).collect::<Vec<_>>()})
    }

    fn from_json(value: &Value) -> Option<Self> {
        let file = |value: &Value| {
            let (path, hash) = (value.get(0)?.as_str()?, value.get(1)?.as_str()?);
            index::is_path(path).then(|| File { path: path.to_owned(), hash: hash.to_owned() })
        };
        let skill = |value: &Value| {
            let name = value["name"].as_str().filter(|name| index::is_name(name))?.to_owned();
            Some(Skill { name, files: value["files"].as_array()?.iter().map(file).collect::<Option<_>>()? })
        };
        let skills = value["skills"].as_array()?.iter().map(skill).collect::<Option<_>>()?;
        Some(Self { url: value["url"].as_str()?.to_owned(), skills })
    }
}

impl Skill {
    /// The files that are not as they were in `before`.
    fn since(&self, before: &Skill) -> Vec<String> {
        let here = self.files.iter().filter(|file| !before.files.contains(file));
        let gone = before.files.iter().filter(|file| !self.files.iter().any(|other| other.path == file.path));
        let mut paths: Vec<String> = here.chain(gone).map(|file| file.path.clone()).collect();
        paths.sort();
        paths
    }
}

impl Pins {
    /// What was fetched from `url`.
    pub(super) fn get(&self, url: &str) -> Option<&Pin> {
        self.0.iter().find(|pin| pin.url == url)
    }

    /// Keeps `pin` in the place of what was known of its address, which it gives back.
    pub(super) fn put(&mut self, pin: Pin) -> Option<Pin> {
        let before = self.0.extract_if(.., |old| old.url == pin.url).last();
        self.0.push(pin);
        while self.0.len() > 1 && (self.0.len() > MAX_PINS || self.to_text().len() as u64 > MAX_FILE) {
            self.0.remove(0);
        }
        before
    }
}

impl own_file::Content for Pins {
    const VERSION: u64 = 1;
    const WITHOUT: &'static str = "skills of addresses are not used before `haft skill update`";

    fn empty() -> Self {
        Self(Vec::new())
    }

    fn from_json(value: &Value) -> Option<Self> {
        value["addresses"].as_array()?.iter().map(Pin::from_json).collect::<Option<_>>().map(Self)
    }

    fn to_text(&self) -> String {
        let addresses: Vec<Value> = self.0.iter().map(Pin::to_json).collect();
        format!("{}\n", json!({"version": Self::VERSION, "addresses": addresses}))
    }
}

/// SHA-256 of `bytes`, in hexadecimal.
pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(url: &str, skills: &[(&str, &[(&str, &str)])]) -> Pin {
        let file = |(path, hash): &(&str, &str)| File { path: (*path).to_owned(), hash: (*hash).to_owned() };
        let skill = |(name, files): &(&str, &[(&str, &str)])| Skill {
            name: (*name).to_owned(),
            files: files.iter().map(file).collect(),
        };
        Pin { url: url.to_owned(), skills: skills.iter().map(skill).collect() }
    }

    #[test]
    fn what_is_new_is_told_file_by_file() {
        let before = pin("u", &[("a", &[("SKILL.md", "1"), ("x", "2"), ("z", "3")]), ("b", &[("SKILL.md", "1")])]);
        let after = pin("u", &[("a", &[("SKILL.md", "1"), ("x", "9"), ("y", "3")]), ("c", &[("SKILL.md", "1")])]);
        let change = after.since(&before);
        assert_eq!((change.new, change.gone), (vec!["c".to_owned()], vec!["b".to_owned()]));
        assert_eq!(change.changed, [("a".to_owned(), ["x", "y", "z"].map(str::to_owned).to_vec())]);
        assert!(before.since(&before.clone()).is_none());
        assert_ne!(before.digest(), after.digest());
    }

    #[test]
    fn the_file_is_read_as_it_was_written_and_names_in_it_lead_nowhere() {
        let pins = Pins(vec![pin("u", &[("a", &[("SKILL.md", "1")])])]);
        let value: Value = serde_json::from_str(&pins.to_text()).unwrap();
        assert_eq!(own_file::Content::from_json(&value), Some(pins));
        for pin in [pin("u", &[("../a", &[("SKILL.md", "1")])]), pin("u", &[("a", &[("../x", "1")])])] {
            let value: Value = serde_json::from_str(&Pins(vec![pin]).to_text()).unwrap();
            assert_eq!(<Pins as own_file::Content>::from_json(&value), None);
        }
    }

    #[test]
    fn the_oldest_addresses_give_way() {
        let mut pins = Pins::empty();
        for n in 0..=MAX_PINS {
            pins.put(pin(&format!("u{n}"), &[]));
        }
        assert_eq!((pins.0.len(), pins.0[0].url.as_str()), (MAX_PINS, "u1"));
        pins.put(pin("u1", &[("a", &[])]));
        assert_eq!((pins.0.len(), pins.0[MAX_PINS - 1].url.as_str()), (MAX_PINS, "u1"));
        let long = "x".repeat(MAX_FILE as usize / 2);
        pins.put(pin(&format!("{long}1"), &[]));
        pins.put(pin(&format!("{long}2"), &[]));
        assert_eq!(pins.0.len(), 1);
    }
}
