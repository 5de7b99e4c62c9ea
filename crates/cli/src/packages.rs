//! Packages of plug-ins: which are locked, and where they are.
//!
//! What the settings name is a word. What runs is what the lock file beside them says, byte for byte, out of a folder of
//! the program's own that is named by that. So a project's package counts when the project is trusted with its lock file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_config::{PLUGIN_LOCK, PluginConfig};
use haft_package::{Lock, Spec, Tree};
use haft_project::Place;

use crate::folders::Folders;

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
            true => Ok(Installed { tree: folder, root }),
            false => Err("its files are not here; `haft plugin install` fetches what is locked".to_owned()),
        }
    }
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
    fn the_name_of_a_package_is_what_stands_before_its_version() {
        for (spec, name) in [("a", "a"), ("a@1", "a"), ("@s/a", "@s/a"), ("@s/a@^1", "@s/a"), ("", "")] {
            assert_eq!(name_of(spec), name);
        }
    }
}
