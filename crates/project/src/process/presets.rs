//! Sets of further leaves for toolchains: where their caches go, and what they may change and speak to together with a
//! network. The sets are data: `presets.json`.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Deserialize;

/// The sets that come with haft.
const PRESETS: &str = include_str!("presets.json");

/// One set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Preset {
    /// What the settings call it.
    pub(super) name: String,
    /// The programs it is for.
    programs: Vec<String>,
    /// Variables for every command; `{cache}` is a folder that it may fill.
    #[serde(default)]
    pub(super) env: std::collections::BTreeMap<String, String>,
    /// Variables that point at what is in the user's own cache, which is there to be read.
    #[serde(default)]
    pub(super) keep: std::collections::BTreeMap<String, String>,
    /// What these programs may change where they were granted the network.
    #[serde(default)]
    write: Vec<Path>,
    /// What they may then read though it is hidden.
    #[serde(default)]
    pub(super) shown: Vec<Path>,
    /// What they may then speak to.
    #[serde(default)]
    pub(super) sockets: Vec<Path>,
}

/// A path as the sets name it: `BASE|BASE: NAME`. The first base whose variable is set, or that is below the home, counts.
/// A name that ends in `/` is a folder that is made where it is missing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Path(String);

/// All sets, or those whose names are `wanted`.
pub(super) fn all(wanted: Option<&[String]>) -> Vec<Preset> {
    // A test reads them.
    let presets: Vec<Preset> = serde_json::from_str(PRESETS).unwrap_or_default();
    presets.into_iter().filter(|preset| wanted.is_none_or(|wanted| wanted.contains(&preset.name))).collect()
}

/// The names of all sets, for whoever looks after the settings.
pub fn preset_names() -> Vec<String> {
    all(None).into_iter().map(|preset| preset.name).collect()
}

impl Preset {
    /// Whether one of `programs`, by their names alone, is one of its own.
    pub(super) fn is_for(&self, programs: &[String]) -> bool {
        programs.iter().any(|program| self.programs.contains(program))
    }

    /// What may be changed; the folders among it are made. What cannot be made cannot be changed either.
    pub(super) fn writable(&self, at: &dyn Fn(&Path) -> Option<PathBuf>) -> Vec<PathBuf> {
        let paths = self.write.iter().filter_map(|path| {
            let place = at(path)?;
            if path.0.ends_with('/') {
                let _ = std::fs::create_dir_all(&place);
            }
            Some(place)
        });
        paths.collect()
    }
}

impl Path {
    /// Where it is for a user whose home is `home`, and whose variables `variable` knows. `None` where no base is there.
    pub(super) fn at(&self, home: &std::path::Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let (bases, name) = self.0.split_once(": ")?;
        let base = bases.split('|').find_map(|base| match base.strip_prefix('$') {
            Some(named) => {
                let (named, below) = named.split_once('/').unwrap_or((named, ""));
                Some(PathBuf::from(variable(named)?).join(below)).filter(|base| base.is_absolute())
            }
            None => base.strip_prefix("~/").map(|below| home.join(below)),
        })?;
        let name = name.trim_end_matches('/');
        Some(if name == "." { base } else { base.join(name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_can_be_read_and_chosen() {
        let presets: Vec<Preset> = serde_json::from_str(PRESETS).unwrap();
        let names = |presets: &[Preset]| presets.iter().map(|preset| preset.name.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(names(&presets), "cargo npm pip go git");
        assert_eq!(names(&all(None)), names(&presets));
        assert_eq!(names(&all(Some(&["go".to_owned(), "none".to_owned()]))), "go");
        assert_eq!(names(&all(Some(&[]))), "");
        let at = |path: &Path| path.at(std::path::Path::new("/h"), &|_| None);
        for preset in presets {
            assert!(preset.write.iter().chain(&preset.shown).all(|path| at(path).is_some()), "{}", preset.name);
            assert!(preset.env.values().all(|value| !value.starts_with('/')));
        }
    }

    #[test]
    fn a_set_is_for_its_programs() {
        let cargo = &all(None)[0];
        assert!(cargo.is_for(&["ls".to_owned(), "cargo".to_owned()]));
        assert!(!cargo.is_for(&["cargo-fmt".to_owned()]) && !cargo.is_for(&[]));
    }

    #[test]
    fn the_first_base_that_is_there_counts() {
        let row = |path: &str, want: Option<&str>| {
            let variable = |name: &str| match name {
                "SET" => Some(OsString::from("/set")),
                "ODD" => Some(OsString::from("relative")),
                _ => None,
            };
            let found = Path(path.to_owned()).at(std::path::Path::new("/h"), &variable);
            assert_eq!(found, want.map(PathBuf::from), "{path}");
        };
        row("$SET|~/.x: a/", Some("/set/a"));
        row("$UNSET|~/.x: a", Some("/h/.x/a"));
        row("$UNSET|$SET/pkg|~/.x: ./", Some("/set/pkg"));
        row("$ODD|~/.x: a", Some("/h/.x/a"));
        row("$UNSET: .", None);
        row("$SET: .", Some("/set"));
        row("nothing", None);
    }
}
