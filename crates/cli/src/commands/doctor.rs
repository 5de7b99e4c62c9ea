//! `haft doctor`: tries each promise of the cage on this machine, and says what holds.

mod attempt;
mod checks;
mod health;
mod scratch;
mod table;
mod verdict;

use anyhow::{Result, bail};
use haft_config::SandboxMode;
use haft_permission::{Action, Answerer, Gate, Rule};
use haft_project::{Caging, Place};
use haft_sandbox::{Options, Rung, Sandbox};
use haft_session::{Questions, Workbench};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::checks::{CHECKS, Check};
use self::scratch::Scratch;
use self::verdict::{Answer, Row, Status};
use crate::args::{Doctor, RungArg};
use crate::render::{self, Paint};
use crate::report::Exit;
use crate::wire::{self, Ground};
use crate::{agents, cages};

/// What was found.
struct Report {
    rung: Rung,
    sandbox: Sandbox,
    rows: Vec<Row>,
}

pub(crate) async fn run(args: Doctor) -> Result<Exit> {
    if !args.attempt.is_empty() {
        render::say(&attempt::attempt(&args.attempt).to_string())?;
        return Ok(Exit::Done);
    }
    let here = Ground::at(args.dir.as_deref())?;
    let report = examine(&here, args.rung.map(rung)).await?;
    match args.json {
        true => render::say_json(&as_json(&report), false)?,
        false => {
            let paint = Paint::new(render::can_draw());
            render::say(&table::table(
                &report.rows,
                report.rung,
                report.sandbox.tried(),
                &report.sandbox.gaps(),
                paint,
            ))?;
        }
    }
    let failed = report.rows.iter().any(|row| row.status == Status::Failed);
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn rung(named: RungArg) -> Rung {
    match named {
        RungArg::Namespaces => Rung::Namespaces,
        RungArg::Landlock => Rung::Landlock,
        RungArg::Seatbelt => Rung::Seatbelt,
    }
}

/// Tries everything, with the cage that commands get in `here`.
async fn examine(here: &Ground, only: Option<Rung>) -> Result<Report> {
    let scratch = Scratch::make(&here.folders)?;
    // Else it would belong to a repository around haft's own folders.
    scratch.prepare();
    let place = Place::find(&scratch.project())?;
    let mut config = here.config.clone();
    // What the cage closes is looked at, and not what the settings open.
    config.sandbox.network = Some(Action::Deny);
    let mut caging = cages::caging(&here.folders, &place, &config)?;
    if let Some(caging) = &mut caging {
        caging.only = only.or(caging.only);
    }
    // The same that the commands' cages are found with.
    let options = caging.as_ref().map_or_else(Options::default, Caging::options);
    let processes = wire::processes(&config, caging);
    let rung = processes.rung();
    let sandbox = Sandbox::find(&options);
    if rung != Rung::None && rung != sandbox.rung() {
        bail!("the cage is held by {} at one time and by {} at another; try again", rung.name(), sandbox.rung().name());
    }
    let ground = Ground::plain(here.folders.clone(), place, config, processes);
    let mut bench = workbench(&ground, &scratch)?;
    let mut rows = Vec::new();
    for check in CHECKS {
        // What goes on when a command has ended must end with who started it.
        if check.ends {
            let answer = ask(&bench, &scratch, check).await;
            drop(std::mem::replace(&mut bench, workbench(&ground, &scratch)?));
            scratch.settle().await;
            rows.push(judge(check, &scratch, answer, &ground, &sandbox));
            continue;
        }
        let answer = ask(&bench, &scratch, check).await;
        rows.push(judge(check, &scratch, answer, &ground, &sandbox));
    }
    drop(bench);
    rows.extend(health::rows(here));
    Ok(Report { rung, sandbox, rows })
}

/// The tools in the scratch project, under the rules that hold in this folder, except that each command may run.
fn workbench(ground: &Ground, scratch: &Scratch) -> Result<Workbench> {
    let clock = wire::clock()?;
    // Nobody is asked, and nothing is written down: it is not the user's work.
    let gate = Gate::new(clock.clone(), Answerer::Nobody, |_| {});
    let questions = Questions::new(clock.clone(), false, |_| {});
    let rules = agents::named(&agents::all(ground)?, None)?.rules.clone().own([Rule::new("bash", "*", Action::Allow)]);
    Ok(Workbench::new(ground.registry(), gate, questions, rules, clock, scratch.outputs()))
}

/// Has the bash tool run a check; gives what it wrote.
async fn ask(bench: &Workbench, scratch: &Scratch, check: &Check) -> Answer {
    scratch.prepare();
    if let Err(why) = scratch.write_script(&(check.script)(scratch)) {
        return Answer::Lost(why.to_string());
    }
    // Nothing of the script is in the command line, so that only the cage can be in its way.
    let call = json!({ "command": "eval \"$(cat try.sh)\"", "timeout": scratch::PATIENCE.as_millis() as u64 });
    let answered = bench.call("bash", &call.to_string(), CancellationToken::new()).await;
    match answered.result {
        Ok(output) => Answer::read(&output.text),
        Err(error) => Answer::Lost(error.to_string()),
    }
}

fn judge(check: &Check, scratch: &Scratch, answer: Answer, ground: &Ground, sandbox: &Sandbox) -> Row {
    let effect = (check.effect)(scratch);
    let (mut status, mut reason) = verdict::verdict(&answer, effect, check.wanted);
    if let (Status::Failed, Some(why)) = (status, check.beyond(scratch, ground.processes.rung())) {
        (status, reason) = (Status::Unsupported, why.to_owned());
    }
    // What is sent into a network of its own reaches nobody.
    if status == Status::Repaired && check.group == checks::NETWORK {
        (status, reason) = (Status::Held, "it reached nobody".to_owned());
    }
    let gap = sandbox.gaps().into_iter().find(|gap| Some(gap.promise) == check.gap);
    if let (Status::Failed, Some(gap), true) = (status, gap, ground.processes.rung() != Rung::None) {
        (status, reason) = (Status::Unsupported, gap.instead);
    }
    let closed = ground.config.sandbox.mode == SandboxMode::ReadOnly && check.wanted;
    if closed && status == Status::Failed {
        (status, reason) = (Status::Unsupported, "sandbox.mode is read-only".to_owned());
    }
    if status == Status::Failed && ground.config.sandbox.mode == SandboxMode::Off {
        reason = format!("{reason}, because sandbox.mode is off");
    }
    Row { id: check.id, group: check.group, tried: check.tried, status, reason }
}

/// What is contract: `rung`, and of each of `checks` `id`, `status` and `reason`. The rest says more about it.
fn as_json(report: &Report) -> Value {
    let checks = report
        .rows
        .iter()
        .map(|row| json!({ "id": row.id, "status": row.status.word(), "reason": row.reason, "tried": row.tried }));
    let tried = report.sandbox.tried().iter();
    let gaps = report.sandbox.gaps();
    let gaps = gaps.iter().filter(|_| report.rung != Rung::None);
    json!({
        "rung": report.rung.name(),
        "checks": checks.collect::<Vec<_>>(),
        "not_used": tried.map(|tried| json!({ "rung": tried.rung.name(), "why": tried.why_not })).collect::<Vec<_>>(),
        "gaps": gaps.map(|gap| json!({ "promise": gap.promise, "instead": gap.instead })).collect::<Vec<_>>(),
    })
}
