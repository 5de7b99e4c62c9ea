//! Settings laid over each other, with the layer that each value came from. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

/// Which layer a value came from: an index into the list of layers.
pub(crate) type Layer = usize;

/// Which layers a value's parts came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trace {
    /// All of it came from one.
    Whole(Layer),
    /// The items of a list.
    Items(Vec<Layer>),
    /// The values of an object's keys.
    Keys(BTreeMap<String, Trace>),
}

impl Trace {
    /// The trace of what stands under `key`.
    pub(crate) fn below(&self, key: &str) -> Trace {
        match self {
            Trace::Keys(keys) => keys.get(key).cloned().unwrap_or(Trace::Whole(self.newest())),
            Trace::Items(layers) => {
                let item = key.parse().ok().and_then(|index: usize| layers.get(index).copied());
                Trace::Whole(item.unwrap_or(self.newest()))
            }
            Trace::Whole(layer) => Trace::Whole(*layer),
        }
    }

    /// The strongest layer that any part came from.
    pub(crate) fn newest(&self) -> Layer {
        match self {
            Trace::Whole(layer) => *layer,
            Trace::Items(layers) => layers.iter().copied().max().unwrap_or_default(),
            Trace::Keys(keys) => keys.values().map(Trace::newest).max().unwrap_or_default(),
        }
    }
}

/// What all layers say together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merged {
    pub value: Value,
    pub trace: Trace,
}

/// How the lists `instructions` and `plugin` of a layer meet those below.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Lists {
    /// They come after them.
    #[default]
    Join,
    /// Those of this layer and the ones after it are dropped first.
    ReplaceFrom(Layer),
}

impl Default for Merged {
    fn default() -> Self {
        Self { value: Value::Object(Map::new()), trace: Trace::Keys(BTreeMap::new()) }
    }
}

impl Merged {
    /// Lays the settings `over` of `layer` over what is there.
    ///
    /// Objects meet key by key, where a key keeps the place it first had; `instructions`, `plugin`, the lists of `hooks` and
    /// `sandbox.read_deny` join; everything else replaces.
    pub(crate) fn lay(&mut self, mut over: Value, layer: Layer, lists: Lists) {
        for (key, name) in [("instructions", by_text as fn(&Value) -> String), ("plugin", by_package)] {
            if let Some(Value::Array(items)) = over.get_mut(key).map(Value::take) {
                self.join(key, items, layer, lists, name);
                // Joined already; an object takes no notice of order.
                if let Some(over) = over.as_object_mut() {
                    over.shift_remove(key);
                }
            }
        }
        let denied = over.get_mut("sandbox").and_then(|sandbox| sandbox.as_object_mut()?.shift_remove("read_deny"));
        let hooks = over.get_mut("hooks").and_then(Value::as_object_mut).map(std::mem::take);
        self.lay_traced(over, &Trace::Whole(layer));
        if let Some(hooks) = hooks {
            self.hook(hooks, layer);
        }
        if let Some(Value::Array(denied)) = denied {
            self.deny(denied, layer);
        }
    }

    /// A file that has programs told of something does not silence those of another: the lists of `hooks` join.
    fn hook(&mut self, hooks: Map<String, Value>, layer: Layer) {
        let trace = |key: &str, trace| Trace::Keys(BTreeMap::from([(key.to_owned(), trace)]));
        for (moment, over) in hooks {
            let below = self.value.get("hooks").and_then(|hooks| hooks.get(&moment));
            let (all, layers) = match (below, over) {
                (Some(Value::Array(below)), Value::Array(over)) => {
                    let trace = self.trace.below("hooks").below(&moment);
                    let of = |index: usize| trace.below(&index.to_string()).newest();
                    let layers = (0..below.len()).map(of).chain(over.iter().map(|_| layer)).collect();
                    (Value::Array(below.iter().cloned().chain(over).collect()), Trace::Items(layers))
                }
                (_, over) => (over, Trace::Whole(layer)),
            };
            self.lay_traced(
                serde_json::json!({"hooks": {moment.as_str(): all}}),
                &trace("hooks", trace(&moment, layers)),
            );
        }
    }

    /// What one place keeps from being read no other opens: `sandbox.read_deny` joins, and the first of equals stays.
    fn deny(&mut self, denied: Vec<Value>, layer: Layer) {
        let mut all = match self.value.pointer("/sandbox/read_deny") {
            Some(Value::Array(below)) => below.clone(),
            Some(_) | None => Vec::new(),
        };
        let mut layers = match self.trace.below("sandbox").below("read_deny") {
            Trace::Items(layers) => layers,
            Trace::Whole(_) | Trace::Keys(_) => Vec::new(),
        };
        let mut known: HashSet<String> = all.iter().map(by_text).collect();
        for item in denied {
            if known.insert(by_text(&item)) {
                all.push(item);
                layers.push(layer);
            }
        }
        let trace = |key: &str, trace| Trace::Keys(BTreeMap::from([(key.to_owned(), trace)]));
        let trace = trace("sandbox", trace("read_deny", Trace::Items(layers)));
        self.lay_traced(serde_json::json!({"sandbox": {"read_deny": all}}), &trace);
    }

    /// Lays `over`, whose parts came from where `trace` says, over what is there.
    pub(crate) fn lay_traced(&mut self, over: Value, trace: &Trace) {
        lay(&mut self.value, &mut self.trace, over, trace);
    }

    /// Of equal items of `instructions` the first stays, of those of `plugin` the last, as the strongest version of a
    /// package is wanted.
    fn join(&mut self, key: &str, items: Vec<Value>, layer: Layer, lists: Lists, name: fn(&Value) -> String) {
        let below = self.value.get_mut(key).map(Value::take);
        let below = if let Some(Value::Array(below)) = below { below } else { Vec::new() };
        let layers = match self.trace.below(key) {
            Trace::Items(layers) => layers,
            Trace::Whole(layer) => vec![layer; below.len()],
            Trace::Keys(_) => Vec::new(),
        };
        let kept = below.into_iter().zip(layers).filter(|(_, from)| match lists {
            Lists::Join => true,
            Lists::ReplaceFrom(first) => *from < first,
        });
        let mut all: Vec<(Value, Layer)> = kept.chain(items.into_iter().map(|item| (item, layer))).collect();
        let last_stays = key == "plugin";
        let mut places = HashMap::new();
        for (place, (item, _)) in all.iter().enumerate() {
            let kept: &mut usize = places.entry(name(item)).or_insert(place);
            if last_stays {
                *kept = place;
            }
        }
        let mut place = 0;
        all.retain(|(item, _)| {
            let keep = places.get(&name(item)) == Some(&place);
            place += 1;
            keep
        });
        let (items, layers) = all.into_iter().unzip();
        let (Value::Object(object), Trace::Keys(keys)) = (&mut self.value, &mut self.trace) else { return };
        object.insert(key.to_owned(), Value::Array(items));
        keys.insert(key.to_owned(), Trace::Items(layers));
    }
}

/// Lays `over` over `under`, both without a trace.
pub(crate) fn lay_plain(under: &mut Value, over: Value) {
    lay(under, &mut Trace::Whole(0), over, &Trace::Whole(0));
}

fn lay(under: &mut Value, trace: &mut Trace, over: Value, from: &Trace) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            if over.is_empty() {
                return;
            }
            let keys = keys(trace, under);
            for (key, value) in over {
                let from = from.below(&key);
                match (under.get_mut(&key), keys.get_mut(&key)) {
                    (Some(below), Some(trace)) => lay(below, trace, value, &from),
                    _ => {
                        keys.insert(key.clone(), from);
                        under.insert(key, value);
                    }
                }
            }
        }
        (under, over) => {
            *under = over;
            *trace = from.clone();
        }
    }
}

/// The traces of the keys of `object`, whose own trace is `trace`.
fn keys<'t>(trace: &'t mut Trace, object: &Map<String, Value>) -> &'t mut BTreeMap<String, Trace> {
    if !matches!(trace, Trace::Keys(_)) {
        let layer = trace.newest();
        *trace = Trace::Keys(object.keys().map(|key| (key.clone(), Trace::Whole(layer))).collect());
    }
    match trace {
        Trace::Keys(keys) => keys,
        Trace::Whole(_) | Trace::Items(_) => unreachable!("it was made one above"),
    }
}

fn by_text(item: &Value) -> String {
    item.as_str().map_or_else(|| item.to_string(), str::to_owned)
}

/// The package that an item of `plugin` names, without its version; a file by its path.
fn by_package(item: &Value) -> String {
    let named = item.as_str().or_else(|| item.get(0).and_then(Value::as_str)).unwrap_or_default();
    if named.contains("://") || named.starts_with('/') {
        return named.to_owned();
    }
    // The first letter may be the @ of a scope.
    let version = named.char_indices().skip(1).find(|(_, c)| *c == '@');
    version.map_or(named, |(at, _)| &named[..at]).to_owned()
}

/// Most that the pointers of all values together may take, in bytes.
const MAX_POINTERS: usize = 16 * 1024 * 1024;

/// The JSON pointer of each value that is no object, and of each item of the lists that join, with its layer.
///
/// What goes beyond 16 MiB of pointers is left out.
pub(crate) fn pointers(merged: &Merged) -> Vec<(String, Layer)> {
    let mut found = Pointers { all: Vec::new(), left: MAX_POINTERS };
    found.walk(&merged.value, &merged.trace, &mut String::new());
    found.all
}

struct Pointers {
    all: Vec<(String, Layer)>,
    left: usize,
}

impl Pointers {
    fn walk(&mut self, value: &Value, trace: &Trace, pointer: &mut String) {
        let length = pointer.len();
        match (value, trace) {
            (Value::Object(object), trace) if !object.is_empty() => {
                for (key, value) in object {
                    pointer.push('/');
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    match trace {
                        Trace::Keys(keys) => {
                            // What has no trace is a default.
                            if let Some(trace) = keys.get(key) {
                                self.walk(value, trace, pointer);
                            }
                        }
                        Trace::Whole(_) | Trace::Items(_) => self.walk(value, trace, pointer),
                    }
                    pointer.truncate(length);
                }
            }
            (Value::Array(_), Trace::Items(layers)) => {
                for (index, layer) in layers.iter().enumerate() {
                    self.add(format!("{pointer}/{index}"), *layer);
                }
            }
            (_, trace) => self.add(pointer.clone(), trace.newest()),
        }
    }

    fn add(&mut self, pointer: String, layer: Layer) {
        if let Some(left) = self.left.checked_sub(pointer.len()) {
            self.left = left;
            self.all.push((pointer, layer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Each layer joins lists.
    fn merged(layers: &[Value]) -> Merged {
        let mut merged = Merged::default();
        for (index, layer) in layers.iter().enumerate() {
            merged.lay(layer.clone(), index, Lists::Join);
        }
        merged
    }

    #[track_caller]
    fn check(layers: &[Value], want: Value, sources: &[(&str, Layer)]) {
        let merged = merged(layers);
        // As texts, because the order of keys counts.
        assert_eq!(merged.value.to_string(), want.to_string());
        let got = pointers(&merged);
        let got: Vec<(&str, Layer)> = got.iter().map(|(pointer, layer)| (pointer.as_str(), *layer)).collect();
        assert_eq!(got, sources);
    }

    #[test]
    fn objects_meet_key_by_key_and_keys_keep_their_place() {
        check(
            &[json!({"a": {"x": 1, "y": 1}, "b": [1, 2]}), json!({"b": [3], "a": {"z": {"q": 2}, "x": 2}})],
            json!({"a": {"x": 2, "y": 1, "z": {"q": 2}}, "b": [3]}),
            &[("/a/x", 1), ("/a/y", 0), ("/a/z/q", 1), ("/b", 1)],
        );
    }

    #[test]
    fn what_is_no_object_replaces_and_is_replaced() {
        check(
            &[json!({"a": {"x": 1}}), json!({"a": false}), json!({"a": {"y/~": {}}})],
            json!({"a": {"y/~": {}}}),
            &[("/a/y~1~0", 2)],
        );
    }

    #[test]
    fn instructions_join_and_the_first_of_equals_stays() {
        check(
            &[json!({"instructions": ["a", "b"]}), json!({"instructions": ["c", "a"]})],
            json!({"instructions": ["a", "b", "c"]}),
            &[("/instructions/0", 0), ("/instructions/1", 0), ("/instructions/2", 1)],
        );
    }

    #[test]
    fn of_one_plug_in_the_last_version_stays() {
        check(
            &[
                json!({"plugin": ["@s/p@1", "q", "file:///f@1.ts"]}),
                json!({"plugin": [["@s/p@2", {"o": 1}], "file:///f@2.ts"]}),
            ],
            json!({"plugin": ["q", "file:///f@1.ts", ["@s/p@2", {"o": 1}], "file:///f@2.ts"]}),
            &[("/plugin/0", 0), ("/plugin/1", 0), ("/plugin/2", 1), ("/plugin/3", 1)],
        );
    }

    #[test]
    fn the_lists_of_hooks_join() {
        check(
            &[
                json!({"hooks": {"Stop": [{"hooks": [1]}], "PreToolUse": [2]}}),
                json!({"hooks": {"Stop": [{"hooks": [3]}], "SessionEnd": [4]}}),
            ],
            json!({"hooks": {"Stop": [{"hooks": [1]}, {"hooks": [3]}], "PreToolUse": [2], "SessionEnd": [4]}}),
            &[("/hooks/Stop/0", 0), ("/hooks/Stop/1", 1), ("/hooks/PreToolUse", 0), ("/hooks/SessionEnd", 1)],
        );
    }

    #[test]
    fn what_may_not_be_read_joins() {
        check(
            &[
                json!({"sandbox": {"read_deny": ["/a", "/b"], "write": ["/w"]}}),
                json!({"sandbox": {"read_deny": []}}),
                json!({"sandbox": {"read_deny": ["/c", "/a"], "write": []}}),
            ],
            json!({"sandbox": {"write": [], "read_deny": ["/a", "/b", "/c"]}}),
            &[
                ("/sandbox/write", 2),
                ("/sandbox/read_deny/0", 0),
                ("/sandbox/read_deny/1", 0),
                ("/sandbox/read_deny/2", 2),
            ],
        );
        check(
            &[json!({"sandbox": {"read_deny": ["/a"]}})],
            json!({"sandbox": {"read_deny": ["/a"]}}),
            &[("/sandbox/read_deny/0", 0)],
        );
    }

    #[test]
    fn lists_of_one_group_replace_each_other_and_no_others() {
        let mut merged = Merged::default();
        for (index, (text, lists)) in
            [("o", Lists::Join), ("a", Lists::ReplaceFrom(1)), ("b", Lists::ReplaceFrom(1)), ("c", Lists::Join)]
                .into_iter()
                .enumerate()
        {
            merged.lay(json!({"instructions": [text]}), index, lists);
        }
        assert_eq!(merged.value, json!({"instructions": ["o", "b", "c"]}));
    }

    #[test]
    fn the_list_of_pointers_is_bounded() {
        let deep = json!({"k".repeat(1024 * 1024): (0..40).map(|n| (n.to_string(), json!(n))).collect::<Map<_, _>>()});
        assert_eq!(pointers(&merged(&[deep])).len(), 15);
    }
}
