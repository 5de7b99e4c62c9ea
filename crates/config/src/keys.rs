//! The keys a settings file may have. Pure.

use serde_json::Value;

/// Keys that OpenCode or haft give a meaning.
const KNOWN: &[&str] = &[
    "$schema",
    "agent",
    "attachment",
    "audit",
    "autoshare",
    "autoupdate",
    "command",
    "compaction",
    "default_agent",
    "disabled_providers",
    "enabled_providers",
    "enterprise",
    "experimental",
    "formatter",
    "hooks",
    "instructions",
    "keybinds",
    "layout",
    "limits",
    "logLevel",
    "lsp",
    "mcp",
    "mode",
    "model",
    "offline",
    "permission",
    "plugin",
    "provider",
    "reference",
    "references",
    "retention",
    "sandbox",
    "search",
    "server",
    "share",
    "shell",
    "skills",
    "small_model",
    "snapshot",
    "subagent_depth",
    "theme",
    "tool_output",
    "tools",
    "tools_budget",
    "tui",
    "username",
    "watcher",
];

/// Known keys that hold something back or change what happens, and are not honoured yet: leaving them out in silence
/// would be a trap. Beside each, what helps meanwhile.
const NOT_YET: &[(&str, &str)] = &[
    ("agent", "; use \"permission\""),
    ("audit", ""),
    ("disabled_providers", ""),
    ("enabled_providers", ""),
    ("hooks", ""),
    ("instructions", ""),
    ("limits", ""),
    ("mode", "; use \"permission\""),
    ("offline", ""),
    ("sandbox", ""),
    ("shell", ""),
    ("tools", "; use \"permission\""),
];

/// What to tell about the keys of the file or variable `origin`.
pub(crate) fn warnings(origin: &str, value: &Value) -> Vec<String> {
    let keys = value.as_object().into_iter().flat_map(|object| object.keys());
    keys.filter_map(|key| {
        if !KNOWN.contains(&key.as_str()) {
            return Some(match close(key) {
                Some(meant) => format!("{origin}: there is no key {key:?}; {meant:?} is meant, perhaps"),
                None => format!("{origin}: there is no key {key:?}; it is left out"),
            });
        }
        let (_, instead) = NOT_YET.iter().find(|(known, _)| known == key)?;
        Some(format!("{origin}: {key:?} is not honoured yet{instead}"))
    })
    .collect()
}

/// The known key that `key` is a misspelling of, if it is at most two letters away from one.
fn close(key: &str) -> Option<&'static str> {
    let away = |known: &&str| (strsim::osa_distance(key, known), known.len().abs_diff(key.len()));
    KNOWN.iter().copied().min_by_key(away).filter(|known| away(known).0 <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: Value, want: &[&str]) {
        assert_eq!(warnings("f", &value), want);
    }

    #[test]
    fn known_keys_are_silent() {
        check(json!({"$schema": "x", "model": "a/b", "theme": "x", "permission": {}}), &[]);
        check(json!([]), &[]);
    }

    #[test]
    fn what_is_not_honoured_is_known() {
        assert!(NOT_YET.iter().all(|(key, _)| KNOWN.contains(key)));
        for honoured in ["model", "provider", "permission"] {
            check(json!({ honoured: {} }), &[]);
        }
    }

    #[test]
    fn a_key_nobody_knows_is_told_with_what_may_be_meant() {
        check(json!({"permision": {}}), &["f: there is no key \"permision\"; \"permission\" is meant, perhaps"]);
        check(json!({"modle": ""}), &["f: there is no key \"modle\"; \"model\" is meant, perhaps"]);
        check(json!({"sheel": ""}), &["f: there is no key \"sheel\"; \"shell\" is meant, perhaps"]);
        check(json!({"nonsense": 1}), &["f: there is no key \"nonsense\"; it is left out"]);
    }

    #[test]
    fn a_key_that_holds_something_back_and_is_not_honoured_is_told() {
        check(json!({"tools": {"bash": false}}), &["f: \"tools\" is not honoured yet; use \"permission\""]);
        check(json!({"offline": true}), &["f: \"offline\" is not honoured yet"]);
    }
}
