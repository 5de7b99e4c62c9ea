//! The cage around commands, as the settings want it. Pure.

use std::path::{Component, Path, PathBuf};

use haft_permission::Action;
use serde_json::Value;

/// What the settings say about the cage around commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// What commands may change.
    pub mode: SandboxMode,
    /// Whether commands may use the network. `None`: the rules decide.
    pub network: Option<Action>,
    /// Further folders that commands may write. Absolute; they need not be there, and links in them are not followed
    /// yet.
    pub write: Vec<PathBuf>,
    /// Further files and folders that commands cannot read, as absolute as [`Sandbox::write`].
    pub read_deny: Vec<PathBuf>,
    /// Names of sets of leaves for a toolchain. `None`: those that haft gives where nothing is said.
    pub presets: Option<Vec<String>>,
}

/// What commands may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// The project, its work tree and folders for temporary files.
    #[default]
    WorkspaceWrite,
    /// Nothing but folders for temporary files.
    ReadOnly,
    /// Everything: there is no cage.
    Off,
}

impl SandboxMode {
    /// The word that files use.
    pub fn word(self) -> &'static str {
        match self {
            SandboxMode::WorkspaceWrite => "workspace-write",
            SandboxMode::ReadOnly => "read-only",
            SandboxMode::Off => "off",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        let all = [SandboxMode::WorkspaceWrite, SandboxMode::ReadOnly, SandboxMode::Off];
        all.into_iter().find(|mode| mode.word() == word)
    }
}

/// What `network` says: `true` is `allow` and `false` is `deny`.
pub(crate) fn network(value: &Value) -> Option<Action> {
    match value {
        Value::Bool(true) => Some(Action::Allow),
        Value::Bool(false) => Some(Action::Deny),
        Value::String(word) => Action::from_word(word),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Sandbox {
    /// From the checked and located `value`.
    pub(crate) fn of(value: &Value) -> Self {
        let texts = |key: &str| {
            let items = value.get(key)?.as_array()?;
            Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
        };
        let paths = |key: &str| texts(key).unwrap_or_default().into_iter().map(PathBuf::from).collect();
        Self {
            mode: value.get("mode").and_then(Value::as_str).and_then(SandboxMode::from_word).unwrap_or_default(),
            network: value.get("network").and_then(network),
            write: paths("write"),
            read_deny: paths("read_deny"),
            presets: texts("presets"),
        }
    }
}

/// Makes the paths in the `sandbox` of the settings `value` absolute, and gives back those that look like patterns,
/// which they are not. `~` and `$HOME` are `home`; others begin where [`anchor`] says.
pub(crate) fn locate(value: &mut Value, base: &Path, home: &Path) -> Vec<String> {
    let mut patterns = Vec::new();
    let Some(sandbox) = value.get_mut("sandbox") else { return patterns };
    for key in ["write", "read_deny"] {
        for item in sandbox.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            let Value::String(path) = item else { continue };
            if path.contains(['*', '?', '[']) {
                patterns.push(path.clone());
            }
            *path = located(path, anchor(base), home).to_string_lossy().into_owned();
        }
    }
    patterns
}

/// Where the paths of settings in the folder `base` begin: there, and beside a folder `.haft` or `.opencode` rather than
/// in it, because it is about what stands around it.
pub(crate) fn anchor(base: &Path) -> &Path {
    match (base.file_name(), base.parent()) {
        (Some(name), Some(parent)) if name == ".haft" || name == ".opencode" => parent,
        _ => base,
    }
}

/// `path` as seen from `base`, without `.` and `..`.
pub(crate) fn located(path: &str, base: &Path, home: &Path) -> PathBuf {
    let below = ["~", "$HOME"].iter().find_map(|name| path.strip_prefix(name));
    let joined = match below {
        Some("") => home.to_path_buf(),
        Some(below) if below.starts_with('/') => home.join(below.trim_start_matches('/')),
        Some(_) | None => base.join(path),
    };
    let mut whole = PathBuf::new();
    for component in joined.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(component),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_begin_where_the_file_is_about() {
        let check = |path: &str, base: &str, want: &str| {
            let mut value = json!({"sandbox": {"write": [path], "read_deny": [path]}});
            locate(&mut value, Path::new(base), Path::new("/home/u"));
            assert_eq!(value, json!({"sandbox": {"write": [want], "read_deny": [want]}}), "{path}");
        };
        check("a/./b", "/p", "/p/a/b");
        check("../x", "/p/q", "/p/x");
        check("../x", "/p/q/.haft", "/p/x");
        check("a", "/p/.opencode", "/p/a");
        check("/a/../b", "/p", "/b");
        check("/../..", "/p", "/");
        check("~", "/p", "/home/u");
        check("~/a", "/p", "/home/u/a");
        check("$HOME/a", "/p", "/home/u/a");
        check("~//a", "/p", "/home/u/a");
        check("~other", "/p", "/p/~other");
        check("", "/p", "/p");
    }

    #[test]
    fn what_looks_like_a_pattern_is_given_back() {
        let mut value = json!({"sandbox": {"write": ["a"], "read_deny": ["*.pem", "b"]}});
        assert_eq!(locate(&mut value, Path::new("/p"), Path::new("/h")), ["*.pem"]);
        assert_eq!(locate(&mut json!({"sandbox": {"mode": "off"}}), Path::new("/p"), Path::new("/h")), [""; 0]);
    }

    #[test]
    fn words_become_types() {
        let check = |value: Value, want: Sandbox| assert_eq!(Sandbox::of(&value), want, "{value}");
        check(Value::Null, Sandbox::default());
        check(json!({"mode": "off"}), Sandbox { mode: SandboxMode::Off, ..Sandbox::default() });
        check(json!({"mode": "read-only"}), Sandbox { mode: SandboxMode::ReadOnly, ..Sandbox::default() });
        for (word, want) in [
            (json!(true), Action::Allow),
            (json!(false), Action::Deny),
            (json!("ask"), Action::Ask),
            (json!("allow"), Action::Allow),
        ] {
            check(json!({"network": word}), Sandbox { network: Some(want), ..Sandbox::default() });
        }
        check(
            json!({"write": ["/a"], "read_deny": ["/b"], "presets": ["cargo"]}),
            Sandbox {
                write: vec!["/a".into()],
                read_deny: vec!["/b".into()],
                presets: Some(vec!["cargo".to_owned()]),
                ..Sandbox::default()
            },
        );
    }
}
