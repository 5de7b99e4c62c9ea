//! Runs a program that may change the folder it is in and nothing else, and has no network:
//! `cargo run -p haft-sandbox --example only_here -- touch here /tmp/not-there`.

#![expect(clippy::print_stderr, reason = "an example tells the person who runs it")]

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use haft_sandbox::{Cage, Limits, Options, Sandbox, Session};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    // The first thing: this program is its own launcher.
    haft_sandbox::enter_if_asked();
    let mut words = std::env::args_os().skip(1);
    let program = words.next().ok_or("name a program to run")?;
    let args: Vec<OsString> = words.collect();

    // A cage is told real folders: a link is as if it had not been named.
    let here = std::env::current_dir()?.canonicalize()?;
    // A program that is taken from a folder which may be changed could be anybody's.
    let sandbox = Sandbox::find(&Options { not_from: vec![here.clone()], ..Options::default() });
    for gap in sandbox.gaps() {
        eprintln!("{} does not hold {}: {}", sandbox.rung().name(), gap.promise, gap.instead);
    }
    let cage = Cage { write: vec![here], limits: Limits::default_for_commands(), ..Cage::default() };
    let launch = sandbox.launch(&cage, Session::New, Path::new(&program), &args)?;
    let status = Command::new(launch.program).args(launch.args).status()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
