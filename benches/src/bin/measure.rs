//! `cargo run --release -p haft-bench --bin measure -- target/release/haft`: what a run costs, against its limits.
//!
//! The model is a scenario served over HTTP from this process, so what is measured is haft: from the model's last byte
//! to haft's next request, and whole runs by wall, CPU and peak memory. Prints a table; ends with 1 if a limit is
//! exceeded.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_bench::model_server::ModelServer;

/// Runs of each kind; the median counts.
const RUNS: usize = 21;
/// Steps of each kind in one run.
const STEPS: usize = 40;

/// Steps of a long run.
const LONG: usize = 400;

/// One line of the table.
struct Row {
    what: &'static str,
    measured: f64,
    limit: Option<f64>,
    unit: &'static str,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let rows = runtime.context("no runtime").and_then(|runtime| {
        let haft = std::env::args_os().nth(1).map(PathBuf::from).context("name the haft binary to measure")?;
        measure(&haft.canonicalize().context("there is no such binary")?, &runtime)
    });
    let mut out = std::io::stdout().lock();
    let mut exceeded = false;
    match rows {
        Ok(rows) => {
            for Row { what, measured, limit, unit } in rows {
                let over = limit.is_some_and(|limit| measured > limit);
                exceeded |= over;
                let limit = limit.map(|limit| format!("limit {limit} {unit}")).unwrap_or_default();
                let mark = if over { "  OVER" } else { "" };
                let _ = writeln!(out, "{what:44} {measured:8.2} {unit}  {limit}{mark}");
            }
        }
        Err(error) => {
            let _ = writeln!(out, "error: {error:#}");
            exceeded = true;
        }
    }
    ExitCode::from(u8::from(exceeded))
}

fn measure(haft: &Path, runtime: &tokio::runtime::Runtime) -> Result<Vec<Row>> {
    let serve = |answers: &[String]| -> Result<ModelServer> {
        let text = format!("{{\"haft\":\"scenario\",\"version\":1}}\n{}\n", answers.join("\n"));
        let answers = haft_llm::parse_scenario("the bench", &text)?;
        runtime.block_on(ModelServer::start(answers)).context("the model server does not start")
    };
    let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
    let mut rows = Vec::new();

    let home = Home::new()?;
    let version = median(RUNS, || home.run(haft, &["--version"]).map(|ran| ms(ran.wall)))?;
    rows.push(Row { what: "haft --version, wall", measured: version, limit: Some(15.0), unit: "ms" });

    let server = serve(&[r#"{"answer":[{"text":"Hello."}]}"#.to_owned()])?;
    home.use_model(server.url())?;
    let first = median(5, || {
        let fresh = Home::new()?;
        fresh.use_model(server.url())?;
        fresh.run(haft, &["run", "hi"]).map(|ran| ms(ran.wall))
    })?;
    rows.push(Row { what: "run, first ever, wall", measured: first, limit: Some(150.0), unit: "ms" });
    let mut walls = Vec::new();
    let mut peaks = Vec::new();
    let before = children_cpu()?;
    for _ in 0..RUNS {
        let ran = home.run(haft, &["run", "hi"])?;
        walls.push(ms(ran.wall));
    }
    let cpu = ms(children_cpu()? - before) / RUNS as f64;
    for _ in 0..5 {
        peaks.push(home.run_watched(haft, &["run", "hi"])?);
    }
    rows.push(Row { what: "run, one answer, wall", measured: middle(walls), limit: Some(60.0), unit: "ms" });
    rows.push(Row { what: "run, one answer, CPU", measured: cpu, limit: Some(50.0), unit: "ms" });
    rows.push(Row { what: "run, one answer, peak memory", measured: middle(peaks), limit: Some(40.0), unit: "MB" });

    let call = |args: &str| format!("{{\"answer\":[{args}]}}");
    let read = call(r#"{"call":"read","args":{"filePath":"a.txt"}}"#);
    let edit = |n: usize| {
        call(&format!(
            r#"{{"call":"edit","args":{{"filePath":"a.txt","oldString":"line {n}\n","newString":"line {}\n"}}}}"#,
            n + 1
        ))
    };
    let bash = call(r#"{"call":"bash","args":{"command":"true"}}"#);
    // What the result of a call that worked holds, beside the limit.
    let kinds: [(&'static str, f64, &str, Vec<String>); 3] = [
        ("step with read, last byte to next request", 3.0, "End of file", vec![read; STEPS]),
        ("step with edit, last byte to next request", 3.0, "Edited ", (0..STEPS).map(edit).collect()),
        ("step with bash, last byte to next request", 8.0, "(no output)", vec![bash; STEPS]),
    ];
    for (what, limit, sign, mut answers) in kinds {
        answers.push(call(r#"{"text":"Done."}"#));
        let server = serve(&answers)?;
        home.use_model(server.url())?;
        std::fs::write(home.project().join("a.txt"), "line 0\nmore\n")?;
        home.run(haft, &["run", "work"])?;
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
        rows.push(Row { what, measured: middle(gaps), limit: Some(limit), unit: "ms" });
    }
    let mut long = vec![call(r#"{"call":"read","args":{"filePath":"a.txt"}}"#); LONG];
    long.push(call(r#"{"text":"Done."}"#));
    let server = serve(&long)?;
    home.use_model(server.url())?;
    home.run(haft, &["run", "work"])?;
    let requests = server.requests();
    let gaps = requests.windows(2).skip(1).filter_map(|pair| Some(ms(pair[1].received - pair[0].answered?)));
    let gaps: Vec<f64> = gaps.collect();
    ensure!(gaps.len() == LONG - 1, "only {} of {LONG} steps could be measured", gaps.len());
    let grown = middle(gaps[LONG - 1 - STEPS..].to_vec()) / middle(gaps[..STEPS].to_vec());
    rows.push(Row { what: "the last 40 of 400 steps against the first 40", measured: grown, limit: None, unit: "×" });
    let spawn = median(RUNS, || {
        let started = Instant::now();
        Command::new("bash").args(["-c", "true"]).status()?;
        Ok(ms(started.elapsed()))
    })?;
    rows.push(Row { what: "for comparison: bash -c true, bare", measured: spawn, limit: None, unit: "ms" });
    Ok(rows)
}

/// A home and a project of its own.
struct Home {
    folder: PathBuf,
}

struct Ran {
    wall: Duration,
}

impl Home {
    fn new() -> Result<Self> {
        let unique = format!("haft-bench-{}-{:?}", std::process::id(), Instant::now());
        let unique: String = unique.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let folder = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(folder.join("project"))?;
        Ok(Self { folder })
    }

    fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    fn use_model(&self, url: &str) -> Result<()> {
        let config = serde_json::json!({
            "model": "mock/m1",
            "permission": { "bash": "allow" },
            "provider": { "mock": { "options": { "baseURL": url }, "models": { "m1": {} } } },
        });
        Ok(std::fs::write(self.project().join("opencode.json"), config.to_string())?)
    }

    fn command(&self, haft: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(haft);
        command.args(args).current_dir(self.project()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, folder) in
            [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_STATE_HOME", "state")]
        {
            command.env(name, self.folder.join(folder));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, haft: &Path, args: &[&str]) -> Result<Ran> {
        let started = Instant::now();
        let status = self.command(haft, args).status()?;
        let wall = started.elapsed();
        ensure!(status.success(), "haft {args:?} ended with {status}");
        Ok(Ran { wall })
    }

    /// Peak memory in MB, read from the system while it runs.
    fn run_watched(&self, haft: &Path, args: &[&str]) -> Result<f64> {
        let mut child = self.command(haft, args).spawn()?;
        let status = format!("/proc/{}/status", child.id());
        let mut peak: f64 = 0.0;
        let ended = loop {
            if let Some(ended) = child.try_wait()? {
                break ended;
            }
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let kib = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
            peak = peak.max(kib.and_then(|kib| kib.trim().parse::<f64>().ok()).unwrap_or_default() / 1024.0);
        };
        ensure!(ended.success() && peak > 0.0, "haft {args:?} ended with {ended}, and its memory was not seen");
        Ok(peak)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary one does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// CPU time of all children that have ended.
fn children_cpu() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The fields behind the name, which may hold anything but ends with the last bracket.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    let per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_millis((ticks(13) + ticks(14)) * 1000 / per_second))
}

fn median(runs: usize, mut one: impl FnMut() -> Result<f64>) -> Result<f64> {
    Ok(middle((0..runs).map(|_| one()).collect::<Result<_>>()?))
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
