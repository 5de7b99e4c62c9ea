//! `haft run …` and `haft init`

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::ModelArg;

/// `haft run`
#[derive(Debug, Args)]
#[command(after_help = "\
The prompt is the words given, then what comes on standard input, if anything does.

Examples:
  haft run \"why does the parser test fail?\"
  git diff | haft run \"review this\" --model openai/gpt-5.1
  haft run --continue \"now fix it\" --auto
  haft run --agent plan \"how would you split this file?\"
  haft run \"what is wrong on this page?\" --file screenshot.png
  haft run \"which crates use tokio?\" --output-schema crates.json --max-cost 0.50
  haft run \"say hello\" --model script/hello.jsonl --format json

Where a rule says `ask`, a person at the terminal is asked; without one it counts as no, unless
--auto is given.
A session goes on with the model it was run with, unless --model or HAFT_MODEL names one.

Exit: 0 the turn ended (also when you refused a call, or after --max-steps), 1 it failed, the money
is spent, or the answer does not fit --output-schema, 2 wrong usage, 130 it was stopped (Ctrl-C,
TERM, a closed terminal).")]
pub(crate) struct Run {
    /// The prompt; several words are joined with blanks
    #[arg(value_name = "MESSAGE")]
    pub message: Vec<String>,

    #[command(flatten)]
    pub model: ModelArg,

    /// Which variant of the model, such as `high`: those of the list of models and of your settings
    #[arg(long, value_name = "VARIANT", value_hint = ValueHint::Other)]
    pub variant: Option<String>,

    /// Which agent answers
    #[arg(long, value_name = "AGENT", value_hint = ValueHint::Other)]
    pub agent: Option<String>,

    /// Run this slash command, with the prompt as its arguments; a prompt that begins with /NAME does the same
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    pub command: Option<String>,

    /// Go on with this session
    #[arg(long, short, value_name = "ID", value_hint = ValueHint::Other, group = "old")]
    pub session: Option<String>,

    /// Go on with the newest session of this folder
    #[arg(long = "continue", short, group = "old")]
    pub r#continue: bool,

    /// Go on in a copy, and leave the session as it is
    #[arg(long, requires = "old")]
    pub fork: bool,

    /// Show this file or picture to the model; may be given several times
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath, action = clap::ArgAction::Append)]
    pub file: Vec<PathBuf>,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Default)]
    pub format: Format,

    /// Say yes to everything that no rule denies
    #[arg(long)]
    pub auto: bool,

    /// Work in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// The title of a new session; the beginning of the prompt if left out
    #[arg(long, value_name = "TITLE", value_hint = ValueHint::Other)]
    pub title: Option<String>,

    /// Print what the model thinks, too
    #[arg(long)]
    pub thinking: bool,

    /// Stop before the session, its tasks included, costs more than this, in dollars; overrides `limits.cost`
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true, value_hint = ValueHint::Other, value_parser = dollars)]
    pub max_cost: Option<f64>,

    /// Let the model take at most so many steps, the last of them to sum up; overrides `limits.steps`
    #[arg(long, value_name = "N", value_hint = ValueHint::Other, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_steps: Option<u32>,

    /// Print one JSON value that fits the JSON Schema in this file, and nothing else, on stdout
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output_schema: Option<PathBuf>,

    /// Record the model's answers into this file, to be played with --model replay/FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
}

/// An amount of money: not negative, and a number.
fn dollars(text: &str) -> Result<f64, String> {
    let amount: Option<f64> = text.strip_prefix('$').unwrap_or(text).parse().ok();
    amount.filter(|amount| amount.is_finite() && *amount >= 0.0).ok_or_else(|| "name dollars, such as 0.50".to_owned())
}

/// What `run` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people; the final answer on stdout, everything else on stderr where stdout is not a terminal
    Default,
    /// One JSON object a line for each finished part
    Json,
}

/// `haft init`
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// What to look at in particular; several words are joined with blanks
    #[arg(value_name = "MESSAGE")]
    pub message: Vec<String>,

    #[command(flatten)]
    pub model: ModelArg,

    /// Say yes to everything that no rule denies
    #[arg(long)]
    pub auto: bool,

    /// Work in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

impl From<Init> for Run {
    /// The run of the command `init`.
    fn from(Init { message, model, auto, dir }: Init) -> Self {
        Self {
            message,
            model,
            auto,
            dir,
            command: Some("init".to_owned()),
            variant: None,
            agent: None,
            session: None,
            r#continue: false,
            fork: false,
            file: Vec::new(),
            format: Format::Default,
            title: None,
            thinking: false,
            max_cost: None,
            max_steps: None,
            output_schema: None,
            record: None,
        }
    }
}
