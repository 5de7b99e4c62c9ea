//! `cargo run --release -p haft-bench --bin gate`: what a decision of the gate costs with very many rules. Prints a
//! table; ends with 1 if a limit is exceeded.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_bench::limits::{Row, table};
use haft_bench::stats::median;
use haft_permission::{Access, Action, Answerer, Asker, Gate, Rule, Rules};
use haft_protocol::Clock;

/// So many rules, besides the general one.
const RULES: usize = 1_000;
/// Decisions that are timed.
const ROUNDS: usize = 2_001;
/// Longest that one may take, in microseconds.
const LIMIT: f64 = 50.0;

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
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let long = format!("git commit -m '{}'", "word ".repeat(200));
    let scenes: [(&str, Rules, Access); 5] = [
        ("a command, rules for other commands", commands(), Access::new("bash", "git push origin main")),
        ("a command of 1 kB", commands(), Access::new("bash", long.as_str())),
        ("a text that was not told apart", commands(), opaque(&long)),
        ("a path, rules for other paths", paths(), Access::new("edit", "src/render/markdown/table.rs")),
        ("rules full of stars", stars(), Access::new("edit", "src/render/markdown/tables/table_of_tables.rs")),
    ];
    let mut rows = Vec::new();
    for (what, rules, access) in &scenes {
        let cost = runtime.block_on(cost(rules, access))?;
        rows.push(Row::new(format!("gate, {RULES} rules: {what}"), cost, LIMIT, "µs"));
    }
    std::io::stdout().write_all(table(&rows).as_bytes())?;
    Ok(rows.iter().any(Row::over))
}

/// The median cost of asking for `access`, in microseconds. All of it is decided by a rule.
async fn cost(rules: &Rules, access: &Access) -> Result<f64> {
    let clock = Clock::system();
    let asker = Asker { session: clock.mint(), call: None };
    let gate = Gate::new(clock, Answerer::Nobody, |_| {});
    let mut taken = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let access = access.clone();
        let begun = Instant::now();
        let granted = gate.ask(&asker, rules, access).await;
        taken.push(begun.elapsed().as_secs_f64() * 1e6);
        ensure!(granted.is_ok(), "it was not allowed");
    }
    median(taken).context("nothing was timed")
}

fn opaque(text: &str) -> Access {
    Access { opaque: true, ..Access::new("bash", text) }
}

/// What allows everything, and so many others behind it that have to be looked at first.
fn behind(general: Action, others: impl Iterator<Item = Rule>) -> Rules {
    Rules::default().own([Rule::new("*", "*", general)]).own(others)
}

fn commands() -> Rules {
    behind(Action::Allow, (0..RULES).map(|n| Rule::new("bash", &format!("git subcommand-{n} *"), Action::Allow)))
}

fn paths() -> Rules {
    behind(Action::Allow, (0..RULES).map(|n| Rule::new("edit", &format!("src/generated/part_{n}/*.rs"), Action::Deny)))
}

fn stars() -> Rules {
    behind(Action::Allow, (0..RULES).map(|n| Rule::new("e*", &format!("*t*a*b*l*e*{n}"), Action::Deny)))
}
