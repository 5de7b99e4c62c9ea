//! The places settings come from, weakest first, and how one is laid over another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::substitute;

/// Largest settings file, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// JSON with comments and trailing commas, and no other liberty: what a file means must not depend on who reads it.
const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The user's home.
    pub home: PathBuf,
    /// The folder of configuration folders, normally `~/.config`.
    pub config_home: PathBuf,
    /// The folder that is worked in.
    pub directory: PathBuf,
    /// The top of its work tree; files above it are not the project's.
    pub worktree: Option<PathBuf>,
    /// The environment.
    pub environment: BTreeMap<String, String>,
}

/// One layer of settings and where it came from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file, or the name of the variable.
    pub origin: String,
    /// What it says, with `{env:}` and `{file:}` filled in.
    pub value: Value,
    /// Names of the variables that its keys and headers stand for.
    pub secrets: Vec<String>,
}

impl Sources {
    /// The environment variable called `name`.
    pub(crate) fn env(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The first of haft's own variable and OpenCode's that is set.
    fn either(&self, name: &str) -> Option<(String, &str)> {
        ["HAFT", "OPENCODE"].iter().find_map(|program| {
            let name = format!("{program}_{name}");
            self.env(&name).map(|value| (name.clone(), value))
        })
    }

    fn is_on(&self, name: &str) -> bool {
        self.either(name).is_some_and(|(_, value)| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    /// Every layer there is, weakest first.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is broken. A file that is not there is no error, unless it was named.
    pub(crate) fn layers(&self) -> Result<Vec<Source>, ConfigError> {
        let mut layers = Vec::new();
        let opencode = self.config_home.join("opencode");
        self.file(&opencode.join("config.json"), &mut layers)?;
        self.pair(&opencode, &self.config_home.join("haft"), &mut layers)?;
        for program in ["OPENCODE_CONFIG", "HAFT_CONFIG"] {
            if let Some(named) = self.env(program) {
                let path = self.directory.join(named);
                if !self.file(&path, &mut layers)? {
                    return Err(ConfigError::Unreadable {
                        origin: format!("{} (named by {program})", path.display()),
                        source: std::io::ErrorKind::NotFound.into(),
                    });
                }
            }
        }
        self.pair(&self.home.join(".opencode"), &self.home.join(".haft"), &mut layers)?;
        if !self.is_on("DISABLE_PROJECT_CONFIG") {
            let folders = self.project_folders();
            for folder in &folders {
                self.pair(folder, folder, &mut layers)?;
            }
            for folder in folders.iter().filter(|folder| **folder != self.home) {
                self.pair(&folder.join(".opencode"), &folder.join(".haft"), &mut layers)?;
            }
        }
        for program in ["OPENCODE_CONFIG_DIR", "HAFT_CONFIG_DIR"] {
            if let Some(folder) = self.env(program) {
                let folder = self.directory.join(folder);
                self.pair(&folder, &folder, &mut layers)?;
            }
        }
        for program in ["OPENCODE_CONFIG_CONTENT", "HAFT_CONFIG_CONTENT"] {
            if let Some(text) = self.env(program) {
                let mut layer = self.layer(program, text, &self.directory)?;
                // It may spell out keys.
                layer.secrets.push(program.to_owned());
                layers.push(layer);
            }
        }
        for program in ["OPENCODE_PERMISSION", "HAFT_PERMISSION"] {
            if let Some(text) = self.env(program) {
                let layer = self.layer(program, text, &self.directory)?;
                let value = Value::Object(Map::from_iter([("permission".to_owned(), layer.value)]));
                layers.push(Source { value, ..layer });
            }
        }
        Ok(layers)
    }

    /// The folders whose files are the project's, from the top of the work tree down. Without one: this folder.
    fn project_folders(&self) -> Vec<PathBuf> {
        let top = self.worktree.as_deref().unwrap_or(&self.directory);
        let mut folders: Vec<PathBuf> =
            self.directory.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_path_buf).collect();
        folders.reverse();
        folders
    }

    /// `opencode.json(c)` of one folder, then `haft.json(c)` of another.
    fn pair(&self, opencode: &Path, haft: &Path, layers: &mut Vec<Source>) -> Result<(), ConfigError> {
        for path in [
            opencode.join("opencode.json"),
            opencode.join("opencode.jsonc"),
            haft.join("haft.json"),
            haft.join("haft.jsonc"),
        ] {
            self.file(&path, layers)?;
        }
        Ok(())
    }

    /// Adds the file at `path`, if it is there.
    fn file(&self, path: &Path, layers: &mut Vec<Source>) -> Result<bool, ConfigError> {
        let origin = path.display().to_string();
        let unreadable = |source| ConfigError::Unreadable { origin: origin.clone(), source };
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) if is_absent(&error) => return Ok(false),
            Err(error) => return Err(unreadable(error)),
        };
        if !meta.is_file() || meta.len() > MAX_FILE {
            return Err(unreadable(std::io::Error::other("it is not a file of at most 4 MiB")));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        layers.push(self.layer(&origin, &text, path.parent().unwrap_or(&self.directory))?);
        Ok(true)
    }

    fn layer(&self, origin: &str, text: &str, base: &Path) -> Result<Source, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let parsed = jsonc_parser::parse_to_serde_value::<Value>(text, &FORM);
        let mut value = parsed.map_err(|error| ConfigError::Syntax {
            origin: origin.to_owned(),
            line: error.line_display(),
            column: error.column_display(),
            message: error.kind().to_string(),
        })?;
        // An empty file says nothing.
        if value.is_null() {
            value = Value::Object(Map::new());
        }
        let secrets = substitute::secrets(&value);
        substitute::fill(&mut value, origin, base, self)?;
        Ok(Source { origin: origin.to_owned(), value, secrets })
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    // A folder of somebody else's between here and the top is as good as empty.
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

/// Lays `over` on `under`: objects key by key, where a key keeps the place it first had; everything else replaces.
pub(crate) fn lay(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                match under.get_mut(&key) {
                    Some(below) => lay(below, value),
                    None => {
                        under.insert(key, value);
                    }
                }
            }
        }
        (under, over) => *under = over,
    }
}
