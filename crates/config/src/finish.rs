//! What older spellings and switches of the environment make of the merged settings. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::merge::{Layer, Merged, Trace};
use crate::normal::{from_tools, permission_of};
use crate::sources::Sources;

/// Applies them. `origins` are the names of the layers, to which the switches that were used are added.
pub(crate) fn finish(merged: &mut Merged, sources: &Sources, origins: &mut Vec<String>) {
    modes(merged);
    tools(merged);
    if merged.value["autoshare"] == json!(true) && merged.value.get("share").is_none() {
        let from = merged.trace.below("autoshare").newest();
        merged.lay_traced(json!({"share": "auto"}), &Trace::Whole(from));
    }
    for (name, key) in [("DISABLE_AUTOCOMPACT", "auto"), ("DISABLE_PRUNE", "prune")] {
        if sources.is_on(name) {
            let from = origins.len();
            origins.push(format!("HAFT_{name} or OPENCODE_{name}"));
            merged.lay_traced(json!({"compaction": {key: false}}), &Trace::Whole(from));
        }
    }
}

/// `mode.x` is the agent x that people choose.
fn modes(merged: &mut Merged) {
    let Some(Value::Object(modes)) = merged.value.get("mode").cloned() else { return };
    let from = merged.trace.below("mode");
    for (name, mut mode) in modes {
        mode["mode"] = json!("primary");
        let trace = one("agent", one(&name, from.below(&name)));
        merged.lay_traced(json!({"agent": {name: mode}}), &trace);
    }
}

/// `tools` are rules that stand before those of `permission`.
fn tools(merged: &mut Merged) {
    let Some(tools) = merged.value.get("tools").cloned() else { return };
    let from = merged.trace.below("tools");
    let names = tools.as_object().into_iter().flat_map(Map::keys);
    let traces: BTreeMap<String, Trace> =
        names.map(|name| (permission_of(name).to_owned(), from.below(name))).collect();
    let own = merged.value.get_mut("permission").map(Value::take);
    let own_trace = merged.trace.below("permission");
    let mut all = Merged { value: Value::Object(from_tools(&tools)), trace: Trace::Keys(traces) };
    if let Some(own) = own {
        all.lay_traced(own, &own_trace);
    }
    if let (Value::Object(object), Trace::Keys(keys)) = (&mut merged.value, &mut merged.trace) {
        object.insert("permission".to_owned(), all.value);
        keys.insert("permission".to_owned(), all.trace);
    }
}

fn one(key: &str, trace: Trace) -> Trace {
    Trace::Keys(BTreeMap::from([(key.to_owned(), trace)]))
}

/// The name of the strongest layer that `trace` names.
pub(crate) fn origin(origins: &[String], layer: Layer) -> String {
    origins.get(layer).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::{Lists, pointers};

    #[track_caller]
    fn check(layers: &[Value], environment: &[(&str, &str)], want: Value, sources: &[&str]) {
        let mut merged = Merged::default();
        for (index, layer) in layers.iter().enumerate() {
            merged.lay(layer.clone(), index, Lists::Join);
        }
        let mut origins: Vec<String> = (0..layers.len()).map(|index| index.to_string()).collect();
        let environment = environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        finish(&mut merged, &Sources { environment, ..Sources::default() }, &mut origins);
        assert_eq!(merged.value.to_string(), want.to_string());
        let got = pointers(&merged);
        let got: Vec<String> = got.iter().map(|(at, layer)| format!("{at} {}", origin(&origins, *layer))).collect();
        assert_eq!(got, sources);
    }

    #[test]
    fn modes_are_agents_that_people_choose() {
        check(
            &[json!({"agent": {"x": {"prompt": "a", "description": "d"}}}), json!({"mode": {"x": {"prompt": "m"}}})],
            &[],
            json!({
                "agent": {"x": {"prompt": "m", "description": "d", "mode": "primary"}},
                "mode": {"x": {"prompt": "m"}},
            }),
            &["/agent/x/prompt 1", "/agent/x/description 0", "/agent/x/mode 1", "/mode/x/prompt 1"],
        );
    }

    #[test]
    fn tools_are_rules_before_all_others() {
        check(
            &[json!({"permission": {"*": "ask", "bash": "allow"}}), json!({"tools": {"write": false, "bash": false}})],
            &[],
            json!({
                "permission": {"edit": "deny", "bash": "allow", "*": "ask"},
                "tools": {"write": false, "bash": false},
            }),
            &["/permission/edit 1", "/permission/bash 0", "/permission/* 0", "/tools/write 1", "/tools/bash 1"],
        );
    }

    #[test]
    fn older_switches_set_what_is_not_set() {
        check(
            &[json!({"autoshare": true})],
            &[],
            json!({"autoshare": true, "share": "auto"}),
            &["/autoshare 0", "/share 0"],
        );
        check(
            &[json!({"autoshare": true, "share": "manual"})],
            &[],
            json!({"autoshare": true, "share": "manual"}),
            &["/autoshare 0", "/share 0"],
        );
        check(
            &[json!({"compaction": {"auto": true}})],
            &[("OPENCODE_DISABLE_AUTOCOMPACT", "1"), ("OPENCODE_DISABLE_PRUNE", "no")],
            json!({"compaction": {"auto": false}}),
            &["/compaction/auto HAFT_DISABLE_AUTOCOMPACT or OPENCODE_DISABLE_AUTOCOMPACT"],
        );
    }
}
