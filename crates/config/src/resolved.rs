//! Settings as the program uses them.

mod typed;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use haft_permission::Rule;
use serde_json::Value;

use self::typed::{bounds, screen, typed};
use crate::agent::AgentConfig;
use crate::command::CommandConfig;
use crate::error::ConfigError;
use crate::finish::finish;
use crate::flags::Flags;
use crate::formatter::Formatters;
use crate::load::{self, Variables};
use crate::mcp::McpServer;
use crate::network::Network;
use crate::provider::ProviderConfig;
use crate::sandbox::Sandbox;
use crate::sources::Sources;
use crate::stake::Stakes;
use crate::trust::Trust;

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

#[cfg(test)]
pub(crate) mod tests;
