//! `haft agent …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::ModelArg;

/// `haft agent`
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// The agents there are in this folder
    List {
        /// As one JSON array
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Let a model write an agent from a description of it
    Create(Create),
}

/// `haft agent create`
#[derive(Debug, Args)]
#[command(after_help = "\
What is not given is asked at a terminal; elsewhere --description must be given, and the rest is what the
questions offer first.

Examples:
  haft agent create
  haft agent create --description \"reviews SQL migrations\" --mode subagent --permissions read,grep,glob
  haft agent create --description \"writes release notes\" --path .haft/agent")]
pub(crate) struct Create {
    /// What the agent is to do
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub description: Option<String>,

    /// The folder that its file is written to; `agent` in haft's own folder of settings if left out
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub path: Option<PathBuf>,

    /// Who may choose it: people, other agents, or both
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,

    /// What it may do, with commas between; all others are denied. `all` denies none
    #[arg(long, value_name = "LIST", value_hint = ValueHint::Other)]
    pub permissions: Option<String>,

    #[command(flatten)]
    pub model: ModelArg,

    /// Work in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// Who may choose an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// People and other agents
    All,
    /// People
    Primary,
    /// Other agents, for tasks
    Subagent,
}
