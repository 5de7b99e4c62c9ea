//! `haft session …`

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// `haft session`
#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// The sessions of this folder, newest first
    List {
        /// Those of all folders
        #[arg(long)]
        all: bool,
        /// At most so many
        #[arg(long, short = 'n', value_name = "N", value_hint = ValueHint::Other, default_value_t = 100)]
        max_count: usize,
        /// As one JSON array
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// What was said and done in a session
    Show {
        /// The session; the newest of this folder if left out
        id: Option<String>,
        /// As one JSON object: {"info", "messages": [{"info", "parts"}]}
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Sum a session up, so that it goes on with the summary; prints it. What was said stays stored
    Compact {
        /// The session; the newest of this folder if left out
        id: Option<String>,
        /// What the summary is to dwell on
        #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
        focus: Option<String>,
        /// The model that sums it up, as VENDOR/MODEL; the session's own if left out
        #[arg(long, short = 'm', value_name = "VENDOR/MODEL", value_hint = ValueHint::Other)]
        model: Option<String>,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Copy a session into a new one, which can go another way; prints the new one's id
    Fork {
        /// The session
        id: String,
    },
}
