//! `cargo run --release -p haft-bench --bin measure -- target/release/haft`: what a run costs, against its limits.
//!
//! The model is a scenario served over HTTP from this process, so what is measured is haft: from the model's last byte
//! to haft's next request, and whole runs by wall, CPU and peak memory. Prints a table; ends with 1 if a limit is
//! exceeded.

use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_bench::agent::{Agent, Kind};
use haft_bench::child::{self, Ran};
use haft_bench::home::Home;
use haft_bench::limits::{Row, table};
use haft_bench::model_server::ModelServer;
use haft_bench::scene::{EVENT, EVENTS};
use haft_bench::stats::{Growth, median, ms};
use haft_bench::wire;
use haft_llm::{Answer, Step};

/// Runs of each kind; the median counts.
const RUNS: usize = 21;
/// Steps of each kind in one run.
const STEPS: usize = 40;

/// Steps of a long run.
const LONG: usize = 400;
/// How long any run may take.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let rows = runtime.context("no runtime").and_then(|runtime| {
        let haft = std::env::args_os().nth(1).context("name the haft binary to measure")?;
        let program = std::path::Path::new(&haft).canonicalize().context("there is no such binary")?;
        measure(&Agent { kind: Kind::Haft, program, beside: None }, &runtime)
    });
    let mut out = std::io::stdout().lock();
    let mut exceeded = false;
    match rows {
        Ok(rows) => {
            exceeded |= rows.iter().any(Row::over);
            let _ = out.write_all(table(&rows).as_bytes());
        }
        Err(error) => {
            let _ = writeln!(out, "error: {error:#}");
            exceeded = true;
        }
    }
    ExitCode::from(u8::from(exceeded))
}

fn measure(haft: &Agent, runtime: &tokio::runtime::Runtime) -> Result<Vec<Row>> {
    let serve = |answers: &[String]| -> Result<ModelServer> {
        let text = format!("{{\"haft\":\"scenario\",\"version\":1}}\n{}\n", answers.join("\n"));
        let answers = haft_llm::parse_scenario("the bench", &text)?;
        runtime.block_on(ModelServer::start(answers)).context("the model server does not start")
    };
    let homes = std::env::temp_dir();
    let mut rows = Vec::new();

    let home = Home::new(&homes)?;
    let mut walls = Vec::new();
    for _ in 0..RUNS {
        walls.push(ms(run(&home, haft, &["--version"])?.wall));
    }
    rows.push(Row::new("haft --version, wall", middle(walls)?, 15.0, "ms"));

    let server = serve(&[r#"{"answer":[{"text":"Hello."}]}"#.to_owned()])?;
    home.use_model(haft, server.url())?;
    let mut walls = Vec::new();
    for _ in 0..5 {
        let fresh = Home::new(&homes)?;
        fresh.use_model(haft, server.url())?;
        walls.push(ms(run(&fresh, haft, &["run", "hi"])?.wall));
    }
    rows.push(Row::new("run, first ever, wall", middle(walls)?, 150.0, "ms"));
    let mut runs = Vec::new();
    // The first one here makes the database.
    run(&home, haft, &["run", "hi"])?;
    for _ in 0..RUNS {
        runs.push(run(&home, haft, &["run", "hi"])?);
    }
    let of = |figure: fn(&Ran) -> f64| middle(runs.iter().map(figure).collect());
    let (wall, cpu, peak) = (of(|ran| ms(ran.wall))?, of(|ran| ms(ran.cpu))?, of(|ran| ran.peak as f64 / 1e6)?);
    rows.push(Row::new("run, one answer, wall", wall, 60.0, "ms"));
    rows.push(Row::new("run, one answer, CPU", cpu, 50.0, "ms"));
    rows.push(Row::new("run, one answer, peak memory", peak, 40.0, "MB"));

    rows.extend(wire(haft, &home, runtime)?);

    let call = |args: &str| format!("{{\"answer\":[{args}]}}");
    // No two calls are the same: a model that repeats itself is stopped.
    let read = |n: usize| call(&format!(r#"{{"call":"read","args":{{"filePath":"a.txt","limit":{}}}}}"#, 100 + n));
    let edit = |n: usize| {
        call(&format!(
            r#"{{"call":"edit","args":{{"filePath":"a.txt","oldString":"line {n}\n","newString":"line {}\n"}}}}"#,
            n + 1
        ))
    };
    let bash = |n: usize| call(&format!(r#"{{"call":"bash","args":{{"command":"true {n}"}}}}"#));
    // What the result of a call that worked holds, beside the limit.
    let kinds: [(&'static str, f64, &str, Vec<String>); 3] = [
        ("step with read, last byte to next request", 3.0, "End of file", (0..STEPS).map(read).collect()),
        ("step with edit, last byte to next request", 3.0, "Edited ", (0..STEPS).map(edit).collect()),
        ("step with bash, last byte to next request", 8.0, "(no output)", (0..STEPS).map(bash).collect()),
    ];
    for (what, limit, sign, mut answers) in kinds {
        answers.push(call(r#"{"text":"Done."}"#));
        let server = serve(&answers)?;
        home.use_model(haft, server.url())?;
        home.write("a.txt", "line 0\nmore\n")?;
        run(&home, haft, &["run", "work"])?;
        let requests = server.requests();
        ensure!(requests.len() == answers.len(), "{what}: {} requests", requests.len());
        // The first step also opens files and starts threads that later ones find ready.
        let gaps: Vec<f64> =
            requests.windows(2).skip(1).filter_map(|pair| Some(ms(pair[1].received - pair[0].answered?))).collect();
        ensure!(gaps.len() == STEPS - 1, "{what}: {} of {STEPS} steps could be measured", gaps.len());
        // A call that was refused or failed would look fast.
        let last = requests.last().map(|request| request.body["messages"].to_string()).unwrap_or_default();
        let worked = last.matches(sign).count();
        ensure!(worked == STEPS, "{what}: {worked} of {STEPS} calls did their work");
        rows.push(Row::new(what, middle(gaps)?, limit, "ms"));
    }
    let mut long: Vec<String> = (0..LONG).map(read).collect();
    long.push(call(r#"{"text":"Done."}"#));
    let server = serve(&long)?;
    home.use_model(haft, server.url())?;
    run(&home, haft, &["run", "work"])?;
    let requests = server.requests();
    let gaps = requests.windows(2).skip(1).filter_map(|pair| Some(ms(pair[1].received - pair[0].answered?)));
    let gaps: Vec<f64> = gaps.collect();
    ensure!(gaps.len() == LONG - 1, "only {} of {LONG} steps could be measured", gaps.len());
    let grown = Growth::of(&gaps, STEPS).context("a long run is too short")?.ratio();
    rows.push(Row::new("the last 40 of 400 steps against the first 40", grown, None, "×"));
    let mut bare = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        Command::new("bash").args(["-c", "true"]).status()?;
        bare.push(ms(started.elapsed()));
    }
    rows.push(Row::new("for comparison: bash -c true, bare", middle(bare)?, None, "ms"));
    Ok(rows)
}

/// What the way to the model costs: until the first request is there, in a long answer of small pieces, and beside a
/// model that speaks at its own pace.
fn wire(haft: &Agent, home: &Home, runtime: &tokio::runtime::Runtime) -> Result<Vec<Row>> {
    let serve =
        |answer: Answer| runtime.block_on(ModelServer::start(vec![answer])).context("the model server does not start");
    let server = serve(Answer::new([Step::text("Hello.")]))?;
    home.use_model(haft, server.url())?;
    let mut asked = Vec::new();
    for at in 0..RUNS {
        let started = Instant::now();
        run(home, haft, &["run", "hi"])?;
        let request = server.requests().into_iter().nth(at).context("nothing was asked")?;
        asked.push(ms(request.received - started));
    }
    let mut rows = vec![Row::new("from the start to the whole first request", middle(asked)?, 40.0, "ms")];

    let text = "twenty bytes of text".repeat(EVENTS);
    let server = serve(Answer::new([Step::Text { text, pieces: EVENTS }]))?;
    home.use_model(haft, server.url())?;
    let mut long = Vec::new();
    for _ in 0..5 {
        long.push(ms(run(home, haft, &["run", "hi"])?.cpu));
    }
    rows.push(Row::new("run, 200 kB in 10,000 events, CPU, start included", middle(long)?, 100.0, "ms"));
    let read = wire::read(server.url())?;
    ensure!(read.bytes == EVENTS * EVENT, "{} bytes came of the long answer", read.bytes);
    rows.push(Row::new("the same, the wire layer alone, CPU", ms(read.cpu), None, "ms"));

    let server = serve(wire::paced())?;
    let read = wire::read(server.url())?;
    ensure!(read.bytes == wire::PACED, "{} bytes came of the paced answer", read.bytes);
    let share = |cpu: Duration, wall: Duration| 100.0 * cpu.as_secs_f64() / wall.as_secs_f64();
    rows.push(Row::new("the wire layer at 200 tokens/s, of a core", share(read.cpu, read.wall), 1.0, "%"));
    home.use_model(haft, server.url())?;
    let ran = run(home, haft, &["run", "hi"])?;
    rows.push(Row::new("run at 200 tokens/s, start included, of a core", share(ran.cpu, ran.wall), None, "%"));
    Ok(rows)
}

/// Runs `agent` in `home` until it ends.
fn run(home: &Home, agent: &Agent, arguments: &[&str]) -> Result<Ran> {
    child::run(home.command(agent).args(arguments), &home.folder().join("printed"), PATIENCE)
}

fn middle(values: Vec<f64>) -> Result<f64> {
    median(values).context("nothing was measured")
}
