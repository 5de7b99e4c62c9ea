//! The binary: parses arguments, wires the crates together, shows what happens.

mod args;
mod ask;
mod commands;
mod folders;
mod log;
mod models;
mod outputs;
mod render;
mod report;
mod signals;
mod stdin;
mod watch;
mod wire;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};
use crate::report::Exit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Ends the process itself for --help, --version and what cannot be parsed (exit code 2).
    let cli = Cli::parse();
    let Some(command) = cli.command else {
        return match Cli::command().print_long_help() {
            Ok(()) => Exit::Done.into(),
            Err(_) => Exit::Failed.into(),
        };
    };
    if let Ok(folders) = folders::Folders::find() {
        log::start(&folders.state.join("log"), cli.print_logs);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        let result = runtime.block_on(run(command));
        // A thread that waits for a line from the terminal would hold the exit up for ever.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "failed");
            render::complain(&report::describe(&error));
            report::exit(&error).into()
        }
    }
}

async fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Demo(args) => commands::demo::run(args).await,
        Command::Run(args) => commands::run::run(args).await,
        Command::Tool(args) => commands::tool::run(args).await,
        Command::Session(args) => commands::session::run(args).await,
    }
}
