//! The vendors that can be signed in to.

use std::collections::BTreeMap;

use haft_config::Config;

use super::person::Choosable;
use crate::models::list_of_models;

/// A vendor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) id: String,
    pub(super) name: String,
    /// Variables that may hold its key, the usual one first.
    pub(super) keys: Vec<String>,
}

/// Those that are looked for most often stand first in a list.
const FIRST: [&str; 6] = ["anthropic", "openai", "google", "github-copilot", "openrouter", "amazon-bedrock"];

/// Those of the catalogue that want a key, and those of the settings, by their names; a few well-known ones first.
pub(super) fn known(config: &Config) -> Vec<Known> {
    let mut all: BTreeMap<String, Known> = BTreeMap::new();
    for vendor in list_of_models().vendors().iter().filter(|vendor| !vendor.is_local()) {
        let keys = vendor.keys().map(str::to_owned).collect();
        all.insert(vendor.id.clone(), Known { id: vendor.id.clone(), name: vendor.name.clone(), keys });
    }
    for (id, provider) in &config.providers {
        let known =
            all.entry(id.clone()).or_insert_with(|| Known { id: id.clone(), name: id.clone(), keys: Vec::new() });
        if let Some(name) = &provider.name {
            known.name.clone_from(name);
        }
        if !provider.env.is_empty() {
            known.keys.clone_from(&provider.env);
        }
    }
    let mut all: Vec<Known> = all.into_values().collect();
    let place = |id: &str| FIRST.iter().position(|first| *first == id).unwrap_or(FIRST.len());
    all.sort_by_key(|known| (place(&known.id), known.name.to_lowercase()));
    all
}

/// Up to three that may have been meant by `id`.
pub(super) fn similar(id: &str, known: &[Known]) -> Vec<String> {
    let lower = id.to_lowercase();
    let near = |known: &&Known| {
        let (other, name) = (known.id.to_lowercase(), known.name.to_lowercase());
        other.contains(&lower) || lower.contains(&other) || name == lower || shares_start(&other, &lower)
    };
    known.iter().filter(near).take(3).map(|known| known.id.clone()).collect()
}

/// Whether two names begin with the same three letters.
fn shares_start(a: &str, b: &str) -> bool {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count() >= 3
}

pub(super) fn options(known: &[Known]) -> Vec<Choosable> {
    known.iter().map(|known| Choosable { id: known.id.clone(), label: known.name.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_vendors_stand_first_and_the_others_by_name() {
        let known = known(&Config::default());
        let names: Vec<&str> = known.iter().map(|known| known.id.as_str()).collect();
        assert_eq!(names[..FIRST.len()], FIRST);
        assert_eq!(names[FIRST.len()], "302ai");
        assert!(names.len() > 100);
    }
}
