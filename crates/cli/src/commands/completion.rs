//! `haft completion`: a script that completes haft's arguments in a shell.

use anyhow::Result;
use clap::CommandFactory;

use crate::args::{Cli, Completion};
use crate::render;
use crate::report::Exit;

pub(crate) fn run(args: Completion) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "haft", &mut script);
    render::say(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Done)
}
