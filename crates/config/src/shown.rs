//! The merged settings for a person to look at: each value, and the file it comes from.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ConfigError;
use crate::finish::{finish, origin};
use crate::load::{Variables, load};
use crate::merge::pointers;
use crate::secret;
use crate::sources::Sources;
use crate::stake::Stake;
use crate::trust::Trust;

/// Settings to look at.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The merged settings.
    pub config: Value,
    /// The JSON pointer of each value in them that is no object, and the file or variable that set it.
    pub sources: BTreeMap<String, String>,
    /// What the project says that does not count, because it is not trusted.
    pub untrusted: Vec<Stake>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// Whether keys, headers and what variables hold are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// Yes.
    Shown,
    /// No: they are left out. An `{env:}` that stands for one, by where it stands or by its name, stays as it is
    /// written.
    Hidden,
}

/// Reads every place settings come from, to be looked at.
///
/// # Errors
///
/// Those of [`crate::load`].
pub fn show(sources: &Sources, secrets: Secrets, trust: Trust<'_>) -> Result<Shown, ConfigError> {
    let mut loaded = load(sources, Variables::Filled, trust)?;
    // The question is not put twice.
    let trust = if loaded.trusted { Trust::Given } else { Trust::Withheld };
    let warnings = std::mem::take(&mut loaded.warnings);
    let untrusted = if loaded.trusted { Vec::new() } else { std::mem::take(&mut loaded.stakes.items) };
    let mut merged = loaded.merged();
    let mut origins = loaded.layers.into_iter().map(|layer| layer.origin).collect();
    finish(&mut merged, sources, &mut origins);
    let places = pointers(&merged).into_iter().map(|(pointer, layer)| (pointer, origin(&origins, layer))).collect();
    let mut config = merged.value;
    if secrets == Secrets::Hidden {
        let mut written = load(sources, Variables::Named, trust)?.merged();
        finish(&mut written, sources, &mut Vec::new());
        secret::hide(&mut config, Some(&written.value), false);
    }
    Ok(Shown { config, sources: places, untrusted, warnings })
}
