//! `haft formatter …`

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// `haft formatter`
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Formatters are off. `\"formatter\": true` in the settings has those run that are installed and used by the project, each time
the agent has written a file.

Examples:
  haft formatter list
  haft formatter list src/main.rs")]
pub(crate) enum Formatter {
    /// The formatters there are, and whether each is used here, or why not
    List {
        /// Only those for this file, in the order in which they work on it
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// As one JSON array
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}
