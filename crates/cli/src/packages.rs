//! Packages of plug-ins: which are locked, and where they are.
//!
//! What the settings name is a word. What runs is what the lock file beside them says, byte for byte, out of a folder of
//! the program's own that is named by that. So a project's package counts when the project is trusted with its lock file.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_config::{PLUGIN_LOCK, PluginConfig};
use haft_package::{Lock, Spec, Tree};
use haft_project::Place;

use crate::folders::Folders;

/// Most lock files that are remembered to have a package.
const MAX_USERS: usize = 1_000;
/// Largest file that names them, in bytes.
const MAX_USERS_FILE: u64 = 8 * 1024 * 1024;

/// Whose settings are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The user's, for all projects.
    Own,
    /// The project's.
    Project,
}

/// Where packages are, seen from a place.
pub(crate) struct Packages {
    store: PathBuf,
    own: PathBuf,
    project: PathBuf,
}

/// A package that can be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    /// The folder with all that it needs.
    pub tree: PathBuf,
    /// Its own folder in it.
    pub root: PathBuf,
}

impl Packages {
    pub(crate) fn new(folders: &Folders, place: &Place) -> Self {
        Self {
            store: folders.packages(),
            own: folders.config_home.join("haft"),
            project: place.worktree.as_ref().unwrap_or(&place.directory).clone(),
        }
    }

    /// The folder whose settings file names what is installed for `whose`.
    pub(crate) fn settings(&self, whose: Whose) -> &Path {
        match whose {
            Whose::Own => &self.own,
            Whose::Project => &self.project,
        }
    }

    /// The lock file of `whose`.
    pub(crate) fn lock_file(&self, whose: Whose) -> PathBuf {
        match whose {
            Whose::Own => self.own.join(PLUGIN_LOCK),
            Whose::Project => self.project.join(".haft").join(PLUGIN_LOCK),
        }
    }

    pub(crate) fn lock(&self, whose: Whose) -> Result<Lock> {
        Ok(Lock::read(&self.lock_file(whose))?)
    }

    /// Writes the lock file of `whose`.
    pub(crate) fn write(&self, whose: Whose, lock: &Lock) -> Result<()> {
        let path = self.lock_file(whose);
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let beside = path.with_extension("json.new");
        let written = std::fs::write(&beside, lock.text()).and_then(|()| std::fs::rename(&beside, &path));
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    /// Where `tree` is, or will be.
    pub(crate) fn folder(&self, tree: &Tree) -> PathBuf {
        self.store.join(tree.id())
    }

    /// The file beside `tree` that names the lock files which have it, one a line.
    fn users(&self, tree: &Tree) -> PathBuf {
        self.store.join(format!("{}.locks", tree.id()))
    }

    /// Notes that the lock file of `whose` has `tree`: several may have the same.
    pub(crate) fn used(&self, tree: &Tree, whose: Whose) {
        let (path, lock) = (self.users(tree), self.lock_file(whose));
        let known = read_small(&path);
        let Some(lock) = lock.to_str().filter(|lock| !lock.contains('\n')) else { return };
        if known.lines().any(|line| line == lock) || known.lines().count() >= MAX_USERS {
            return;
        }
        let noted = OpenOptions::new().append(true).create(true).open(&path);
        let noted = noted.and_then(|mut file| file.write_all(format!("{lock}\n").as_bytes()));
        if let Err(error) = noted {
            tracing::warn!(file = %path.display(), %error, "who has a package is not noted");
        }
    }

    /// Removes the files of `tree`, unless a lock file has it still. One that cannot be read may.
    pub(crate) fn let_go(&self, tree: &Tree) {
        let path = self.users(tree);
        let has = |line: &&str| match Lock::read(Path::new(line)) {
            Ok(lock) => lock.plugins.values().any(|other| other.id() == tree.id()),
            Err(_) => true,
        };
        if read_small(&path).lines().any(|line| has(&line)) {
            return;
        }
        let folder = self.folder(tree);
        if let Err(error) = std::fs::remove_dir_all(&folder) {
            tracing::warn!(folder = %folder.display(), %error, "the files of a package are left");
        }
        // There may be none.
        let _ = std::fs::remove_file(path);
    }

    /// Whose settings name `plugin`.
    pub(crate) fn whose(&self, plugin: &PluginConfig) -> Whose {
        if Path::new(&plugin.origin).starts_with(&self.project) { Whose::Project } else { Whose::Own }
    }

    /// The package that `plugin` names, where it is locked and there.
    ///
    /// # Errors
    ///
    /// Why it cannot be run, and what to do.
    pub(crate) fn find(&self, plugin: &PluginConfig) -> Result<Installed, String> {
        let spec = &plugin.spec;
        Spec::parse(spec).map_err(|error| error.to_string())?;
        let lock = Lock::read(&self.lock_file(self.whose(plugin))).map_err(|error| error.to_string())?;
        let tree = lock.plugins.get(spec).ok_or("it is not installed; `haft plugin install` does that")?;
        let folder = self.folder(tree);
        let root = folder.join("node_modules").join(&tree.name);
        match root.is_dir() {
            true => {
                self.used(tree, self.whose(plugin));
                Ok(Installed { tree: folder, root })
            }
            false => Err("its files are not here; `haft plugin install` fetches what is locked".to_owned()),
        }
    }
}

/// The text of a file of a few lines; empty where it cannot be read.
fn read_small(path: &Path) -> String {
    let small = std::fs::metadata(path).is_ok_and(|meta| meta.len() <= MAX_USERS_FILE);
    if small { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

/// The address of a file, rather than the name of a package.
pub(crate) fn is_file(spec: &str) -> bool {
    spec.starts_with("file://")
}

/// The name of the package that `spec` names; all of it where it names none.
pub(crate) fn name_of(spec: &str) -> &str {
    spec.get(1..).and_then(|rest| rest.find('@')).map_or(spec, |at| spec.get(..=at).unwrap_or(spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_as_long_as_a_lock_file_has_them() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let at =
            |project: &str| Packages { store: root.join("store"), own: root.join("own"), project: root.join(project) };
        let locked = serde_json::json!({ "version": "1.0.0", "integrity": "sha512-x" });
        let tree = serde_json::json!({ "name": "a", "packages": { "node_modules/a": locked } });
        let tree: Tree = serde_json::from_value(tree).unwrap();
        let (one, other) = (at("one"), at("other"));
        std::fs::create_dir_all(one.folder(&tree)).unwrap();
        let lock = |packages: &Packages, has: bool| {
            let plugins = has.then(|| ("a@1".to_owned(), tree.clone())).into_iter().collect();
            packages.write(Whose::Project, &Lock { version: 1, plugins }).unwrap();
        };
        for packages in [&one, &other] {
            lock(packages, true);
            packages.used(&tree, Whose::Project);
            packages.used(&tree, Whose::Project);
        }
        assert_eq!(read_small(&one.users(&tree)).lines().count(), 2);
        lock(&one, false);
        one.let_go(&tree);
        assert!(one.folder(&tree).is_dir());
        lock(&other, false);
        other.let_go(&tree);
        assert_eq!(std::fs::read_dir(root.join("store")).unwrap().count(), 0);
    }

    #[test]
    fn the_name_of_a_package_is_what_stands_before_its_version() {
        for (spec, name) in [("a", "a"), ("a@1", "a"), ("@s/a", "@s/a"), ("@s/a@^1", "@s/a"), ("", "")] {
            assert_eq!(name_of(spec), name);
        }
    }
}
