//! `haft-cage [OPTION]… -- PROGRAM [ARG]…`: runs a program with only the rights it is given. Useful alone, and what the
//! tests of this crate run programs with.
//!
//! Without an option the program reads everything, writes nothing and has no network.
//!
//! ```text
//! --write PATH    may be changed, with all below it        --frozen PATH   not changed even so
//! --hide PATH     cannot be read                           --show PATH     can be read even so
//! --network       the network of this machine              --socket PATH   a socket that may be spoken to
//! --processes N   --memory BYTES   --file-size BYTES   --open-files N      how much may be used
//! --limits        what an ordinary command gets by with
//! --keep-session  stay in this terminal session
//! --rung NAME     namespaces or landlock, and no other     --gaps          says what the rung does not hold, runs nothing
//! ```
//!
//! Ends as the program does; with 126 if there is no cage or the program cannot be run, 127 if there is none, 2 if it is
//! not used like this.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use haft_sandbox::{Cage, Limits, Network, Options, Rung, Sandbox, Session};

/// What is asked for.
#[derive(Debug, Default)]
struct Asked {
    cage: Cage,
    session: Session,
    options: Options,
    gaps: bool,
    program: Vec<OsString>,
}

fn main() -> ExitCode {
    haft_sandbox::enter_if_asked();
    let asked = match read(std::env::args_os().skip(1)) {
        Ok(asked) => asked,
        Err(why) => return fail(2, &format!("{why}; use it as: haft-cage [OPTION]... -- PROGRAM [ARG]...")),
    };
    let sandbox = Sandbox::find(&asked.options);
    if asked.gaps {
        let gaps = sandbox.gaps().into_iter().map(|gap| format!("{}: {}\n", gap.promise, gap.instead));
        let text = format!("{}\n{}", sandbox.rung().name(), gaps.collect::<String>());
        // Nobody may be there to read it.
        let _ = std::io::stdout().write_all(text.as_bytes());
        return ExitCode::SUCCESS;
    }
    let Some((program, args)) = asked.program.split_first() else {
        return fail(2, "there is no program to run");
    };
    match sandbox.launch(&asked.cage, asked.session, &PathBuf::from(program), args) {
        Ok(launch) => fail(126, &become_program(&launch)),
        Err(error) => fail(126, &error.to_string()),
    }
}

fn fail(code: u8, why: &str) -> ExitCode {
    // Nobody may be there to read it.
    let _ = writeln!(std::io::stderr(), "haft-cage: {why}");
    ExitCode::from(code)
}

/// Comes back only with what failed.
#[cfg(unix)]
fn become_program(launch: &haft_sandbox::Launch) -> String {
    use std::os::unix::process::CommandExt;

    let error = std::process::Command::new(&launch.program).args(&launch.args).exec();
    format!("{} cannot be started: {error}", launch.program.display())
}

#[cfg(not(unix))]
fn become_program(_launch: &haft_sandbox::Launch) -> String {
    "this system has no cage".to_owned()
}

fn read(mut args: impl Iterator<Item = OsString>) -> Result<Asked, String> {
    let mut asked = Asked::default();
    while let Some(arg) = args.next() {
        let name = arg.to_str().ok_or("an option is not text")?;
        let mut path = || args.next().map(PathBuf::from).ok_or(format!("{name} needs a path"));
        match name {
            "--write" => asked.cage.write.push(path()?),
            "--frozen" => asked.cage.frozen.push(path()?),
            "--hide" => asked.cage.hidden.push(path()?),
            "--show" => asked.cage.shown.push(path()?),
            "--socket" => asked.cage.sockets.push(path()?),
            "--network" => asked.cage.network = Network::Open,
            "--processes" => asked.cage.limits.processes = Some(number(name, args.next())?),
            "--memory" => asked.cage.limits.memory = Some(number(name, args.next())?),
            "--file-size" => asked.cage.limits.file_size = Some(number(name, args.next())?),
            "--open-files" => asked.cage.limits.open_files = Some(number(name, args.next())?),
            "--limits" => asked.cage.limits = Limits::default_for_commands(),
            "--keep-session" => asked.session = Session::Kept,
            "--rung" => asked.options.only = Some(rung(args.next())?),
            "--gaps" => asked.gaps = true,
            "--" => {
                asked.program = args.collect();
                break;
            }
            _ => return Err(format!("there is no option {name}")),
        }
    }
    Ok(asked)
}

fn number(name: &str, value: Option<OsString>) -> Result<u64, String> {
    value.and_then(|value| value.to_str()?.parse().ok()).ok_or(format!("{name} needs a number"))
}

fn rung(name: Option<OsString>) -> Result<Rung, String> {
    let known = [Rung::Namespaces, Rung::Landlock, Rung::Seatbelt, Rung::None];
    let found = known.into_iter().find(|rung| name.as_ref().is_some_and(|name| name == rung.name()));
    found.ok_or("--rung needs namespaces, landlock, seatbelt or none".to_owned())
}
