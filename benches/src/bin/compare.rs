//! `cargo run --release -p haft-bench --bin compare -- target/release/haft`: haft beside other agents.
//!
//! Installs OpenCode and Codex from the npm registry (once, below the build folder), gives each a home of its own and
//! the same model, served from this process, and lets them do the same things by turns. Prints what each took, and
//! whether haft keeps its limits; ends with 1 if it does not. Without npm or the registry it measures haft alone.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use haft_bench::agent::{Agent, Kind};
use haft_bench::home::Home;
use haft_bench::rows::{request_sizes, rows};
use haft_bench::sample::Sample;
use haft_bench::scene::Scene;
use haft_bench::stats::Growth;
use haft_bench::table::Table;
use haft_bench::{bare, child, install};
use tokio::runtime::Runtime;

const USAGE: &str = "usage: compare HAFT [--json] [--quick] [--alone] [--only SCENE]… [--peers FOLDER]
  --json    one JSON value instead of a table
  --quick   every scene once: to see whether it works
  --alone   haft only
  --only    version, answer, calls, burst, stream or long
  --peers   where the other agents are installed";

#[derive(Default)]
struct Options {
    haft: PathBuf,
    json: bool,
    quick: bool,
    alone: bool,
    only: Vec<Scene>,
    peers: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            say(&format!("error: {error:#}\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    match compare(&options) {
        Ok(table) => {
            let text = if options.json { format!("{:#}\n", table.json()) } else { table.text() };
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::from(u8::from(!table.met()))
        }
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--json" => options.json = true,
            "--quick" => options.quick = true,
            "--alone" => options.alone = true,
            "--peers" => options.peers = Some(value()?.into()),
            "--only" => {
                let name = value()?;
                let scene = Scene::ALL.into_iter().find(|scene| scene.name() == name);
                options.only.push(scene.with_context(|| format!("there is no scene {name}"))?);
            }
            path if !path.starts_with('-') => options.haft = path.into(),
            unknown => bail!("{unknown} is not known"),
        }
    }
    options.haft = options.haft.canonicalize().context("name the haft binary to measure")?;
    Ok(options)
}

fn compare(options: &Options) -> Result<Table> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let folder = match &options.peers {
        Some(folder) => folder.clone(),
        None => build_folder()?.join("peers"),
    };
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = folder.canonicalize()?;
    let homes = folder.join("homes");

    let mut table = Table { machine: machine(), ..Table::default() };
    let mut agents = vec![Agent { kind: Kind::Haft, program: options.haft.clone(), beside: None }];
    if !options.alone {
        say("looking for the others …");
        for (kind, agent) in install::peers(&folder) {
            match agent {
                Ok(agent) => agents.push(agent),
                Err(error) => table.problems.push(format!("{}: {error:#}", kind.name())),
            }
        }
    }
    let mut players = Vec::new();
    for agent in agents {
        let home = Home::new(&homes)?;
        match version(&agent, &home).and_then(|version| {
            // What an agent does only once is not what is compared.
            Sample::take(&runtime, &agent, &home, Scene::Answer)?;
            Ok(version)
        }) {
            Ok(version) => {
                table.agents.push((agent.kind, version));
                players.push((agent, home));
            }
            Err(error) if agent.kind == Kind::Haft => return Err(error.context("haft does not run")),
            Err(error) => table.problems.push(format!("{}: {error:#}", agent.kind.name())),
        }
    }

    for scene in Scene::ALL.into_iter().filter(|scene| options.only.is_empty() || options.only.contains(scene)) {
        say(&format!("{} …", scene.name()));
        let rounds = if options.quick { 1 } else { scene.rounds() };
        let samples = play(&runtime, scene, rounds, &players, &mut table.problems);
        let apart = match scene {
            Scene::Long => samples.iter().map(|samples| bytes_apart(&runtime, samples)).collect::<Result<Vec<_>>>()?,
            Scene::Version | Scene::Answer | Scene::Calls | Scene::Burst | Scene::Stream => Vec::new(),
        };
        table.rows.extend(rows(scene, &samples, &apart));
    }
    Ok(table)
}

/// Lets the players do `scene` by turns. One that fails leaves the scene, without a sample.
fn play(
    runtime: &Runtime,
    scene: Scene,
    rounds: usize,
    players: &[(Agent, Home)],
    problems: &mut Vec<String>,
) -> Vec<Vec<Sample>> {
    let mut samples: Vec<Option<Vec<Sample>>> = players.iter().map(|_| Some(Vec::new())).collect();
    for _ in 0..rounds {
        for ((agent, home), samples) in players.iter().zip(&mut samples) {
            let Some(taken) = samples else { continue };
            match Sample::take(runtime, agent, home, scene) {
                Ok(sample) => taken.push(sample),
                Err(error) => {
                    problems.push(format!("{}, {}: {error:#}", agent.kind.name(), scene.name()));
                    *samples = None;
                }
            }
        }
    }
    samples.into_iter().map(Option::unwrap_or_default).collect()
}

/// What the bytes of the requests of a long run cost by themselves. Those of all rounds are as long as each other.
fn bytes_apart(runtime: &Runtime, samples: &[Sample]) -> Result<Option<Growth>> {
    let Some(sizes) = samples.first().and_then(request_sizes) else { return Ok(None) };
    let costs = bare::costs(runtime, &[sizes.first as usize, sizes.last as usize])?;
    let [first, last] = costs[..] else { bail!("the bytes of a request could not be measured") };
    Ok(Some(Growth { first, last }))
}

/// What is measured on, and how busy that is already: figures from a machine that others use are no figures.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Only Linux tells in a file.
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().map(|load| format!(", load {load}")).unwrap_or_default();
    format!("{} {}, {cores} cores{load}", std::env::consts::OS, std::env::consts::ARCH)
}

/// The number in what `--version` prints.
fn version(agent: &Agent, home: &Home) -> Result<String> {
    let printed = home.folder().join("version");
    child::run(home.command(agent).arg("--version"), &printed, Duration::from_secs(60))?;
    let text = std::fs::read_to_string(printed)?;
    Ok(text.split_whitespace().last().unwrap_or_default().to_owned())
}

/// The folder that this program was built into, which is no place for anything precious.
fn build_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.parent().and_then(Path::parent).context("this program is in no build folder")?.to_owned())
}

/// Tells the user how it goes, beside the result.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
