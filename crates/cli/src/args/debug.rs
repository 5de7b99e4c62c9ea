//! `haft debug …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::ModelArg;

/// `haft debug`
#[derive(Debug, Subcommand)]
pub(crate) enum Debug {
    /// The settings that hold in this folder, and the file that each comes from
    Config(DebugConfig),
    /// The folders and files that haft uses
    Paths(InFolder),
    /// The agents there are in this folder, each with its rules
    Agents(DebugAgents),
    /// Which rule decides about a permission, and how
    Rules(DebugRules),
    /// What a command line would do, as the gate sees it
    Shell(DebugShell),
    /// The skills there are in this folder, as JSON
    Skill(InFolder),
    /// What would be recorded around a command in this folder, and how long a look takes
    Snapshot(InFolder),
    /// The JSON Schema of the settings
    Schema,
    /// The first request that `haft run` would send, unsent
    Request(DebugRequest),
}

/// A folder to look at.
#[derive(Debug, Args)]
pub(crate) struct InFolder {
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft debug config`
#[derive(Debug, Args)]
pub(crate) struct DebugConfig {
    /// Print keys and other secrets, too
    #[arg(long)]
    pub show_secrets: bool,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft debug agents`
#[derive(Debug, Args)]
pub(crate) struct DebugAgents {
    /// This agent alone
    pub name: Option<String>,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft debug rules`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haft debug rules edit src/main.rs
  echo '{\"permission\": \"bash\", \"pattern\": \"git push\"}' | haft debug rules --jsonl --agent plan")]
pub(crate) struct DebugRules {
    /// The permission, such as `edit`; all rules are printed if left out
    #[arg(requires = "pattern")]
    pub permission: Option<String>,
    /// What it is asked for, such as a path or a command
    pub pattern: Option<String>,
    /// Read questions from standard input, a line each
    #[arg(long, conflicts_with = "permission")]
    pub jsonl: bool,
    /// Under the rules of this agent
    #[arg(long, value_name = "AGENT", value_hint = ValueHint::Other)]
    pub agent: Option<String>,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft debug shell`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haft debug shell 'git diff | tee changes.txt'
  echo '{\"command\": \"rm -rf build\", \"cwd\": \"/tmp\"}' | haft debug shell --jsonl")]
pub(crate) struct DebugShell {
    /// The command line
    #[arg(required_unless_present = "jsonl")]
    pub command: Option<String>,
    /// Read command lines from standard input, a line each
    #[arg(long, conflicts_with = "command")]
    pub jsonl: bool,
    /// As if it ran in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft debug request`
#[derive(Debug, Args)]
pub(crate) struct DebugRequest {
    /// The prompt; several words are joined with blanks
    #[arg(value_name = "MESSAGE")]
    pub message: Vec<String>,
    #[command(flatten)]
    pub model: ModelArg,
    /// Which agent answers
    #[arg(long, value_name = "AGENT", value_hint = ValueHint::Other)]
    pub agent: Option<String>,
    /// Show this file or picture to the model; may be given several times
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, action = clap::ArgAction::Append)]
    pub file: Vec<PathBuf>,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
