//! Where settings are looked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where to look.
#[derive(Clone, Default)]
pub struct Sources {
    /// The user's home.
    pub home: PathBuf,
    /// The folder of configuration folders, normally `~/.config`.
    pub config_home: PathBuf,
    /// The folder that is worked in.
    pub directory: PathBuf,
    /// The top of its work tree; files above it are not the project's.
    pub worktree: Option<PathBuf>,
    /// The environment.
    pub environment: BTreeMap<String, String>,
    /// Folders of settings that whoever runs this machine laid down for all users, normally [`Sources::MANAGED`].
    pub managed: Vec<PathBuf>,
    /// Settings of the organisation that the user signed in to: where each came from, and its text. The weakest of
    /// all. Nothing here fetches them.
    pub organisation: Vec<(String, String)>,
    /// Vendors that the user can ask without any settings, because the environment holds their keys. A project that is
    /// not trusted may choose among them and those of the user's settings.
    pub vendors: BTreeSet<String>,
    /// What plug-ins would have in the settings, by who says it: strongest of all, and judged like the settings of a project
    /// that nobody trusts.
    pub plugged: Vec<(String, serde_json::Value)>,
}

impl std::fmt::Debug for Sources {
    /// Leaves out what may hold a key: the environment, and texts of settings.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// One text of settings, in the order in which they are laid over each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A text handed in, and where it came from.
    Given(String, String),
    /// A file that may be there. Its lists join those of the layers below.
    File(PathBuf),
    /// A file that may be there. Its lists replace those of the files of this group before it.
    Grouped(PathBuf),
    /// A file that the variable of this name names.
    Named(&'static str, PathBuf),
    /// The Markdown agents, modes and commands of a folder.
    Folder(PathBuf),
    /// The text of the variable of this name.
    Text(&'static str),
    /// The rules in the variable of this name.
    Rules(&'static str),
}

impl Sources {
    /// Where administrators lay down settings.
    pub const MANAGED: [&'static str; 2] = ["/etc/opencode", "/etc/haft"];

    /// The environment variable called `name`, unless it is empty.
    pub(crate) fn env(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The first of haft's own variable and OpenCode's that is set.
    pub(crate) fn either(&self, name: &str) -> Option<&str> {
        ["HAFT", "OPENCODE"].iter().find_map(|program| self.env(&format!("{program}_{name}")))
    }

    /// Whether that variable says yes: `1` or `true`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.either(name).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    /// Every place, weakest first.
    pub(crate) fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> =
            self.organisation.iter().map(|(origin, text)| Place::Given(origin.clone(), text.clone())).collect();
        let (opencode, haft) = (self.config_home.join("opencode"), self.config_home.join("haft"));
        places
            .extend(["config.json", "opencode.json", "opencode.jsonc"].map(|name| Place::Grouped(opencode.join(name))));
        places.extend(["haft.json", "haft.jsonc"].map(|name| Place::File(haft.join(name))));
        for name in ["OPENCODE_CONFIG", "HAFT_CONFIG"] {
            places.extend(self.env(name).map(|named| Place::Named(name, self.directory.join(named))));
        }
        for folder in self.project_folders() {
            places.extend(pair(&folder));
        }
        // The files of the user's configuration folder were named above; its Markdown is laid over the project's
        // files like that of all configuration folders.
        places.extend([Place::Folder(opencode.clone()), Place::Folder(haft.clone())]);
        for folder in self.directories().into_iter().filter(|folder| *folder != opencode && *folder != haft) {
            places.extend(pair(&folder));
            places.push(Place::Folder(folder));
        }
        places.extend(["OPENCODE_CONFIG_CONTENT", "HAFT_CONFIG_CONTENT"].map(Place::Text));
        places.extend(self.managed.iter().flat_map(|folder| pair(folder)));
        places.extend(["OPENCODE_PERMISSION", "HAFT_PERMISSION"].map(Place::Rules));
        places
    }

    /// The files of the terminal UI's own settings, weakest first.
    pub(crate) fn screen_places(&self) -> Vec<Place> {
        let mut folders = vec![self.config_home.join("opencode"), self.config_home.join("haft")];
        folders.extend(self.project_folders());
        let own = folders.clone();
        folders.extend(self.directories().into_iter().filter(|folder| !own.contains(folder)));
        let file = |folder: PathBuf| ["tui.json", "tui.jsonc"].map(|name| Place::File(folder.join(name)));
        let mut places: Vec<Place> = folders.into_iter().flat_map(file).collect();
        for name in ["OPENCODE_TUI_CONFIG", "HAFT_TUI_CONFIG"] {
            places.extend(self.env(name).map(|named| Place::Named(name, self.directory.join(named))));
        }
        places
    }

    /// The folders that may hold agents, commands, skills, plug-ins, tools and themes, weakest first, whether they
    /// are there or not: the user's configuration folders; `.opencode` and `.haft` of the project, from this folder up
    /// to the top of its work tree; those at home; those that a variable names.
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut all = vec![self.config_home.join("opencode"), self.config_home.join("haft")];
        let dots = |folder: &Path| [folder.join(".opencode"), folder.join(".haft")];
        all.extend(self.project_folders().iter().rev().filter(|folder| **folder != self.home).flat_map(|it| dots(it)));
        all.extend(dots(&self.home));
        for name in ["OPENCODE_CONFIG_DIR", "HAFT_CONFIG_DIR"] {
            all.extend(self.env(name).map(|folder| self.directory.join(folder)));
        }
        let mut seen = BTreeSet::new();
        all.retain(|folder| seen.insert(folder.clone()));
        all
    }

    /// The folders whose files are the project's, from the top of the work tree down. Without one: this folder.
    pub(crate) fn project_folders(&self) -> Vec<PathBuf> {
        if self.is_on("DISABLE_PROJECT_CONFIG") {
            return Vec::new();
        }
        let top = self.worktree.as_deref().unwrap_or(&self.directory);
        let mut folders: Vec<PathBuf> =
            self.directory.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_path_buf).collect();
        folders.reverse();
        folders
    }
}

impl Sources {
    /// The folder that all of the project's own files are in.
    pub(crate) fn top(&self) -> &Path {
        self.worktree.as_deref().unwrap_or(&self.directory)
    }

    /// The folders whose settings, agents and commands are the project's, and not the user's own.
    pub(crate) fn project_places(&self) -> BTreeSet<PathBuf> {
        let configs = ["opencode", "haft"].map(|name| self.config_home.join(name));
        let homes = [".opencode", ".haft"].map(|name| self.home.join(name));
        let named = ["OPENCODE_CONFIG_DIR", "HAFT_CONFIG_DIR"];
        let named = named.into_iter().filter_map(|name| self.env(name)).map(|folder| self.directory.join(folder));
        let own: Vec<PathBuf> = [self.home.clone()].into_iter().chain(configs).chain(homes).chain(named).collect();
        let real = own.iter().filter_map(|folder| folder.canonicalize().ok());
        let own: BTreeSet<PathBuf> = real.chain(own.iter().cloned()).collect();
        let folders = self.project_folders().into_iter();
        let all = folders.flat_map(|folder| [folder.join(".opencode"), folder.join(".haft"), folder]);
        // What stands in the user's own places is the user's, also while they are what is worked on.
        all.filter(|folder| !own.contains(folder)).collect()
    }
}

/// OpenCode's files in `folder`, then haft's.
fn pair(folder: &Path) -> [Place; 4] {
    ["opencode.json", "opencode.jsonc", "haft.json", "haft.jsonc"].map(|name| Place::File(folder.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_printed() {
        let environment = BTreeMap::from([("KEY".to_owned(), "s3cret".to_owned())]);
        let organisation = vec![("https://o.example".to_owned(), "s3cret".to_owned())];
        let printed = format!("{:?}", Sources { environment, organisation, ..Sources::default() });
        assert!(!printed.contains("s3cret"), "{printed}");
    }
}
