//! `haft session …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::ModelArg;
use super::undo::{Diff, Fork, Redo, Undo};

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
    Fork(Fork),
    /// Take back the last prompt, with what was done to files for it; lists the files first
    Undo(Undo),
    /// Bring back what was undone; lists the files first
    Redo(Redo),
    /// What a session did to files
    Diff(Diff),
    /// Run a session again with the model's recorded answers and real tools, in a copy of its project, and say where the
    /// results differ
    Replay(Box<Replay>),
    /// Write a session into one file for a bug report, without keys and names
    Pack(Pack),
}

/// `haft session replay`
#[derive(Debug, Args)]
#[command(after_help = "\
The tools run for real, in a cage without a network, in a copy of the project as it was when the
session began. What comes from the network or from a person is not compared.

Exit: 0 the results are the same, 1 they differ or it could not be replayed, 130 it was stopped.
With --from: as `haft run`.")]
pub(crate) struct Replay {
    /// The session, or a file that `haft session pack` wrote
    #[arg(value_hint = ValueHint::FilePath)]
    pub session: String,

    /// Copy this folder in the place of the session's own
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// Keep the copy
    #[arg(long)]
    pub keep: bool,

    /// As one JSON object
    #[arg(long, conflicts_with = "from")]
    pub json: bool,

    /// Go on for real from before this answer, counted from 1, in the copy; with --model, with another model
    #[arg(long, value_name = "STEP", value_hint = ValueHint::Other)]
    pub from: Option<usize>,

    #[command(flatten)]
    pub model: ModelArg,

    /// With --from: say yes to everything that no rule denies
    #[arg(long, requires = "from")]
    pub auto: bool,
}

/// `haft session pack`
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The session
    #[arg(value_hint = ValueHint::Other)]
    pub session: String,

    /// The file, which must not be there yet; haft-ID.json in this folder if left out
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Leave out names and contents of files, and with them all that tools read, did and gave
    #[arg(long)]
    pub no_files: bool,
}
