//! A home and a project that belong to nobody.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};

use crate::agent::Agent;

/// Folders for one agent. They go when this is dropped.
#[derive(Debug)]
pub struct Home {
    folder: PathBuf,
    project: PathBuf,
}

impl Home {
    /// An empty home below `homes`, and an empty project in the system's temporary folder: not below a project of
    /// somebody, whose instructions an agent would find and read.
    ///
    /// # Errors
    ///
    /// When a folder cannot be made.
    pub fn new(homes: &Path) -> Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let unique = format!("haft-bench-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let project = std::env::temp_dir().join(format!("{unique}-project"));
        let home = Self { folder: homes.join(unique), project };
        // The folders are not there yet: others could have put something into one that is.
        create(&home.folder)?;
        create(&home.project)?;
        Ok(home)
    }

    /// The home folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder that the agent works in.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Makes `url` the agent's model.
    ///
    /// # Errors
    ///
    /// When its settings cannot be written.
    pub fn use_model(&self, agent: &Agent, url: &str) -> Result<()> {
        let (path, text) = agent.kind.settings(self, url);
        write(&path, &text)
    }

    /// Writes a file of the project.
    ///
    /// # Errors
    ///
    /// When that is not possible.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        write(&self.project.join(name), text)
    }

    /// The agent, in this home and project, with nothing in its environment that the user set up for it.
    pub fn command(&self, agent: &Agent) -> Command {
        let mut command = Command::new(&agent.program);
        command.current_dir(&self.project).env_clear();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(agent.beside.clone());
        // A name that cannot stand in a path is left out, and the programs in it with it.
        command.env("PATH", std::env::join_paths(folders).unwrap_or(path));
        command.env("HOME", &self.folder);
        // The model stands in the project's settings, for all agents alike.
        command.env("HAFT_TRUST", "1");
        for (name, folder) in [
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
        ] {
            command.env(name, self.folder.join(folder));
        }
        command.envs(agent.kind.environment(self));
        command
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A folder that stays behind does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_dir_all(&self.project);
    }
}

fn create(folder: &Path) -> Result<()> {
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    match std::fs::create_dir(folder) {
        // Left by a process with the same number that was killed.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            std::fs::remove_dir_all(folder).and_then(|()| std::fs::create_dir(folder))
        }
        made => made,
    }
    .with_context(|| format!("cannot make {}", folder.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
