//! One spelling for what may be spelled in several ways. Pure.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

/// The keys of an agent that are not for the model.
const OWN: [&str; 16] = [
    "color",
    "description",
    "disable",
    "hidden",
    "maxSteps",
    "mode",
    "model",
    "name",
    "options",
    "permission",
    "prompt",
    "steps",
    "temperature",
    "tools",
    "top_p",
    "variant",
];

/// Brings the settings of one layer, whose file stands in `base`, into the form in which layers can be laid over each
/// other.
pub(crate) fn layer(value: &mut Value, base: &Path) {
    if let Some(permission) = value.get_mut("permission") {
        spelled_out(permission);
    }
    for key in ["agent", "mode"] {
        let agents = value.get_mut(key).and_then(Value::as_object_mut);
        agents.into_iter().flat_map(|agents| agents.values_mut()).for_each(agent);
    }
    for item in value.get_mut("plugin").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = if item.is_array() { item.get_mut(0) } else { Some(item) };
        if let Some(Value::String(name)) = name {
            *name = located(name, base);
        }
    }
}

/// `"ask"` and `{"*": "ask"}` are the same, and only the second can be merged.
fn spelled_out(permission: &mut Value) {
    if permission.is_string() {
        *permission = json!({"*": permission.take()});
    }
}

/// Gives an agent its `options` (with the keys that nobody knows), its `permission` (with what `tools` says) and its
/// `steps`.
pub(crate) fn agent(agent: &mut Value) {
    let Some(agent) = agent.as_object_mut() else { return };
    let mut options = match agent.get("options") {
        Some(Value::Object(options)) => options.clone(),
        _ => Map::new(),
    };
    for (key, value) in agent.iter().filter(|(key, _)| !OWN.contains(&key.as_str())) {
        options.insert(key.clone(), value.clone());
    }
    agent.insert("options".to_owned(), Value::Object(options));
    let mut permission = agent.get("tools").map(from_tools).unwrap_or_default();
    if let Some(own) = agent.get_mut("permission") {
        spelled_out(own);
        if let Value::Object(own) = own {
            permission.extend(std::mem::take(own));
        }
    }
    agent.insert("permission".to_owned(), Value::Object(permission));
    if let Some(steps) = agent.get("maxSteps").cloned() {
        agent.entry("steps").or_insert(steps);
    }
}

/// The rules that the older form `tools` stands for.
pub(crate) fn from_tools(tools: &Value) -> Map<String, Value> {
    let mut rules = Map::new();
    for (name, on) in tools.as_object().into_iter().flatten() {
        let action = if on.as_bool() == Some(true) { "allow" } else { "deny" };
        rules.insert(permission_of(name).to_owned(), json!(action));
    }
    rules
}

/// The permission that the tool `name` asks for.
pub(crate) fn permission_of(name: &str) -> &str {
    if ["write", "edit", "patch", "multiedit"].contains(&name) { "edit" } else { name }
}

/// The address of a plug-in that is a file; the name of any other as it is.
fn located(name: &str, base: &Path) -> String {
    let path = name.strip_prefix("file://").unwrap_or(name);
    if path == name && !["./", "../", "/"].iter().any(|start| name.starts_with(start)) {
        return name.to_owned();
    }
    if path != name && path.starts_with('/') {
        return name.to_owned();
    }
    let mut whole = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => whole.push(component),
        }
    }
    format!("file://{}", escaped(&whole.to_string_lossy()))
}

/// `path` as it stands in an address.
fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mut value: Value, want: Value) {
        layer(&mut value, Path::new("/p/.opencode"));
        assert_eq!(value.to_string(), want.to_string());
    }

    #[test]
    fn what_nobody_knows_in_an_agent_is_for_the_model() {
        check(
            json!({"agent": {"a": {"foo": 1, "options": {"bar": 2}, "maxSteps": 3}}}),
            json!({"agent": {"a": {"foo": 1, "options": {"bar": 2, "foo": 1}, "maxSteps": 3, "permission": {}, "steps": 3}}}),
        );
    }

    #[test]
    fn tools_come_before_permissions() {
        check(
            json!({"agent": {"a": {"tools": {"write": false, "bash": true, "x": true}, "permission": {"bash": "ask"}}}}),
            json!({"agent": {"a": {
                "tools": {"write": false, "bash": true, "x": true},
                "permission": {"edit": "deny", "bash": "ask", "x": "allow"},
                "options": {},
            }}}),
        );
        check(json!({"permission": "deny"}), json!({"permission": {"*": "deny"}}));
        check(
            json!({"mode": {"m": {"permission": "ask"}}}),
            json!({"mode": {"m": {"permission": {"*": "ask"}, "options": {}}}}),
        );
    }

    #[test]
    fn files_of_plug_ins_get_their_whole_address() {
        check(
            json!({"plugin": ["name@1", "./a b.ts", ["../x.js", {}], "/abs.ts", "file:///q.ts", "file://rel.ts"]}),
            json!({"plugin": [
                "name@1", "file:///p/.opencode/a%20b.ts", ["file:///p/x.js", {}], "file:///abs.ts", "file:///q.ts",
                "file:///p/.opencode/rel.ts",
            ]}),
        );
    }
}
