//! `cargo run --release -p haft-bench --bin mcp -- target/release/haft`: what servers of tools cost, and haft as one.
//!
//! The servers are this program: with the arguments `--serve N` it offers N tools. Prints a table; ends with 1 if a limit is
//! exceeded.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_bench::agent::{Agent, Kind};
use haft_bench::child;
use haft_bench::home::Home;
use haft_bench::limits::{Row, table};
use haft_bench::model_server::ModelServer;
use haft_bench::stats::{median, ms};
use haft_bench::talk::Talk;
use haft_llm::{Answer, Step};
use serde_json::{Value, json};

/// Calls that are timed.
const CALLS: usize = 501;
/// Runs of each kind, taking turns.
const RUNS: usize = 21;
/// Servers in the settings.
const SERVERS: usize = 5;
/// Tools of each.
const TOOLS: usize = 20;
/// How long any run may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// What makes this program a server.
const SERVE: &str = "--serve";
/// How many bytes of a request are counted as a token.
const TOKEN: f64 = 3.6;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let [_, serve, count] = &args[..]
        && serve == SERVE
    {
        return ExitCode::from(u8::from(offer(count.parse().unwrap_or_default()).is_err()));
    }
    match measure(args.get(1).map(Path::new)) {
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

fn measure(haft: Option<&Path>) -> Result<Vec<Row>> {
    let program = haft.context("name the haft binary to measure")?.canonicalize().context("there is no such binary")?;
    let haft = Agent { kind: Kind::Haft, program, beside: None };
    let mut rows = serving(&haft)?;
    rows.extend(configured(&haft)?);
    Ok(rows)
}

/// haft as a server: calls over its input and output.
fn serving(haft: &Agent) -> Result<Vec<Row>> {
    let home = Home::new(&std::env::temp_dir())?;
    home.write("a.txt", "one\ntwo\n")?;
    let mut talk = Talk::start(home.command(haft).args(["mcp", "serve"]))?;
    let client = json!({"name": "bench", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    talk.ask(&request(0, "initialize", &hello))?;
    talk.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    let (mut pings, mut calls) = (Vec::new(), Vec::new());
    for id in 1..=CALLS {
        pings.push(ms(talk.ask(&request(2 * id, "ping", &json!({})))?.1));
        let read = json!({"name": "read", "arguments": {"filePath": "a.txt"}});
        let (answer, took) = talk.ask(&request(2 * id + 1, "tools/call", &read))?;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        ensure!(text.contains("1: one"), "not what was read: {answer}");
        // The first one opens what later ones find open.
        if id > 1 {
            calls.push(ms(took));
        }
    }
    Ok(vec![
        Row::new("mcp serve: a call of read over stdio, median", middle(calls)?, 1.0, "ms"),
        Row::new("for comparison: a ping of it", middle(pings)?, None, "ms"),
    ])
}

/// Servers in the settings, that are not needed: what they had is kept from before.
fn configured(haft: &Agent) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let serve = || {
        let answer = Answer::new([Step::text("Hello.")]);
        runtime.block_on(ModelServer::start(vec![answer])).context("the model server does not start")
    };
    let (without, with) = (Home::new(&std::env::temp_dir())?, Home::new(&std::env::temp_dir())?);
    let ours = std::env::current_exe()?;
    let server = json!({"type": "local", "command": [ours, SERVE, TOOLS.to_string()], "sandbox": {"mode": "off"}});
    let servers: serde_json::Map<String, Value> = (0..SERVERS).map(|n| (format!("s{n}"), server.clone())).collect();
    let own = with.folder().join(".config/haft");
    std::fs::create_dir_all(&own)?;
    std::fs::write(own.join("haft.json"), json!({ "mcp": servers }).to_string())?;
    let listed = with.command(haft).args(["mcp", "list", "--json"]).output()?;
    let listed: Value = serde_json::from_slice(&listed.stdout).context("the servers cannot be listed")?;
    let known = listed.as_object().into_iter().flatten().filter_map(|(_, one)| one["tools"].as_array()).map(Vec::len);
    ensure!(known.sum::<usize>() == SERVERS * TOOLS, "not all tools are known: {listed}");

    let (server_without, server_with) = (serve()?, serve()?);
    without.use_model(haft, server_without.url())?;
    with.use_model(haft, server_with.url())?;
    let (mut bare, mut laden) = (Vec::new(), Vec::new());
    for at in 0..=RUNS {
        for (home, server, times) in [(&without, &server_without, &mut bare), (&with, &server_with, &mut laden)] {
            let started = Instant::now();
            child::run(home.command(haft).args(["run", "hi"]), &home.folder().join("printed"), PATIENCE)?;
            let asked = server.requests().into_iter().nth(at).context("nothing was asked")?;
            // The first one makes the database.
            if at > 0 {
                times.push(ms(asked.received - started));
            }
        }
    }
    let size = |server: &ModelServer| -> Result<f64> {
        let request = server.requests().into_iter().next_back().context("nothing was asked")?;
        #[expect(clippy::cast_precision_loss, reason = "a request is small")]
        Ok(request.body.to_string().len() as f64 / TOKEN)
    };
    let grown = size(&server_with)? - size(&server_without)?;
    let (bare, laden) = (middle(bare)?, middle(laden)?);
    Ok(vec![
        Row::new("start to first request, no servers", bare, None, "ms"),
        Row::new(format!("start to first request, {SERVERS} servers that are known"), laden, None, "ms"),
        Row::new("the second, times the first", laden / bare, 1.1, "×"),
        Row::new(format!("first request with {} tools more, growth", SERVERS * TOOLS), grown, 500.0, "tokens"),
    ])
}

fn request(id: usize, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn middle(values: Vec<f64>) -> Result<f64> {
    median(values).context("nothing was measured")
}

/// A server of `count` tools, until nobody speaks to it any more.
fn offer(count: usize) -> Result<()> {
    let about = "Looks things up in a place where many things are, and says what it found there in a few words.";
    let field = json!({"type": "string", "description": "What to look for, in words that stand there"});
    let schema = json!({"type": "object", "properties": {"query": field}, "required": ["query"]});
    let tool = |n: usize| json!({"name": format!("look_up_{n}"), "description": about, "inputSchema": schema});
    let tools: Vec<Value> = (0..count).map(tool).collect();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let result = match message["method"].as_str() {
            Some("initialize") => {
                let (version, who) = (&message["params"]["protocolVersion"], json!({"name": "bench", "version": "1"}));
                json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": who})
            }
            Some("tools/list") => json!({ "tools": tools }),
            _ => json!({}),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
        out.flush()?;
    }
    Ok(())
}
