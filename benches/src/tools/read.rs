//! Pages of a huge file, beside `wc -l`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_project::{Files, Processes};
use haft_tool::fake::FakeHost;
use haft_tool::{Output, Registry};
use haft_toolbox::{World, builtin};
use serde_json::json;

use crate::child;
use crate::limits::Row;
use crate::stats::{median, ms};

/// Size of the file, in bytes, at least.
const SIZE: usize = 1_000_000_000;
/// Lines of the last page: as many as come at once.
const PAGE: usize = 500;
/// Runs of each measurement, those that are compared taking turns.
const RUNS: usize = 9;
/// Set for a child that only reads one page, so that its memory can be measured: the first line.
const OFFSET: &str = "HAFT_BENCH_READ_OFFSET";
/// Set for it too: the folder of the file.
const FOLDER: &str = "HAFT_BENCH_READ_FOLDER";
const NAME: &str = "huge.txt";
/// A child that takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(60);

/// Measures, and gives the figures.
///
/// # Errors
///
/// When what it measures does not work.
pub fn rows() -> Result<Vec<Row>> {
    if let (Some(folder), Ok(offset)) = (std::env::var_os(FOLDER), std::env::var(OFFSET)) {
        Pages::of(Path::new(&folder))?.page(offset.parse()?)?;
        return Ok(Vec::new());
    }
    let scratch = tempfile::tempdir()?;
    let folder = std::fs::canonicalize(scratch.path())?;
    let lines = make(&folder.join(NAME))?;
    let last = lines - PAGE + 1;
    let pages = Pages::of(&folder)?;
    ensure!(pages.page(last)?.text.contains(&format!("total {lines} lines")), "the last page is not the last");

    let (mut first_page, mut last_page, mut counted) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        first_page.push(ms(timed(|| pages.page(1).map(drop))?));
        last_page.push(ms(timed(|| pages.page(last).map(drop))?));
        counted.push(ms(timed(|| count(&folder.join(NAME)))?));
    }
    let of = |figures: Vec<f64>| median(figures).unwrap_or_default();
    let (first_page, last_page, counted) = (of(first_page), of(last_page), of(counted));
    Ok(vec![
        Row::new("read: page 1 of a file of 1 GB", first_page, 5.0, "ms"),
        Row::new("read: its last page", last_page, None, "ms"),
        Row::new("wc -l of it", counted, None, "ms"),
        Row::new("read: its last page, times wc -l", last_page / counted, 2.0, "×"),
        Row::new("read: page 1, memory of the whole process", peak(&folder, 1)?, 20.0, "MB"),
        Row::new("read: last page, memory of the whole process", peak(&folder, last)?, 20.0, "MB"),
    ])
}

/// Writes the file and says how many lines it has.
fn make(path: &Path) -> Result<usize> {
    let mut file = BufWriter::new(File::create(path).with_context(|| format!("cannot write {}", path.display()))?);
    let (mut lines, mut size) = (0, 0);
    while size < SIZE {
        lines += 1;
        // As long as lines of programs and logs are, and not all alike.
        let line = format!(
            "{lines:>9} {}\n",
            &"the quick brown fox jumps over the lazy dog, and then once more ".repeat(2)[..lines % 90]
        );
        size += line.len();
        file.write_all(line.as_bytes())?;
    }
    file.flush()?;
    Ok(lines)
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

fn count(path: &Path) -> Result<()> {
    let status = Command::new("wc").arg("-l").arg(path).stdout(Stdio::null()).status().context("cannot start wc")?;
    ensure!(status.success(), "wc failed");
    Ok(())
}

/// Most memory, in MB, that a process of its own needs for one page.
fn peak(folder: &Path, offset: usize) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("read").env(FOLDER, folder).env(OFFSET, offset.to_string());
    let ran = child::run(&mut command, &folder.join("printed"), DEADLINE)?;
    #[expect(clippy::cast_precision_loss, reason = "a size of memory is far below the limit")]
    Ok(ran.peak as f64 / 1e6)
}

/// The tool as a session calls it, in this process.
struct Pages {
    registry: Registry,
    host: FakeHost,
    path: PathBuf,
    runtime: tokio::runtime::Runtime,
}

impl Pages {
    fn of(folder: &Path) -> Result<Self> {
        let files = Files::new(folder.to_owned(), None);
        let processes = Processes::new("/bin/sh".into(), Vec::new());
        Ok(Self {
            registry: builtin(&World { files, processes }),
            host: FakeHost::allowing_all(folder),
            path: folder.join(NAME),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        })
    }

    fn page(&self, offset: usize) -> Result<Output> {
        let input = json!({"filePath": self.path, "offset": offset});
        let output = self.runtime.block_on(self.registry.run("read", input, &self.host.call()))?;
        ensure!(output.text.contains(&format!("\n{offset}: ")), "not the page that was asked for");
        Ok(output)
    }
}
