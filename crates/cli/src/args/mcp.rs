//! `haft mcp …`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use haft_vault::Secret;

/// `haft mcp`
#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Offer the tools of this folder to another agent
    Serve(McpServe),
    /// The servers of tools that the settings name, and how each is doing
    #[command(visible_alias = "ls")]
    List {
        /// As one JSON object, by name
        #[arg(long)]
        json: bool,
        /// Only what is known; start and ask none
        #[arg(long)]
        offhand: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Add a server of tools to your settings
    Add(McpAdd),
    /// Speak to one server, and say what it says
    Debug {
        /// Its name in the settings
        name: String,
        /// As one JSON object
        #[arg(long)]
        json: bool,
        /// Look at this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
    /// Sign in at a server of tools
    Auth(McpAuth),
    /// Forget what a server gave when you signed in
    Logout {
        /// The server; the only one if left out
        name: Option<String>,
    },
}

/// `haft mcp auth`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpAuth {
    #[command(subcommand)]
    pub what: Option<McpAuthList>,
    /// The server, as the settings call it; the only one if left out
    pub name: Option<String>,
    /// Do not open a browser; the address is shown all the same
    #[arg(long)]
    pub no_browser: bool,
}

/// `haft mcp auth list`
#[derive(Debug, Subcommand)]
pub(crate) enum McpAuthList {
    /// At which servers you are signed in; never the tokens themselves
    #[command(visible_alias = "ls")]
    List {
        /// As one JSON array
        #[arg(long)]
        json: bool,
    },
}

/// `haft mcp serve`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haft mcp serve                              over standard input and output, as agents start it
  haft mcp serve --dir ~/project --auto       yes to everything that no rule denies
  haft mcp serve --http 127.0.0.1:8900        for clients over HTTP; the token is printed

In the settings of another agent: {\"command\": \"haft\", \"args\": [\"mcp\", \"serve\", \"--dir\", \"/project\"]}

Each client is a session of its own, behind this folder's rules and in its cage. What a rule asks is
put to the person at the client, if it can show a form; where it cannot, nobody is there to say yes.
HAFT_MCP_TOKEN sets the token of --http; without it there is a new one each time.

Exit: 0 the client went away, 1 failed, 2 wrong usage, 130 stopped.")]
pub(crate) struct McpServe {
    /// Listen for clients over HTTP here; 127.0.0.1 and any port if left out
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:0", value_hint = ValueHint::Other)]
    pub http: Option<SocketAddr>,
    /// Say yes to everything that no rule denies
    #[arg(long)]
    pub auto: bool,
    /// Offer what this agent may use, under its rules
    #[arg(long, value_name = "AGENT", value_hint = ValueHint::Other)]
    pub agent: Option<String>,
    /// Work in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// `haft mcp add`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  haft mcp add                                 asks for what is missing, on a terminal
  haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  haft mcp add time --env TZ=UTC -- uvx mcp-server-time
  haft mcp add docs --url https://docs.example/mcp --header Authorization=\"Bearer {env:DOCS_TOKEN}\"

A program runs in haft's cage: it may change the project and use the network, and sees no secrets of
yours but those given with --env. \"sandbox\" of the entry closes more, or opens all.")]
pub(crate) struct McpAdd {
    /// What to call it: its tools' names begin with this
    pub name: Option<String>,
    /// Its address
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, conflicts_with = "command")]
    pub url: Option<String>,
    /// A header of each request; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "url", value_hint = ValueHint::Other)]
    pub header: Vec<Secret>,
    /// A variable that the program is given; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "command", value_hint = ValueHint::Other)]
    pub env: Vec<Secret>,
    /// Into this project's settings instead of yours; others are asked whether they trust them
    #[arg(long)]
    pub project: bool,
    /// Look at this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
    /// The program that it is, and its arguments
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<String>,
}
