//! What the registry says of a package and of one of its versions.

use std::collections::BTreeMap;

use semver::Version;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::range::Range;

/// All versions of a package, in the registry's short form.
#[derive(Debug, Deserialize)]
pub(crate) struct Packument {
    #[serde(rename = "dist-tags", default)]
    tags: BTreeMap<String, String>,
    // Most are never looked at.
    #[serde(default)]
    versions: BTreeMap<String, Box<RawValue>>,
}

/// One version.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Manifest {
    #[serde(default)]
    pub(crate) dist: Dist,
    #[serde(default)]
    dependencies: Value,
    #[serde(rename = "optionalDependencies", default)]
    optional: Value,
    #[serde(rename = "peerDependencies", default)]
    peers: Value,
    #[serde(rename = "peerDependenciesMeta", default)]
    peers_meta: Value,
    #[serde(default)]
    os: Value,
    #[serde(default)]
    cpu: Value,
    #[serde(default)]
    libc: Value,
}

/// Where its files are.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Dist {
    #[serde(default)]
    pub(crate) tarball: String,
    #[serde(default)]
    pub(crate) integrity: Option<String>,
}

/// Something that a version needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) name: String,
    pub(crate) range: String,
    /// Whether it can do without.
    pub(crate) optional: bool,
}

impl Packument {
    /// The version that `range` means: the one tagged `latest` where it is meant, else the highest.
    pub(crate) fn pick(&self, range: &str) -> Option<Version> {
        let has = |version: &Version| self.versions.contains_key(&version.to_string());
        if let Some(tagged) = self.tags.get(range) {
            return Version::parse(tagged).ok().filter(has);
        }
        let range = Range::parse(range)?;
        let latest = self.tags.get("latest").and_then(|version| Version::parse(version).ok());
        if let Some(latest) = latest.filter(|latest| has(latest) && range.holds(latest)) {
            return Some(latest);
        }
        let all = self.versions.keys().filter_map(|version| Version::parse(version).ok());
        all.filter(|version| range.holds(version)).max()
    }

    pub(crate) fn manifest(&self, version: &Version) -> Option<Manifest> {
        serde_json::from_str(self.versions.get(&version.to_string())?.get()).ok()
    }
}

impl Manifest {
    /// What it needs, by name. What never runs, or is ours to give, is left out.
    pub(crate) fn needs(&self) -> Vec<Need> {
        let mut all: BTreeMap<String, Need> = BTreeMap::new();
        let mut add = |value: &Value, is_optional: &dyn Fn(&str) -> bool| {
            for (name, range) in value.as_object().into_iter().flatten() {
                if let Some(range) = range.as_str().filter(|_| !is_left_out(name)) {
                    let optional = is_optional(name);
                    all.insert(name.clone(), Need { name: name.clone(), range: range.to_owned(), optional });
                }
            }
        };
        let may_lack =
            |name: &str| self.peers_meta.get(name).and_then(|meta| meta.get("optional")) == Some(&true.into());
        let peers = self.peers.as_object().into_iter().flatten().filter(|(name, _)| !may_lack(name));
        add(&Value::Object(peers.map(|(name, range)| (name.clone(), range.clone())).collect()), &|_| false);
        add(&self.dependencies, &|_| false);
        // The registry lists them among the others too.
        add(&self.optional, &|_| true);
        all.into_values().collect()
    }

    /// Whether it is for a machine of this kind.
    pub(crate) fn fits(&self) -> bool {
        let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
        let cpu = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            "x86" => "ia32",
            other => other,
        };
        let musl = std::path::Path::new("/lib/ld-musl-x86_64.so.1").exists()
            || std::path::Path::new("/lib/ld-musl-aarch64.so.1").exists();
        let libc = if musl { "musl" } else { "glibc" };
        allows(&self.os, os) && allows(&self.cpu, cpu) && (os != "linux" || allows(&self.libc, libc))
    }
}

/// Whether a list such as `["linux", "!win32"]` has room for `own`.
fn allows(list: &Value, own: &str) -> bool {
    let words: Vec<&str> = match list {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        Value::String(one) => vec![one],
        _ => return true,
    };
    let refused = words.iter().any(|word| word.strip_prefix('!') == Some(own));
    let mut wanted = words.iter().filter(|word| !word.starts_with('!')).peekable();
    !refused && (wanted.peek().is_none() || wanted.any(|word| *word == own || *word == "any"))
}

/// What packages name and nothing of which runs, or what haft gives itself.
fn is_left_out(name: &str) -> bool {
    let fixed = ["@opencode-ai/plugin", "typescript", "bun-types"];
    fixed.contains(&name) || name.starts_with("@types/")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn packument(value: Value) -> Packument {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_version_that_is_meant_is_found() {
        let all = packument(json!({
            "dist-tags": {"latest": "1.4.0", "next": "2.0.0-rc.1", "gone": "9.9.9"},
            "versions": {"1.0.0": {}, "1.4.0": {}, "1.5.0": {}, "2.0.0-rc.1": {}, "bad": {}},
        }));
        let pick = |range: &str| all.pick(range).map(|version| version.to_string());
        assert_eq!(pick("latest").as_deref(), Some("1.4.0"));
        assert_eq!(pick("^1").as_deref(), Some("1.4.0"));
        assert_eq!(pick(">1.4.0").as_deref(), Some("1.5.0"));
        assert_eq!(pick("next").as_deref(), Some("2.0.0-rc.1"));
        assert_eq!((pick("gone"), pick("3"), pick("none")), (None, None, None));
    }

    #[test]
    fn needs_are_those_that_run() {
        let manifest: Manifest = serde_json::from_value(json!({
            "dependencies": {"a": "^1", "o": "1", "@types/node": "*", "bad": 5},
            "optionalDependencies": {"o": "1"},
            "peerDependencies": {"p": "2", "q": "2", "typescript": "^5", "@opencode-ai/plugin": "*"},
            "peerDependenciesMeta": {"q": {"optional": true}},
        }))
        .unwrap();
        let needs: Vec<(String, bool)> = manifest.needs().into_iter().map(|need| (need.name, need.optional)).collect();
        assert_eq!(needs, [("a".to_owned(), false), ("o".to_owned(), true), ("p".to_owned(), false)]);
    }

    #[test]
    fn packages_for_other_machines_do_not_fit() {
        let row = |list: Value, want: bool| assert_eq!(allows(&list, "linux"), want, "{list}");
        row(json!(null), true);
        row(json!([]), true);
        row(json!(["linux", "darwin"]), true);
        row(json!(["win32"]), false);
        row(json!(["!linux"]), false);
        row(json!(["!win32"]), true);
        row(json!("linux"), true);
    }
}
