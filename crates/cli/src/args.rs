//! What may stand on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A coding agent in one binary, built around its tools.
///
/// haft gives a language model tools to read, change and run a project, and puts each use of them behind your rules:
/// free inside the project, a question at its border and before each command.
#[derive(Debug, Parser)]
#[command(
    name = "haft",
    version,
    max_term_width = 100,
    after_help = "Start here: `haft demo` shows the whole loop on a scratch project, without a key or a network."
)]
pub(crate) struct Cli {
    /// What to do; help if left out.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Write the log to stderr as well, with everything in it.
    #[arg(long, global = true, hide_short_help = true)]
    pub print_logs: bool,
}

/// What haft can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole loop on a scratch project: no key, no network, only the model's words are played
    Demo(Demo),
    /// Give the agent one prompt in this folder and wait for the end
    Run(Run),
    /// Look at the tools, or run one without a model
    #[command(subcommand)]
    Tool(Tool),
    /// Look at past sessions
    #[command(subcommand)]
    Session(Session),
}

/// `haft demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Make the scratch project here instead of in the temporary folder; it must not exist yet
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Do not wait between the model's words as the recording did
    #[arg(long)]
    pub fast: bool,
}

/// `haft run`
#[derive(Debug, Args)]
#[command(after_help = "\
The prompt is the words given, then what comes on standard input, if anything does.

Examples:
  haft run \"why does the parser test fail?\"
  git diff | haft run \"review this\" --model openai/gpt-5.1
  haft run --continue \"now fix it\" --auto
  haft run \"say hello\" --model script/hello.jsonl --format json

Where a rule says `ask`, a person at the terminal is asked; without one it counts as no, unless --auto is given.
A session goes on with the model it was run with, unless --model or HAFT_MODEL names one.
Exit: 0 the turn ended (also when you refused a call), 1 it failed, 2 wrong usage, 130 it was stopped (Ctrl-C, TERM,
a closed terminal).")]
pub(crate) struct Run {
    /// The prompt; several words are joined with blanks
    #[arg(value_name = "MESSAGE")]
    pub message: Vec<String>,

    #[command(flatten)]
    pub model: ModelArg,

    /// Go on with this session
    #[arg(long, short, value_name = "ID", conflicts_with = "continue")]
    pub session: Option<String>,

    /// Go on with the newest session of this folder
    #[arg(long = "continue", short)]
    pub r#continue: bool,

    /// Show this text file to the model; may be given several times
    #[arg(long, short, value_name = "FILE", action = clap::ArgAction::Append)]
    pub file: Vec<PathBuf>,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Default)]
    pub format: Format,

    /// Say yes to everything that no rule denies
    #[arg(long)]
    pub auto: bool,

    /// Work in this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// The title of a new session; the beginning of the prompt if left out
    #[arg(long, value_name = "TITLE")]
    pub title: Option<String>,

    /// Print what the model thinks, too
    #[arg(long)]
    pub thinking: bool,

    /// Record the model's answers into this file, to be played with --model replay/FILE
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// Which model.
#[derive(Debug, Args, Default)]
pub(crate) struct ModelArg {
    /// Which model: VENDOR/MODEL as configured, script/FILE to play a written scenario, replay/FILE a recording
    #[arg(long, short, value_name = "VENDOR/MODEL", env = "HAFT_MODEL")]
    pub model: Option<String>,
}

/// What `run` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people; the final answer on stdout, everything else on stderr where stdout is not a terminal
    Default,
    /// One JSON object a line for each finished part
    Json,
}

/// `haft tool`
#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// The tools that the agent would be offered in this folder
    List {
        /// As one JSON array
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        model: ModelArg,
        /// Look at this folder
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// A tool's description and the schema of its arguments
    Show {
        /// The tool
        name: String,
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Run one tool, through the same gate as an agent's calls
    #[command(after_help = "\
Examples:
  haft tool call read '{\"filePath\": \"README.md\", \"limit\": 5}'
  echo '{\"command\": \"make test\"}' | haft tool call bash - --auto
  printf '%s\\n' '{\"tool\":\"read\",\"args\":{\"filePath\":\"a\"}}' | haft tool call --jsonl

With --jsonl each line {\"tool\",\"args\"} of standard input is answered, in order, with a line
{\"title\",\"output\",\"metadata\",\"attachments\",\"error\"}; `error` is null or {\"kind\",\"message\"}, the kinds being
bad_input, denied, cancelled and failed. One process is one session.
Exit: 0 done, 1 failed, 2 wrong usage or arguments, 3 denied, 130 stopped; with --jsonl 0 when every line was answered.")]
    Call {
        /// The tool
        #[arg(required_unless_present = "jsonl")]
        name: Option<String>,
        /// Its arguments as JSON, or - to read them from standard input; none if left out
        args: Option<String>,
        /// Read calls from standard input, a line each
        #[arg(long, conflicts_with_all = ["name", "args", "json"])]
        jsonl: bool,
        /// Print the whole result as one JSON object
        #[arg(long)]
        json: bool,
        /// Say yes to everything that no rule denies
        #[arg(long)]
        auto: bool,
        /// Work in this folder
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// The exact definitions a model would be sent, with their size
    Definitions {
        #[command(flatten)]
        model: ModelArg,
        /// Look at this folder
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// `haft session`
#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// The sessions of this folder, newest first
    List {
        /// Those of all folders
        #[arg(long)]
        all: bool,
        /// At most so many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
        max_count: usize,
        /// As one JSON array
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR")]
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
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}
