//! `cargo run --release -p haft-bench --bin tools -- [NAME…]`: what haft's tools cost, beside the programs people would
//! use instead, in the same run.
//!
//! NAME is `search`, `read`, `edit`, `command` or `analyse`; all of them without one. Prints a table; ends with 1 if a limit is
//! exceeded.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use haft_bench::limits::{Row, table};
use haft_bench::tools::{analyse, command, edit, read, search};

/// Measures in a folder of its own.
type Bench = fn() -> Result<Vec<Row>>;

const BENCHES: [(&str, Bench); 5] = [
    ("search", search::rows),
    ("read", read::rows),
    ("edit", edit::rows),
    ("command", command::rows),
    ("analyse", analyse::rows),
];

fn main() -> ExitCode {
    match measure(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(over) => ExitCode::from(u8::from(over)),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benches named, and says whether a limit was exceeded.
fn measure(names: &[String]) -> Result<bool> {
    if let Some(unknown) = names.iter().find(|name| BENCHES.iter().all(|(known, _)| known != name)) {
        bail!("there is no bench called {unknown}; name search, read, edit, command or analyse");
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    let mut over = false;
    for (_, bench) in BENCHES.iter().filter(|(name, _)| wanted(name)) {
        let rows = bench()?;
        over |= rows.iter().any(Row::over);
        std::io::stdout().write_all(table(&rows).as_bytes())?;
    }
    Ok(over)
}
