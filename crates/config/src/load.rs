//! Reads every place settings come from, each file once.

mod plugged;
mod settle;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

pub use self::plugged::changes;
use crate::border::Border;
use crate::disk::Disk;
use crate::document;
use crate::error::{ConfigError, Place as TextPlace};
use crate::file;
use crate::keys;
use crate::markdown;
use crate::merge::{Lists, Merged};
use crate::network;
use crate::node::{Node, Shape};
use crate::normal;
use crate::sandbox;
use crate::schema::{Finding, Kind, Strict, check};
use crate::sources::{Place, Sources};
use crate::stake::Stakes;
use crate::substitute::{Filler, Tokens};
use crate::tighten::Beside;
use crate::trust::Trust;

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
#[derive(Debug, Clone, Default)]
pub(crate) struct Layer {
    /// The file, or the name of the variable.
    pub origin: String,
    /// What it says, without keys that mean nothing.
    pub value: Value,
    /// Where relative paths in it begin.
    pub base: PathBuf,
    pub lists: Lists,
    /// Its rules, where they are laid beside those of others and only hold back.
    pub beside: Beside,
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
    /// What is at stake with the project's settings, where that was looked at.
    pub stakes: Stakes,
    /// Whether the project's settings count like the user's own.
    pub trusted: bool,
    disk: Disk,
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
    pub(crate) fn normal(&self) -> Value {
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
pub(crate) fn load(sources: &Sources, variables: Variables, trust: Trust<'_>) -> Result<Loaded, ConfigError> {
    let project = match trust {
        Trust::Given => BTreeSet::new(),
        Trust::Withheld | Trust::Asked(_) => sources.project_places(),
    };
    let mut reader = Reader {
        sources,
        variables,
        project,
        border: Border::new(sources.top()),
        pending: BTreeMap::new(),
        loaded: Loaded { trusted: matches!(trust, Trust::Given), ..Loaded::default() },
        warnings: Vec::new(),
        at: None,
        in_keys: false,
        group: None,
    };
    for place in sources.places() {
        reader.place(place)?;
    }
    reader.settle(trust)?;
    reader.plugged();
    Ok(reader.done())
}

/// The terminal UI's own settings, laid over each other, with what is wrong about them.
///
/// Broken ones are left out and told: without them the program is as safe, and only looks otherwise.
pub(crate) fn screen(sources: &Sources, loaded: &mut Loaded) -> Value {
    let mut merged = Merged::default();
    let project = if loaded.trusted { BTreeSet::new() } else { sources.project_places() };
    for place in sources.screen_places() {
        let path = match place {
            // Without trust what a project says about keys and colours does not count.
            Place::File(path) if path.parent().is_some_and(|folder| project.contains(folder)) => continue,
            Place::File(path) | Place::Named(_, path) => path,
            Place::Given(..) | Place::Grouped(_) | Place::Folder(_) | Place::Text(_) | Place::Rules(_) => continue,
        };
        let origin = path.display().to_string();
        let text = match loaded.disk.read(&path, MAX_FILE) {
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
    /// The folders whose settings are the project's.
    project: BTreeSet<PathBuf>,
    border: Border,
    /// What the project's layers, by their place, say before it is known whether that counts.
    pending: BTreeMap<usize, Pending>,
    loaded: Loaded,
    /// What a person should know, each with the number of layers before it.
    warnings: Vec<(usize, String)>,
    /// The layer that is looked at again.
    at: Option<usize>,
    /// Whether a token was seen in the name of a key.
    in_keys: bool,
    /// The first layer of the group that is being read.
    group: Option<usize>,
}

/// A text of the project's settings.
struct Pending {
    said: Said,
    /// Whether the file stands in the project, and no link leads out of it.
    inside: bool,
}

/// Whose settings a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    User,
    Project,
}

enum Said {
    /// The text of a settings file.
    Settings(String),
    /// What a Markdown file says.
    Markdown(Value),
}

impl Reader<'_> {
    fn place(&mut self, place: Place) -> Result<(), ConfigError> {
        match place {
            Place::Given(origin, text) => self.text(&origin, &text, &self.sources.directory.clone(), Lists::Join),
            Place::File(path) => {
                let by =
                    path.parent().filter(|folder| self.project.contains(*folder)).map_or(By::User, |_| By::Project);
                self.file(&path, Lists::Join, by).map(drop)
            }
            Place::Grouped(path) => {
                let first = *self.group.get_or_insert(self.loaded.layers.len());
                self.file(&path, Lists::ReplaceFrom(first), By::User).map(drop)
            }
            Place::Named(name, path) => self.named(name, &path),
            Place::Folder(folder) => self.folder(&folder),
            Place::Text(name) => {
                let Some(text) = self.sources.env(name) else { return Ok(()) };
                // It may spell out keys.
                self.loaded.secrets.push(name.to_owned());
                self.text(name, text, &self.sources.directory.clone(), Lists::Join)
            }
            Place::Rules(name) => {
                let Some(text) = self.sources.env(name) else { return Ok(()) };
                let base = self.sources.directory.clone();
                let from = From { origin: name, base: &base, kind: &keys::PERMISSION, root: "permission" };
                let value = self.read(&from, text, self.tokens(), self.strict())?;
                self.push(name, json!({ "permission": value }), &base, Lists::Join);
                Ok(())
            }
        }
    }

    fn folder(&mut self, folder: &Path) -> Result<(), ConfigError> {
        let found = markdown::layers(folder, self.strict())?;
        for warning in found.warnings {
            self.warn(warning);
        }
        for mut layer in found.layers {
            if self.project.contains(folder) {
                let said = std::mem::take(&mut layer.value);
                let inside = self.border.holds(Path::new(&layer.origin));
                self.pending.insert(self.loaded.layers.len(), Pending { said: Said::Markdown(said), inside });
            }
            self.loaded.layers.push(layer);
        }
        Ok(())
    }

    /// A file that a variable names. OpenCode takes no notice when it is not there; who names it to haft means it.
    fn named(&mut self, name: &str, path: &Path) -> Result<(), ConfigError> {
        // Wherever it stands, it is the user who named it.
        if self.file(path, Lists::Join, By::User)? {
            return Ok(());
        }
        let origin = format!("{} (named by {name})", path.display());
        if name.starts_with("HAFT") {
            return Err(ConfigError::Unreadable { origin, source: std::io::ErrorKind::NotFound.into() });
        }
        self.warn(format!("there is no file {origin}"));
        Ok(())
    }

    /// Adds the file at `path`, if it is there.
    fn file(&mut self, path: &Path, lists: Lists, by: By) -> Result<bool, ConfigError> {
        let origin = path.display().to_string();
        match self.loaded.disk.read(path, MAX_FILE) {
            Ok(text) => {
                let base = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
                if by == By::User {
                    return self.text(&origin, &text, &base, lists).map(|()| true);
                }
                let inside = self.border.holds(path);
                self.pending.insert(self.loaded.layers.len(), Pending { said: Said::Settings(text), inside });
                self.push(&origin, Value::Object(Map::new()), &base, lists);
                Ok(true)
            }
            Err(error) if file::is_absent(&error) => Ok(false),
            Err(source) => Err(ConfigError::Unreadable { origin, source }),
        }
    }

    fn text(&mut self, origin: &str, text: &str, base: &Path, lists: Lists) -> Result<(), ConfigError> {
        let value = self.settings(origin, text, base, self.tokens(), self.strict())?;
        self.push(origin, value, base, lists);
        Ok(())
    }

    /// The settings in `text`, ready to be laid over others.
    fn settings(
        &mut self,
        origin: &str,
        text: &str,
        base: &Path,
        tokens: Tokens<'_>,
        strict: Strict,
    ) -> Result<Value, ConfigError> {
        let value = self.read(&From { origin, base, kind: &keys::CONFIG, root: "" }, text, tokens, strict)?;
        let mut value = if value.is_object() { value } else { Value::Object(Map::new()) };
        network::locate(&mut value, base, &self.sources.home);
        for pattern in sandbox::locate(&mut value, base, &self.sources.home) {
            self.warn(format!("{origin}: {pattern:?} in \"sandbox\" is taken for a name; patterns do not count there"));
        }
        Ok(value)
    }

    fn push(&mut self, origin: &str, value: Value, base: &Path, lists: Lists) {
        let (origin, base) = (origin.to_owned(), base.to_path_buf());
        self.loaded.layers.push(Layer { origin, value, base, lists, beside: Beside::default() });
    }

    fn warn(&mut self, warning: String) {
        self.warnings.push((self.at.unwrap_or(self.loaded.layers.len()), warning));
    }

    /// What `text` says, checked.
    fn read(&mut self, from: &From<'_>, text: &str, tokens: Tokens<'_>, strict: Strict) -> Result<Value, ConfigError> {
        let From { origin, base, kind, root } = *from;
        let mut filler = Filler::new(self.sources, origin, base);
        (filler.tokens, filler.disk) = (tokens, Some(&self.loaded.disk));
        let node = document::read(text, &mut filler)?;
        let (missing, secrets) = (filler.missing, filler.secrets);
        self.in_keys |= filler.in_keys;
        // One more than is told, so that it shows that there are more.
        for (at, name) in missing.into_iter().take(MAX_WARNINGS + 1) {
            let place = TextPlace::of(text, at);
            self.warn(format!("{origin}, line {}: the variable {name} is not set; it counts as empty", place.line));
        }
        self.loaded.secrets.extend(secrets);
        let (value, told) = checked(origin, text, &node, kind, root, strict)?;
        told.into_iter().for_each(|warning| self.warn(warning));
        Ok(value)
    }

    fn tokens(&self) -> Tokens<'static> {
        match self.variables {
            Variables::Filled => Tokens::Filled,
            Variables::Named => Tokens::Named,
        }
    }

    fn strict(&self) -> Strict {
        match self.variables {
            Variables::Filled => Strict::Yes,
            Variables::Named => Strict::No,
        }
    }

    fn done(mut self) -> Loaded {
        // Those of the project's files were made last, and belong where the files stand.
        self.warnings.sort_by_key(|(layer, _)| *layer);
        for (_, warning) in self.warnings {
            self.loaded.warn(warning);
        }
        self.loaded
    }
}

/// Where a text is from, and what it may say.
#[derive(Clone, Copy)]
struct From<'a> {
    origin: &'a str,
    base: &'a Path,
    kind: &'static Kind,
    root: &'a str,
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
