//! Decides whether a project's settings count, and makes of them what does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Layer, MAX_FILE, Pending, Reader, Said};
use crate::code::Code;
use crate::error::ConfigError;
use crate::merge::Merged;
use crate::schema::Strict;
use crate::secret;
use crate::sources::Place;
use crate::stake::{Content, Effect, Stake, Stakes};
use crate::substitute::Tokens;
use crate::tighten::{Beside, Here, LeftOut, Own, Tight, tighten};
use crate::trust::Trust;

/// What counts of one of the project's layers without trust.
#[derive(Default)]
struct Held {
    value: Value,
    beside: Beside,
}

/// What was found out about all of them.
struct Findings {
    items: Vec<Stake>,
    /// The rules of each file that has some, as they are written, and whether they only hold back.
    rules: Vec<(String, Value, bool)>,
    code: Code,
}

impl Reader<'_> {
    /// Gives the project's layers their values.
    pub(super) fn settle(&mut self, trust: Trust<'_>) -> Result<(), ConfigError> {
        if self.project.is_empty() {
            return Ok(());
        }
        let before = std::mem::take(&mut self.warnings);
        let pending = std::mem::take(&mut self.pending);
        let (held, stakes) = self.hold(&pending)?;
        self.loaded.trusted = match trust {
            Trust::Given => true,
            Trust::Withheld => false,
            Trust::Asked(asked) => !stakes.items.is_empty() && stakes.unseen.is_none() && asked(&stakes),
        };
        self.loaded.stakes = stakes;
        if !self.loaded.trusted {
            self.warnings.extend(before);
            for (index, held) in held {
                let layer = &mut self.loaded.layers[index];
                (layer.value, layer.beside) = (held.value, held.beside);
            }
            return Ok(());
        }
        self.warnings = before;
        for (index, Pending { said, .. }) in pending {
            self.at = Some(index);
            let Layer { origin, base, .. } = self.loaded.layers[index].clone();
            let value = match said {
                Said::Markdown(value) => value,
                Said::Settings(text) => self.settings(&origin, &text, &base, self.tokens(), self.strict())?,
            };
            self.loaded.layers[index].value = value;
        }
        self.at = None;
        Ok(())
    }

    /// What counts without trust of each of the layers `pending`, and what does not.
    fn hold(&mut self, pending: &BTreeMap<usize, Pending>) -> Result<(BTreeMap<usize, Held>, Stakes), ConfigError> {
        let mut findings = Findings { items: Vec::new(), rules: Vec::new(), code: Code::new() };
        let mut all = BTreeMap::new();
        if !pending.is_empty() {
            let own = self.own(pending);
            let mut below = Merged::default();
            for index in 0..self.loaded.layers.len() {
                let mut layer = self.loaded.layers[index].clone();
                if let Some(pending) = pending.get(&index) {
                    self.at = Some(index);
                    let held = self.hold_one(&layer, pending, &below.value, &own, &mut findings)?;
                    layer.value = held.value.clone();
                    all.insert(index, held);
                }
                below.lay(layer.normal(), index, layer.lists);
            }
            self.at = None;
        }
        self.screens(&mut findings);
        for folder in self.project.iter().filter(|folder| folder.ends_with(".opencode") || folder.ends_with(".haft")) {
            findings.items.extend(findings.code.files(folder));
        }
        Ok((all, findings.stakes()))
    }

    /// What the user's own settings say.
    pub(super) fn own(&self, pending: &BTreeMap<usize, Pending>) -> Own {
        let mut own = Own { vendors: self.sources.vendors.clone(), ..Own::default() };
        let layers = self.loaded.layers.iter().enumerate().filter(|(index, _)| !pending.contains_key(index));
        for (_, Layer { value, .. }) in layers {
            let names = |key: &str| value.get(key).and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned();
            own.agents.extend(names("agent").chain(names("mode")));
            own.vendors.extend(names("provider"));
            let model = value.get("model").and_then(Value::as_str).and_then(|model| model.split_once('/'));
            own.vendor = model.map(|(vendor, _)| vendor.to_owned()).or(own.vendor);
        }
        own
    }

    fn hold_one(
        &mut self,
        layer: &Layer,
        pending: &Pending,
        below: &Value,
        own: &Own,
        findings: &mut Findings,
    ) -> Result<Held, ConfigError> {
        let (sources, border) = (self.sources, self.border.clone());
        let here = Here { top: &border.top, directory: &sources.directory, home: &sources.home };
        let origin = &layer.origin;
        if !pending.inside {
            let text = match &pending.said {
                Said::Settings(text) => text.clone(),
                Said::Markdown(value) => value.to_string(),
            };
            findings.file(origin, "is a link to a file outside the project, or to one that holds secrets", text);
            return Ok(Held { value: json!({}), ..Held::default() });
        }
        let text = match &pending.said {
            Said::Markdown(value) => {
                let tight = tighten(value, below, own, here);
                self.find(layer, &tight, findings);
                return Ok(Held { value: tight.value, beside: tight.beside });
            }
            Said::Settings(text) => text,
        };
        // As it is written, so that what variables hold is no part of what is asked about. It is not checked then.
        let told = self.warnings.len();
        self.in_keys = false;
        let written = self.settings(origin, text, &layer.base, Tokens::Written(&border), Strict::No)?;
        self.warnings.truncate(told);
        if self.in_keys {
            findings.file(origin, "has names of settings that are taken from elsewhere", text.clone());
            return Ok(Held { value: json!({}), ..Held::default() });
        }
        self.find(layer, &tighten(&written, below, own, here), findings);
        match self.settings(origin, text, &layer.base, Tokens::Withheld(&border), Strict::Yes) {
            Ok(value) => {
                let Tight { value, beside, .. } = tighten(&value, below, own, here);
                Ok(Held { value, beside })
            }
            Err(_) if text.contains("{env:") || text.contains("{file:") => {
                findings.file(origin, "means nothing without what it takes from elsewhere", text.clone());
                Ok(Held { value: json!({}), ..Held::default() })
            }
            Err(error) => Err(error),
        }
    }

    /// Takes down what is at stake with one layer, of which `tight` counts as it is written.
    fn find(&mut self, layer: &Layer, tight: &Tight, findings: &mut Findings) {
        let folders: [&Path; 3] = [&self.sources.directory, &self.border.top, &layer.base];
        for left_out in &tight.left_out {
            let LeftOut { effect, key, why, value } = left_out;
            let files = match effect {
                Effect::Runs => findings.code.named(value, &folders, &self.border),
                Effect::Loosens => Vec::new(),
            };
            let content = Content { value: value.clone(), files };
            findings.items.push(Stake::new(*effect, key, &layer.origin, why, shown(left_out), &content));
        }
        let rules = tight.beside.to_value();
        let mut tokens = Vec::new();
        for value in [&tight.value, &rules] {
            tokens_in(value, &mut tokens);
        }
        if !tokens.is_empty() {
            let (text, content) = (tokens.join(" "), Content { value: json!(tokens), files: Vec::new() });
            let why = "are put in, wherever that then goes";
            findings.items.push(Stake::new(
                Effect::Loosens,
                "values from elsewhere",
                &layer.origin,
                why,
                text,
                &content,
            ));
        }
        if !tight.beside.is_empty() {
            findings.rules.push((layer.origin.clone(), rules, tight.beside.only_hold_back()));
        }
    }

    /// Takes down the terminal UI's settings that are the project's.
    fn screens(&mut self, findings: &mut Findings) {
        let files = self.sources.screen_places().into_iter().filter_map(|place| match place {
            Place::File(path) => Some(path),
            Place::Given(..)
            | Place::Grouped(_)
            | Place::Named(..)
            | Place::Folder(_)
            | Place::Text(_)
            | Place::Rules(_) => None,
        });
        let files = files.filter(|path| path.parent().is_some_and(|folder| self.project.contains(folder)));
        for path in files.collect::<Vec<PathBuf>>() {
            if let Ok(text) = self.loaded.disk.read(&path, MAX_FILE) {
                findings.file(&path.display().to_string(), "changes your keys and what the screen shows", text);
            }
        }
    }
}

impl Findings {
    /// A file as a whole.
    fn file(&mut self, origin: &str, why: &str, text: String) {
        let content = Content { value: Value::from(text.clone()), files: Vec::new() };
        let name = origin.rsplit('/').next().unwrap_or(origin);
        self.items.push(Stake::new(Effect::Loosens, name, origin, why, text, &content));
    }

    fn stakes(mut self) -> Stakes {
        // Rules that only hold back count anyway. Among others that are trusted they could make a question of what the
        // user denies, so all of them are asked about together.
        if !self.items.is_empty() || self.rules.iter().any(|(.., only_hold_back)| !only_hold_back) {
            for (origin, rules, _) in self.rules {
                let (text, content) = (rules.to_string(), Content { value: rules, files: Vec::new() });
                let why = "count like your own rules, and over them";
                self.items.push(Stake::new(Effect::Loosens, "rules", &origin, why, text, &content));
            }
        }
        Stakes::of(self.items, self.code.unseen)
    }
}

/// What a person is shown of it. Of what would run nothing is kept back.
fn shown(LeftOut { effect, key, value, .. }: &LeftOut) -> String {
    match (effect, value) {
        (Effect::Runs, Value::String(template)) if template.contains("!`") => {
            let lines = template.split("!`").skip(1).map(|rest| rest.split('`').next().unwrap_or(rest));
            lines.collect::<Vec<_>>().join("\n")
        }
        (Effect::Runs, _) => value.to_string(),
        (Effect::Loosens, _) => {
            let mut shown = value.clone();
            let last = key.rsplit('.').next().unwrap_or(key);
            secret::hide(&mut shown, Some(value), secret::is_secret(last));
            shown.to_string()
        }
    }
}

/// The tokens in the texts of `value`.
fn tokens_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let starts = text.match_indices("{env:").chain(text.match_indices("{file:"));
            for (at, _) in starts {
                let token = text[at..].split_inclusive('}').next().unwrap_or_default().to_owned();
                if token.ends_with('}') && !found.contains(&token) {
                    found.push(token);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| tokens_in(item, found)),
        Value::Object(object) => object.values().for_each(|value| tokens_in(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
