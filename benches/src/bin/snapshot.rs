//! `cargo run --release -p haft-bench --bin snapshot -- [FILES] [KILOBYTES] [--peers]`: what it costs to record what
//! commands and edits change, in a generated repository of FILES files (60,000) of KILOBYTES each (17), beside a bare stat
//! walk by two threads, a warm `git status`, and what it takes to put the tree into a shadow repository; with `--peers` also
//! beside OpenCode's own first snapshot (it is installed from npm, once, below the build folder). All in one run.
//!
//! Prints a table; ends with 1 if a limit is exceeded.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_bench::home::Home;
use haft_bench::limits::{Row, table};
use haft_bench::model_server::ModelServer;
use haft_bench::stats::{median, ms};
use haft_bench::{child, install};
use haft_llm::{Answer, Step};
use haft_permission::Asker;
use haft_project::{Planned, Recorder, Standing};
use haft_protocol::Clock;
use haft_session::{Ground, Snapshots};
use haft_snapshot::Keep;

/// How long OpenCode may take for one prompt.
const PATIENCE: Duration = Duration::from_secs(1800);
/// How many files a folder has.
const IN_FOLDER: usize = 20;
/// How often each is measured.
const TIMES: usize = 9;
/// How many edits the disk is measured with.
const EDITS: usize = 100;

fn main() -> ExitCode {
    match measure() {
        Ok(over) => ExitCode::from(u8::from(over)),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<bool> {
    let (flags, numbers): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let mut args = numbers.iter().map(|arg| arg.parse::<usize>());
    let files = args.next().transpose().context("FILES is no number")?.unwrap_or(60_000);
    let bytes = 1024 * args.next().transpose().context("KILOBYTES is no number")?.unwrap_or(17);
    let folder = tempfile::tempdir()?;
    let base = folder.path().canonicalize()?;
    let top = base.join("tree");
    generate(&top, files, bytes)?;
    git(&top, &[], &["init", "-q"])?;
    git(&top, &[], &["add", "-A"])?;
    git(&top, &[], &["status", "--porcelain"])?;
    // What was written for this is on the disk before anything is measured.
    rustix::fs::sync();

    let ground = Ground { root: top.clone(), ..Ground::default() };
    let snapshots = Snapshots::with_commands(Keep::new(base.join("keep")), base.join("pending"), ground);
    let begun = Instant::now();
    snapshots.survey();
    let first = ms(begun.elapsed());
    let begun = Instant::now();
    shadow(&top, &base.join("shadow"))?;
    let shadow = ms(begun.elapsed());

    // One after the other, so that all of them meet the same machine.
    let (mut bare, mut status, mut idle, mut changing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let asker = Asker { session: Clock::system().mint(), call: None };
    for round in 0..TIMES {
        bare.push(timed(|| walk::bare(&top)));
        status.push(timed(|| git(&top, &[], &["status", "--porcelain"])));
        idle.push(timed(|| snapshots.after_command(snapshots.before_command(&asker), true)));
        let number = snapshots.before_command(&asker);
        fs::write(top.join(format!("new-{round}")), "new")?;
        // The look before is in `idle`.
        changing.push(timed(|| snapshots.after_command(number, true)));
    }
    let [bare, status, idle, changing] = [bare, status, idle, changing].map(|times| median(times).unwrap_or_default());
    let (edit, disk) = edits(&snapshots, &base)?;
    let mut rows = vec![
        Row::new("a command that changes nothing / bare walk", idle / bare, 1.3, "×"),
        Row::new("a command that changes nothing / git status", idle / status, 0.5, "×"),
        Row::new("the look after a change / bare walk", changing / bare, 1.3, "×"),
        Row::new("the first look / a shadow repository", first / shadow, 0.1, "×"),
        Row::new("an edit", edit, 3.0, "ms"),
        Row::new("disk after 100 edits / bytes changed", disk, 2.0, "×"),
    ];
    if flags.iter().any(|flag| flag == "--peers") {
        let theirs = opencode(&top, &base)?;
        rows.push(Row::new("OpenCode's first snapshot", theirs, None, "ms"));
        rows.push(Row::new("the first look / OpenCode's first snapshot", first / theirs, 0.1, "×"));
    }
    let mut out = std::io::stdout();
    out.write_all(table(&rows).as_bytes())?;
    writeln!(
        out,
        "{files} files of {bytes} bytes; ms: bare walk {bare:.1}, git status {status:.1}, command {idle:.1}, after a change {changing:.1}, first look {first:.1}, shadow repository {shadow:.1}"
    )?;
    Ok(rows.iter().any(Row::over))
}

fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let begun = Instant::now();
    work();
    ms(begun.elapsed())
}

/// Files of text that packs about as well as code does.
fn generate(top: &Path, files: usize, bytes: usize) -> Result<()> {
    let mut seed = 1_u64;
    for number in 0..files {
        let folder = number / IN_FOLDER;
        let path = top.join(format!("{}/{}/{}", folder / 400, folder / 20 % 20, folder % 20));
        if number % IN_FOLDER == 0 {
            fs::create_dir_all(&path)?;
        }
        let mut text = String::with_capacity(bytes + 32);
        while text.len() < bytes {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(&format!("let value_{} = call({seed});\n", seed >> 56));
        }
        text.truncate(bytes);
        fs::write(path.join(format!("file_{number}.rs")), text)?;
    }
    Ok(())
}

/// Puts the tree into a repository of its own beside it, which is what it takes to begin with one.
fn shadow(top: &Path, shadow: &Path) -> Result<()> {
    let own = [("GIT_DIR", shadow), ("GIT_WORK_TREE", top)];
    git(top, &own, &["init", "-q"])?;
    for (name, value) in [("core.autocrlf", "false"), ("core.untrackedCache", "true"), ("feature.manyFiles", "true")] {
        git(top, &own, &["config", name, value])?;
    }
    git(top, &own, &["add", "-A"])?;
    git(top, &own, &["write-tree"])
}

/// What its first snapshot of the tree takes OpenCode, in milliseconds: a prompt there in a new home, without what it takes
/// where snapshots are switched off.
fn opencode(top: &Path, base: &Path) -> Result<f64> {
    let agent = install::opencode()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let server = runtime.block_on(ModelServer::start(vec![Answer::new([Step::text("Hello.")])]))?;
    let prompt = |is_on: bool| -> Result<f64> {
        let home = Home::new(base)?;
        home.use_model(&agent, server.url())?;
        let (_, text) = agent.kind.settings(&home, server.url());
        let mut settings: serde_json::Value = serde_json::from_str(&text)?;
        settings["snapshot"] = is_on.into();
        fs::write(top.join("opencode.json"), settings.to_string())?;
        let ask = |folder: &Path| {
            let mut command = home.command(&agent);
            command.args(agent.kind.prompt("Hello?")).current_dir(folder);
            child::run(&mut command, &base.join("printed"), PATIENCE)
        };
        // In another folder first: what it does only once in a home is no snapshot.
        ask(home.project())?;
        Ok(ms(ask(top)?.wall))
    };
    let without = prompt(false)?;
    Ok(prompt(true)? - without)
}

fn git(top: &Path, own: &[(&str, &Path)], args: &[&str]) -> Result<()> {
    let mut command = Command::new("git");
    command.args(args).current_dir(top).envs(own.iter().copied()).stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(command.status()?.success(), "git {args:?} failed");
    Ok(())
}

/// The median of an edit in milliseconds, and how much the disk takes for each byte changed.
fn edits(snapshots: &Snapshots, base: &Path) -> Result<(f64, f64)> {
    let path = base.join("edited.rs");
    let text =
        |number: usize| -> String { (0..1000).map(|line| format!("let line_{line} = {};\n", line * number)).collect() };
    fs::write(&path, text(0))?;
    let clock = Clock::system();
    let (before, mut bytes, mut times) = (snapshots.keep().used(), 0, Vec::new());
    for number in 1..=EDITS {
        let asker = Asker { session: clock.mint(), call: None };
        let new = text(number);
        times.push(timed(|| {
            let planned = Planned { path: &path, before: Standing::at(&path), after: Some(new.as_bytes()) };
            let announced = snapshots.before_files(&asker, vec![planned]);
            let written = fs::write(&path, &new);
            snapshots.after_files(announced, written.is_ok(), vec![Standing::at(&path)]);
        }));
        bytes += new.len();
    }
    let kept = snapshots.keep().used().saturating_sub(before);
    Ok((median(times).unwrap_or_default(), kept as f64 / bytes as f64))
}

/// The least that anybody has to do who looks at every file: two threads, each folder read and each file asked for how it
/// is, by the open folder.
mod walk {
    use super::{Path, PathBuf};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

    pub(super) fn bare(top: &Path) -> u64 {
        let queue = Mutex::new(vec![top.to_path_buf()]);
        let busy = AtomicUsize::new(1);
        let work = || {
            let mut sum = 0;
            while busy.load(Ordering::Acquire) > 0 {
                let next = queue.lock().ok().and_then(|mut queue| queue.pop());
                let Some(folder) = next else {
                    std::hint::spin_loop();
                    continue;
                };
                let below = look(&folder, &mut sum);
                busy.fetch_add(below.len(), Ordering::AcqRel);
                if let Ok(mut queue) = queue.lock() {
                    queue.extend(below);
                }
                busy.fetch_sub(1, Ordering::AcqRel);
            }
            sum
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(work);
            work() + other.join().unwrap_or(0)
        })
    }

    fn look(folder: &Path, sum: &mut u64) -> Vec<PathBuf> {
        let mut below = Vec::new();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(fd) = openat(CWD, folder, flags, Mode::empty()) else { return below };
        let Ok(entries) = Dir::read_from(&fd) else { return below };
        for entry in entries.flatten() {
            let name = entry.file_name();
            match entry.file_type() {
                FileType::Directory if !matches!(name.to_bytes(), b"." | b".." | b".git") => {
                    below.push(folder.join(name.to_string_lossy().as_ref()));
                }
                FileType::RegularFile => {
                    if let Ok(stat) = statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                        *sum = sum.wrapping_add(stat.st_size as u64);
                    }
                }
                _ => {}
            }
        }
        below
    }
}
