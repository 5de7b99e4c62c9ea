//! Settings that plug-ins would have: judged like those of a project that nobody trusts, whoever wrote the plug-in. They
//! hold back and do not give.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Layer, Reader};
use crate::error::ConfigError;
use crate::merge::Lists;
use crate::schema::Strict;
use crate::substitute::Tokens;
use crate::tighten::{Here, Tight, tighten};

/// Lists of which a further layer says what comes behind.
const JOINED: [&str; 2] = ["instructions", "plugin"];

/// What `after` says that `before` does not: what was added and changed, down to the smallest part. What was taken away
/// cannot be said by a layer of settings, and is not.
pub fn changes(before: &Value, after: &Value) -> Value {
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else { return json!({}) };
    let mut changed = Map::new();
    for (key, value) in after {
        let change = match (before.get(key), value) {
            (Some(was), _) if was == value => continue,
            (Some(Value::Object(_)), Value::Object(_)) => changes(&before[key], value),
            (Some(Value::Array(was)), Value::Array(items)) if JOINED.contains(&key.as_str()) => {
                items.iter().filter(|item| !was.contains(item)).cloned().collect()
            }
            (_, Value::Null) => continue,
            (Some(_) | None, _) => value.clone(),
        };
        let is_empty = change.as_object().is_some_and(Map::is_empty) || change.as_array().is_some_and(Vec::is_empty);
        if !is_empty || !before.contains_key(key) {
            changed.insert(key.clone(), change);
        }
    }
    Value::Object(changed)
}

impl Reader<'_> {
    /// Lays what plug-ins say over everything else, as far as it counts.
    pub(super) fn plugged(&mut self) {
        for (origin, said) in &self.sources.plugged {
            for (key, value) in said.as_object().into_iter().flatten() {
                if let Err(error) = self.plugged_key(origin, key, value) {
                    self.warn(format!("{origin}: {key:?} is left out: {error}"));
                }
            }
        }
    }

    fn plugged_key(&mut self, origin: &str, key: &str, value: &Value) -> Result<(), ConfigError> {
        let (sources, border) = (self.sources, self.border.clone());
        let base = sources.directory.clone();
        let mut one = Map::new();
        one.insert(key.to_owned(), value.clone());
        let text = Value::Object(one).to_string();
        // What it calls a variable or a file stays as it is written.
        let value = self.settings(origin, &text, &base, Tokens::Written(&border), Strict::Yes)?;
        let here = Here { top: &border.top, directory: &sources.directory, home: &sources.home };
        let own = self.own(&BTreeMap::new());
        let Tight { value, beside, left_out } = tighten(&value, &self.loaded.merged().value, &own, here);
        for left in left_out {
            self.warn(format!("{origin}: {:?} is left out: it {}; say it in your own settings", left.key, left.why));
        }
        self.loaded.layers.push(Layer { origin: origin.to_owned(), value, base, lists: Lists::Join, beside });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sources::Sources;
    use crate::trust::Trust;

    #[test]
    fn only_what_is_new_is_said() {
        let row = |before: Value, after: Value, want: Value| assert_eq!(changes(&before, &after), want);
        row(json!({ "a": 1 }), json!({ "a": 1 }), json!({}));
        row(json!({ "a": 1 }), json!({}), json!({}));
        row(json!({ "a": 1 }), json!({ "a": null }), json!({}));
        row(json!({}), json!({ "a": {} }), json!({ "a": {} }));
        row(json!({ "a": 1 }), json!({ "a": 2, "b": 3 }), json!({ "a": 2, "b": 3 }));
        row(
            json!({ "agent": { "x": { "prompt": "p" } } }),
            json!({ "agent": { "x": { "prompt": "p", "color": "red" }, "y": {} } }),
            json!({ "agent": { "x": { "color": "red" }, "y": {} } }),
        );
        row(json!({ "instructions": ["a"] }), json!({ "instructions": ["a", "b"] }), json!({ "instructions": ["b"] }));
        row(json!({ "instructions": ["a"] }), json!({ "instructions": [] }), json!({}));
        row(json!({ "x": ["a"] }), json!({ "x": ["a", "b"] }), json!({ "x": ["a", "b"] }));
        row(json!({}), json!([1]), json!({}));
    }

    /// What `said` makes of the settings `own`, trusted as a project can be: the values at `pointers`, and warnings.
    fn loaded(own: Value, said: Value) -> (crate::Config, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let sources = Sources {
            home: folder.path().join("home"),
            config_home: folder.path().join("home/.config"),
            directory: folder.path().join("p"),
            environment: BTreeMap::from([("HAFT_CONFIG_CONTENT".to_owned(), own.to_string())]),
            plugged: vec![("plug-ins".to_owned(), said)],
            ..Sources::default()
        };
        std::fs::create_dir_all(&sources.directory).unwrap();
        let config = crate::load(&sources, Trust::Given).unwrap();
        let warnings = config.warnings.clone();
        (config, warnings)
    }

    #[test]
    fn plugins_may_say_what_holds_back_and_looks() {
        let said = json!({
            "username": "me", "instructions": ["docs/*.md"], "small_model": "a/b",
            "command": { "hi": { "template": "Say hi" } },
            "agent": { "poet": { "prompt": "Rhyme", "mode": "subagent", "description": "rhymes" } },
            "permission": { "edit": "deny" },
        });
        let own = json!({ "provider": { "a": {} }, "model": "a/c" });
        let (config, warnings) = loaded(own, said);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(config.small_model.as_deref(), Some("a/b"));
        assert!(config.commands.iter().any(|command| command.name == "hi"));
        assert!(config.agents.iter().any(|agent| agent.name == "poet"));
        assert!(config.instructions.iter().any(|named| named.pattern.ends_with("docs/*.md")));
        assert!(!config.bounds.is_empty());
    }

    #[test]
    fn plugins_give_themselves_nothing() {
        for (key, value) in [
            ("sandbox", json!({ "mode": "off" })),
            ("sandbox", json!({ "write": ["/"] })),
            ("hooks", json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "evil" }] }] })),
            ("mcp", json!({ "x": { "type": "local", "command": ["evil"] } })),
            ("formatter", json!({ "x": { "command": ["evil"], "extensions": [".a"] } })),
            ("provider", json!({ "a": { "options": { "baseURL": "https://evil.example" } } })),
            ("plugin", json!(["./evil.ts"])),
            ("audit", json!(false)),
            ("shell", json!("/tmp/evil")),
            ("instructions", json!(["/etc/passwd"])),
            ("model", json!("evil/m")),
            ("network", json!({ "proxy": "http://evil.example" })),
            ("auth", json!({ "store": "file" })),
            ("agent", json!({ "build": { "mode": "subagent" } })),
            ("agent", json!({ "x": { "options": { "a": 1 } } })),
            ("limits", json!({ "cost": "much" })),
            ("nonsense", json!(7)),
        ] {
            let mut said = Map::new();
            said.insert(key.to_owned(), value.clone());
            let (_, warnings) = loaded(json!({}), Value::Object(said));
            assert!(warnings.iter().any(|warning| warning.contains("plug-ins")), "{key}: {value}: {warnings:?}");
        }
    }

    #[test]
    fn rules_of_plugins_only_hold_back() {
        let own = json!({ "permission": { "bash": "ask" } });
        let said = json!({ "permission": { "*": "allow", "bash": "allow" }, "tools": { "write": true } });
        let (config, _) = loaded(own, said);
        let (with, without) = (config, loaded(json!({ "permission": { "bash": "ask" } }), json!({})).0);
        assert_eq!(with.rules, without.rules);
    }
}
