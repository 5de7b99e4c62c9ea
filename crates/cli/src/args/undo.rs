//! `haft session undo`, `redo`, `diff` and `fork`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `haft session undo`
#[derive(Debug, Args)]
#[command(after_help = "\
Files that somebody else changed since are left as they are, and named; --force takes them too, and what
they held comes back with `haft session redo`. What was undone is gone for good with the next prompt.

Exit: 0 all of it was done, 1 something was left, 2 wrong usage, 130 nobody wanted it.")]
pub(crate) struct Undo {
    /// The session; the newest of this folder if left out
    pub id: Option<String>,
    /// Before this message; before the last prompt if left out
    #[arg(long, value_name = "MESSAGE", value_hint = ValueHint::Other)]
    pub to: Option<String>,
    #[command(flatten)]
    pub how: How,
}

/// `haft session redo`
#[derive(Debug, Args)]
#[command(after_help = "Exit: 0 all of it was done, 1 something was left, 2 wrong usage, 130 nobody wanted it.")]
pub(crate) struct Redo {
    /// The session; the newest of this folder if left out
    pub id: Option<String>,
    /// Everything up to this message, which stays undone; the first prompt that was undone if left out
    #[arg(long, value_name = "MESSAGE", value_hint = ValueHint::Other)]
    pub to: Option<String>,
    /// Everything
    #[arg(long, conflicts_with = "to")]
    pub all: bool,
    #[command(flatten)]
    pub how: How,
}

/// What both have in common.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Also files that somebody else changed since: these, or all
    #[arg(long, value_name = "FILE", num_args = 0.., value_hint = ValueHint::FilePath)]
    pub force: Option<Vec<PathBuf>>,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// As one JSON object
    #[arg(long)]
    pub json: bool,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft session diff`
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The session; the newest of this folder if left out
    pub id: Option<String>,
    /// Only what the turn of this message did
    #[arg(long, value_name = "MESSAGE", value_hint = ValueHint::Other)]
    pub turn: Option<String>,
    /// Only what the last turn did
    #[arg(long, conflicts_with = "turn")]
    pub last: bool,
    /// As one JSON array: [{"file", "patch", "additions", "deletions", "status"}]
    #[arg(long)]
    pub json: bool,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft session fork`
#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The session
    pub id: String,
    /// Only what stands before this message
    #[arg(long, value_name = "MESSAGE", value_hint = ValueHint::Other)]
    pub at: Option<String>,
}
