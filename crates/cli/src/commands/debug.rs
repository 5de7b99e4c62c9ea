//! `haft debug`: what one of haft's mechanisms decides, as JSON.

mod agents;
mod config;
mod paths;
mod rules;
mod schema;
mod shell;

use anyhow::Result;

use crate::args::Debug;
use crate::report::{Exit, Usage};

pub(crate) async fn run(command: Debug) -> Result<Exit> {
    match command {
        Debug::Config(args) => config::run(&args),
        Debug::Paths(args) => paths::run(&args),
        Debug::Agents(args) => agents::run(&args),
        Debug::Rules(args) => rules::run(&args),
        Debug::Shell(args) => shell::run(&args),
        Debug::Schema => schema::run(),
        Debug::Request(_) => missing("request"),
    }
}

fn missing(name: &str) -> Result<Exit> {
    Err(Usage(format!("`haft debug {name}` is not there yet")).into())
}
