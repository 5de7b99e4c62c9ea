//! `cargo run --release -p haft-bench --bin cage -- [target/release/haft]`: what a cage adds to starting a program.
//!
//! `true` is started plainly and in a cage such as commands get, in turns, on each rung that this machine has. The
//! launcher is the binary named, or this one. Prints a table; ends with 1 if a limit is exceeded.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_bench::limits::{Row, table};
use haft_bench::stats::{median, ms};
use haft_sandbox::{Cage, Launch, Limits, Options, Rung, Sandbox, Session};

/// Starts of each kind; the median counts.
const ROUNDS: usize = 301;
/// Folders of the home on the way to something hidden, and how many other entries each has.
const FOLDERS: [(&str, usize); 5] = [("", 80), (".config", 40), (".local/share", 40), (".cargo", 12), (".docker", 4)];
/// What is hidden there: folders, and files.
const HIDDEN_FOLDERS: [&str; 7] =
    [".ssh", ".gnupg", ".aws", ".kube", ".config/gh", ".config/gcloud", ".local/share/haft"];
const HIDDEN_FILES: [&str; 5] =
    [".netrc", ".npmrc", ".git-credentials", ".cargo/credentials.toml", ".docker/config.json"];
/// The rungs, and what each may add, in milliseconds.
const RUNGS: [(Rung, f64); 2] = [(Rung::Landlock, 4.0), (Rung::Namespaces, 10.0)];

fn main() -> ExitCode {
    haft_sandbox::enter_if_asked();
    match measure(std::env::args_os().nth(1).map(PathBuf::from)) {
        Ok(rows) => {
            let over = rows.iter().any(Row::over);
            // Nobody may be there to read it.
            let _ = std::io::stdout().write_all(table(&rows).as_bytes());
            ExitCode::from(u8::from(over))
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(launcher: Option<PathBuf>) -> Result<Vec<Row>> {
    let launcher = launcher.map(fs::canonicalize).transpose().context("there is no such binary")?;
    // Not among a thousand others' files, as it could be where temporary files usually are.
    let folder = tempfile::tempdir_in("/var/tmp").or_else(|_| tempfile::tempdir())?;
    let cage = cage(&fs::canonicalize(folder.path())?)?;
    let program = Path::new("/bin/true");
    let mut ways = vec![("a plain start".to_owned(), None, Launch { program: program.into(), args: Vec::new() })];
    for (rung, limit) in RUNGS {
        let options = Options { only: Some(rung), launcher: launcher.clone(), ..Options::default() };
        let sandbox = Sandbox::find(&options);
        if sandbox.rung() == rung {
            let launch = sandbox.launch(&cage, Session::New, program, &[])?;
            ways.push((format!("{} adds", rung.name()), Some(limit), launch));
        } else {
            let _ = writeln!(std::io::stderr(), "not here: {rung:?}: {:?}", sandbox.tried());
        }
    }
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for ((_, _, launch), times) in ways.iter().zip(&mut times) {
            times.push(start(launch)?);
        }
    }
    let medians: Vec<f64> = times.into_iter().filter_map(median).collect();
    let plain = medians.first().copied().context("nothing was measured")?;
    let figures = ways.into_iter().zip(&medians);
    Ok(figures
        .map(|((what, limit, _), time)| Row::new(what, if limit.is_some() { time - plain } else { *time }, limit, "ms"))
        .collect())
}

/// Milliseconds from starting to having ended.
fn start(launch: &Launch) -> Result<f64> {
    let begun = Instant::now();
    let status =
        Command::new(&launch.program).args(&launch.args).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    let took = ms(begun.elapsed());
    ensure!(status.success(), "{} ended with {status}", launch.program.display());
    Ok(took)
}

/// A cage such as a command gets: a project can be written, and in a home of many files some cannot be read.
fn cage(base: &Path) -> Result<Cage> {
    let (project, home) = (base.join("project"), base.join("home"));
    for (folder, entries) in FOLDERS {
        let folder = home.join(folder);
        fs::create_dir_all(&folder)?;
        (0..entries).try_for_each(|n| fs::write(folder.join(format!("entry-{n}")), ""))?;
    }
    HIDDEN_FOLDERS.iter().try_for_each(|folder| fs::create_dir_all(home.join(folder)))?;
    HIDDEN_FILES.iter().try_for_each(|file| fs::write(home.join(file), ""))?;
    let git = project.join(".git");
    fs::create_dir_all(git.join("hooks"))?;
    fs::write(git.join("config"), "")?;
    let hidden = HIDDEN_FOLDERS.iter().chain(&HIDDEN_FILES).map(|path| home.join(path));
    Ok(Cage {
        frozen: vec![git.join("hooks"), git.join("config")],
        write: vec![project],
        hidden: hidden.chain(["/etc/shadow".into(), "/etc/gshadow".into()]).collect(),
        limits: Limits::default_for_commands(),
        ..Cage::default()
    })
}
