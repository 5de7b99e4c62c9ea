//! The forms in which rules are written. Pure.

use std::path::Path;

use haft_permission::{Action, Rule};
use serde_json::Value;

/// The rules that `value` (the `permission` of a file) spells, in its order.
///
/// One action is a rule for everything; a key with an action is a rule for that permission; a key with an object is
/// a rule for each of its patterns. Patterns that begin with `~` or `$HOME` begin with `home`.
///
/// # Errors
///
/// The key, with dots, and what is wrong with it.
pub(crate) fn rules(value: &Value, home: &Path) -> Result<Vec<Rule>, (String, String)> {
    let action = |key: &str, value: &Value| {
        value
            .as_str()
            .and_then(Action::from_word)
            .ok_or_else(|| (key.to_owned(), format!("must be \"allow\", \"ask\" or \"deny\", not {value}")))
    };
    let Value::Object(keys) = value else {
        return Ok(vec![Rule::new("*", "*", action("permission", value)?)]);
    };
    let mut rules = Vec::new();
    for (permission, value) in keys {
        match value {
            Value::Object(patterns) => {
                for (pattern, value) in patterns {
                    let action = action(&format!("permission.{permission}.{pattern}"), value)?;
                    rules.push(Rule::new(permission, &at_home(pattern, home), action));
                }
            }
            value => rules.push(Rule::new(permission, "*", action(&format!("permission.{permission}"), value)?)),
        }
    }
    Ok(rules)
}

fn at_home(pattern: &str, home: &Path) -> String {
    let below = ["~", "$HOME"].iter().find_map(|name| pattern.strip_prefix(name));
    match below {
        Some(below) if below.is_empty() || below.starts_with('/') => format!("{}{below}", home.display()),
        _ => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: Value, want: &[&str]) {
        let got = rules(&value, Path::new("/home/u"));
        let got: Vec<String> = got.unwrap().iter().map(Rule::to_string).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn the_order_of_the_file_is_the_order_of_the_rules() {
        check(json!("ask"), &["* \"*\": ask"]);
        check(
            json!({"bash": {"git *": "allow", "*": "deny"}, "*": "ask", "edit": "allow"}),
            &["bash \"git *\": allow", "bash \"*\": deny", "* \"*\": ask", "edit \"*\": allow"],
        );
    }

    #[test]
    fn home_is_put_in_at_the_beginning_alone() {
        check(
            json!({"read": {"~/x": "deny", "$HOME": "deny", "~x": "deny", "a/~/b": "deny"}}),
            &["read \"/home/u/x\": deny", "read \"/home/u\": deny", "read \"~x\": deny", "read \"a/~/b\": deny"],
        );
    }

    #[test]
    fn a_wrong_action_names_its_key() {
        let wrong = |value: Value, want: &str| assert_eq!(rules(&value, Path::new("/h")).unwrap_err().0, want);
        wrong(json!("yes"), "permission");
        wrong(json!({"bash": true}), "permission.bash");
        wrong(json!({"bash": {"ls *": "allowed"}}), "permission.bash.ls *");
    }
}
