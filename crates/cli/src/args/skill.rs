//! `haft skill …` and `haft command …`

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// `haft skill`
#[derive(Debug, Subcommand)]
#[command(after_help = "\
A skill is a folder with a SKILL.md: a header with `name` and `description`, and below it the instructions. They are
looked for in .haft/skills, .opencode/skills, .claude/skills and .agents/skills of the project and of your home.

`skills.paths` in the settings names further folders, `skills.urls` addresses at which skills are listed.

Examples:
  haft skill list
  haft skill check
  haft skill update")]
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
        /// As one JSON object
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Fetch the skills at the addresses of `skills.urls`; what is not what it was is shown before it is used
    ///
    /// Nothing else fetches them. What was fetched is used without the network, and only as long as it is unchanged.
    Update {
        /// Take what is new without a question
        #[arg(long)]
        yes: bool,
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
