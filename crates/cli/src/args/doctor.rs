//! `haft doctor`

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// `haft doctor`
#[derive(Debug, Args)]
#[command(after_help = "\
Each promise is tried with a real command in a scratch project, as a model's command would be run in this
folder; nothing of yours is changed.

  held         it was refused
  repaired     it was done, and undone when the command had ended
  failed       it was done, or nobody could tell
  unsupported  this machine has nothing to try it with, or its way of holding cages does not cover it

Exit: 0 when nothing failed, 1 otherwise.")]
pub(crate) struct Doctor {
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
    /// Hold the cage this way, or not at all
    #[arg(long, value_name = "RUNG")]
    pub rung: Option<RungArg>,
    /// Under the settings of this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// What a command in the cage does
    #[arg(long, hide = true, num_args = 1.., value_name = "WHAT", allow_hyphen_values = true)]
    pub attempt: Vec<OsString>,
}

/// A way to hold cages.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RungArg {
    /// Mounts, processes and network of its own, by `bwrap`
    Namespaces,
    /// Landlock and a filter of system calls
    Landlock,
    /// The sandbox of macOS
    Seatbelt,
}
