//! What counts of the settings of a project that nobody trusts yet. Pure.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::care::{Care, Judged, among, at_most, joined, ladder};
use crate::keys;
use crate::sandbox::located;
use crate::schema::{Field, Kind};
use crate::stake::Effect;

/// The agents that haft brings along. A project may change their words and hold them back, and not who may choose them:
/// another one, which may be allowed more, would answer in their place.
pub const BUILT_IN_AGENTS: [&str; 7] = ["build", "compaction", "explore", "general", "plan", "summary", "title"];

/// What the user's own settings say, as far as a project's are held against it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Own {
    /// Agents that they name.
    pub agents: BTreeSet<String>,
    /// Vendors that the user can ask.
    pub vendors: BTreeSet<String>,
    /// The vendor of their model.
    pub vendor: Option<String>,
}

/// Where a project's settings stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Here<'a> {
    /// The folder that all of it is in.
    pub top: &'a Path,
    /// Where relative paths of patterns begin.
    pub directory: &'a Path,
    pub home: &'a Path,
}

/// What comes of it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tight {
    /// What counts, without rules.
    pub value: Value,
    /// The rules, as `permission` and `tools`, and the same for each agent, in the order of [`Beside::agents`].
    pub beside: Beside,
    /// What does not count.
    pub left_out: Vec<LeftOut>,
}

/// Rules that are laid beside the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Beside {
    /// Rules for everybody: an object with `tools` and `permission`, as far as they are there.
    pub all: Value,
    /// The same for each agent that is named.
    pub agents: Vec<(String, Value)>,
}

/// A setting that does not count.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeftOut {
    pub effect: Effect,
    /// The key, with dots.
    pub key: String,
    /// What it does.
    pub why: &'static str,
    /// What it says.
    pub value: Value,
}

/// What of `value`, the checked settings of one file, counts over `below`, what holds without it.
pub(crate) fn tighten(value: &Value, below: &Value, own: &Own, here: Here<'_>) -> Tight {
    let Kind::Object(fields) = &keys::CONFIG else { return Tight::default() };
    let mut tightener = Tightener { own, here, beside: Beside::default(), left_out: Vec::new() };
    let value = tightener.fields(fields, value, below, &At { key: "", entry: "" });
    Tight { value, beside: tightener.beside, left_out: tightener.left_out }
}

/// Where in the settings.
struct At<'a> {
    /// The keys that lead here, with dots.
    key: &'a str,
    /// The name of the agent or command that it belongs to.
    entry: &'a str,
}

struct Tightener<'a> {
    own: &'a Own,
    here: Here<'a>,
    beside: Beside,
    left_out: Vec<LeftOut>,
}

const ELSEWHERE: &str = "is taken from elsewhere";

impl Tightener<'_> {
    /// What counts of an object with `fields`.
    fn fields(&mut self, fields: &'static [Field], value: &Value, below: &Value, at: &At<'_>) -> Value {
        let mut kept = Map::new();
        for (name, value) in value.as_object().into_iter().flatten() {
            let key = if at.key.is_empty() { name.clone() } else { format!("{}.{name}", at.key) };
            let at = At { key: &key, entry: at.entry };
            let counts = match fields.iter().find(|field| field.name == name) {
                Some(field) => self.field(field, value, below, &at),
                None => {
                    self.leave(Effect::Loosens, &key, "puts a field of its own into requests", value);
                    None
                }
            };
            if let Some(value) = counts {
                kept.insert(name.clone(), value);
            }
        }
        Value::Object(kept)
    }

    /// What counts of `value`; `around` is what holds without it for the object that it is in.
    fn field(&mut self, field: &'static Field, value: &Value, around: &Value, at: &At<'_>) -> Option<Value> {
        let below = around.get(field.name);
        let judged = match field.care {
            Care::Harmless | Care::Tightens => Judged::Kept,
            Care::Above => Judged::Dropped("is not known to be harmless"),
            Care::Loosens(why) => return self.each(Effect::Loosens, field, why, value, at),
            Care::Runs(why) => return self.each(Effect::Runs, field, why, value, at),
            Care::Parts => return self.parts(&field.kind, value, below.unwrap_or(&Value::Null), at),
            Care::Ladder(words, usual) => ladder(words, usual, value, below),
            Care::AtMost(other, usual) => at_most(usual, value, around.get(other)),
            Care::Joined => joined(value, below),
            Care::Among => among(value, below, None),
            Care::Fewer(usual) => among(value, below, Some(usual)),
            Care::Rules => {
                self.rules(field.name, value, at);
                return None;
            }
            Care::Model => self.model(value),
            Care::Agent => match value.as_str() {
                Some(name) if !self.own.agents.contains(name) && below.is_none() => Judged::Kept,
                Some(_) | None => Judged::Dropped("says under whose rules is worked"),
            },
            Care::NewAgent if self.own.agents.contains(at.entry) || BUILT_IN_AGENTS.contains(&at.entry) => {
                Judged::Dropped("says who can choose an agent that is there without it")
            }
            Care::NewAgent => Judged::Kept,
            Care::SameName if value.as_str() == Some(at.entry) => Judged::Kept,
            Care::SameName => Judged::Dropped("gives it the name of another"),
            Care::Template => return Some(self.template(value, at)),
            Care::Paths => return self.paths(value, at),
            Care::Places => return self.entries(value, at, |here, value| here.place(value)),
            Care::Servers => return self.entries(value, at, |_, value| server(value)),
            Care::Switch if *value == Value::Bool(false) => Judged::Kept,
            Care::Switch => return self.entries(value, at, |_, value| program(value)),
        };
        match judged {
            Judged::Kept => Some(value.clone()),
            Judged::Instead(instead) => {
                self.leave(Effect::Loosens, at.key, "takes the place of a list that holds without it", value);
                Some(instead)
            }
            Judged::Dropped(why) => {
                self.leave(Effect::Loosens, at.key, why, value);
                None
            }
        }
    }

    fn leave(&mut self, effect: Effect, key: &str, why: &'static str, value: &Value) {
        self.left_out.push(LeftOut { effect, key: key.to_owned(), why, value: value.clone() });
    }

    /// Leaves it out, entry by entry where people gave them names.
    fn each(&mut self, effect: Effect, field: &Field, why: &'static str, value: &Value, at: &At<'_>) -> Option<Value> {
        match (&field.kind, value) {
            (Kind::Map(_), Value::Object(entries)) => {
                for (name, value) in entries {
                    self.leave(effect, &format!("{}.{name}", at.key), why, value);
                }
            }
            _ => self.leave(effect, at.key, why, value),
        }
        None
    }

    fn parts(&mut self, kind: &'static Kind, value: &Value, below: &Value, at: &At<'_>) -> Option<Value> {
        let Value::Object(entries) = value else {
            self.leave(Effect::Loosens, at.key, ELSEWHERE, value);
            return None;
        };
        match kind {
            Kind::Object(fields) | Kind::Open(fields) => Some(self.fields(fields, value, below, at)),
            Kind::Map(inner) => {
                let mut kept = Map::new();
                for (name, value) in entries {
                    let key = format!("{}.{name}", at.key);
                    let below = below.get(name).unwrap_or(&Value::Null);
                    if let Some(value) = self.parts(inner, value, below, &At { key: &key, entry: name }) {
                        kept.insert(name.clone(), value);
                    }
                }
                Some(Value::Object(kept))
            }
            _ => {
                self.leave(Effect::Loosens, at.key, "is not known to be harmless", value);
                None
            }
        }
    }

    fn rules(&mut self, name: &str, value: &Value, at: &At<'_>) {
        let rules = if at.entry.is_empty() {
            &mut self.beside.all
        } else {
            let known = self.beside.agents.iter().position(|(agent, _)| agent == at.entry);
            let known = known.unwrap_or_else(|| {
                self.beside.agents.push((at.entry.to_owned(), Value::Null));
                self.beside.agents.len() - 1
            });
            &mut self.beside.agents[known].1
        };
        if rules.is_null() {
            *rules = json!({});
        }
        rules[name] = value.clone();
    }

    /// The user's own vendor, or, where they chose no model, one that they can ask.
    fn model(&self, value: &Value) -> Judged {
        let vendor = value.as_str().and_then(|model| model.split_once('/')).map(|(vendor, _)| vendor);
        let fine = vendor.is_some_and(|vendor| match &self.own.vendor {
            Some(own) => own == vendor,
            None => self.own.vendors.contains(vendor),
        });
        if fine { Judged::Kept } else { Judged::Dropped("says who is asked, and paid") }
    }

    /// The text, in which nothing is a command line any more.
    fn template(&mut self, value: &Value, at: &At<'_>) -> Value {
        match value {
            Value::String(text) if text.contains("!`") => {
                self.leave(Effect::Runs, at.key, "runs command lines when it is called", value);
                Value::from(text.replace("!`", "(not run before `haft trust`:) `"))
            }
            _ => value.clone(),
        }
    }

    fn paths(&mut self, value: &Value, at: &At<'_>) -> Option<Value> {
        let Value::Array(items) = value else {
            self.leave(Effect::Loosens, at.key, ELSEWHERE, value);
            return None;
        };
        let mut kept = Vec::new();
        for item in items {
            if item.as_str().is_some_and(|path| self.is_inside(path)) {
                kept.push(item.clone());
            } else {
                self.leave(Effect::Loosens, at.key, "names a place outside the project", item);
            }
        }
        // An empty list would still take the place of another.
        (!kept.is_empty()).then_some(Value::Array(kept))
    }

    /// Whether `path`, or all that it could stand for as a pattern, is in the project, as far as its name tells.
    fn is_inside(&self, path: &str) -> bool {
        let Here { top, directory, home } = self.here;
        // What a token stands for may be anything.
        let elsewhere = ["://", "{env:", "{file:"].iter().any(|sign| path.contains(sign));
        !elsewhere && located(path, directory, home).starts_with(top)
    }

    /// What counts of each entry that has a name; the second value is what it does that does not count.
    fn entries(
        &mut self,
        value: &Value,
        at: &At<'_>,
        judge: impl Fn(&Self, &Value) -> (Option<Value>, Option<(Effect, &'static str)>),
    ) -> Option<Value> {
        let Value::Object(entries) = value else {
            self.leave(Effect::Runs, at.key, "switches programs on", value);
            return None;
        };
        let mut kept = Map::new();
        for (name, value) in entries {
            let (counts, left) = judge(self, value);
            if let Some((effect, why)) = left {
                self.leave(effect, &format!("{}.{name}", at.key), why, value);
            }
            if let Some(value) = counts {
                kept.insert(name.clone(), value);
            }
        }
        // An empty object would still take the place of a switch.
        (!kept.is_empty()).then_some(Value::Object(kept))
    }

    fn place(&self, value: &Value) -> (Option<Value>, Option<(Effect, &'static str)>) {
        let path = match value {
            // The name of a repository looks like a path, too.
            Value::String(text) => Some(text.as_str()).filter(|text| text.starts_with("./")),
            Value::Object(object) => object.get("path").and_then(Value::as_str),
            _ => None,
        };
        if path.is_some_and(|path| self.is_inside(path)) {
            return (Some(value.clone()), None);
        }
        (None, Some((Effect::Loosens, "names a place outside the project")))
    }
}

/// Switching a server off is nobody's harm; starting one is.
fn server(value: &Value) -> (Option<Value>, Option<(Effect, &'static str)>) {
    let off = value.get("enabled") == Some(&Value::Bool(false));
    let alone = value.as_object().is_some_and(|object| object.len() == 1);
    let left = (Effect::Runs, "starts a program, or speaks to a server, that gives the model tools");
    (off.then(|| json!({"enabled": false})), (!off || !alone).then_some(left))
}

/// The same for programs that tidy files or know a language.
fn program(value: &Value) -> (Option<Value>, Option<(Effect, &'static str)>) {
    match *value == json!({"disabled": true}) {
        true => (Some(value.clone()), None),
        false => (None, Some((Effect::Runs, "runs a program"))),
    }
}

impl Beside {
    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_null() && self.agents.is_empty()
    }

    /// Whether all of them ask or deny, for certain.
    pub(crate) fn only_hold_back(&self) -> bool {
        let holds = |action: &Value| matches!(action.as_str(), Some("ask" | "deny"));
        let holds_back = |rules: &Value| {
            let tools = match rules.get("tools") {
                None => true,
                Some(Value::Object(tools)) => tools.values().all(|on| *on == Value::Bool(false)),
                Some(_) => false,
            };
            let permission = match rules.get("permission") {
                None => true,
                Some(Value::Object(keys)) => keys.values().all(|key| match key {
                    Value::Object(patterns) => patterns.values().all(holds),
                    action => holds(action),
                }),
                Some(action) => holds(action),
            };
            tools && permission
        };
        holds_back(&self.all) && self.agents.iter().all(|(_, rules)| holds_back(rules))
    }

    /// All of it as it stands in the file.
    pub(crate) fn to_value(&self) -> Value {
        let mut all = if self.all.is_null() { json!({}) } else { self.all.clone() };
        for (agent, rules) in &self.agents {
            all["agent"][agent] = rules.clone();
        }
        all
    }
}

#[cfg(test)]
mod tests;
