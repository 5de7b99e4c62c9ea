//! What may stand on the command line.

mod agent;
mod audit;
mod auth;
mod chat;
mod debug;
mod doctor;
mod formatter;
mod mcp;
mod models;
mod plugin;
mod run;
mod session;
mod skill;
mod tool;
mod trust;
mod undo;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};

pub(crate) use self::agent::{Agent, Create, ModeArg};
pub(crate) use self::audit::Audit;
pub(crate) use self::auth::{Auth, Login};
pub(crate) use self::chat::Chat;
pub(crate) use self::debug::{Debug, DebugAgents, DebugConfig, DebugRequest, DebugRules, DebugShell, InFolder};
pub(crate) use self::doctor::{Doctor, RungArg};
pub(crate) use self::formatter::Formatter;
pub(crate) use self::mcp::{Mcp, McpAdd, McpAuth, McpAuthList, McpServe};
pub(crate) use self::models::Models;
pub(crate) use self::plugin::{Plugin, PluginInstall, PluginNamed};
pub(crate) use self::run::{Format, Init, Run};
pub(crate) use self::session::{ExportFormat, Pack, Replay, Session, SessionExport, SessionImport};
pub(crate) use self::skill::{Named, Skill};
pub(crate) use self::tool::Tool;
pub(crate) use self::trust::Trust;
pub(crate) use self::undo::{Diff, Fork, How, Redo, Undo};

/// A coding agent in one binary, built around its tools.
///
/// haft gives a language model tools to read, change and run a project, and puts each use of them behind your rules:
/// free inside the project, where commands are caged, and a question at its border.
#[derive(Debug, Parser)]
#[command(
    name = "haft",
    version,
    max_term_width = 100,
    after_help = "Start here: `haft` alone is a chat about this folder. `haft demo` shows the whole loop on a scratch \
                  project, without a key or a network."
)]
pub(crate) struct Cli {
    /// What to do; a chat if left out
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub chat: Chat,

    /// Let this project's own settings count like yours for this run, whatever they do; see `haft trust`
    #[arg(long, global = true, hide_short_help = true)]
    pub trust: bool,

    /// Go nowhere but to this machine and to the addresses of providers in your own settings
    #[arg(long, global = true, hide_short_help = true)]
    pub offline: bool,

    /// Leave out all plug-ins
    #[arg(long, global = true, hide_short_help = true)]
    pub pure: bool,

    /// Write the log to stderr as well, with everything in it
    #[arg(long, global = true, hide_short_help = true)]
    pub print_logs: bool,

    /// Tell on stderr what is done as it is done: settings, requests, tokens, cost, how long each call took
    #[arg(long, global = true, hide_short_help = true)]
    pub verbose: bool,
}

/// What haft can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole loop on a scratch project: no key, no network, only the model's words are played
    Demo(Demo),
    /// Give the agent one prompt in this folder and wait for the end
    Run(Box<Run>),
    /// Let the agent write or improve AGENTS.md, which tells every agent how to work in this project
    Init(Init),
    /// Look at the tools, or run one without a model
    #[command(subcommand)]
    Tool(Tool),
    /// Look at past sessions
    #[command(subcommand)]
    Session(Session),
    /// What sessions used and cost
    Stats(Stats),
    /// Take over OpenCode's sessions and keys; OpenCode keeps them as well, and may run
    ImportOpencode(ImportOpencode),
    /// Look at what was allowed for always, and take it back
    #[command(subcommand)]
    Permission(Permission),
    /// Look at the record of every question, decision and effect, and whether it is as it was written
    #[command(subcommand)]
    Audit(Audit),
    /// Look at what this project's own settings would do, and say whether they may
    Trust(Trust),
    /// The models that can be asked, what they take and what they cost
    Models(Models),
    /// Store keys, and sign in to vendors and organisations
    #[command(subcommand, visible_alias = "providers")]
    Auth(Auth),
    /// The agents that can be named with --agent
    #[command(subcommand)]
    Agent(Agent),
    /// Servers of further tools, and haft's tools for other agents
    #[command(subcommand)]
    Mcp(Mcp),
    /// Packages of the npm registry as plug-ins
    #[command(subcommand, visible_alias = "plug")]
    Plugin(Plugin),
    /// The skills that models may load, and what is wrong with them
    #[command(subcommand)]
    Skill(Skill),
    /// The programs that tidy files after an edit, and which of them are used here
    #[command(subcommand)]
    Formatter(Formatter),
    /// The commands that are called with a slash
    #[command(name = "command", subcommand)]
    Slash(Named),
    /// Try each promise of the cage on this machine, and say what holds
    Doctor(Doctor),
    /// Print what one of haft's mechanisms decides, and why
    #[command(subcommand)]
    Debug(Debug),
    /// Print a script that completes haft's arguments in a shell
    Completion(Completion),
    /// Print the manual page
    Man(Man),
}

/// `haft demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Make the scratch project here instead of in the temporary folder; it must not exist yet
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Do not wait between the model's words as the recording did
    #[arg(long)]
    pub fast: bool,
}

/// `haft stats`
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Only the last N days; 0 for today
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub days: Option<u64>,
    /// At most N tools
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub tools: Option<usize>,
    /// Also each model, at most N of them
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "100", value_hint = ValueHint::Other)]
    pub models: Option<usize>,
    /// Only this folder's sessions (`.` for this one), or those of the project with this id
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub project: Option<String>,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `haft import-opencode`
#[derive(Debug, Args)]
pub(crate) struct ImportOpencode {
    /// OpenCode's data folder; the usual one if left out
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub from: Option<PathBuf>,
    /// Only say what would be taken over
    #[arg(long)]
    pub dry_run: bool,
    /// Say what was done as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `haft permission`
#[derive(Debug, Subcommand)]
pub(crate) enum Permission {
    /// What was allowed for always in this project
    List {
        /// As one JSON array
        #[arg(long)]
        json: bool,
        /// Those of all projects
        #[arg(long)]
        all: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Ask again for what was allowed for always in this project
    Revoke {
        /// An id, as `list` shows it, or a permission such as `bash`
        #[arg(required_unless_present = "all")]
        permission: Option<String>,
        /// The pattern, as `list` shows it; all of the permission if left out
        pattern: Option<String>,
        /// Everything that was allowed in this project
        #[arg(long, conflicts_with = "permission")]
        all: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

/// `haft completion`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bash  haft completion bash > ~/.local/share/bash-completion/completions/haft
  zsh   haft completion zsh > \"${fpath[1]}/_haft\"
  fish  haft completion fish > ~/.config/fish/completions/haft.fish")]
pub(crate) struct Completion {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `haft man`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haft man | man -l -
  haft man tool call > haft-tool-call.1")]
pub(crate) struct Man {
    /// The page of this command, such as `tool call`; the one of haft itself if left out
    pub command: Vec<String>,
}

/// Which model.
#[derive(Debug, Args, Default)]
pub(crate) struct ModelArg {
    /// Which model: VENDOR/MODEL as configured, script/FILE to play a written scenario, replay/FILE a recording
    #[arg(long, short, value_name = "VENDOR/MODEL", env = "HAFT_MODEL")]
    pub model: Option<String>,
}
