//! `haft skill …` and `haft command …`

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// `haft skill`
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A skill is a folder with a SKILL.md: a header with `name` and `description`, and below it the instructions. They are
looked for in .haft/skills, .opencode/skills, .claude/skills and .agents/skills of the project and of your home.

Examples:
  haft skill list
  haft skill check")]
pub(crate) enum Skill {
    /// The skills there are in this folder
    List {
        /// As one JSON array
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// What is wrong with the skills of this folder; fails where one cannot be used
    Check {
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

/// `haft command`
#[derive(Debug, Subcommand)]
pub(crate) enum Named {
    /// The commands there are in this folder
    List {
        /// As one JSON array
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}
