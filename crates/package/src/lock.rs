//! What was chosen, in a form that is kept: exactly these versions with exactly these contents.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::PackageError;
use crate::resolve::MAX_PACKAGES;
use crate::spec::is_name;

/// Largest lock file, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Most packages that one lock file is about.
const MAX_ENTRIES: usize = 500;

/// A lock file: for each package as the settings spell it, what it comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The form of the file: 1.
    #[serde(default)]
    pub version: u32,
    /// By the entry of the settings.
    #[serde(default)]
    pub plugins: BTreeMap<String, Tree>,
}

/// One package with all that it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// The name of the package that was wanted.
    pub name: String,
    /// All packages by the folder that they are put into, such as `node_modules/a/node_modules/b`.
    pub packages: BTreeMap<String, Locked>,
}

/// One version of one package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locked {
    /// Its name in the registry, where its folder is called otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The version.
    pub version: String,
    /// Its checksum: `sha512-` and base64.
    pub integrity: String,
}

impl Lock {
    /// Takes what is called `name` out, whichever version, and gives it back.
    pub fn without(&mut self, name: &str) -> Vec<Tree> {
        let old = self.plugins.values().filter(|tree| tree.name == name).cloned().collect();
        self.plugins.retain(|_, tree| tree.name != name);
        old
    }

    /// Reads the file at `path`; an empty one where there is none.
    ///
    /// # Errors
    ///
    /// [`PackageError::Lock`].
    pub fn read(path: &Path) -> Result<Self, PackageError> {
        let wrong = |why: String| PackageError::Lock { path: path.to_owned(), why };
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(wrong(error.to_string())),
        };
        if meta.len() > MAX_FILE {
            return Err(wrong(format!("it has {} bytes; a lock file may have {MAX_FILE}", meta.len())));
        }
        let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let lock: Self = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if lock.version > 1 {
            return Err(wrong("it was written by a newer haft".to_owned()));
        }
        if lock.plugins.len() > MAX_ENTRIES {
            return Err(wrong(format!("it has more than {MAX_ENTRIES} packages")));
        }
        lock.plugins.values().try_for_each(|tree| tree.check().map_err(wrong))?;
        Ok(lock)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let whole = Self { version: 1, plugins: self.plugins.clone() };
        // Maps with texts for keys can always be written.
        serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
    }
}

impl Tree {
    /// A name for exactly this tree: whoever has the same has the same files.
    pub fn id(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for (folder, one) in &self.packages {
            for word in [folder, one.name.as_deref().unwrap_or_default(), &one.version, &one.integrity] {
                hash.update(&(word.len() as u64).to_le_bytes());
                hash.update(word.as_bytes());
            }
        }
        hash.update(self.name.as_bytes());
        hash.finalize().to_hex().chars().take(40).collect()
    }

    /// The version of the package that was wanted.
    pub fn version(&self) -> Option<&str> {
        self.packages.get(&format!("node_modules/{}", self.name)).map(|one| one.version.as_str())
    }

    /// Whether all of it is what a tree may be: names and folders below `node_modules` alone, and a checksum each.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if self.packages.len() > MAX_PACKAGES {
            return Err(format!("{} has more than {MAX_PACKAGES} packages", self.name));
        }
        if !is_name(&self.name) || self.version().is_none() {
            return Err(format!("there is no {:?} in its own list", self.name));
        }
        for (folder, one) in &self.packages {
            let names = folder.strip_prefix("node_modules/").map(|rest| rest.split("/node_modules/"));
            let fits = names.is_some_and(|mut names| names.all(is_name));
            if !fits || one.name.as_ref().is_some_and(|name| !is_name(name)) {
                return Err(format!("{folder:?} is no folder of a package"));
            }
            if semver::Version::parse(&one.version).is_err() || !one.integrity.starts_with("sha512-") {
                return Err(format!("{folder} lacks a version or its sha512"));
            }
        }
        Ok(())
    }
}

/// The name of the package in `folder`: what stands behind the last `node_modules/`.
pub(crate) fn name_of(folder: &str) -> &str {
    folder.rsplit_once("node_modules/").map_or(folder, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(folders: &[&str]) -> Tree {
        let one = || Locked { name: None, version: "1.0.0".to_owned(), integrity: "sha512-x".to_owned() };
        Tree { name: "a".to_owned(), packages: folders.iter().map(|folder| ((*folder).to_owned(), one())).collect() }
    }

    #[test]
    fn only_folders_of_packages_are_taken() {
        assert!(tree(&["node_modules/a", "node_modules/@s/b/node_modules/c"]).check().is_ok());
        for bad in
            ["a", "node_modules/../a", "node_modules/a/b", "/node_modules/a", "node_modules/a/node_modules/..", ""]
        {
            assert!(tree(&["node_modules/a", bad]).check().is_err(), "{bad}");
        }
        assert!(tree(&["node_modules/b"]).check().is_err());
        let mut weak = tree(&["node_modules/a"]);
        weak.packages.values_mut().for_each(|one| one.integrity = "sha1-x".to_owned());
        assert!(weak.check().is_err());
    }

    #[test]
    fn a_lock_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock.json");
        assert_eq!(Lock::read(&path).unwrap(), Lock::default());
        let lock = Lock { version: 1, plugins: BTreeMap::from([("a@1".to_owned(), tree(&["node_modules/a"]))]) };
        std::fs::write(&path, lock.text()).unwrap();
        assert_eq!(Lock::read(&path).unwrap(), lock);
        for bad in ["[", "{\"version\": 2}", "{\"plugins\": {\"a\": {\"name\": \"..\", \"packages\": {}}}}"] {
            std::fs::write(&path, bad).unwrap();
            assert!(Lock::read(&path).is_err(), "{bad}");
        }
    }

    #[test]
    fn another_tree_has_another_name() {
        let (one, mut other) = (tree(&["node_modules/a"]), tree(&["node_modules/a"]));
        assert_eq!(one.id(), other.id());
        other.packages.values_mut().for_each(|one| one.integrity = "sha512-y".to_owned());
        assert_ne!(one.id(), other.id());
    }
}
