//! The program that people search with instead.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::child;

/// The version that is installed where there is none.
const PACKAGE: &str = "ripgrep@15.1.0";
/// How long its installation may take.
const PATIENCE: Duration = Duration::from_secs(900);
/// What it is always told: as our tools do, also hidden files and never `.git`; no settings of the user, no complaints.
const ALWAYS: [&str; 5] = ["--no-config", "--hidden", "--no-messages", "--color=never", "--glob=!.git"];

/// An `rg`.
pub(super) struct Rg {
    program: PathBuf,
    /// What it says it is.
    pub(super) version: String,
}

impl Rg {
    /// The one named by `HAFT_BENCH_RG`, the one on the path, or one that is built below `folder` first.
    pub(super) fn find(folder: &Path) -> Result<Self> {
        let named = std::env::var_os("HAFT_BENCH_RG").map(PathBuf::from);
        let own = folder.join("rg/bin/rg");
        let known = named.into_iter().chain([PathBuf::from("rg"), own.clone()]);
        if let Some(rg) = known.into_iter().find_map(|program| Self::at(program).ok()) {
            return Ok(rg);
        }
        let mut cargo = Command::new("cargo");
        cargo.args(["install", "--locked", "--root"]).arg(folder.join("rg")).arg(PACKAGE);
        child::run(&mut cargo, &folder.join("rg.log"), PATIENCE)
            .context("there is no rg to compare with, and cargo cannot install one")?;
        Self::at(own)
    }

    fn at(program: PathBuf) -> Result<Self> {
        let output = Command::new(&program).arg("--version").output()?;
        ensure!(output.status.success(), "{} does not work", program.display());
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        Ok(Self { program, version })
    }

    fn command(&self, args: &[&str], tree: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(ALWAYS).args(args).current_dir(tree).stdin(Stdio::null()).stderr(Stdio::null());
        if !args.contains(&"--files") {
            command.arg("./");
        }
        command
    }

    /// How long it takes, with nobody reading what it writes.
    pub(super) fn run(&self, args: &[&str], tree: &Path) -> Result<Duration> {
        let mut command = self.command(args, tree);
        command.stdout(Stdio::null());
        let begin = Instant::now();
        let status = command.status().context("rg does not run")?;
        let took = begin.elapsed();
        // 1 is that nothing was found.
        ensure!(matches!(status.code(), Some(0 | 1)), "rg failed: {status}");
        Ok(took)
    }

    /// How many lines it writes.
    pub(super) fn count(&self, args: &[&str], tree: &Path) -> Result<u64> {
        let output = self.command(args, tree).output().context("rg does not run")?;
        Ok(output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64)
    }
}
