//! What is protected because something else names it: folders of hooks that settings name, settings that settings
//! include, what protected links lead to, and the home folder's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::gitconfig::{self, Setting};
use super::lists::AT_HOME;
use super::names::Kind;
use crate::door;
use crate::files::READ;
use crate::place;

/// Deepest chain of settings that include others, as in git.
pub(super) const MAX_INCLUDES: usize = 10;
/// Most settings files that are read because others include them.
pub(super) const MAX_INCLUDED: usize = 64;

/// What a survey found, as far as it matters here.
pub(super) struct Scene<'a> {
    pub(super) home: Option<&'a Path>,
    pub(super) roots: &'a [PathBuf],
    pub(super) found: &'a BTreeMap<PathBuf, Kind>,
    pub(super) repositories: &'a BTreeSet<PathBuf>,
}

/// What is protected by name of others, there or not, with what is known of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    pub(super) paths: BTreeMap<PathBuf, Kind>,
    /// Folders of hooks by the repository whose settings name them, as they are written there.
    hooks: BTreeMap<PathBuf, Vec<String>>,
    /// Those that the user's own settings name.
    everywhere: Vec<String>,
}

impl Scene<'_> {
    /// What others name, as the settings say now.
    pub(super) fn named(&self) -> Named {
        let mut named = Named::default();
        let mut left = MAX_INCLUDED;
        if let Some(home) = self.home {
            for path in [home.join(".gitconfig"), home.join(".config/git/config")] {
                named.everywhere.extend(self.hooks_of(&path, &mut named.paths, &mut left));
            }
            named.paths.extend(AT_HOME.iter().map(|name| (home.join(name), Kind::Settings)));
        }
        let configs = self.found.iter().filter(|(_, kind)| **kind == Kind::Config);
        for (path, _) in configs {
            let hooks = self.hooks_of(path, &mut named.paths, &mut left);
            if let Some(repository) = path.parent().filter(|_| !hooks.is_empty()) {
                named.hooks.entry(repository.to_owned()).or_default().extend(hooks);
            }
        }
        for top in self.tops() {
            let repository = place::repository(&top);
            // An added work tree may belong to a repository that lies elsewhere.
            if !self.may_change(&repository) && !named.hooks.contains_key(&repository) {
                let hooks = self.hooks_of(&repository.join("config"), &mut named.paths, &mut left);
                named.hooks.insert(repository, hooks);
            }
        }
        let hooks = self.hook_folders(&named);
        named.paths.extend(hooks);
        for path in self.found.keys() {
            if path.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
                && let Ok(target) = path.canonicalize()
            {
                named.paths.insert(target, self.found.get(path).copied().unwrap_or(Kind::Settings));
            }
        }
        named.paths.retain(|path, _| self.may_change(path) && !self.is_found(path));
        named
    }

    /// Where hooks of the repositories that are here now are looked for, as `before` says.
    pub(super) fn hook_folders(&self, before: &Named) -> BTreeMap<PathBuf, Kind> {
        let mut folders = BTreeMap::new();
        for top in self.tops() {
            let own = before.hooks.get(&place::repository(&top)).into_iter().flatten();
            for path in own.chain(&before.everywhere) {
                let path = self.resolved(&top, path);
                // All of a project is no folder of hooks.
                if self.may_change(&path) && !self.is_found(&path) && !self.roots.contains(&path) && path != top {
                    folders.insert(path, Kind::Hooks);
                }
            }
        }
        folders
    }

    /// Folders with a `.git` of any kind.
    fn tops(&self) -> BTreeSet<PathBuf> {
        let is_git = |path: &&PathBuf| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        let pointers = self.found.iter().filter(|(_, kind)| **kind == Kind::Pointer).map(|(path, _)| path);
        let tops = self.repositories.iter().chain(pointers).filter(is_git);
        tops.filter_map(|git| git.parent()).map(Path::to_path_buf).collect()
    }

    fn may_change(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn is_found(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.found.contains_key(above))
    }

    /// The folders of hooks that the settings file `path` names, itself or by those that it includes; these are noted.
    fn hooks_of(&self, path: &Path, included: &mut BTreeMap<PathBuf, Kind>, left: &mut usize) -> Vec<String> {
        let mut hooks = Vec::new();
        let mut files = vec![(path.to_owned(), 0)];
        while let Some((path, depth)) = files.pop() {
            for Setting { section, part, name, value } in settings(&path) {
                let Some(value) = value else { continue };
                match (section.as_str(), part.is_some(), name.as_str()) {
                    ("core", false, "hookspath") => hooks.push(value),
                    ("include", false, "path") | ("includeif", true, "path") if depth < MAX_INCLUDES && *left > 0 => {
                        *left -= 1;
                        let folder = path.parent().unwrap_or(Path::new("/"));
                        let file = self.resolved(folder, &value);
                        included.insert(file.clone(), Kind::Settings);
                        files.push((file, depth + 1));
                    }
                    _ => {}
                }
            }
        }
        hooks
    }

    /// What a path in settings means, without `..`.
    fn resolved(&self, base: &Path, path: &str) -> PathBuf {
        let path = match (path.strip_prefix("~/"), self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => base.join(path),
        };
        let mut plain = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir => _ = plain.pop(),
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        // Links on the way, as far as there is one.
        plain.canonicalize().unwrap_or(plain)
    }
}

/// What a settings file says; nothing if it says nothing that git would read.
fn settings(path: &Path) -> Vec<Setting> {
    let read = || {
        let file =
            File::from(rustix::fs::open(path, READ | rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty()).ok()?);
        file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        file.take(gitconfig::MAX_BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
        gitconfig::parse(&bytes)
    };
    read().unwrap_or_default()
}

/// Where a `.git` file, or a `commondir` of git's, leads: the folder, if there is one. What is no such file leads nowhere.
pub(super) fn pointed(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let dir = door::open(folder, door::FOLDER).ok()?;
    let bytes = super::shape::read(&dir, Path::new(path.file_name()?), MAX_POINTER).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    let named =
        if path.file_name()?.eq_ignore_ascii_case("commondir") { text.as_str() } else { text.strip_prefix("gitdir:")? };
    folder.join(named.trim()).canonicalize().ok()
}

/// Longest file that git points with, in bytes.
const MAX_POINTER: u64 = 16 * 1024;
