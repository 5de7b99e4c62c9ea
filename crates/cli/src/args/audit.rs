//! `haft audit`

use clap::Subcommand;

/// `haft audit`
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Check that no entry was changed, taken out or moved: 0 if so, 1 with the lines if not
    Verify {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// What is recorded, oldest first
    Show {
        /// Of this session alone
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// So many of the newest entries
        #[arg(long, value_name = "N", default_value_t = 1000)]
        last: usize,
        /// As one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Where the record is
    Path,
}
