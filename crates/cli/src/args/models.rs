//! `haft models`

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `haft models`
#[derive(Debug, Args)]
#[command(after_help = "\
Shown is what can be asked now: models of vendors whose key is there, of servers on this machine,
and those that cost nothing. On a terminal with what they take and cost, as far as there is room;
with --verbose in any case; else names alone.

Examples:
  haft models
  haft models anthropic --verbose
  haft models --all | grep sonnet
  haft models --json | jq '.[] | select(.capabilities.input.pdf) | .id'")]
pub(crate) struct Models {
    /// All models of this vendor, also without a key
    pub vendor: Option<String>,
    /// As one JSON array, with all that is known
    #[arg(long)]
    pub json: bool,
    /// With what they take, cost and can do, also where nobody looks
    #[arg(long)]
    pub verbose: bool,
    /// All models of all vendors, whether they can be asked now or not
    #[arg(long)]
    pub all: bool,
    /// Fetch the list of models anew first, from the address in `catalogue.url` or HAFT_MODELS_URL
    #[arg(long)]
    pub refresh: bool,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
