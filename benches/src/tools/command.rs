//! Commands with much output, beside the same command piped to `cat`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_project::{Files, Processes};
use haft_tool::Registry;
use haft_tool::fake::FakeHost;
use haft_toolbox::{World, builtin};
use serde_json::json;

use crate::child;
use crate::limits::Row;
use crate::stats::{median, ms};

/// How often each way is timed.
const ROUNDS: usize = 11;
/// What the commands write, in bytes.
const SIZE: u64 = 50_000_000;
/// Set in the process whose memory is measured: the command that it runs.
const COMMAND: &str = "HAFT_BENCH_COMMAND";
/// How long a measurement may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// What writes that much: lines as a build prints them, as fast as a program can; numbers, which are many short
/// lines; lines with colours.
const COMMANDS: [(&str, &str); 3] = [
    ("lines", "yes 'src/main.rs:41:9: warning: unused variable: `answer`' | head -c 50000000"),
    ("numbers", "seq 1 9000000 | head -c 50000000"),
    ("colours", "yes \"$(printf '\\033[1;33mwarning\\033[0m: unused variable: `answer`')\" | head -c 50000000"),
];

/// Measures, and gives the figures.
///
/// # Errors
///
/// When what it measures does not work.
pub fn rows() -> Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let dir = std::fs::canonicalize(folder.path())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bash = Bash::new(&dir)?;
    if let Ok(command) = std::env::var(COMMAND) {
        runtime.block_on(bash.run(&command))?;
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    // First, while we are small ourselves: a child's peak begins with ours.
    let idle = peak("true", &dir)?;
    for (name, command) in COMMANDS {
        let extra = peak(command, &dir)?.saturating_sub(idle) as f64 / 1e6;
        rows.push(Row::new(format!("command, 50 MB of {name}: memory"), extra, 30.0, "MB"));
    }
    for (name, command) in COMMANDS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(ms(piped(command)?));
            let begun = Instant::now();
            runtime.block_on(bash.run(command))?;
            ours.push(ms(begun.elapsed()));
        }
        let (ours, theirs) = (median(ours).unwrap_or_default(), median(theirs).unwrap_or_default());
        let what = format!("command, 50 MB of {name}: {ours:.0} ms, cat {theirs:.0} ms");
        // What is not plain costs more to make plain; that row only informs.
        let limit = (name != "colours").then_some(1.5);
        rows.push(Row::new(what, ours / theirs, limit, "×"));
    }
    Ok(rows)
}

/// The tool on a folder.
struct Bash {
    registry: Registry,
    host: FakeHost,
}

impl Bash {
    fn new(dir: &Path) -> Result<Self> {
        let outputs = dir.join("outputs");
        std::fs::create_dir_all(&outputs)?;
        let files = Files::new(dir.to_owned(), None);
        let processes = Processes::new("/bin/sh".into(), Vec::new());
        Ok(Self { registry: builtin(&World { files, processes }), host: FakeHost::allowing_all(&outputs) })
    }

    /// Runs the command, and makes sure that all its output was kept.
    async fn run(&self, command: &str) -> Result<()> {
        let output = self.registry.run("bash", json!({"command": command}), &self.host.call()).await?;
        ensure!(output.metadata["exit"] == 0, "{command} failed: {}", output.text);
        if let Some(path) = output.metadata.get("outputPath").and_then(serde_json::Value::as_str) {
            ensure!(std::fs::metadata(path)?.len() == SIZE, "{path} is not whole");
            std::fs::remove_file(path)?;
        }
        Ok(())
    }
}

/// How long the command takes into a pipe that `cat` reads.
fn piped(command: &str) -> Result<Duration> {
    let begun = Instant::now();
    let status = Command::new("/bin/sh")
        .args(["-c", &format!("{{ {command}; }} | cat > /dev/null")])
        .stdin(Stdio::null())
        .status()
        .context("cannot start sh")?;
    ensure!(status.success(), "{command} failed");
    Ok(begun.elapsed())
}

/// The most memory of a process that runs the command with the tool, in bytes.
fn peak(command: &str, dir: &Path) -> Result<u64> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let ran = child::run(Command::new(own).arg("command").env(COMMAND, command), &dir.join("printed"), DEADLINE)?;
    Ok(ran.peak)
}
