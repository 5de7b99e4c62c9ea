//! The set `config-merge`: the settings of several files laid over each other.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use haft_config::{ConfigError, Sources, Trust, load};
use serde_json::Value;
use tokio::runtime::Runtime;

/// Keys of the screen: kept in the settings on purpose, where the reference takes them away before it answers.
const KEPT: [&str; 3] = ["theme", "keybinds", "tui"];

/// A project, a home and what the environment says.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub sources: Sources,
}

impl World {
    /// Both empty, with the work tree at the project and the working folder `cwd` below it.
    pub(crate) fn new(cwd: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let top = folder.path().canonicalize()?;
        let (home, project) = (top.join("home"), top.join("proj"));
        std::fs::create_dir_all(project.join(cwd))?;
        std::fs::create_dir_all(&home)?;
        let sources = Sources {
            config_home: home.join(".config"),
            directory: project.join(cwd),
            worktree: Some(project),
            home,
            ..Sources::default()
        };
        Ok(Self { folder, sources })
    }

    /// Writes `text` to the file `path` below `base`, which is `home`, `proj` or the like.
    pub(crate) fn write(&self, base: &str, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.path().join(base).join(path);
        let parent = path.parent().context("a file has a folder")?;
        // One that leads upwards has to be there to be left.
        for ancestor in [self.folder.path().join(base).as_path(), parent] {
            std::fs::create_dir_all(ancestor)?;
        }
        std::fs::write(&path, self.real(text)).with_context(|| path.display().to_string())
    }

    /// `text` with the real folders in it.
    fn real(&self, text: &str) -> String {
        let project = self.sources.worktree.as_deref().unwrap_or(Path::new(""));
        text.replace("<PROJ>", &project.display().to_string())
            .replace("<HOME>", &self.sources.home.display().to_string())
    }

    /// `value` with the names of the folders in it.
    fn named(&self, value: &Value) -> anyhow::Result<Value> {
        let project = self.sources.worktree.as_deref().unwrap_or(Path::new(""));
        let text = value.to_string();
        let text = text.replace(&project.display().to_string(), "<PROJ>");
        Ok(serde_json::from_str(&text.replace(&self.sources.home.display().to_string(), "<HOME>"))?)
    }
}

pub(crate) fn check(_: &Runtime, case: &Value) -> anyhow::Result<()> {
    let mut world = World::new(case["cwd"].as_str().unwrap_or_default())?;
    for (key, base) in [("project", "proj"), ("files", "proj"), ("global", "home/.config/opencode")] {
        for (path, text) in texts(&case[key]) {
            world.write(base, &path, &text)?;
        }
    }
    let mut environment: BTreeMap<String, String> =
        texts(&case["env"]).into_iter().map(|(name, value)| (name, world.real(&value))).collect();
    if let Some(text) = case["content"].as_str() {
        environment.insert("OPENCODE_CONFIG_CONTENT".to_owned(), world.real(text));
    }
    // One file, with or without a name.
    let custom =
        case["custom"].as_str().map(str::to_owned).or_else(|| texts(&case["custom"]).pop().map(|(_, text)| text));
    if let Some(text) = custom.as_deref() {
        world.write("custom", "custom.json", text)?;
        let path = world.folder.path().canonicalize()?.join("custom/custom.json");
        environment.insert("OPENCODE_CONFIG".to_owned(), path.display().to_string());
    }
    world.sources.environment = environment;

    let result = load(&world.sources, Trust::Given);
    let warned = result.as_ref().is_ok_and(|config| !config.warnings.is_empty());
    let result = match result {
        Ok(config) => {
            let mut merged = world.named(&config.merged)?;
            if let Some(merged) = merged.as_object_mut() {
                merged.retain(|key, _| !KEPT.contains(&key.as_str()));
            }
            Ok(merged)
        }
        Err(error) => Err(error),
    };
    if case["upstream_wrong"] == true {
        return better(&result, warned, case);
    }
    fits(&result, &case["expected"])
}

/// Names and texts of an object of texts.
pub(crate) fn texts(object: &Value) -> Vec<(String, String)> {
    let pairs = object.as_object().into_iter().flatten();
    pairs.map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().to_owned())).collect()
}

/// Whether the settings, or the kind of the error, are those of `expected`.
fn fits(result: &Result<Value, ConfigError>, expected: &Value) -> anyhow::Result<()> {
    match (result, expected["error"].as_str()) {
        (Ok(merged), None) => same(merged, &expected["config"]),
        (Ok(merged), Some(wanted)) => bail!("gave {merged}, not an error of the kind {wanted}"),
        (Err(error), None) => bail!("failed with {error}"),
        (Err(error), Some(wanted)) => {
            let kinds = kinds(error);
            ensure!(kinds.contains(&wanted), "failed with {error} ({kinds:?}), not {wanted}");
            Ok(())
        }
    }
}

/// What to give where the reference is wrong: settings, an error, a warning, or a sentence about a warning.
fn better(result: &Result<Value, ConfigError>, warned: bool, case: &Value) -> anyhow::Result<()> {
    let better = &case["better"];
    let wants_warning = |text: &Value| text.as_str().is_some_and(|text| text.contains("warn"));
    if better.get("config").is_some() || better.get("error").is_some() {
        let fit = fits(result, better);
        let warns = wants_warning(&better["or"]) && warned;
        return if warns { fits(result, &case["expected"]) } else { fit };
    }
    if wants_warning(&better["note"]) {
        ensure!(warned, "no warning");
        return fits(result, &case["expected"]);
    }
    bail!("do not know how to compare with {better}")
}

/// The reference's words for an error.
fn kinds(error: &ConfigError) -> &'static [&'static str] {
    match error {
        // A token that is never closed runs on to the next brace there, and names no file or breaks the text.
        ConfigError::Syntax { message, .. } if message.starts_with("{file:") => &["file", "json"],
        ConfigError::Syntax { .. } => &["json"],
        ConfigError::Value { .. } => &["invalid"],
        ConfigError::File { .. } => &["file"],
        ConfigError::Header { .. } => &["frontmatter"],
        ConfigError::Unreadable { .. } => &["unreadable"],
    }
}

/// Whether two values are the same; `1` and `1.0` are.
pub(crate) fn same(got: &Value, want: &Value) -> anyhow::Result<()> {
    ensure!(equal(got, want), "gave {got}, not {want}");
    Ok(())
}

fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let found = |(key, one): (&String, &Value)| other.get(key).is_some_and(|other| equal(one, other));
            one.len() == other.len() && one.iter().all(found)
        }
        (one, other) => one == other,
    }
}
