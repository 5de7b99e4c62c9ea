//! `haft mcp`: tools of other programs, and ours for them.

mod account;
mod add;
mod asked;
mod auth;
mod debug;
mod list;
mod offer;
mod serve;

use anyhow::Result;

pub(super) use self::add::{file as settings_file, write as write_settings};

use crate::args::Mcp;
use crate::report::Exit;

pub(crate) async fn run(command: Mcp) -> Result<Exit> {
    match command {
        Mcp::Auth(args) => auth::run(args).await,
        Mcp::Logout { name } => auth::forget(name),
        Mcp::Serve(args) => serve::run(args).await,
        Mcp::List { json, offhand, dir } => list::run(json, offhand, dir.as_deref()).await,
        Mcp::Add(args) => add::run(args).await,
        Mcp::Debug { name, json, dir } => debug::run(&name, json, dir.as_deref()).await,
    }
}
