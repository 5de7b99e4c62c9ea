//! `haft tool …`

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::ModelArg;

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
        /// What this agent would be offered
        #[arg(long, value_name = "AGENT", value_hint = ValueHint::Other)]
        agent: Option<String>,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
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
{\"title\",\"output\",\"metadata\",\"attachments\",\"error\"}; `error` is null or {\"kind\",\"message\"},
the kinds being bad_input, denied, cancelled and failed. One process is one session.

Exit: 0 done, 1 failed, 2 wrong usage or arguments, 3 denied, 130 stopped; with --jsonl 0 when every
line was answered.")]
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
        /// Under the rules of this agent
        #[arg(long, value_name = "AGENT", value_hint = ValueHint::Other)]
        agent: Option<String>,
        /// Work in this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// The exact definitions a model would be sent, with their size
    Definitions {
        #[command(flatten)]
        model: ModelArg,
        /// What this agent would be offered
        #[arg(long, value_name = "AGENT", value_hint = ValueHint::Other)]
        agent: Option<String>,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}
