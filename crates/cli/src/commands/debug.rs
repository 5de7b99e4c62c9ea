//! `haft debug`: what one of haft's mechanisms decides, as JSON.

mod agents;
mod config;
mod lines;
mod paths;
mod request;
mod rules;
mod schema;
mod shell;
mod snapshot;

use anyhow::Result;

use crate::args::Debug;
use crate::report::Exit;

pub(crate) async fn run(command: Debug) -> Result<Exit> {
    match command {
        Debug::Config(args) => config::run(&args).await,
        Debug::Paths(args) => paths::run(&args),
        Debug::Agents(args) => agents::run(&args).await,
        Debug::Rules(args) => rules::run(&args).await,
        Debug::Shell(args) => shell::run(&args),
        Debug::Skill(args) => crate::commands::skill::list(&crate::wire::Ground::at(args.dir.as_deref())?, true),
        Debug::Snapshot(args) => snapshot::run(&args),
        Debug::Schema => schema::run(),
        Debug::Request(args) => request::run(args).await,
    }
}
