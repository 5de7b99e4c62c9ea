//! Where haft keeps what: the XDG folders.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folders of this user.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    pub home: PathBuf,
    /// The folder of configuration folders.
    pub config_home: PathBuf,
    /// Sessions and kept outputs.
    pub data: PathBuf,
    /// Logs.
    pub state: PathBuf,
    /// What can be had again.
    pub cache: PathBuf,
}

impl Folders {
    /// From the environment.
    pub(crate) fn find() -> Result<Self> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let home = home.context("HOME is not set to a folder; set it and try again")?;
        let xdg = |name: &str, below: &str| match std::env::var_os(name).map(PathBuf::from) {
            Some(folder) if folder.is_absolute() => folder,
            _ => home.join(below),
        };
        Ok(Self {
            config_home: xdg("XDG_CONFIG_HOME", ".config"),
            data: xdg("XDG_DATA_HOME", ".local/share").join("haft"),
            state: xdg("XDG_STATE_HOME", ".local/state").join("haft"),
            cache: xdg("XDG_CACHE_HOME", ".cache").join("haft"),
            home,
        })
    }

    /// Where long outputs are kept.
    pub(crate) fn outputs(&self) -> PathBuf {
        self.data.join("output")
    }

    /// What servers of tools gave when the user signed in.
    pub(crate) fn mcp_auth(&self) -> PathBuf {
        self.data.join("mcp-auth.json")
    }

    /// The files of packages that are plug-ins.
    pub(crate) fn packages(&self) -> PathBuf {
        self.data.join("packages")
    }

    /// Where it is kept what files were before they were changed.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.data.join("snapshots")
    }

    /// Old contents and lists of changes, among that.
    pub(crate) fn contents(&self) -> PathBuf {
        self.snapshots().join("contents")
    }

    /// Where plans are kept that belong to no project.
    pub(crate) fn plans(&self) -> PathBuf {
        self.data.join("plans")
    }

    /// Where scratch files may be made. Not in the folder for temporary files of all users, where somebody else could
    /// make it first.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.state.join("scratch")
    }

    /// The project's `sandboxes`: where its tasks' work trees stand, each a folder in this one. Beside what is hidden from
    /// commands, which work there. Named by the top of the project's own work tree: what a repository says of itself
    /// could be another one's name.
    pub(crate) fn sandboxes(&self, top: &Path) -> PathBuf {
        let name: String = top.file_name().unwrap_or_default().to_string_lossy().chars().take(40).collect();
        let hash = haft_snapshot::Hash::of(top.as_os_str().as_encoded_bytes()).to_string();
        self.worktrees().join(format!("{name}-{}", hash.get(..16).unwrap_or(&hash)))
    }

    /// Those of all projects.
    pub(crate) fn worktrees(&self) -> PathBuf {
        self.state.join("worktrees")
    }

    /// The database, or `None` where `HAFT_DB` (or `OPENCODE_DB`) says `:memory:`.
    pub(crate) fn database(&self) -> Option<PathBuf> {
        let named = ["HAFT_DB", "OPENCODE_DB"].iter().find_map(std::env::var_os);
        match named.filter(|named| !named.is_empty()) {
            Some(named) if named == ":memory:" => None,
            Some(named) => Some(self.data.join(named)),
            None => Some(self.data.join("haft.db")),
        }
    }
}

/// Makes `folder` for this user alone, if it is not there.
pub(crate) fn make(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot make the folder {}; XDG_DATA_HOME chooses another place", folder.display()))
}
