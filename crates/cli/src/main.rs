//! The binary: parses arguments, wires the crates together, shows what happens.

mod agents;
mod approvals;
mod args;
mod ask;
mod audit;
mod backstage;
mod cages;
mod chat;
mod commands;
mod files;
mod folders;
mod formatters;
mod hooks;
mod hosts;
#[cfg(feature = "keyring")]
mod keyring;
mod keys;
mod log;
mod models;
mod network;
mod outputs;
mod own_file;
mod packages;
mod pages;
mod question;
mod redact;
mod render;
mod replay;
mod report;
mod retention;
mod scratch;
mod scripts;
mod servers;
mod signals;
mod signed_in;
mod skills;
mod snapshots;
mod stdin;
mod trust;
mod watch;
mod well_known;
mod wire;
mod worktrees;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use tokio::signal::unix::SignalKind;

use crate::args::{Cli, Command};
use crate::report::Exit;

/// The signal of a process that exceeds its limit on the size of files; the same number on Linux and macOS.
const SIGXFSZ: i32 = 25;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // As the launcher of a cage this program becomes another one here, before anything of its own has begun.
    haft_sandbox::enter_if_asked();
    if let Some(exit) = scripts::serve_if_asked() {
        return exit;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report::parsing(&error).into(),
    };
    let task = match (cli.command, cli.chat.given()) {
        (Some(command), None) => Task::Command(command),
        (Some(_), Some(given)) => {
            render::complain(&report::describe(&misplaced(given).into()));
            return Exit::Usage.into();
        }
        (None, given) if given.is_some() || chat::can_talk() => Task::Chat(Box::new(cli.chat)),
        (None, _) => return report::help(&Cli::command().render_long_help()).into(),
    };
    trust::give(cli.trust);
    network::begin(cli.offline);
    hooks::leave_out_plugins(cli.pure);
    if let Ok(folders) = folders::Folders::find() {
        log::start(&folders.state.join("log"), cli.print_logs, cli.verbose);
    }
    // Else every command could read our environment, and the keys in it, in /proc.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "commands may read this program's environment");
    }
    // One thread does what waits; what computes goes to threads of its own. Passing each event of a stream from thread to
    // thread would cost more than all that is done with it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().thread_keep_alive(IDLE_THREAD).build();
    let result = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        let result = runtime.block_on(run(task));
        // Ends what still runs, and with it every command; a thread that waits for a line from the terminal would hold
        // the exit up for ever.
        runtime.shutdown_timeout(Duration::from_millis(100));
        result
    });
    audit::finish();
    // Stopped twice, a run leaves its last frame behind.
    render::leave();
    chat::editor::give_back();
    match result {
        Ok(exit) => exit.into(),
        // Who closes our output early has seen enough.
        Err(error) if report::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "failed");
            render::complain(&report::describe(&error));
            report::exit(&error).into()
        }
    }
}

/// How long a thread of the runtime's pool waits for work before it ends. Each begins with a heap of its own, which takes
/// about a megabyte to fill, so that threads which come and go with the load would let memory grow; an idle one costs
/// little.
const IDLE_THREAD: Duration = Duration::from_secs(600);

/// What to do.
enum Task {
    Command(Command),
    Chat(Box<args::Chat>),
}

/// What to say where an option of the chat stands before a command.
fn misplaced(given: &str) -> report::Usage {
    report::Usage(format!(
        "{given} belongs to the chat that `haft` alone is; write it behind the command, if it takes it"
    ))
}

async fn run(task: Task) -> anyhow::Result<Exit> {
    // A limit on the size of files is then an error of the write that exceeds it, and not the end of the program.
    let _exceeded = tokio::signal::unix::signal(SignalKind::from_raw(SIGXFSZ));
    let command = match task {
        Task::Command(command) => command,
        Task::Chat(args) => return chat::run(*args).await,
    };
    match command {
        Command::Demo(args) => commands::demo::run(args).await,
        Command::Run(args) => commands::run::run(*args).await,
        Command::Init(args) => commands::run::run(args.into()).await,
        Command::Tool(args) => commands::tool::run(args).await,
        Command::Session(args) => commands::session::run(args).await,
        Command::Stats(args) => commands::stats::run(args).await,
        Command::ImportOpencode(args) => commands::import_opencode::run(args).await,
        Command::Trust(args) => commands::trust::run(args),
        Command::Permission(command) => commands::permission::run(command),
        Command::Audit(command) => commands::audit::run(command),
        Command::Agent(command) => commands::agent::run(command).await,
        Command::Skill(command) => commands::skill::run(&command).await,
        Command::Formatter(command) => commands::formatter::run(&command),
        Command::Slash(command) => commands::command::run(&command).await,
        Command::Auth(command) => commands::auth::run(command).await,
        Command::Models(args) => commands::models::run(args).await,
        Command::Mcp(command) => commands::mcp::run(command).await,
        Command::Plugin(command) => commands::plugin::run(command).await,
        Command::Doctor(args) => commands::doctor::run(args).await,
        Command::Debug(command) => commands::debug::run(command).await,
        Command::Completion(args) => commands::completion::run(args),
        Command::Man(args) => commands::man::run(args),
    }
}
