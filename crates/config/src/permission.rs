//! The forms in which rules are written, and how those of several files become one list. Pure.
//!
//! One action is a rule for everything; a key with an action is a rule for that permission; a key with an object is a
//! rule for each of its patterns. The last rule that matches wins, so the order counts, and over several layers it is
//! this:
//!
//! - A key, and a pattern within its key, stays where a layer first named it; a stronger layer changes its action.
//! - An action in a stronger layer takes the place of all patterns of its key.
//! - Patterns in a stronger layer take the place of an `allow`, and come after a `deny` or an `ask`, which goes on to
//!   hold for everything else.
//! - A `deny` is not undone by what weaker layers say about a part of what it denies, wherever that stands. This is
//!   the one place where a layer is more than its keys: `"*": "deny"` in a project's file closes what the user's file
//!   had opened, and only what the same file or a stronger one says can open a part of it again.
//!
//! The old `tools` maps (`{"bash": false}`) of all layers come before all `permission`s.

use std::path::Path;

use haft_permission::{Action, Rule, covers};
use serde_json::{Map, Value};

/// Permissions that are asked for as a whole: a pattern for them would be a rule that never does what it says.
const WHOLE: [&str; 5] = ["todowrite", "question", "webfetch", "websearch", "doom_loop"];

/// What one file says about rules.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Layer<'a> {
    /// Its `tools`.
    pub tools: Option<&'a Value>,
    /// Its `permission`.
    pub permission: Option<&'a Value>,
}

/// The rules that `layers`, weakest first, spell together. Those of one agent are the `tools` and `permission` of its
/// own entries. Patterns that begin with `~` or `$HOME` begin with `home`.
///
/// # Errors
///
/// The key, with dots, and what is wrong with it.
pub(crate) fn rules(layers: &[Layer<'_>], home: &Path) -> Result<Vec<Rule>, (String, String)> {
    let mut list = List::default();
    for (strength, layer) in layers.iter().enumerate() {
        if let Some(tools) = layer.tools.filter(|tools| !tools.is_null()) {
            list.lay_tools(strength, tools)?;
        }
    }
    for (strength, layer) in layers.iter().enumerate() {
        if let Some(permission) = layer.permission.filter(|permission| !permission.is_null()) {
            list.lay(strength, permission, home)?;
        }
    }
    Ok(list.into_rules())
}

/// The rules of `layers`, texts of `permission` values in JSON, weakest first. For whoever wants to see what several
/// files would come to.
///
/// # Errors
///
/// What is wrong, with its key.
pub fn rules_from(layers: &[&str], home: &Path) -> Result<Vec<Rule>, String> {
    let values = layers.iter().map(|text| serde_json::from_str(text)).collect::<Result<Vec<Value>, _>>();
    let values = values.map_err(|error| error.to_string())?;
    let layers: Vec<Layer<'_>> = values.iter().map(|value| Layer { tools: None, permission: Some(value) }).collect();
    rules(&layers, home).map_err(|(key, problem)| format!("{key} {problem}"))
}

/// Keys in the order in which they first appeared, each with its patterns in theirs.
#[derive(Default)]
struct List {
    keys: Vec<Key>,
}

struct Key {
    permission: String,
    patterns: Vec<Entry>,
    /// It was given one action, not patterns.
    short: bool,
}

struct Entry {
    pattern: String,
    action: Action,
    /// The layer that said so last.
    strength: usize,
}

impl List {
    fn lay_tools(&mut self, strength: usize, tools: &Value) -> Result<(), (String, String)> {
        let Value::Object(tools) = tools else {
            return Err(("tools".to_owned(), "must be an object of tools, each true or false".to_owned()));
        };
        for (tool, on) in tools {
            let Some(on) = on.as_bool() else {
                return Err((format!("tools.{tool}"), format!("must be true or false, not {on}")));
            };
            let action = if on { Action::Allow } else { Action::Deny };
            let permission = match tool.as_str() {
                "write" | "edit" | "patch" | "multiedit" => "edit",
                other => other,
            };
            self.key(permission).replace(action, strength);
        }
        Ok(())
    }

    fn lay(&mut self, strength: usize, value: &Value, home: &Path) -> Result<(), (String, String)> {
        let Value::Object(keys) = value else {
            self.key("*").replace(action("permission", value)?, strength);
            return Ok(());
        };
        for (permission, value) in keys {
            let place = format!("permission.{permission}");
            match value {
                Value::Object(_) if WHOLE.contains(&permission.as_str()) => {
                    let problem =
                        "must be \"allow\", \"ask\" or \"deny\": it is asked for as a whole, without patterns";
                    return Err((place, problem.to_owned()));
                }
                Value::Object(patterns) => self.key(permission).lay(strength, &place, patterns, home)?,
                value => self.key(permission).replace(action(&place, value)?, strength),
            }
        }
        Ok(())
    }

    fn key(&mut self, permission: &str) -> &mut Key {
        let at = self.keys.iter().position(|key| key.permission == permission).unwrap_or_else(|| {
            self.keys.push(Key { permission: permission.to_owned(), patterns: Vec::new(), short: false });
            self.keys.len() - 1
        });
        &mut self.keys[at]
    }

    fn into_rules(self) -> Vec<Rule> {
        let mut rules = Vec::new();
        // What a layer denied so far, and how strong that layer is.
        let mut denied: Vec<(Rule, usize)> = Vec::new();
        for Key { permission, patterns, .. } in self.keys {
            for Entry { pattern, action, strength } in patterns {
                let rule = Rule { permission: permission.clone(), pattern, action };
                let undoes = |(deny, by): &(Rule, usize)| {
                    *by > strength && covers(&deny.permission, &rule.permission) && covers(&deny.pattern, &rule.pattern)
                };
                if action == Action::Deny {
                    denied.push((rule.clone(), strength));
                } else if denied.iter().any(undoes) {
                    continue;
                }
                rules.push(rule);
            }
        }
        rules
    }
}

impl Key {
    /// One action for everything.
    fn replace(&mut self, action: Action, strength: usize) {
        if !self.is_closed_above(strength) || action == Action::Deny {
            self.patterns = vec![Entry { pattern: "*".to_owned(), action, strength }];
            self.short = true;
        }
    }

    /// One action for each pattern.
    fn lay(
        &mut self,
        strength: usize,
        place: &str,
        patterns: &Map<String, Value>,
        home: &Path,
    ) -> Result<(), (String, String)> {
        if self.short && self.patterns.iter().all(|entry| entry.action == Action::Allow) {
            self.patterns.clear();
        }
        self.short = false;
        for (pattern, value) in patterns {
            let action = action(&format!("{place}.{pattern}"), value)?;
            let pattern = at_home(pattern, home);
            match self.patterns.iter_mut().find(|entry| entry.pattern == pattern) {
                Some(entry) if entry.action == Action::Deny && entry.strength > strength => {}
                Some(entry) => (entry.action, entry.strength) = (action, strength),
                None => self.patterns.push(Entry { pattern, action, strength }),
            }
        }
        Ok(())
    }

    /// Whether a stronger layer's `tools` denied it, which came first.
    fn is_closed_above(&self, strength: usize) -> bool {
        self.patterns
            .iter()
            .any(|entry| entry.pattern == "*" && entry.action == Action::Deny && entry.strength > strength)
    }
}

fn action(key: &str, value: &Value) -> Result<Action, (String, String)> {
    let known = value.as_str().and_then(Action::from_word);
    known.ok_or_else(|| (key.to_owned(), format!("must be \"allow\", \"ask\" or \"deny\", not {value}")))
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
    fn check_layers(layers: &[Layer<'_>], want: &[&str]) {
        let got = rules(layers, Path::new("/home/u")).unwrap();
        let got: Vec<String> = got.iter().map(Rule::to_string).collect();
        assert_eq!(got, want);
    }

    /// `permission` of several files, weakest first.
    #[track_caller]
    fn check(layers: &[Value], want: &[&str]) {
        let layers: Vec<Layer<'_>> =
            layers.iter().map(|value| Layer { tools: None, permission: Some(value) }).collect();
        check_layers(&layers, want);
    }

    #[test]
    fn the_order_of_the_file_is_the_order_of_the_rules() {
        check(&[json!("ask")], &["* \"*\": ask"]);
        check(
            &[json!({"bash": {"git *": "allow", "*": "deny"}, "*": "ask", "edit": "allow"})],
            &["bash \"git *\": allow", "bash \"*\": deny", "* \"*\": ask", "edit \"*\": allow"],
        );
        check(
            &[json!({"bash": {"1": "ask", "0": "allow", "a": "deny"}})],
            &["bash \"1\": ask", "bash \"0\": allow", "bash \"a\": deny"],
        );
        check(&[json!({"bash": {}, "edit": "deny"})], &["edit \"*\": deny"]);
        check(&[Value::Null, json!({})], &[]);
    }

    #[test]
    fn a_key_stays_where_it_first_stood_and_a_stronger_layer_changes_its_action() {
        check(
            &[
                json!({"bash": {"*": "ask", "git *": "allow"}, "edit": "allow"}),
                json!({"read": "ask", "bash": {"rm *": "deny", "*": "allow"}}),
            ],
            &[
                "bash \"*\": allow",
                "bash \"git *\": allow",
                "bash \"rm *\": deny",
                "edit \"*\": allow",
                "read \"*\": ask",
            ],
        );
        check(&[json!({"bash": "deny"}), json!("allow")], &["bash \"*\": deny", "* \"*\": allow"]);
    }

    #[test]
    fn an_action_takes_the_place_of_patterns_and_patterns_follow_what_holds_back() {
        let narrow = json!({"edit": {"src/*": "allow", "*.key": "deny"}});
        for (action, want) in [("deny", "edit \"*\": deny"), ("allow", "edit \"*\": allow")] {
            check(&[narrow.clone(), json!({"edit": action})], &[want]);
        }
        let after = |short: &str| [json!({"edit": short}), json!({"edit": {"src/*": "allow"}})];
        check(&after("deny"), &["edit \"*\": deny", "edit \"src/*\": allow"]);
        check(&after("ask"), &["edit \"*\": ask", "edit \"src/*\": allow"]);
        check(&after("allow"), &["edit \"src/*\": allow"]);
        // Patterns and patterns are laid together.
        check(
            &[json!({"edit": {"*": "allow"}}), json!({"edit": {"src/*": "ask"}})],
            &["edit \"*\": allow", "edit \"src/*\": ask"],
        );
    }

    #[test]
    fn a_stronger_denial_is_not_undone_by_older_narrower_leave() {
        check(
            &[json!({"bash": {"*": "ask", "git *": "allow"}}), json!({"bash": {"*": "deny"}})],
            &["bash \"*\": deny"],
        );
        check(&[json!({"*": "ask", "edit": "allow", "read": {"a": "ask"}}), json!({"*": "deny"})], &["* \"*\": deny"]);
        check(&[json!({"*": "ask", "edit": "allow"}), json!("deny")], &["* \"*\": deny"]);
        check(
            &[json!({"bash": {"git *": "ask", "git push *": "allow"}}), json!({"bash": {"git *": "deny"}})],
            &["bash \"git *\": deny"],
        );
        check(&[json!({"web*": "allow", "webfetch": "allow"}), json!({"web*": "deny"})], &["web* \"*\": deny"]);
    }

    #[test]
    fn what_denies_and_what_the_stronger_layer_says_itself_stays() {
        check(
            &[json!({"*": "allow", "edit": "deny"}), json!({"*": "deny", "read": "allow"})],
            &["* \"*\": deny", "edit \"*\": deny", "read \"*\": allow"],
        );
        let project = json!({"*": "deny", "edit": {"src/*": "allow"}});
        check(
            &[json!({"*": "ask", "edit": {"docs/*": "allow", "src/*": "ask"}}), project],
            &["* \"*\": deny", "edit \"src/*\": allow"],
        );
        // A still stronger layer opens it again, and what was there before holds again.
        check(
            &[json!({"*": "ask", "edit": {"a": "ask"}}), json!("deny"), json!({"*": "allow"})],
            &["* \"*\": allow", "edit \"a\": ask"],
        );
        // A wider rule is no part of what was denied.
        check(
            &[json!({"bash": "ask", "*": "allow"}), json!({"bash": "deny"})],
            &["bash \"*\": deny", "* \"*\": allow"],
        );
    }

    #[test]
    fn tools_come_before_every_permission() {
        let (switches, rules) = (json!({"grep": false, "bash": true, "write": false}), json!({"*": "ask"}));
        let both = Layer { tools: Some(&switches), permission: Some(&rules) };
        check_layers(&[both], &["grep \"*\": deny", "bash \"*\": allow", "edit \"*\": deny", "* \"*\": ask"]);
        for tool in ["edit", "patch", "multiedit"] {
            let switch = json!({tool: false});
            check_layers(&[Layer { tools: Some(&switch), permission: None }], &["edit \"*\": deny"]);
        }
        let (off, on) = (json!({"bash": false}), json!({"bash": "allow"}));
        check_layers(&[Layer { tools: Some(&off), permission: Some(&on) }], &["bash \"*\": allow"]);
        let narrow = json!({"bash": {"git *": "allow"}});
        for permission in [&on, &narrow] {
            let weak = Layer { tools: None, permission: Some(permission) };
            let strong = Layer { tools: Some(&off), permission: None };
            check_layers(&[weak, strong], &["bash \"*\": deny"]);
        }
    }

    #[test]
    fn home_is_put_in_at_the_beginning_alone() {
        check(
            &[json!({"read": {"~/x": "deny", "$HOME": "deny", "~x": "deny", "a/~/b": "deny", "$HOMER/x": "deny"}})],
            &[
                "read \"/home/u/x\": deny",
                "read \"/home/u\": deny",
                "read \"~x\": deny",
                "read \"a/~/b\": deny",
                "read \"$HOMER/x\": deny",
            ],
        );
    }

    #[test]
    fn what_is_wrong_names_its_key() {
        let wrong = |tools: Option<Value>, permission: Option<Value>, want: &str| {
            let layer = Layer { tools: tools.as_ref(), permission: permission.as_ref() };
            assert_eq!(rules(&[layer], Path::new("/h")).unwrap_err().0, want);
        };
        wrong(None, Some(json!("yes")), "permission");
        wrong(None, Some(json!(["ask"])), "permission");
        wrong(None, Some(json!({"bash": true})), "permission.bash");
        wrong(None, Some(json!({"bash": {"ls *": "allowed"}})), "permission.bash.ls *");
        for whole in WHOLE {
            wrong(None, Some(json!({whole: {"*": "ask"}})), &format!("permission.{whole}"));
        }
        wrong(Some(json!("bash")), None, "tools");
        wrong(Some(json!({"bash": "off"})), None, "tools.bash");
    }
}
