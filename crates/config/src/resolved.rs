//! Settings as the program uses them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use haft_permission::Rule;
use serde_json::{Map, Value};

use crate::agent::{self, AgentConfig};
use crate::command::CommandConfig;
use crate::error::ConfigError;
use crate::finish::{finish, origin};
use crate::flags::Flags;
use crate::formatter::Formatters;
use crate::load::{self, Loaded, Variables};
use crate::mcp::McpServer;
use crate::merge::{Merged, lay_plain};
use crate::network::Network;
use crate::permission;
use crate::provider::ProviderConfig;
use crate::sandbox::Sandbox;
use crate::sources::Sources;
use crate::stake::Stakes;
use crate::tighten::Beside;
use crate::trust::Trust;
use crate::units;

/// The settings, complete and checked.
#[derive(Clone, Default, PartialEq)]
pub struct Config {
    /// The model to use, as `vendor/model`.
    pub model: Option<String>,
    /// The model for titles and the like, as `vendor/model`.
    pub small_model: Option<String>,
    /// The agent that answers when nobody is named.
    pub default_agent: Option<String>,
    /// Vendors by name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Vendors that are not offered.
    pub disabled_providers: Vec<String>,
    /// The only vendors that are offered; all of them where nothing is said.
    pub enabled_providers: Option<Vec<String>>,
    /// Where a newer list of models is fetched from, when the user says so.
    pub catalogue_url: Option<String>,
    /// Agents, and changes to built-in ones, in the order in which they were first named.
    pub agents: Vec<AgentConfig>,
    /// Slash commands, in the order in which they were first named.
    pub commands: Vec<CommandConfig>,
    /// Further instructions.
    pub instructions: Vec<Instruction>,
    /// The user's own rules, in their order; those that `tools` stands for come first.
    pub rules: Vec<Rule>,
    /// Rules of a project that is not trusted, which only hold back: beside all others, and the stricter counts.
    pub bounds: Vec<Rule>,
    /// Whether the project's settings count like the user's own.
    pub trusted: bool,
    /// What does not count of the project's settings unless it is trusted. Empty where that was not looked at, because
    /// it is trusted anyway.
    pub stakes: Stakes,
    /// Tools switched on and off by name.
    pub tools: BTreeMap<String, bool>,
    /// Whether models are offered the few tools for weak ones, or all of them; by the model where nothing is said.
    pub small_tools: Option<bool>,
    /// Whether new keys are kept in the system's keyring, and not in a file.
    pub keys_in_keyring: bool,
    /// How much of a tool's output the model is shown.
    pub tool_output: ToolOutput,
    /// What images may be.
    pub images: ImageLimits,
    /// The shell of commands and terminals: a path or a name.
    pub shell: Option<String>,
    /// Whether and how long what was there before a change is kept.
    pub snapshot: Snapshot,
    /// How a long session is made shorter.
    pub compaction: Compaction,
    /// What may change.
    pub experimental: Experimental,
    /// Most that one session may use.
    pub limits: Limits,
    /// How deep sub-agents may call sub-agents.
    pub subagent_depth: Option<u64>,
    /// Whether the end of a task in the background begins a turn.
    pub subagent_wake: bool,
    /// Whether the agent `summary` says what each turn came to.
    pub turn_summaries: bool,
    /// What the user is called.
    pub username: Option<String>,
    /// The cage around commands.
    pub sandbox: Sandbox,
    /// How far requests go, through whom, and whom they trust.
    pub network: Network,
    /// Whether a record is kept of what was asked, allowed, denied and done. `None`: nothing was said, which is a yes.
    pub audit: Option<bool>,
    /// Which sessions are kept.
    pub retention: Retention,
    /// Whether sessions are shared.
    pub share: Share,
    /// `DEBUG`, `INFO`, `WARN` or `ERROR`.
    pub log_level: Option<String>,
    /// Servers of further tools, by name.
    pub mcp: BTreeMap<String, McpServer>,
    /// Programs that are told what happens, by the moment at which they are, as the settings spell them.
    pub hooks: Value,
    /// Programs that tidy files after a change.
    pub formatters: Formatters,
    /// What is not watched, as patterns of paths; `None` where the settings say nothing of watching.
    pub watch_ignore: Option<Vec<String>>,
    /// Plug-ins, weakest first.
    pub plugins: Vec<PluginConfig>,
    /// The server that searches the web, as an address. `None`: there is none.
    pub search_url: Option<String>,
    /// Most tokens of tool definitions in a request.
    pub tools_budget: Option<u64>,
    /// Folders that hold skills, beside the usual ones; relative to the working folder.
    pub skill_paths: Vec<String>,
    /// Addresses at which skills are listed.
    pub skill_urls: Vec<SkillAddress>,
    /// Switches that only the environment has.
    pub flags: Flags,
    /// The folders that may hold agents, commands, skills, plug-ins, tools and themes, weakest first.
    pub directories: Vec<PathBuf>,
    /// The settings of the terminal UI: `theme`, `keybinds` and those of `tui.json`, as an object.
    pub screen: Value,
    /// Names of environment variables that hold keys, and that no command needs to see.
    pub secrets: Vec<String>,
    /// What a person should know: keys nobody knows, and keys whose meaning is not acted on yet.
    pub warnings: Vec<String>,
    /// The files and variables that were read, weakest first.
    pub origins: Vec<String>,
    /// All settings together as one object, secrets included.
    pub merged: Value,
}

impl fmt::Debug for Config {
    /// Leaves out `merged` and what else may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("model", &self.model).field("origins", &self.origins).finish_non_exhaustive()
    }
}

/// A plug-in that the settings name.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginConfig {
    /// A package (`name`, `name@version`) or the address of a file (`file://…`).
    pub spec: String,
    /// What it is told besides.
    pub options: Value,
    /// The file that names it.
    pub origin: String,
}

/// Files with further instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// A path, a pattern or an address, as it is written.
    pub pattern: String,
    /// The file that names it.
    pub origin: String,
}

/// An address at which skills are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillAddress {
    /// As it is written.
    pub url: String,
    /// The file that names it.
    pub origin: String,
}

/// How much of a tool's output the model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolOutput {
    /// At least 1.
    pub max_lines: usize,
    /// At least 1.
    pub max_bytes: usize,
}

impl Default for ToolOutput {
    fn default() -> Self {
        Self { max_lines: 2_000, max_bytes: 50 * 1024 }
    }
}

/// What images that go to a model may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// Larger ones are made smaller.
    pub auto_resize: bool,
    /// In pixels; at least 1.
    pub max_width: u32,
    /// In pixels; at least 1.
    pub max_height: u32,
    /// As base64 text; at least 1.
    pub max_base64_bytes: usize,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { auto_resize: true, max_width: 2_000, max_height: 2_000, max_base64_bytes: 4_718_592 }
    }
}

/// Whether and how long what was there before a change is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Whether at all.
    pub enabled: bool,
    /// Most bytes that are kept.
    pub quota: Option<u64>,
    /// How long.
    pub retention: Option<Duration>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self { enabled: true, quota: None, retention: None }
    }
}

/// Which sessions are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Those that changed within this time; all where nothing is said.
    pub sessions: Option<Duration>,
    /// So many, the latest; all where nothing is said.
    pub count: Option<u64>,
}

/// How a long session is made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// By itself, when it no longer fits.
    pub auto: bool,
    /// Old tool outputs are left out first.
    pub prune: bool,
    /// How many of the last turns stay as they are.
    pub tail_turns: Option<u64>,
    /// How many of the last tokens stay as they are.
    pub preserve_recent_tokens: Option<u64>,
    /// How many tokens are kept free for the answer.
    pub reserved: Option<u64>,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { auto: true, prune: true, tail_turns: None, preserve_recent_tokens: None, reserved: None }
    }
}

/// What may change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Experimental {
    /// The batch tool is offered.
    pub batch_tool: bool,
    /// Tools that sub-agents are not given.
    pub primary_tools: Vec<String>,
    /// A refused call does not end the turn.
    pub continue_loop_on_deny: bool,
    /// Long pasted texts are shown whole.
    pub disable_paste_summary: bool,
    /// Spans are exported.
    pub open_telemetry: bool,
    /// How long a call of another server's tool may take.
    pub mcp_timeout: Option<Duration>,
    /// Which vendors may be used; the last that fits counts.
    pub policies: Vec<Policy>,
}

/// Whether vendors of a name may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// A pattern of their ids.
    pub resource: String,
    /// A yes or a no.
    pub allows: bool,
}

/// Most that one session may use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// In dollars; not negative.
    pub cost: Option<f64>,
    /// How often a request that failed is made again.
    pub retries: Option<u64>,
    /// How long is waited for that in all, in one step.
    pub retry_wait: Option<Duration>,
    /// Model steps; at least 1.
    pub steps: Option<u64>,
    /// Most that one task may use.
    pub task: TaskLimits,
    /// Most that all tasks of a session may use together; has neither steps nor time.
    pub tasks: TaskLimits,
}

/// Most that tasks may use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TaskLimits {
    /// In dollars; not negative.
    pub cost: Option<f64>,
    /// Read and written, also from a cache.
    pub tokens: Option<u64>,
    /// Model steps; at least 1.
    pub steps: Option<u64>,
    /// How long one may take.
    pub time: Option<Duration>,
}

/// Whether sessions are shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Share {
    /// When the user says so.
    #[default]
    Manual,
    /// All of them.
    Auto,
    /// Never.
    Disabled,
}

/// Reads every place settings come from and lays them over each other.
///
/// # Errors
///
/// When a file cannot be read, is no JSON with comments, or holds a value of the wrong kind.
pub fn load(sources: &Sources, trust: Trust<'_>) -> Result<Config, ConfigError> {
    let mut loaded = load::load(sources, Variables::Filled, trust)?;
    let mut merged = loaded.merged();
    let mut origins: Vec<String> = loaded.layers.iter().map(|layer| layer.origin.clone()).collect();
    let read = origins.clone();
    finish(&mut merged, sources, &mut origins);
    let mut config = typed(&merged, &loaded, &origins, sources)?;
    config.screen = screen(&merged.value, load::screen(sources, &mut loaded));
    config.secrets = loaded.secrets;
    config.secrets.extend(config.providers.values().flat_map(|provider| provider.env.iter().cloned()));
    config.warnings = loaded.warnings;
    config.bounds = bounds(&loaded.layers, sources, |beside| Some(&beside.all))?;
    for agent in &mut config.agents {
        agent.bounds = bounds(&loaded.layers, sources, |beside| {
            beside.agents.iter().find(|(name, _)| *name == agent.name).map(|(_, rules)| rules)
        })?;
    }
    config.trusted = loaded.trusted;
    config.stakes = loaded.stakes;
    config.origins = read;
    config.merged = merged.value;
    Ok(config)
}

/// `theme`, `keybinds` and `tui` of the settings, with the UI's own file laid over them.
fn screen(merged: &Value, own: Value) -> Value {
    let mut screen = merged.get("tui").filter(|tui| tui.is_object()).cloned().unwrap_or_else(|| Map::new().into());
    for key in ["theme", "keybinds"] {
        if let Some(value) = merged.get(key) {
            screen[key] = value.clone();
        }
    }
    lay_plain(&mut screen, own);
    screen
}

fn plugins(merged: &Merged, origins: &[String]) -> Vec<PluginConfig> {
    let items = merged.value.get("plugin").and_then(Value::as_array);
    let plugin = |(index, item): (usize, &Value)| {
        let origin = origin(origins, merged.trace.below("plugin").below(&index.to_string()).newest());
        let (spec, options) = match item {
            Value::Array(pair) => (pair.first()?, pair.get(1).cloned()),
            item => (item, None),
        };
        Some(PluginConfig { spec: spec.as_str()?.to_owned(), options: options.unwrap_or_default(), origin })
    };
    items.into_iter().flatten().enumerate().filter_map(plugin).collect()
}

fn typed(merged: &Merged, loaded: &Loaded, origins: &[String], sources: &Sources) -> Result<Config, ConfigError> {
    let at = View(&merged.value);
    let set = |key: &str| merged.value.get(key).and_then(Value::as_object).into_iter().flatten();
    let trace = |set: &str, name: &str| origin(origins, merged.trace.below(set).below(name).newest());
    let mut providers = BTreeMap::new();
    for (name, value) in set("provider") {
        let provider: Result<ProviderConfig, _> = serde_path_to_error::deserialize(value);
        let provider = provider.map_err(|error| ConfigError::Value {
            origin: trace("provider", name),
            place: None,
            key: format!("provider.{name}.{}", error.path()),
            // What the reader says repeats the value that it found, which may be a key.
            message: "is not what it should be".to_owned(),
        })?;
        providers.insert(name.clone(), provider);
    }
    let network = Network::of(&merged.value, &loaded.layers, sources);
    network.proxy.check().map_err(|message| ConfigError::Value {
        origin: trace("network", "proxy"),
        place: None,
        key: "network.proxy".to_owned(),
        message,
    })?;
    let mut agents = Vec::new();
    for (name, value) in set("agent") {
        let entries: Vec<&Value> = ["agent", "mode"]
            .iter()
            .flat_map(|set| loaded.layers.iter().filter_map(move |layer| layer.value.get(set)?.get(name)))
            .collect();
        let origin = trace("agent", name);
        let rules = agent::rules_of(&entries, &origin, &sources.home)?;
        agents.push(AgentConfig::of(name, value, rules, origin));
    }
    let instructions = at.texts("instructions").unwrap_or_default().into_iter().enumerate();
    let instructions =
        instructions.map(|(index, pattern)| Instruction { pattern, origin: trace("instructions", &index.to_string()) });
    let addresses = origin(origins, merged.trace.below("skills").below("urls").newest());
    let skill_urls = at.below("skills").texts("urls").unwrap_or_default().into_iter();
    let skill_urls = skill_urls.map(|url| SkillAddress { url, origin: addresses.clone() }).collect();
    let commands = set("command").map(|(name, value)| CommandConfig::of(name, value, trace("command", name)));
    Ok(Config {
        model: at.text("model"),
        small_model: at.text("small_model"),
        default_agent: at.text("default_agent"),
        disabled_providers: at.texts("disabled_providers").unwrap_or_default(),
        enabled_providers: at.texts("enabled_providers"),
        catalogue_url: at.below("catalogue").text("url"),
        commands: commands.collect(),
        instructions: instructions.collect(),
        rules: rules(loaded, sources)?,
        tools: set("tools").filter_map(|(name, on)| Some((name.clone(), on.as_bool()?))).collect(),
        small_tools: at.text("tool_profile").map(|profile| profile == "small"),
        keys_in_keyring: at.below("auth").text("store").as_deref() == Some("keyring"),
        tool_output: tool_output(at.below("tool_output")),
        images: images(at.below("attachment").below("image")),
        shell: at.text("shell"),
        snapshot: snapshot(at.below("snapshot")),
        compaction: compaction(at.below("compaction")),
        experimental: experimental(at.below("experimental")),
        limits: Limits {
            cost: at.below("limits").0["cost"].as_f64(),
            retries: at.below("limits").whole("retries"),
            retry_wait: at.below("limits").whole("retry_wait").map(Duration::from_secs),
            steps: at.below("limits").whole("steps"),
            task: task_limits(at.below("limits").below("task")),
            tasks: task_limits(at.below("limits").below("tasks")),
        },
        subagent_wake: at.switch("subagent_wake").unwrap_or(false),
        turn_summaries: at.switch("turn_summaries").unwrap_or(false),
        subagent_depth: at.whole("subagent_depth"),
        username: at.text("username").or_else(|| os_user(sources)),
        share: match at.text("share").as_deref() {
            Some("auto") => Share::Auto,
            Some("disabled") => Share::Disabled,
            Some(_) | None => Share::Manual,
        },
        log_level: at.text("logLevel"),
        mcp: set("mcp").filter_map(|(name, server)| Some((name.clone(), McpServer::of(server)?))).collect(),
        hooks: merged.value.get("hooks").cloned().unwrap_or_default(),
        formatters: Formatters::of(at.below("formatter").0),
        watch_ignore: merged.value.get("watcher").map(|_| at.below("watcher").texts("ignore").unwrap_or_default()),
        plugins: plugins(merged, origins),
        search_url: at.below("search").text("url"),
        tools_budget: at.whole("tools_budget"),
        skill_paths: at.below("skills").texts("paths").unwrap_or_default(),
        skill_urls,
        sandbox: Sandbox::of(at.below("sandbox").0),
        network,
        // Whatever else an object may say one day, who writes one wants the record.
        retention: retention(at.below("retention")),
        audit: merged.value.get("audit").map(|audit| audit.as_bool().unwrap_or(true)),
        flags: Flags::of(sources),
        directories: sources.directories(),
        providers,
        agents,
        ..Config::default()
    })
}

fn task_limits(at: View<'_>) -> TaskLimits {
    TaskLimits {
        cost: at.0["cost"].as_f64(),
        tokens: at.whole("tokens"),
        steps: at.whole("steps"),
        time: at.whole("seconds").map(Duration::from_secs),
    }
}

fn rules(loaded: &Loaded, sources: &Sources) -> Result<Vec<Rule>, ConfigError> {
    let layer = |layer: &'_ load::Layer| -> (Option<Value>, Option<Value>) {
        (layer.value.get("tools").cloned(), layer.value.get("permission").cloned())
    };
    let parts: Vec<_> = loaded.layers.iter().map(layer).collect();
    let layers: Vec<permission::Layer<'_>> = parts
        .iter()
        .map(|(tools, rules)| permission::Layer { tools: tools.as_ref(), permission: rules.as_ref() })
        .collect();
    permission::rules(&layers, &sources.home).map_err(|(key, message)| ConfigError::Value {
        origin: "all settings together".to_owned(),
        place: None,
        key,
        message,
    })
}

/// The rules that only hold back, of those that `which` picks from each layer.
fn bounds(
    layers: &[load::Layer],
    sources: &Sources,
    which: impl Fn(&Beside) -> Option<&Value>,
) -> Result<Vec<Rule>, ConfigError> {
    let rules: Vec<&Value> = layers.iter().filter_map(|layer| which(&layer.beside)).collect();
    agent::rules_of(&rules, "the project's settings together", &sources.home)
}

fn os_user(sources: &Sources) -> Option<String> {
    ["USER", "LOGNAME"].iter().find_map(|name| sources.env(name)).map(str::to_owned)
}

fn tool_output(at: View<'_>) -> ToolOutput {
    let usual = ToolOutput::default();
    ToolOutput {
        max_lines: at.size("max_lines").unwrap_or(usual.max_lines),
        max_bytes: at.size("max_bytes").unwrap_or(usual.max_bytes),
    }
}

fn images(at: View<'_>) -> ImageLimits {
    let usual = ImageLimits::default();
    let pixels = |key: &str| at.whole(key).map(|pixels| u32::try_from(pixels).unwrap_or(u32::MAX));
    ImageLimits {
        auto_resize: at.switch("auto_resize").unwrap_or(usual.auto_resize),
        max_width: pixels("max_width").unwrap_or(usual.max_width),
        max_height: pixels("max_height").unwrap_or(usual.max_height),
        max_base64_bytes: at.size("max_base64_bytes").unwrap_or(usual.max_base64_bytes),
    }
}

fn snapshot(at: View<'_>) -> Snapshot {
    let (quota, retention) = (&at.0["quota"], &at.0["retention"]);
    Snapshot {
        enabled: at.0.as_bool().unwrap_or(true),
        quota: quota.as_u64().or_else(|| units::bytes(quota.as_str()?)),
        retention: retention.as_u64().map(units::days).or_else(|| units::span(retention.as_str()?)),
    }
}

fn retention(at: View<'_>) -> Retention {
    let span = |value: &Value| value.as_u64().map(units::days).or_else(|| units::span(value.as_str()?));
    Retention { sessions: span(at.0).or_else(|| span(&at.0["sessions"])), count: at.0["count"].as_u64() }
}

fn compaction(at: View<'_>) -> Compaction {
    let usual = Compaction::default();
    Compaction {
        auto: at.switch("auto").unwrap_or(usual.auto),
        prune: at.switch("prune").unwrap_or(usual.prune),
        tail_turns: at.whole("tail_turns"),
        preserve_recent_tokens: at.whole("preserve_recent_tokens"),
        reserved: at.whole("reserved"),
    }
}

fn experimental(at: View<'_>) -> Experimental {
    let on = |key: &str| at.switch(key).unwrap_or_default();
    Experimental {
        batch_tool: on("batch_tool"),
        primary_tools: at.texts("primary_tools").unwrap_or_default(),
        continue_loop_on_deny: on("continue_loop_on_deny"),
        disable_paste_summary: on("disable_paste_summary"),
        open_telemetry: on("openTelemetry"),
        mcp_timeout: at.whole("mcp_timeout").map(Duration::from_millis),
        policies: policies(at),
    }
}

fn policies(at: View<'_>) -> Vec<Policy> {
    let list = at.0["policies"].as_array().into_iter().flatten();
    let policy = |policy: &Value| {
        let policy = View(policy);
        Some(Policy { resource: policy.text("resource")?, allows: policy.text("effect")? == "allow" })
    };
    list.filter_map(policy).collect()
}

/// A checked value whose parts are of the right kind where they are there.
#[derive(Clone, Copy)]
struct View<'v>(&'v Value);

impl<'v> View<'v> {
    fn below(self, key: &str) -> View<'v> {
        View(self.0.get(key).unwrap_or(&Value::Null))
    }

    fn text(self, key: &str) -> Option<String> {
        self.0.get(key)?.as_str().map(str::to_owned)
    }

    fn texts(self, key: &str) -> Option<Vec<String>> {
        let items = self.0.get(key)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    fn whole(self, key: &str) -> Option<u64> {
        self.0.get(key)?.as_u64()
    }

    fn size(self, key: &str) -> Option<usize> {
        self.whole(key).map(|size| usize::try_from(size).unwrap_or(usize::MAX))
    }

    fn switch(self, key: &str) -> Option<bool> {
        self.0.get(key)?.as_bool()
    }
}

#[cfg(test)]
pub(crate) mod tests;
