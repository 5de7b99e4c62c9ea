//! `cargo run --release -p haft-bench --bin scripts -- target/release/haft`: what tools written in TypeScript cost.
//!
//! Each is a file in the project's folder for tools; what they offer is known from before. Prints a table; ends with 1 if a
//! limit is exceeded.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use haft_bench::agent::{Agent, Kind};
use haft_bench::home::Home;
use haft_bench::limits::{Row, table};
use haft_bench::stats::{median, ms};
use haft_bench::talk::Talk;
use serde_json::json;

/// Files of tools.
const FILES: usize = 21;
/// As many as people usually have.
const SOME: usize = 5;
/// Processes that are started; the median of what the first need costs counts.
const STARTS: usize = 11;
/// Calls of one that is loaded.
const CALLS: usize = 501;

/// A tool as people write them.
const TOOL: &str = r#"import { tool } from "@opencode-ai/plugin"

type Found = { text: string; count: number }

export default tool({
  description: "Says how often a word NUMBER stands in a text",
  args: {
    text: tool.schema.string().describe("The text"),
    word: tool.schema.string().describe("The word"),
  },
  async execute(args): Promise<string> {
    const found: Found = { text: args.text, count: args.text.split(args.word).length - 1 }
    return `${found.count}`
  },
})
"#;

fn main() -> ExitCode {
    match measure() {
        Ok(rows) => {
            let _ = std::io::stdout().write_all(table(&rows).as_bytes());
            ExitCode::from(u8::from(rows.iter().any(Row::over)))
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<Vec<Row>> {
    let program = std::env::args_os().nth(1).context("name the haft binary to measure")?;
    let program = Path::new(&program).canonicalize().context("there is no such binary")?;
    let haft = Agent { kind: Kind::Haft, program, beside: None };
    let home = Home::new(&std::env::temp_dir())?;
    home.write("a.txt", "one\n")?;
    for n in 0..FILES {
        home.write(&format!(".opencode/tool/count_{n}.ts"), &TOOL.replace("NUMBER", &n.to_string()))?;
    }
    // From now on it is known what they offer.
    let listed = home.command(&haft).args(["tool", "list"]).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let held = listed.contains("tool_search");
    ensure!(held || listed.contains("count_0"), "the tools are not there: {listed}");

    let (mut before, mut first, mut further) = (0, Vec::new(), Vec::new());
    let (mut with_some, mut with_all) = (0.0_f64, 0.0_f64);
    let mut calls = Vec::new();
    for start in 0..STARTS {
        let mut talk = Talk::start(home.command(&haft).args(["tool", "call", "--jsonl", "--auto"]))?;
        // What haft itself needs for its first call is not theirs.
        talk.ask(&json!({"tool": "read", "args": {"filePath": "a.txt"}}))?;
        before = before.max(hosts(talk.pid())?.len());
        first.push(call(&mut talk, 0)?);
        let host = *hosts(talk.pid())?.first().context("nothing runs scripts")?;
        for n in 1..FILES {
            further.push(call(&mut talk, n)?);
            if n + 1 == SOME {
                with_some = with_some.max(memory(host)?);
            }
        }
        with_all = with_all.max(memory(host)?);
        if start == 0 {
            for _ in 0..CALLS {
                calls.push(call(&mut talk, 0)?);
            }
        }
    }
    let mut reads = Vec::new();
    let mut talk = Talk::start(home.command(&haft).args(["tool", "call", "--jsonl", "--auto"]))?;
    for _ in 0..CALLS {
        reads.push(ms(talk.ask(&json!({"tool": "read", "args": {"filePath": "a.txt"}}))?.1));
    }
    let middle = |values: Vec<f64>| median(values).context("nothing was measured");
    #[expect(clippy::cast_precision_loss, reason = "a few processes")]
    let before = before as f64;
    Ok(vec![
        Row::new("processes for scripts before one is needed", before, 0.0, "at once"),
        Row::new("the first tool in TypeScript, from need to answer", middle(first)?, 40.0, "ms"),
        Row::new("each further file, from need to answer", middle(further)?, 5.0, "ms"),
        Row::new("a call of one that is loaded", middle(calls)?, 1.0, "ms"),
        Row::new("for comparison: a call of read", middle(reads)?, None, "ms"),
        Row::new(format!("memory of the process with {SOME} files"), with_some, 40.0, "MB"),
        Row::new(format!("the same with {FILES}"), with_all, None, "MB"),
    ])
}

/// Calls the tool of file `n`; how long that took, in milliseconds.
fn call(talk: &mut Talk, n: usize) -> Result<f64> {
    let args = json!({"text": "a b a", "word": "a"});
    let (answer, took) = talk.ask(&json!({"tool": format!("count_{n}"), "args": args}))?;
    ensure!(answer["output"] == "2", "not the right answer: {answer}");
    Ok(ms(took))
}

/// The processes below `pid` that run scripts.
fn hosts(pid: u32) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").context("only where processes are files")? {
        let Ok(one) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        // One that has just ended is none.
        let stat = std::fs::read_to_string(format!("/proc/{one}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<u32>().ok());
        let line = std::fs::read(format!("/proc/{one}/cmdline")).unwrap_or_default();
        if parent == Some(pid) && String::from_utf8_lossy(&line).contains("--run-scripts") {
            found.push(one);
        }
    }
    Ok(found)
}

/// Most memory that the process `pid` had, in MB.
fn memory(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("its memory is not told")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}
