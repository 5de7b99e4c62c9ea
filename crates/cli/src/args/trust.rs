//! `haft trust`

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `haft trust`
#[derive(Debug, Args)]
#[command(after_help = "\
A project's own settings, agents and commands can hold back as they like. What gives more than your own settings
do, or runs a program, counts only once you trust it, exactly as it is now: rules that allow, providers, MCP
servers, plug-ins, tools, hooks, formatters, command lines in slash commands, values from your variables.

Examples:
  haft trust                 show all of that, and ask
  haft trust --yes           trust it, without a question
  haft trust --list          every answer that was given
  haft trust --revoke        forget those about this project
  haft run --trust \"…\"       for one run; HAFT_TRUST=1 says the same

Exit: 0 done, 2 wrong usage, 3 nobody was there to answer.")]
pub(crate) struct Trust {
    /// Trust what there is, without a question
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    pub yes: bool,
    /// Show every answer that was given
    #[arg(long, conflicts_with = "revoke")]
    pub list: bool,
    /// Forget the answer of this id, or all about this project
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub revoke: Option<String>,
    /// As JSON; asks nobody
    #[arg(long, conflicts_with = "revoke")]
    pub json: bool,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
