//! A model as the catalogue knows it: what it can do, take and cost.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Secret;

/// A model of a vendor. Where nothing is said, nothing is known.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Model {
    /// What the vendor calls it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it is a member of, such as `claude-haiku`.
    pub family: Option<String>,
    /// The day it came out, as `2025-09-29`; sometimes only the month.
    pub release_date: String,
    /// Whether it reads files.
    pub attachment: Option<bool>,
    /// Whether it thinks.
    pub reasoning: Option<bool>,
    /// Whether it takes a temperature.
    pub temperature: Option<bool>,
    /// Whether it calls tools.
    pub tool_call: Option<bool>,
    /// Whether it can be held to a JSON schema.
    pub structured_output: Option<bool>,
    /// Where its thinking is to stand in what goes back to it.
    pub interleaved: Option<Interleaved>,
    /// What it costs.
    pub cost: Option<Cost>,
    /// What it can take.
    pub limit: Limit,
    /// What it reads and writes.
    pub modalities: Option<Modalities>,
    /// Whether it is finished, or gone.
    pub status: Status,
    /// The way to it, where that is not its vendor's.
    pub provider: Option<Way>,
    /// How it can be told how much to think. `None`: not known; empty: it cannot.
    pub reasoning_options: Option<Vec<Reasoning>>,
    /// Further ways to run it, each a model of its own.
    pub experimental: Experimental,
    /// Further fields of each request.
    pub options: Map<String, Value>,
    /// Further headers of each request.
    #[serde(skip)]
    pub headers: BTreeMap<String, Secret>,
}

/// Where the thinking of a model is to stand in what goes back to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Interleaved {
    /// Where it came from.
    Whether(bool),
    /// In a field of the message.
    Field {
        /// Its name.
        field: String,
    },
}

/// What a model can take, in tokens. Zero: not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// Everything together.
    pub context: u64,
    /// What it may read, where that is less than everything.
    pub input: Option<u64>,
    /// What it may write.
    pub output: u64,
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Prices {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the vendor's cache. The data spells it in three ways.
    #[serde(alias = "cached_input", alias = "cache_input")]
    pub cache_read: f64,
    /// Written to the vendor's cache.
    #[serde(alias = "cached_write")]
    pub cache_write: f64,
}

/// What a model costs.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Usually.
    #[serde(flatten)]
    pub usual: Prices,
    /// The older form of a tier: more than 200,000 tokens.
    pub context_over_200k: Option<Prices>,
    /// Where a request reads more.
    pub tiers: Vec<Tier>,
}

impl Cost {
    /// The prices of long requests with the number of tokens they begin behind, the shortest first.
    pub fn long(&self) -> Vec<(u64, Prices)> {
        /// The size that the older form means, in tokens.
        const OVER: u64 = 200_000;
        let mut tiers: Vec<_> = self.tiers.iter().map(|tier| (tier.tier.size, tier.prices)).collect();
        if tiers.is_empty() {
            tiers.extend(self.context_over_200k.map(|prices| (OVER, prices)));
        }
        tiers.sort_by_key(|(size, _)| *size);
        tiers
    }

    /// Whether nothing is charged.
    pub fn is_free(&self) -> bool {
        self.usual.input == 0.0 && self.usual.output == 0.0
    }
}

/// Prices of requests that read more than so many tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Tier {
    /// The prices.
    #[serde(flatten)]
    pub prices: Prices,
    /// Where it begins.
    pub tier: Size,
}

/// Where a tier of prices begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Size {
    /// Tokens that are read, from a cache or not.
    pub size: u64,
}

/// What a model reads and writes: `text`, `audio`, `image`, `video`, `pdf`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Modalities {
    /// Reads.
    pub input: Vec<String>,
    /// Writes.
    pub output: Vec<String>,
}

/// Whether a model is finished, or gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not offered unless asked for.
    Alpha,
    /// Offered.
    Beta,
    /// About to be switched off, or switched off.
    Deprecated,
    /// Whatever else is said, and where nothing is.
    #[default]
    #[serde(other)]
    Active,
}

/// The way to one model of a vendor, where it is not that of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Way {
    /// The driver.
    pub npm: Option<String>,
    /// The address.
    pub api: Option<String>,
    /// Which of OpenAI's two forms.
    pub shape: Option<Shape>,
}

/// Which of OpenAI's two forms a model wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Responses.
    Responses,
    /// Chat completions, and whatever else is said.
    #[serde(other)]
    Completions,
}

/// How a model can be told how much to think.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reasoning {
    /// It can be switched on and off.
    Toggle,
    /// By a word.
    Effort {
        /// The words, the least first.
        #[serde(default)]
        values: Vec<String>,
    },
    /// By the most tokens that it may think.
    BudgetTokens {
        /// At least; what is negative says nothing.
        #[serde(default)]
        min: Option<i64>,
        /// At most; what is negative says nothing.
        #[serde(default)]
        max: Option<i64>,
    },
    /// In a way that is not known here.
    #[serde(other)]
    Other,
}

/// What of a model may change.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Experimental {
    /// By the name that is put behind the model's.
    pub modes: BTreeMap<String, Mode>,
}

/// Another way to run a model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Mode {
    /// What it costs so.
    pub cost: Option<Cost>,
    /// What each request has then.
    pub provider: Extras,
}

/// Further parts of each request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Fields.
    pub body: Map<String, Value>,
    /// Headers.
    pub headers: BTreeMap<String, String>,
}

impl Model {
    /// What is read from one entry. `None` where it is something else.
    pub(super) fn read(json: &str) -> Option<Self> {
        let model = serde_json::from_str(json);
        model.inspect_err(|error| tracing::debug!(%error, "an entry of the list of models is left out")).ok()
    }

    /// Its modes, as the models that they are: `<id>-<mode>`, named `<Name> <Mode>`. Vendors know them by the id of the
    /// model itself.
    pub fn modes(&self) -> Vec<(String, Model)> {
        let mode = |(name, mode): (&String, &Mode)| {
            let mut model = self.clone();
            model.experimental = Experimental::default();
            model.name = format!("{} {}", self.name, titled(name));
            if let Some(cost) = &mode.cost {
                model.cost = Some(cost.clone());
            }
            model.options.extend(mode.provider.body.clone());
            let headers = mode.provider.headers.iter();
            model.headers.extend(headers.map(|(name, value)| (name.clone(), Secret::new(value))));
            (format!("{}-{name}", self.id), model)
        };
        self.experimental.modes.iter().map(mode).collect()
    }

    /// Whether it can hold a conversation with tools: what an agent needs. Not known counts as yes.
    pub fn can_work(&self) -> bool {
        let talks = |modalities: &Modalities| {
            let has = |list: &[String]| list.iter().any(|one| one == "text");
            has(&modalities.input) && has(&modalities.output)
        };
        self.tool_call != Some(false) && self.modalities.as_ref().is_none_or(talks)
    }

    /// Whether it reads files of that kind. `None`: not known.
    pub fn reads(&self, kind: &str) -> Option<bool> {
        self.modalities.as_ref().map(|modalities| modalities.input.iter().any(|one| one == kind))
    }
}

/// `fast-mode` as `Fast-mode`.
fn titled(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn model(json: Value) -> Model {
        Model::read(&json.to_string()).unwrap()
    }

    #[test]
    fn prices_are_read_in_every_spelling() {
        let cost = |json: Value| model(json!({"cost": json})).cost.unwrap();
        let cached = |key: &str| cost(json!({"input": 1, "output": 2, key: 0.5})).usual;
        let want = Prices { input: 1.0, output: 2.0, cache_read: 0.5, cache_write: 0.0 };
        for key in ["cache_read", "cached_input", "cache_input"] {
            assert_eq!(cached(key), want, "{key}");
        }
        let over = cost(json!({"input": 1, "output": 2, "context_over_200k": {"input": 3, "output": 4}}));
        assert_eq!(over.long(), [(200_000, Prices { input: 3.0, output: 4.0, ..Prices::default() })]);
        let tier =
            |size: u64, input: u64| json!({"input": input, "output": 1, "tier": {"type": "context", "size": size}});
        let tiers = cost(json!({"input": 1, "output": 2, "tiers": [tier(128_000, 5), tier(32_000, 3)]}));
        let sizes: Vec<_> = tiers.long().iter().map(|(size, prices)| (*size, prices.input)).collect();
        assert_eq!(sizes, [(32_000, 3.0), (128_000, 5.0)]);
        assert!(cost(json!({"input": 0, "output": 0})).is_free() && !tiers.is_free());
    }

    #[test]
    fn what_is_new_in_the_data_does_no_harm() {
        let read = model(json!({
            "id": "m", "status": "sunset", "unheard_of": 1, "interleaved": true,
            "reasoning_options": [{"type": "telepathy"}, {"type": "effort", "values": ["low"]}],
            "provider": {"shape": "songs"},
        }));
        assert_eq!(read.status, Status::Active);
        assert_eq!(read.interleaved, Some(Interleaved::Whether(true)));
        let effort = Reasoning::Effort { values: vec!["low".to_owned()] };
        assert_eq!(read.reasoning_options, Some(vec![Reasoning::Other, effort]));
        assert_eq!(read.provider.unwrap().shape, Some(Shape::Completions));
        assert_eq!(Model::read(r#"{"id": 7}"#), None);
        assert_eq!(Model::read("7"), None);
    }

    #[test]
    fn a_mode_is_a_model_of_its_own() {
        let base = model(json!({
            "id": "gpt", "name": "GPT", "cost": {"input": 1, "output": 2},
            "experimental": {"modes": {"fast": {
                "cost": {"input": 9, "output": 18},
                "provider": {"body": {"service_tier": "priority"}, "headers": {"x-mode": "fast"}},
            }}},
        }));
        let modes = base.modes();
        let (name, fast) = &modes[0];
        assert_eq!((modes.len(), &**name, &*fast.id, &*fast.name), (1, "gpt-fast", "gpt", "GPT Fast"));
        assert_eq!(fast.cost.as_ref().unwrap().usual.input, 9.0);
        assert_eq!(Value::Object(fast.options.clone()), json!({"service_tier": "priority"}));
        assert_eq!(fast.headers["x-mode"].expose(), "fast");
        assert_eq!(fast.modes(), []);
    }

    #[test]
    fn an_agent_needs_words_and_tools() {
        let works = |json: Value| model(json).can_work();
        assert!(works(json!({})));
        assert!(works(json!({"tool_call": true, "modalities": {"input": ["image", "text"], "output": ["text"]}})));
        assert!(!works(json!({"tool_call": false})));
        assert!(!works(json!({"tool_call": true, "modalities": {"input": ["text"], "output": ["image"]}})));
        assert!(!works(json!({"tool_call": true, "modalities": {"input": ["audio"], "output": ["text"]}})));
    }
}
