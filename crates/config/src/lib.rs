//! Files, environment and flags in; one checked [`Config`] out.
//!
//! At each place where OpenCode looks for `opencode.json(c)` that file is read first, and `haft.json(c)` of the same
//! place is laid over it. Objects meet key by key, `instructions` and `plugin` join, everything else replaces;
//! `{env:NAME}` and `{file:path}` stand for what they name and can never break the JSON around them.
//!
//! The way of a setting: [`Sources`] names the places; `document` reads a text into a tree that knows its lines;
//! `schema` holds it against the data in `keys`; `merge` lays the layers over each other and remembers where each
//! value came from; `finish` translates older spellings; `resolved` gives it types.
//!
//! **Never here:** writing. No file of the user's is ever changed, nothing is fetched, and nothing here is global:
//! `cli` hands each crate the values it needs.

mod agent;
mod border;
mod care;
mod code;
mod command;
mod disk;
mod document;
mod error;
mod file;
mod finish;
mod flags;
mod formatter;
mod front;
mod json_schema;
mod keys;
mod load;
mod markdown;
mod mcp;
mod merge;
mod network;
mod node;
mod normal;
mod permission;
mod provider;
mod resolved;
mod sandbox;
mod scan;
mod schema;
mod secret;
mod shown;
mod skills;
mod sources;
mod stake;
mod substitute;
mod tighten;
mod trust;
mod units;
mod write;

pub use agent::{AgentConfig, Mode, agent};
pub use code::{PLUGIN_LOCK, code_folders};
pub use command::{CommandConfig, hints};
pub use error::{ConfigError, Place};
pub use flags::Flags;
pub use formatter::{FormatterConfig, Formatters};
pub use front::{FrontMatter, front_matter};
pub use json_schema::schema;
pub use load::changes;
pub use mcp::{McpGrant, McpIdp, McpOauth, McpPlace, McpServer};
pub use network::{Network, Proxy};
pub use permission::rules_from;
pub use provider::{Limit, Modalities, ModelConfig, ModelProvider, Options, Prices, ProviderConfig};
pub use resolved::{
    Compaction, Config, Experimental, ImageLimits, Instruction, Limits, PluginConfig, Policy, Retention, Share,
    SkillAddress, Snapshot, TaskLimits, ToolOutput, load,
};
pub use sandbox::{Sandbox, SandboxMode};
pub use shown::{Secrets, Shown, show};
pub use skills::{Skill, Skills, sample, skills};
pub use sources::Sources;
pub use stake::{Effect, Stake, Stakes};
pub use tighten::BUILT_IN_AGENTS;
pub use trust::Trust;
pub use write::{with_entry, with_item};
