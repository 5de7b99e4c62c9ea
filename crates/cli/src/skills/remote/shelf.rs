//! Where the files of skills from addresses stand: a folder for each address, in it one for what was fetched together, in
//! it one for each skill. What was fetched together never changes; what is fetched later stands beside it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use haft_net::Url;

use super::fetch::Got;
use super::pins::{Pin, Skill, hash};
use crate::folders;

/// Letters of a hash that name a folder.
const SHORT: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder of the address `url`. Its host is in the name for people who look.
    fn of(&self, url: &str) -> PathBuf {
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let host: String =
            host.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')).take(60).collect();
        self.folder.join(format!("{host}-{}", short(&hash(url.as_bytes()))))
    }

    fn version(&self, pin: &Pin) -> PathBuf {
        self.of(&pin.url).join(short(&pin.digest()))
    }

    /// The folder of `skill` of `pin`, if all of its files are there as they were fetched.
    ///
    /// # Errors
    ///
    /// What is not as it was.
    pub(super) fn find(&self, pin: &Pin, skill: &Skill) -> Result<PathBuf, String> {
        let folder = self.version(pin).join(&skill.name);
        for file in &skill.files {
            let path = folder.join(&file.path);
            let shown = path.display();
            // What is a link was not put there by haft.
            let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
            let bytes = if is_file { std::fs::read(&path).ok() } else { None };
            let bytes = bytes.ok_or_else(|| format!("{shown} is not there any more"))?;
            if hash(&bytes) != file.hash {
                return Err(format!("{shown} is not what was fetched"));
            }
        }
        Ok(folder)
    }

    /// Puts the files `got` for `pin` there, in the place of what may be left of them.
    ///
    /// # Errors
    ///
    /// When a file cannot be written. Nothing is changed then.
    pub(super) fn put(&self, pin: &Pin, got: &Got) -> Result<()> {
        let (address, version) = (self.of(&pin.url), self.version(pin));
        folders::make(&address)?;
        let cannot = || format!("cannot keep skills in {}; XDG_CACHE_HOME chooses another place", address.display());
        let new = tempfile::Builder::new().prefix(".new-").tempdir_in(&address).with_context(cannot)?;
        for skill in &got.skills {
            for (path, bytes) in &skill.files {
                let path = new.path().join(&skill.name).join(path);
                path.parent().map_or(Ok(()), std::fs::create_dir_all).with_context(cannot)?;
                std::fs::write(&path, bytes).with_context(cannot)?;
            }
        }
        remove(&version).with_context(cannot)?;
        std::fs::rename(new.path(), &version).with_context(cannot)
    }

    /// Removes what was fetched earlier from the address of `pin`, but what it takes the place of: a session that runs may
    /// still name files of that.
    pub(super) fn sweep(&self, pin: &Pin, before: Option<&Pin>) {
        let stay = [Some(pin), before].map(|pin| pin.map(|pin| self.version(pin)));
        for entry in std::fs::read_dir(self.of(&pin.url)).into_iter().flatten().flatten() {
            if !stay.contains(&Some(entry.path()))
                && let Err(error) = remove(&entry.path())
            {
                tracing::warn!(%error, path = %entry.path().display(), "old skills stay");
            }
        }
    }
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}
