//! `cargo run --release -p haft-bench --bin endurance -- target/release/haft [--peers]`: what lasting costs.
//!
//! 20,000 tool calls in one process (`haft tool call --jsonl`): memory and open files after the first 10,000 and at the
//! end. 50 sessions of 20 steps at once in one process over the library, against a scripted model served over HTTP from
//! another; with `--peers` the same sessions in OpenCode as a server, which is installed from npm first (once, below the
//! build folder). Prints a table; ends with 1 if a limit is exceeded.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use haft_bench::agent::{Agent, Kind};
use haft_bench::child;
use haft_bench::crowd;
use haft_bench::home::Home;
use haft_bench::install;
use haft_bench::limits::{Row, table};
use haft_bench::model_server::ModelServer;
use haft_bench::served::Served;
use serde_json::{Value, json};

/// Tool calls of the one process.
const CALLS: usize = 20_000;
/// Calls after which it has warmed up: each thread of the runtime's pool keeps a heap of its own, and the last of them
/// are begun within the first 10,000 calls.
const WARM: usize = 10_000;
/// Calls between two looks at it.
const BETWEEN: usize = 500;
/// Sessions at once, and steps of each.
const SESSIONS: usize = 50;
/// See [`SESSIONS`].
const STEPS: usize = 20;
/// Steps per second of OpenCode 1.18 with 20 such sessions, on two cores, as it was measured once.
const OPENCODE: f64 = 7.4;
/// How long the sessions may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// What asks this program to be the process with the sessions: address, project, folder.
const CROWD: &str = "--crowd";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rows = match args.as_slice() {
        [crowd, url, project, folder] if crowd == CROWD => sessions_here(url, project, folder).map(|()| Vec::new()),
        [haft] => measure(haft, false),
        [haft, peers] if peers == "--peers" => measure(haft, true),
        _ => Err(anyhow::anyhow!("name the haft binary to measure")),
    };
    let mut out = std::io::stdout().lock();
    match rows {
        Ok(rows) => {
            let _ = out.write_all(table(&rows).as_bytes());
            ExitCode::from(u8::from(rows.iter().any(Row::over)))
        }
        Err(error) => {
            let _ = writeln!(out, "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(haft: &str, peers: bool) -> Result<Vec<Row>> {
    let program = Path::new(haft).canonicalize().context("there is no such binary")?;
    let agent = Agent { kind: Kind::Haft, program, beside: None };
    let mut rows = calls(&agent)?;
    rows.extend(sessions(peers)?);
    Ok(rows)
}

/// Memory in bytes and open files of a process.
struct Look {
    memory: f64,
    files: f64,
}

fn look(child: &Child) -> Result<Look> {
    let proc = format!("/proc/{}", child.id());
    let status = std::fs::read_to_string(format!("{proc}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: f64 = line.split_whitespace().next().context("no figure")?.parse()?;
    Ok(Look { memory: kilobytes * 1024.0, files: std::fs::read_dir(format!("{proc}/fd"))?.count() as f64 })
}

/// The `n`-th call. No two are the same, and every kind of tool that works on files takes its turn.
fn call(n: usize) -> Value {
    let (tool, args) = match n % 10 {
        0 => ("write", json!({ "filePath": format!("made/{}.txt", n % 100), "content": format!("number {n}\n") })),
        1 | 2 => ("edit", json!({ "filePath": "edited.txt", "oldString": edited(n - 1), "newString": edited(n) })),
        3 => ("grep", json!({ "pattern": format!("line {n}$") })),
        4 => ("glob", json!({ "pattern": format!("**/*{}.txt", n % 7) })),
        5 => ("bash", json!({ "command": format!("echo {n}") })),
        _ => ("read", json!({ "filePath": "data.txt", "offset": n % 900 + 1, "limit": 50 })),
    };
    json!({ "tool": tool, "args": args })
}

/// What the edited file holds after the `n`-th call.
fn edited(n: usize) -> String {
    let edits = n / 10 * 2 + (n % 10).min(2);
    format!("value {edits}\n")
}

fn calls(haft: &Agent) -> Result<Vec<Row>> {
    let home = Home::new(&std::env::temp_dir())?;
    let lines: String = (0..1000).map(|n| format!("line {n}\n")).collect();
    home.write("data.txt", &lines)?;
    home.write("edited.txt", &edited(0))?;
    let mut command = home.command(haft);
    command.args(["tool", "call", "--jsonl", "--auto"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().context("haft cannot be started")?;
    let (mut input, output) = (child.stdin.take().context("no input")?, child.stdout.take().context("no output")?);
    let mut output = BufReader::new(output);
    let mut looks = Vec::new();
    for n in 0..CALLS {
        writeln!(input, "{}", call(n))?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line).with_context(|| format!("call {n} got {line:?}"))?;
        ensure!(answer["error"].is_null(), "call {n}, {}, failed: {}", call(n), answer["error"]);
        if n >= WARM && n % BETWEEN == 0 {
            looks.push((n as f64, look(&child)?));
        }
    }
    looks.push((CALLS as f64, look(&child)?));
    drop(input);
    ensure!(child.wait()?.success(), "haft failed");
    let slope = slope(looks.iter().map(|(n, look)| (*n, look.memory)));
    let most = looks.iter().map(|(_, look)| look.memory).fold(0.0, f64::max);
    let files = looks.last().zip(looks.first()).map(|(last, first)| last.1.files - first.1.files);
    Ok(vec![
        Row::new("20,000 tool calls in one process, memory", most / 1e6, 120.0, "MB"),
        // What the allocator keeps moves by some hundred kilobytes; a leak of 100 bytes a call would be 1 MB.
        Row::new("the same, growth in the second 10,000 calls", slope * (CALLS - WARM) as f64 / 1e6, 1.0, "MB"),
        Row::new("the same, more open files at the end", files.context("no look")?, 0.0, "files"),
    ])
}

/// The slope of the line that lies best between the points.
fn slope(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let points: Vec<_> = points.collect();
    let count = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (x, y) = (sum_x / count, sum_y / count);
    let above: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let below: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    above / below
}

fn sessions(peers: bool) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let server = runtime.block_on(ModelServer::start(crowd::answers(STEPS)))?;
    let home = Home::new(&std::env::temp_dir())?;
    home.write(crowd::FILE, &(0..1000).map(|n| format!("line {n}\n")).collect::<String>())?;
    let printed = home.folder().join("printed");
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(CROWD).arg(server.url()).arg(home.project()).arg(home.folder());
    let ran = child::run(&mut command, &printed, PATIENCE)?;
    let took: f64 = std::fs::read_to_string(&printed)?.trim().parse().context("the sessions said nothing")?;
    let (asked, want) = (server.requests().len(), (SESSIONS + 1) * STEPS);
    ensure!(asked == want, "{asked} requests instead of {want}");
    let rate = (SESSIONS * STEPS) as f64 / took;
    let mut rows = vec![
        Row::new("50 sessions of 20 steps at once, steps a second", rate, None, "/s"),
        Row::new("50 sessions of 20 steps at once, peak memory", ran.peak as f64 / 1e6, 80.0, "MB"),
    ];
    let other = match peers {
        true => {
            let (other, peak) = opencode(&runtime)?;
            rows.push(Row::new("the same in OpenCode, steps a second", other, None, "/s"));
            rows.push(Row::new("the same in OpenCode, peak memory", peak, None, "MB"));
            other
        }
        false => OPENCODE,
    };
    rows.push(Row::new("OpenCode's steps a second, of ours", 100.0 * other / rate, 100.0 / 30.0, "%"));
    Ok(rows)
}

/// Steps a second of OpenCode with the same sessions, and its peak memory in megabytes.
fn opencode(runtime: &tokio::runtime::Runtime) -> Result<(f64, f64)> {
    let agent = install::opencode()?;
    let server = runtime.block_on(ModelServer::start(crowd::answers(STEPS)))?;
    let home = Home::new(&std::env::temp_dir())?;
    home.use_model(&agent, server.url())?;
    home.write(crowd::FILE, &(0..1000).map(|n| format!("line {n}\n")).collect::<String>())?;
    let served = Served::start(&agent, &home)?;
    // What it does only once is not what is compared.
    served.play(1)?;
    let took = served.play(SESSIONS)?.as_secs_f64();
    let (asked, want) = (server.requests().len(), (SESSIONS + 1) * STEPS);
    ensure!(asked == want, "OpenCode asked {asked} times instead of {want}");
    Ok(((SESSIONS * STEPS) as f64 / took, served.peak()?))
}

/// The process with the sessions. Prints the seconds that they took.
fn sessions_here(url: &str, project: &str, folder: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (project, folder) = (Path::new(project), Path::new(folder));
    let took = runtime.block_on(async {
        // What it does only once is not what is compared.
        crowd::play(url, project, &folder.join("first"), 1).await?;
        crowd::play(url, project, folder, SESSIONS).await
    })?;
    writeln!(std::io::stdout(), "{}", took.as_secs_f64())?;
    Ok(())
}
