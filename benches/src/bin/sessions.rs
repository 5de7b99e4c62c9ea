//! `cargo run --release -p haft-bench --bin sessions`: what a long session costs to open and to go on with, and 100,000
//! parts to read.
//!
//! Each is measured in a process of its own, so that memory is what that one took. Ends with 1 if a limit is exceeded.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result};
use haft_bench::limits::{Row, table};
use haft_bench::long::{Steps, steps};
use haft_bench::stats::median;
use haft_protocol::{Event, Id, SessionId};
use haft_store::Journal;
use serde_json::{Value, json};

/// Times that each is opened; the fastest counts, because what disturbs only adds.
const RUNS: usize = 7;
const SESSION: &str = "ses_1";
/// What asks this program to go on with the session; anything else, with a new one.
const LONG: &str = "long";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.context("no runtime").and_then(|runtime| match args.as_slice() {
        [path] => runtime.block_on(opened(path.as_ref())),
        [path, which] => runtime.block_on(gone_on(path.as_ref(), which == LONG)),
        _ => runtime.block_on(measure()),
    });
    let mut out = std::io::stdout().lock();
    match done {
        Ok((text, over)) => {
            let _ = out.write_all(text.as_bytes());
            ExitCode::from(u8::from(over))
        }
        Err(error) => {
            let _ = writeln!(out, "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Result<(String, bool)> {
    let mut rows = Vec::new();
    for (messages, parts, limits) in [(10_000, 3, (Some(50.0), Some(60.0))), (10_000, 10, (None, None))] {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("haft.db");
        fill(&path, messages, parts).await?;
        let mut best: Option<(f64, f64)> = None;
        for _ in 0..RUNS {
            let told = child(&path, &[])?;
            let (took, peak) = (figure(&told, "ms")?, figure(&told, "mb")?);
            best = Some(best.map_or((took, peak), |(least, low)| (took.min(least), peak.min(low))));
        }
        let (took, peak) = best.context("nothing was opened")?;
        let size = path.metadata()?.len() / 1_000_000;
        let what = format!("{messages} messages, {} parts, {size} MB: open", messages * parts);
        rows.push(Row::new(what, took, limits.0, "ms"));
        rows.push(Row::new("… memory", peak, limits.1, "MB"));
        if limits.0.is_some() {
            rows.extend(next_steps(&path)?);
        }
    }
    let over = rows.iter().any(Row::over);
    Ok((table(&rows), over))
}

/// The next step of the session at `path` beside one of a new session, by turns.
fn next_steps(path: &Path) -> Result<Vec<Row>> {
    let (mut ratios, mut per_mb, mut gaps, mut low) = (Vec::new(), Vec::new(), Vec::new(), f64::INFINITY);
    for _ in 0..RUNS {
        // Each goes on with what was there before, and with no log of another copy beside it.
        let folder = tempfile::tempdir()?;
        let copy = folder.path().join("haft.db");
        std::fs::copy(path, &copy)?;
        let (new, long) = (child(&copy, &["new"])?, child(&copy, &[LONG])?);
        let gap = figure(&long, "gap")?;
        ratios.push(gap / figure(&new, "gap")?);
        per_mb.push(figure(&long, "written")? / (figure(&long, "bytes")? / 1e6));
        gaps.push(gap);
        low = low.min(figure(&long, "mb")?);
    }
    let [ratio, per_mb, gap] = [ratios, per_mb, gaps].map(|values| median(values).unwrap_or(f64::INFINITY));
    Ok(vec![
        Row::new("… the next step, before its request is written", gap, None, "ms"),
        Row::new("… beside that of a new session", ratio, 1.2, "×"),
        Row::new("… writing its request, a megabyte", per_mb, 2.0, "ms"),
        Row::new("… memory with that request", low, None, "MB"),
    ])
}

/// What this program tells when it is started with `path` and `args`.
fn child(path: &Path, args: &[&str]) -> Result<Value> {
    let ran = Command::new(std::env::current_exe()?).arg(path).args(args).output()?;
    let text = String::from_utf8_lossy(&ran.stdout);
    serde_json::from_str(&text).with_context(|| format!("the process with the session said {text:?}"))
}

fn figure(told: &Value, name: &str) -> Result<f64> {
    told[name].as_f64().with_context(|| format!("{name} is missing"))
}

/// Goes on with the session, or with a new one beside it, and says what a step took.
async fn gone_on(path: &Path, is_long: bool) -> Result<(String, bool)> {
    let folder = tempfile::tempdir()?;
    let journal = Journal::open(path).await?;
    let id = is_long.then(|| SessionId::parse(SESSION)).transpose()?;
    let Steps { gap, written, bytes } = steps(&journal, id.as_ref(), &folder.path().canonicalize()?).await?;
    Ok((format!("{}\n", json!({"gap": gap, "written": written, "bytes": bytes, "mb": peak()})), false))
}

/// Most memory that this process had at once, in megabytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    peak.unwrap_or(0.0) / 1e3
}

/// Opens the store, reads the history, and says what that took.
async fn opened(path: &Path) -> Result<(String, bool)> {
    let id = SessionId::parse(SESSION)?;
    let begun = Instant::now();
    let journal = Journal::open(path).await?;
    let history = journal.history(&id).await?;
    let ms = begun.elapsed().as_secs_f64() * 1e3;
    anyhow::ensure!(!history.messages().is_empty(), "nothing was read");
    Ok((format!("{}\n", json!({"ms": ms, "mb": peak()})), false))
}

/// A session such as real ones are: prompts, answers with a call, words.
async fn fill(path: &Path, messages: usize, parts: usize) -> Result<()> {
    let journal = Journal::open(path).await?;
    let info = json!({
        "id": SESSION, "slug": "calm-lathe", "projectID": "global", "directory": "/p", "title": "Long", "version": "1",
        "time": {"created": 1, "updated": 1}
    });
    let session_id = SessionId::parse(SESSION)?;
    let mut events =
        vec![Event::SessionCreated { session_id: session_id.clone(), info: serde_json::from_value(info)? }];
    for n in 0..messages {
        let info = if n % 5 == 0 {
            json!({"role": "user", "id": format!("msg_{n:05}"), "sessionID": SESSION, "time": {"created": n}, "agent": "build",
                   "model": {"providerID": "v", "modelID": "m"}})
        } else {
            json!({"role": "assistant", "id": format!("msg_{n:05}"), "sessionID": SESSION, "parentID": format!("msg_{:05}", n / 5 * 5),
                   "time": {"created": n, "completed": n}, "modelID": "m", "providerID": "v", "mode": "build", "agent": "build",
                   "path": {"cwd": "/p", "root": "/p"}, "cost": 0.01, "finish": "tool-calls",
                   "tokens": {"input": 900, "output": 40, "reasoning": 0, "cache": {"read": 8000, "write": 100}}})
        };
        events.push(Event::MessageUpdated { session_id: session_id.clone(), info: serde_json::from_value(info)? });
        for m in 0..parts {
            let mut part = match m % 3 {
                0 => json!({"type": "step-start"}),
                1 => json!({"type": "tool", "callID": format!("call_{n}"), "tool": "read", "state": {
                        "status": "completed", "input": {"filePath": format!("src/file_{n}.rs")},
                        "output": "fn main() { let x = 1; }\n".repeat(20), "title": "src/file.rs",
                        "metadata": {"preview": "fn main()", "truncated": false}, "time": {"start": n, "end": n}}}),
                _ => {
                    json!({"type": "text", "text": "Some words about what was found there. ".repeat(5), "time": {"start": 1, "end": 2}})
                }
            };
            part["id"] = json!(format!("prt_{n:05}x{m}"));
            part["sessionID"] = json!(SESSION);
            part["messageID"] = json!(format!("msg_{n:05}"));
            let part = serde_json::from_value(part)?;
            events.push(Event::PartUpdated { session_id: session_id.clone(), part, time: 1 });
        }
        if events.len() > 500 {
            journal.record_all(std::mem::take(&mut events)).await?;
        }
    }
    journal.record_all(events).await?;
    journal.close().await?;
    Ok(())
}
