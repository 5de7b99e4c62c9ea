//! Agents as files define them.

use std::path::Path;

use haft_permission::Rule;
use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::keys;
use crate::markdown;
use crate::normal;
use crate::permission::{self, Layer};
use crate::schema::Strict;

/// An agent, or changes to a built-in one. What is `None` was not said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentConfig {
    /// What it is called.
    pub name: String,
    /// When to use it.
    pub description: Option<String>,
    /// The first part of the system prompt.
    pub prompt: Option<String>,
    /// Who may choose it.
    pub mode: Option<Mode>,
    /// The model it always uses, as `vendor/model`.
    pub model: Option<String>,
    /// The variant of that model.
    pub variant: Option<String>,
    /// How freely the model chooses its words.
    pub temperature: Option<f64>,
    /// The same in another measure.
    pub top_p: Option<f64>,
    /// Whether it is left out where agents are offered for choice.
    pub hidden: Option<bool>,
    /// Whether it is taken away.
    pub disable: Option<bool>,
    /// `#RRGGBB`, or a colour of the theme.
    pub color: Option<String>,
    /// Most model steps for one prompt; at least 1.
    pub steps: Option<u64>,
    /// Further fields of each request; keys of the agent that nobody knows are among them.
    pub options: Map<String, Value>,
    /// Its own rules, on top of all others.
    pub rules: Vec<Rule>,
    /// Rules of a project that is not trusted for it, which only hold back.
    pub bounds: Vec<Rule>,
    /// Tools that it names in the older form, each on or off.
    pub tools: Map<String, Value>,
    /// The file that said something about it last.
    pub origin: String,
}

/// Who may choose an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// People.
    Primary,
    /// Other agents, and people who name it.
    Subagent,
    /// Both.
    All,
}

impl Mode {
    /// The word that files use.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Primary => "primary",
            Mode::Subagent => "subagent",
            Mode::All => "all",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Mode::Primary, Mode::Subagent, Mode::All].into_iter().find(|mode| mode.word() == word)
    }
}

/// Reads the text of a Markdown agent: keys between two lines `---`, the prompt below. For agents that come with the
/// program; those of the user are in [`crate::Config::agents`].
///
/// # Errors
///
/// When the header is broken, or a value in it is of the wrong kind. Each names `origin`.
pub fn agent(name: &str, text: &str, origin: &str) -> Result<AgentConfig, ConfigError> {
    let (entry, _) = markdown::whole(name, text, origin, &keys::AGENT, "prompt", Strict::Yes)?;
    let raw = Value::Object(entry);
    let mut value = raw.clone();
    normal::agent(&mut value);
    let rules = rules_of(&[&raw], origin, Path::new("~"))?;
    Ok(AgentConfig::of(name, &value, rules, origin.to_owned()))
}

/// The rules of one agent, from what each layer says about it, weakest first.
pub(crate) fn rules_of(entries: &[&Value], origin: &str, home: &Path) -> Result<Vec<Rule>, ConfigError> {
    let layer = |entry: &&Value| -> (Option<Value>, Option<Value>) {
        (entry.get("tools").cloned(), entry.get("permission").cloned())
    };
    let parts: Vec<_> = entries.iter().map(layer).collect();
    let layers: Vec<Layer<'_>> =
        parts.iter().map(|(tools, rules)| Layer { tools: tools.as_ref(), permission: rules.as_ref() }).collect();
    permission::rules(&layers, home).map_err(|(key, message)| ConfigError::Value {
        origin: origin.to_owned(),
        place: None,
        key,
        message,
    })
}

impl AgentConfig {
    /// From the checked and normal `value`.
    pub(crate) fn of(key: &str, value: &Value, rules: Vec<Rule>, origin: String) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| value.get(key).and_then(Value::as_f64);
        let switch = |key: &str| value.get(key).and_then(Value::as_bool);
        let object = |key: &str| value.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        Self {
            name: text("name").unwrap_or_else(|| key.to_owned()),
            description: text("description"),
            prompt: text("prompt"),
            mode: value.get("mode").and_then(Value::as_str).and_then(Mode::from_word),
            model: text("model"),
            variant: text("variant"),
            temperature: number("temperature"),
            top_p: number("top_p"),
            hidden: switch("hidden"),
            disable: switch("disable"),
            color: text("color"),
            steps: value.get("steps").and_then(Value::as_u64),
            options: object("options"),
            rules,
            bounds: Vec::new(),
            tools: object("tools"),
            origin,
        }
    }

    /// This laid over `base`, the built-in agent of the same name: what is said replaces, options meet key by key,
    /// rules come after.
    pub fn over(&self, base: &AgentConfig) -> AgentConfig {
        let over = self.clone();
        let base = base.clone();
        let mut options = Value::Object(base.options);
        crate::merge::lay_plain(&mut options, Value::Object(over.options));
        let Value::Object(options) = options else { return self.clone() };
        let mut tools = base.tools;
        tools.extend(over.tools);
        AgentConfig {
            name: over.name,
            description: over.description.or(base.description),
            prompt: over.prompt.or(base.prompt),
            mode: over.mode.or(base.mode),
            model: over.model.or(base.model),
            variant: over.variant.or(base.variant),
            temperature: over.temperature.or(base.temperature),
            top_p: over.top_p.or(base.top_p),
            hidden: over.hidden.or(base.hidden),
            disable: over.disable.or(base.disable),
            color: over.color.or(base.color),
            steps: over.steps.or(base.steps),
            options,
            rules: base.rules.into_iter().chain(over.rules).collect(),
            bounds: base.bounds.into_iter().chain(over.bounds).collect(),
            tools,
            origin: over.origin,
        }
    }
}
