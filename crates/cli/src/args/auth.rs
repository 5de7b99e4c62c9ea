//! `haft auth …`

use clap::{Args, Subcommand};

/// `haft auth`
#[derive(Debug, Subcommand)]
pub(crate) enum Auth {
    /// Store a key, or sign in to a vendor or an organisation
    Login(Login),
    /// What is stored, and which keys are in the environment; never the keys themselves
    #[command(visible_alias = "ls")]
    List {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Forget what is stored for a vendor or an organisation
    Logout {
        /// The vendor or the address, as `list` shows it; asked for if left out
        vendor: Option<String>,
    },
}

/// `haft auth login`
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  haft auth login                                        choose a vendor, then a method
  haft auth login anthropic                              type a key, which is not shown
  haft auth login openai --method device                 ChatGPT, with a code on any device
  haft auth login groq --key-stdin < key.txt             without a terminal
  haft auth login azure --key-stdin --set resourceName=my-resource < key.txt
  haft auth login https://example.com                    an organisation, with its settings

Exit: 0 done, 1 failed, 2 wrong usage, 3 you said no, 130 stopped.")]
pub(crate) struct Login {
    /// The vendor, such as openai, or the address of an organisation; asked for if left out
    #[arg(value_name = "VENDOR|URL")]
    pub vendor: Option<String>,
    /// How to sign in, where a vendor has several ways: key, browser, device
    #[arg(long, short, value_name = "METHOD")]
    pub method: Option<String>,
    /// Read the key, or the code that a plug-in wants, from standard input
    #[arg(long)]
    pub key_stdin: bool,
    /// Answer a question of the vendor beforehand, such as accountId=…; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Store a key for a vendor that haft does not know; with --import-opencode, also in place of what is stored
    #[arg(long)]
    pub force: bool,
    /// Run an organisation's command without a question
    #[arg(long)]
    pub yes: bool,
    /// Do not open a browser; the address is shown all the same
    #[arg(long)]
    pub no_browser: bool,
    /// Take over the keys that OpenCode keeps, which stay where they are
    #[arg(long, conflicts_with_all = ["vendor", "method", "key_stdin", "set", "yes"])]
    pub import_opencode: bool,
}
