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
        /// Also those that were put away
        #[arg(long)]
        archived: bool,
        /// Only those with TEXT in their title
        #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
        search: Option<String>,
        /// At most so many
        #[arg(long, short = 'n', value_name = "N", value_hint = ValueHint::Other, default_value_t = 100, value_parser = many)]
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
        /// As one JSON object: {"info", "messages": [{"info", "parts"}]}; with --follow each event on a line
        #[arg(long)]
        json: bool,
        /// Only the last N messages
        #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
        last: Option<usize>,
        /// Go on showing what is said and done until nobody works on it any more
        #[arg(long, short)]
        follow: bool,
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
    /// Have a small model say in a few words what the last turn of a session came to; it is kept beside the prompt
    Summary {
        /// The session; the newest of this folder if left out
        id: Option<String>,
        /// Every turn: those that have no words yet are summed up, and all are printed
        #[arg(long)]
        all: bool,
        /// As JSON: one line for each turn, {"messageID", "title", "body"}
        #[arg(long)]
        json: bool,
        /// The model that sums up, as VENDOR/MODEL; the `summary` agent's own or a small one if left out
        #[arg(long, short = 'm', value_name = "VENDOR/MODEL", value_hint = ValueHint::Other)]
        model: Option<String>,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Remove sessions, with the tasks that they started
    Delete {
        /// The sessions
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Put a session away: lists leave it out unless asked
    Archive {
        /// The session
        id: String,
        /// Take it out again
        #[arg(long)]
        undo: bool,
    },
    /// Keep a session whatever `retention` says
    Pin {
        /// The session
        id: String,
        /// Let it go with the others again
        #[arg(long)]
        undo: bool,
    },
    /// Give a session another title
    Rename {
        /// The session
        id: String,
        /// The title
        title: String,
    },
    /// Write a session as a file that haft and OpenCode can read, or one for people
    Export(SessionExport),
    /// Read a session that haft or OpenCode wrote, from a file or an address; it becomes one of this folder
    Import(SessionImport),
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

    /// The file, which must not be there yet; `-` for standard output; haft-ID.json in this folder if left out
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Leave out names and contents of files, and with them all that tools read, did and gave
    #[arg(long)]
    pub no_files: bool,

    /// Write it with the names of files without asking
    #[arg(long, short)]
    pub yes: bool,
}

/// `haft session export`
#[derive(Debug, Args)]
pub(crate) struct SessionExport {
    /// The session; the newest of this folder if left out
    pub id: Option<String>,
    /// As JSON, which can be read again, or as Markdown
    #[arg(long, value_enum, default_value_t = ExportFormat::Json)]
    pub format: ExportFormat,
    /// Put `[redacted:KIND:ID]` in the place of everything that was said, read and named
    #[arg(long)]
    pub sanitize: bool,
    /// Into this file, which must not exist; on standard output if left out
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// How a session is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// `{"info", "messages": [{"info", "parts"}]}`
    Json,
    /// For people
    Md,
}

/// `haft session import`
#[derive(Debug, Args)]
pub(crate) struct SessionImport {
    /// The file; `-` for standard input; or an address: of an export, or of a share page of OpenCode's
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Under a new id, beside the one that has it
    #[arg(long)]
    pub new: bool,
    /// Put it in the place of the one that has its id without asking
    #[arg(long, short, conflicts_with = "new")]
    pub yes: bool,
    /// Make it one of this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// How many, at least one.
fn many(text: &str) -> Result<usize, String> {
    let many = text.parse::<usize>().ok().filter(|many| *many > 0);
    many.ok_or_else(|| "it takes a number from 1 on".to_owned())
}
