//! Files of haft's own in the user's folders that several processes read and change: only their owner may have a hand in
//! them, one process at a time changes them, and what is written is there whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::marker::PhantomData;
#[cfg(test)]
use std::path::Path;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use haft_vault::own;
pub(crate) use haft_vault::own::{lock, open};
use serde_json::Value;

use crate::{folders, render};

/// Longest JSON file, in bytes; a longer one was not written by haft.
pub(crate) const MAX_FILE: u64 = 1024 * 1024;
/// What such a file says, where it is JSON.
pub(crate) trait Content: Clone + PartialEq {
    /// The form of the file, in its `version`.
    const VERSION: u64;
    /// What a file that cannot be made out leads to, as the end of "it was moved away, and ".
    const WITHOUT: &'static str;

    /// What is so where there is no file.
    fn empty() -> Self;
    /// What the file says in this form; `None` where it does not.
    fn from_json(value: &Value) -> Option<Self>;
    /// The text of the file.
    fn to_text(&self) -> String;
}

/// A JSON file.
#[derive(Debug, Clone)]
pub(crate) struct OwnFile<C> {
    path: PathBuf,
    content: PhantomData<C>,
}

impl<C: Content> OwnFile<C> {
    /// The file at `path`; neither it nor its folder need be there yet.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, content: PhantomData }
    }

    #[cfg(test)]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it says. A file that cannot be made out says nothing; it is put aside and told of.
    ///
    /// # Errors
    ///
    /// When it cannot be read, belongs to others, or was made by a newer haft.
    pub(crate) fn read(&self) -> Result<C> {
        Ok(match self.content()? {
            Ok(content) => content,
            Err(_) => {
                // Another process may be about to mend it.
                let _lock = self.lock()?;
                self.settled()?
            }
        })
    }

    /// Changes what it says.
    ///
    /// # Errors
    ///
    /// Those of [`OwnFile::read`], and when it cannot be written.
    pub(crate) fn change(&self, change: impl FnOnce(&mut C)) -> Result<()> {
        let _lock = self.lock()?;
        let before = self.settled()?;
        let mut after = before.clone();
        change(&mut after);
        if after == before { Ok(()) } else { self.write(&after) }
    }

    /// What it says, by whoever holds the lock: what cannot be made out is put aside.
    fn settled(&self) -> Result<C> {
        match self.content()? {
            Ok(content) => Ok(content),
            Err(broken) => self.put_aside(&broken),
        }
    }

    /// What it says; the inner error says in what it is broken.
    fn content(&self) -> Result<Result<C, String>> {
        let shown = self.path.display();
        let file = match open(&self.path, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ok(C::empty())),
            Err(error) => return Err(error.into()),
        };
        let meta = file.metadata().with_context(|| format!("cannot look at {shown}"))?;
        if meta.len() > MAX_FILE {
            return Ok(Err("it is longer than 1 MiB".to_owned()));
        }
        let mut text = String::new();
        if let Err(error) = file.take(MAX_FILE).read_to_string(&mut text) {
            return Ok(Err(error.to_string()));
        }
        let value: Value = match serde_json::from_str(&text) {
            Ok(value) => value,
            Err(error) => return Ok(Err(error.to_string())),
        };
        match value["version"].as_u64() {
            Some(version) if version > C::VERSION => {
                bail!("{shown} was made by a newer haft, and is not used by this one")
            }
            Some(version) if version == C::VERSION => {
                Ok(C::from_json(&value).ok_or_else(|| "a field is missing or is something else".to_owned()))
            }
            Some(_) | None => Ok(Err("its version is none that is known".to_owned())),
        }
    }

    fn put_aside(&self, broken: &str) -> Result<C> {
        let aside = self.path.with_extension("json.broken");
        let (shown, to) = (self.path.display(), aside.display());
        std::fs::rename(&self.path, &aside)
            .with_context(|| format!("cannot move {shown}, which is broken, to {to}"))?;
        let without = C::WITHOUT;
        render::complain(&format!(
            "warning: {shown} cannot be made out ({broken}); it was moved to {to}, and {without}"
        ));
        Ok(C::empty())
    }

    fn write(&self, content: &C) -> Result<()> {
        let written = own::replace(&self.path, content.to_text().as_bytes());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Only one process changes the file at a time. Freed when it is dropped, and when the process ends.
    fn lock(&self) -> Result<File> {
        let path = self.path.with_extension("lock");
        if let Some(folder) = path.parent() {
            folders::make(folder)?;
        }
        let file = open(&path, OpenOptions::new().create(true).truncate(false).write(true))?;
        lock(&file).with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(file)
    }
}
