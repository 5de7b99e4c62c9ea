//! What is known when a way to a model is looked for.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use haft_config::Config;
use haft_llm::catalogue::{Catalogue, MAX_PACKED, MAX_SOURCE};

use super::stored::{Credential, stored};
use crate::folders::Folders;
use crate::keys::keys;
use crate::{own_file, render};

/// What the environment says: the value of a variable that is set and not empty.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Everything that has a say.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(super) config: &'a Config,
    pub(super) env: Environment<'a>,
    pub(super) stored: &'a dyn Fn(&str) -> Option<Credential>,
    pub(super) catalogue: &'a Catalogue,
}

impl<'a> World<'a> {
    /// What this machine and its user say.
    pub(crate) fn here(config: &'a Config) -> Self {
        World { config, env: &variable, stored: &stored, catalogue: catalogue() }
    }
}

/// A variable of the environment that is set and not empty, else the token of an organisation that is called so.
pub(super) fn variable(name: &str) -> Option<String> {
    let set = std::env::var(name).ok().filter(|value| !value.is_empty());
    set.or_else(|| keys().variables().find(|(known, _)| *known == name).map(|(_, token)| token.to_owned()))
}

/// The list of models that counts: the one that a variable names, else the newer one of that which was fetched last and
/// that in the program. One that cannot be read is told of, and does not count.
pub(crate) fn catalogue() -> &'static Catalogue {
    static LIST: OnceLock<Option<Catalogue>> = OnceLock::new();
    LIST.get_or_init(|| {
        if let Some(path) = ["HAFT_MODELS_PATH", "OPENCODE_MODELS_PATH"].into_iter().find_map(variable) {
            return published(Path::new(&path))
                .inspect_err(|error| render::complain(&format!("warning: {error:#}")))
                .ok();
        }
        let path = fetched(&Folders::find().ok()?);
        let list = read(&path).inspect_err(|error| render::complain(&format!("warning: {error:#}"))).ok()??;
        // A newer program knows more than what was fetched before it.
        (list.newest() >= Catalogue::built_in().newest()).then_some(list)
    })
    .as_ref()
    .unwrap_or_else(Catalogue::built_in)
}

/// Where the list that was fetched last is kept.
pub(super) fn fetched(folders: &Folders) -> PathBuf {
    folders.cache.join("models.pack")
}

/// The list that was fetched last, if one was.
fn read(path: &Path) -> Result<Option<Catalogue>> {
    let told = || format!("{} is not used; haft models --refresh makes it anew", path.display());
    let file = match own_file::open(path, std::fs::OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(told),
    };
    let mut bytes = Vec::new();
    file.take(MAX_PACKED + 1).read_to_end(&mut bytes).with_context(told)?;
    Catalogue::open(bytes.into()).map(Some).with_context(told)
}

/// The list as it is published, in a file that the user names.
fn published(path: &Path) -> Result<Catalogue> {
    let told = || format!("the list of models in {} is not used", path.display());
    let file = std::fs::File::open(path).with_context(told)?;
    let mut bytes = Vec::new();
    file.take(MAX_SOURCE as u64 + 1).read_to_end(&mut bytes).with_context(told)?;
    let packed = Catalogue::pack(&bytes).with_context(told)?;
    Catalogue::open(packed.into()).with_context(told)
}
