//! Reads every place settings come from, each file once.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::document;
use crate::error::{ConfigError, Place as TextPlace};
use crate::file;
use crate::keys;
use crate::markdown;
use crate::merge::{Lists, Merged};
use crate::node::{Node, Shape};
use crate::normal;
use crate::schema::{Finding, Kind, Strict, check};
use crate::sources::{Place, Sources};
use crate::substitute::Filler;

/// Largest settings file, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Most warnings that are told.
const MAX_WARNINGS: usize = 50;

/// Whether `{env:}` is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variables {
    /// Yes, and everything is checked.
    Filled,
    /// No: it stays as it is written, and what has no value yet is not checked.
    Named,
}

/// One text of settings.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// The file, or the name of the variable.
    pub origin: String,
    /// What it says, without keys that mean nothing.
    pub value: Value,
    /// Where relative paths in it begin.
    pub base: PathBuf,
    pub lists: Lists,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// Weakest first.
    pub layers: Vec<Layer>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// Names of the variables that stand for secrets.
    pub secrets: Vec<String>,
}

impl Loaded {
    /// What all layers say together, before anything is made of it.
    pub(crate) fn merged(&self) -> Merged {
        let mut merged = Merged::default();
        for (index, layer) in self.layers.iter().enumerate() {
            merged.lay(layer.normal(), index, layer.lists);
        }
        merged
    }

    /// Takes down something a person should know about `origin`.
    pub(crate) fn warn(&mut self, warning: String) {
        match self.warnings.len() {
            ..MAX_WARNINGS => self.warnings.push(warning),
            MAX_WARNINGS => self.warnings.push("there is more of this kind; mend these first".to_owned()),
            _ => {}
        }
    }
}

impl Layer {
    /// What it says, in the one spelling of each thing.
    fn normal(&self) -> Value {
        let mut value = self.value.clone();
        normal::layer(&mut value, &self.base);
        value
    }
}

/// Reads all of it.
///
/// # Errors
///
/// When a file cannot be read, is no JSON with comments, or holds a value of the wrong kind.
pub(crate) fn load(sources: &Sources, variables: Variables) -> Result<Loaded, ConfigError> {
    let mut reader = Reader { sources, variables, loaded: Loaded::default(), group: None };
    for place in sources.places() {
        reader.place(place)?;
    }
    Ok(reader.loaded)
}

/// The terminal UI's own settings, laid over each other, with what is wrong about them.
///
/// Broken ones are left out and told: without them the program is as safe, and only looks otherwise.
pub(crate) fn screen(sources: &Sources, loaded: &mut Loaded) -> Value {
    let mut merged = Merged::default();
    for place in sources.screen_places() {
        let (Place::File(path) | Place::Named(_, path)) = place else { continue };
        let origin = path.display().to_string();
        let text = match file::read(&path, MAX_FILE) {
            Ok(text) => text,
            Err(error) => {
                if !file::is_absent(&error) {
                    loaded.warn(format!("cannot read {origin}: {error}"));
                }
                continue;
            }
        };
        let mut filler = Filler::new(sources, &origin, path.parent().unwrap_or(Path::new("")));
        match document::read(&text, &mut filler) {
            Ok(node) if matches!(node.shape, Shape::Object(_)) => merged.lay(node.to_value(), 0, Lists::Join),
            Ok(_) => loaded.warn(format!("{origin} is left out: it must be an object in {{ }}")),
            Err(error) => loaded.warn(format!("{error} (the file is left out)")),
        }
    }
    merged.value
}

struct Reader<'s> {
    sources: &'s Sources,
    variables: Variables,
    loaded: Loaded,
    /// The first layer of the group that is being read.
    group: Option<usize>,
}

impl Reader<'_> {
    fn place(&mut self, place: Place) -> Result<(), ConfigError> {
        match place {
            Place::Given(origin, text) => self.text(&origin, &text, &self.sources.directory.clone(), Lists::Join),
            Place::File(path) => self.file(&path, Lists::Join).map(drop),
            Place::Grouped(path) => {
                let first = *self.group.get_or_insert(self.loaded.layers.len());
                self.file(&path, Lists::ReplaceFrom(first)).map(drop)
            }
            Place::Named(name, path) => self.named(name, &path),
            Place::Folder(folder) => {
                let found = markdown::layers(&folder, self.strict())?;
                self.loaded.layers.extend(found.layers);
                found.warnings.into_iter().for_each(|warning| self.loaded.warn(warning));
                Ok(())
            }
            Place::Text(name) => {
                let Some(text) = self.sources.env(name) else { return Ok(()) };
                // It may spell out keys.
                self.loaded.secrets.push(name.to_owned());
                self.text(name, text, &self.sources.directory.clone(), Lists::Join)
            }
            Place::Rules(name) => {
                let Some(text) = self.sources.env(name) else { return Ok(()) };
                let base = self.sources.directory.clone();
                let value = self.read(name, text, &base, &keys::PERMISSION, "permission")?;
                self.push(name, json!({ "permission": value }), &base, Lists::Join);
                Ok(())
            }
        }
    }

    /// A file that a variable names. OpenCode takes no notice when it is not there; who names it to haft means it.
    fn named(&mut self, name: &str, path: &Path) -> Result<(), ConfigError> {
        if self.file(path, Lists::Join)? {
            return Ok(());
        }
        let origin = format!("{} (named by {name})", path.display());
        if name.starts_with("HAFT") {
            return Err(ConfigError::Unreadable { origin, source: std::io::ErrorKind::NotFound.into() });
        }
        self.loaded.warn(format!("there is no file {origin}"));
        Ok(())
    }

    /// Adds the file at `path`, if it is there.
    fn file(&mut self, path: &Path, lists: Lists) -> Result<bool, ConfigError> {
        let origin = path.display().to_string();
        match file::read(path, MAX_FILE) {
            Ok(text) => {
                let base = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
                self.text(&origin, &text, &base, lists).map(|()| true)
            }
            Err(error) if file::is_absent(&error) => Ok(false),
            Err(source) => Err(ConfigError::Unreadable { origin, source }),
        }
    }

    fn text(&mut self, origin: &str, text: &str, base: &Path, lists: Lists) -> Result<(), ConfigError> {
        let value = self.read(origin, text, base, &keys::CONFIG, "")?;
        let value = if value.is_object() { value } else { Value::Object(Map::new()) };
        self.not_yet(origin, &value);
        self.push(origin, value, base, lists);
        Ok(())
    }

    fn push(&mut self, origin: &str, value: Value, base: &Path, lists: Lists) {
        self.loaded.layers.push(Layer { origin: origin.to_owned(), value, base: base.to_path_buf(), lists });
    }

    /// What `text` says, checked against `kind`.
    fn read(&mut self, origin: &str, text: &str, base: &Path, kind: &Kind, root: &str) -> Result<Value, ConfigError> {
        let mut filler = Filler::new(self.sources, origin, base);
        filler.variables = self.variables == Variables::Filled;
        let node = document::read(text, &mut filler)?;
        let (missing, secrets) = (filler.missing, filler.secrets);
        // One more than is told, so that it shows that there are more.
        for (at, name) in missing.into_iter().take(MAX_WARNINGS + 1) {
            let place = TextPlace::of(text, at);
            self.loaded
                .warn(format!("{origin}, line {}: the variable {name} is not set; it counts as empty", place.line));
        }
        self.loaded.secrets.extend(secrets);
        let (value, told) = checked(origin, text, &node, kind, root, self.strict())?;
        told.into_iter().for_each(|warning| self.loaded.warn(warning));
        Ok(value)
    }

    fn strict(&self) -> Strict {
        match self.variables {
            Variables::Filled => Strict::Yes,
            Variables::Named => Strict::No,
        }
    }

    /// Says which keys that hold something back are not acted on yet.
    fn not_yet(&mut self, origin: &str, value: &Value) {
        for key in keys::NOT_YET {
            let set = match value.get(key) {
                None | Some(Value::Null | Value::Bool(false)) => false,
                Some(Value::Object(object)) => !object.is_empty(),
                Some(Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_)) => true,
            };
            if set {
                self.loaded.warn(format!("{origin}: {key:?} is not acted on yet; do not count on it"));
            }
        }
    }
}

/// What `node`, read from `text`, says, and what a person should know about it.
pub(crate) fn checked(
    origin: &str,
    text: &str,
    node: &Node,
    kind: &Kind,
    root: &str,
    strict: Strict,
) -> Result<(Value, Vec<String>), ConfigError> {
    let mut told = Vec::new();
    let value = check(node, kind, root, strict, &mut told).map_err(|Finding { at, key, message }| {
        ConfigError::Value { origin: origin.to_owned(), place: Some(TextPlace::of(text, at)), key, message }
    })?;
    let line =
        |finding: Finding| format!("{origin}, line {}: {}", TextPlace::of(text, finding.at).line, finding.message);
    Ok((value, told.into_iter().map(line).collect()))
}
