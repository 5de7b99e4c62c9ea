//! Settings as the program uses them.

use std::collections::BTreeMap;

use haft_permission::Rule;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::keys;
use crate::layers::{Source, Sources, lay};
use crate::permission;
use crate::provider::ProviderConfig;

/// The settings, complete and checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// The model to use, as `vendor/model`.
    pub model: Option<String>,
    /// Vendors by name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// The user's own rules, in their order.
    pub rules: Vec<Rule>,
    /// Names of environment variables that hold keys, and that no command needs to see.
    pub secrets: Vec<String>,
    /// What a person should know: keys nobody knows, and keys whose meaning is not honoured yet.
    pub warnings: Vec<String>,
    /// The files and variables that were read, weakest first.
    pub origins: Vec<String>,
}

/// Reads every place settings come from and lays them over each other.
///
/// # Errors
///
/// When a file cannot be read, is no JSON with comments, or holds a value of the wrong kind.
pub fn load(sources: &Sources) -> Result<Config, ConfigError> {
    resolve(sources.layers()?, sources)
}

fn resolve(layers: Vec<Source>, sources: &Sources) -> Result<Config, ConfigError> {
    let mut merged = Value::Object(Map::new());
    for Source { origin, value, .. } in &layers {
        if !value.is_object() {
            return Err(ConfigError::Value {
                origin: origin.clone(),
                key: "the whole".to_owned(),
                message: "must be an object in { }".to_owned(),
            });
        }
        // Each file is checked by itself, so that a mistake is reported where it was made.
        check(origin, value, sources)?;
        let mut value = value.clone();
        // "permission": "ask" and {"*": "ask"} are the same, and only the second can be merged.
        if let Some(short) = value.get_mut("permission").filter(|short| short.is_string()) {
            let action = short.take();
            *short = Value::Object(Map::from_iter([("*".to_owned(), action)]));
        }
        lay(&mut merged, value);
    }
    let mut config = check("the configuration", &merged, sources)?;
    for layer in layers {
        config.warnings.extend(keys::warnings(&layer.origin, &layer.value));
        config.origins.push(layer.origin);
        config.secrets.extend(layer.secrets);
    }
    Ok(config)
}

fn check(origin: &str, value: &Value, sources: &Sources) -> Result<Config, ConfigError> {
    let wrong =
        |key: &str, message: String| ConfigError::Value { origin: origin.to_owned(), key: key.to_owned(), message };
    let model = typed::<String>(value, "model").map_err(|(key, message)| wrong(&key, message))?;
    let mut providers = BTreeMap::new();
    match value.get("provider") {
        None => {}
        Some(Value::Object(all)) => {
            for name in all.keys() {
                let provider = typed::<ProviderConfig>(&value["provider"], name);
                let provider = provider.map_err(|(key, message)| wrong(&format!("provider.{key}"), message))?;
                providers.insert(name.clone(), provider.unwrap_or_default());
            }
        }
        Some(_) => return Err(wrong("provider", "must be an object of vendors by name".to_owned())),
    }
    let rules = match value.get("permission") {
        None => Vec::new(),
        Some(value) => permission::rules(value, &sources.home).map_err(|(key, message)| wrong(&key, message))?,
    };
    Ok(Config { model, providers, rules, ..Config::default() })
}

/// The value of `key`, or the place in it that is wrong and how.
fn typed<T: DeserializeOwned>(object: &Value, key: &str) -> Result<Option<T>, (String, String)> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => serde_path_to_error::deserialize(value).map(Some).map_err(|error| {
            let below = error.path().to_string();
            let place = if below == "." { key.to_owned() } else { format!("{key}.{below}") };
            // What the reader says repeats the value that it found, which may be a key.
            let told = error.into_inner().to_string();
            let wanted = told.rsplit_once(", expected ").map_or("something else", |(_, wanted)| wanted);
            let wanted = match wanted {
                "u64" => "a whole number",
                "f64" => "a number",
                other => other,
            };
            (place, format!("must be {wanted}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fs;
    use std::path::Path;

    struct Scene {
        folder: tempfile::TempDir,
        sources: Sources,
    }

    /// `files` below a folder with `home`, and `home/project/sub` in a work tree at `home/project`.
    fn scene(files: &[(&str, &str)], environment: &[(&str, &str)]) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        for (path, text) in files {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let sources = Sources {
            config_home: home.join(".config"),
            directory: home.join("project/sub"),
            worktree: Some(home.join("project")),
            environment: environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            home,
        };
        Scene { folder, sources }
    }

    impl Scene {
        fn load(&self) -> Result<Config, String> {
            load(&self.sources).map_err(|error| {
                let home = self.sources.home.display().to_string();
                error.to_string().replace(&home, "~")
            })
        }
    }

    #[track_caller]
    fn model(files: &[(&str, &str)], environment: &[(&str, &str)], want: &str) {
        let scene = scene(files, environment);
        assert_eq!(scene.load().unwrap().model.as_deref(), Some(want));
        assert!(scene.folder.path().exists());
    }

    #[test]
    fn nearer_and_own_files_win() {
        let global = (".config/opencode/opencode.json", r#"{"model": "a/global"}"#);
        let top = ("project/opencode.json", r#"{"model": "a/top"}"#);
        let sub = ("project/sub/opencode.jsonc", "{\"model\": \"a/sub\", // nearest\n}");
        let own = ("project/haft.json", r#"{"model": "a/own"}"#);
        let dot = ("project/.opencode/opencode.json", r#"{"model": "a/dot"}"#);
        let home = (".opencode/opencode.json", r#"{"model": "a/home"}"#);
        let outside = ("opencode.json", r#"{"model": "a/outside"}"#);
        model(&[global], &[], "a/global");
        model(&[global, top], &[], "a/top");
        model(&[global, top, own], &[], "a/own");
        model(&[global, top, sub, own], &[], "a/sub");
        model(&[top, sub, dot], &[], "a/dot");
        model(&[top, home], &[], "a/top");
        model(&[global, outside], &[], "a/global");
        model(&[top], &[("OPENCODE_CONFIG_CONTENT", r#"{"model": "a/inline"}"#)], "a/inline");
        model(&[global, top], &[("HAFT_DISABLE_PROJECT_CONFIG", "1")], "a/global");
    }

    #[test]
    fn what_stands_for_something_cannot_break_the_json() {
        let config =
            r#"{"provider": {"x": {"options": {"apiKey": "{env:KEY}", "baseURL": "{file:url.txt}{env:NONE}"}}}}"#;
        let scene = scene(
            &[("project/sub/opencode.json", config), ("project/sub/url.txt", "http://h/\"},{\n")],
            &[("KEY", "a\"b\\c\nd")],
        );
        let config = scene.load().unwrap();
        assert_eq!(config.secrets, ["KEY"], "an address is no secret, a key is");
        let options = &config.providers["x"].options;
        assert_eq!(options.api_key.as_deref(), Some("a\"b\\c\nd"));
        assert_eq!(options.base_url.as_deref(), Some("http://h/\"},{"));
        assert!(!format!("{options:?}").contains("a\\\"b"), "a key must not be shown");
    }

    #[test]
    fn rules_of_all_files_keep_the_place_their_key_first_had() {
        let scene = scene(
            &[
                (".config/opencode/opencode.json", r#"{"permission": "ask"}"#),
                ("project/opencode.json", r#"{"permission": {"bash": {"ls *": "allow"}, "*": "deny"}}"#),
            ],
            &[("OPENCODE_PERMISSION", r#"{"bash": {"rm *": "deny"}}"#)],
        );
        let rules: Vec<String> = scene.load().unwrap().rules.iter().map(Rule::to_string).collect();
        assert_eq!(rules, ["* \"*\": deny", "bash \"ls *\": allow", "bash \"rm *\": deny"]);
    }

    #[track_caller]
    fn fails(files: &[(&str, &str)], environment: &[(&str, &str)], want: Expect) {
        want.assert_eq(&scene(files, environment).load().unwrap_err());
    }

    #[test]
    fn a_mistake_is_reported_where_it_was_made() {
        fails(
            &[("project/opencode.json", "{\n  \"model\": \"a/b\"\n  \"x\": 1 }")],
            &[],
            expect!["~/project/opencode.json, line 2, column 17: Expected comma"],
        );
        fails(
            &[("project/opencode.json", "{\"model\": 5}")],
            &[],
            expect!["~/project/opencode.json: model must be a string"],
        );
        fails(
            &[("project/opencode.json", "[1]")],
            &[],
            expect!["~/project/opencode.json: the whole must be an object in { }"],
        );
        fails(
            &[("project/opencode.json", r#"{"permission": {"bash": "yes"}}"#)],
            &[],
            expect![[r#"~/project/opencode.json: permission.bash must be "allow", "ask" or "deny", not "yes""#]],
        );
        fails(
            &[("project/opencode.json", r#"{"provider": {"x": {"models": {"m": {"limit": {"output": "many"}}}}}}"#)],
            &[],
            expect!["~/project/opencode.json: provider.x.models.m.limit.output must be a whole number"],
        );
        fails(
            &[("project/opencode.json", r#"{"model": "{file:none.txt}"}"#)],
            &[],
            expect![
                "~/project/opencode.json: {file:none.txt} stands for ~/project/none.txt, which cannot be read: No such file or directory (os error 2)"
            ],
        );
        fails(
            &[],
            &[("HAFT_CONFIG", "none.json")],
            expect!["cannot read ~/project/sub/none.json (named by HAFT_CONFIG): entity not found"],
        );
        fails(
            &[],
            &[("OPENCODE_PERMISSION", "{")],
            expect!["OPENCODE_PERMISSION, line 1, column 2: Unterminated object"],
        );
    }

    #[test]
    fn nothing_at_all_is_fine() {
        let scene = scene(&[("project/sub/opencode.json", "")], &[]);
        let config = scene.load().unwrap();
        assert_eq!((config.model, config.rules.len()), (None, 0));
        assert_eq!(config.origins.len(), 1);
        assert!(Path::new(&config.origins[0]).ends_with("opencode.json"));
    }
}
