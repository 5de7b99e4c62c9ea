//! Runs the oracle cases and prints one line for each set: `truncate 71/71`, then `fail ID reason` for each case that
//! failed. Ends with 1 when a set is below its threshold.
//!
//! A set is a file `NAME.jsonl`. Sets whose file is missing are left out; sets that nothing is built for yet are named
//! and left out. To add a set, write a module with a [`Check`] and a line in [`SETS`].
#![expect(clippy::print_stdout, reason = "the report is what this program is for")]

mod arity;
mod bash_parse;
mod config_merge;
mod frontmatter;
mod permission;
mod retry;
mod truncate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::Value;
use tokio::runtime::Runtime;

/// Runs one case. The error says in what the answer differs from the one wanted.
type Check = fn(&Runtime, &Value) -> anyhow::Result<()>;

struct Set {
    name: &'static str,
    check: Check,
    /// Least cases in a hundred that must pass.
    threshold: usize,
}

const SETS: &[Set] = &[
    Set { name: "bash-parse", check: bash_parse::check, threshold: 95 },
    Set { name: "config-merge", check: config_merge::check, threshold: 98 },
    Set { name: "frontmatter", check: frontmatter::check, threshold: 98 },
    Set { name: "permission", check: permission::check, threshold: 99 },
    Set { name: "retry", check: retry::check, threshold: 98 },
    Set { name: "truncate", check: truncate::check, threshold: 100 },
];

/// Sets of the reference that nothing is built for yet.
const LATER: &[&str] = &["apply-patch", "edit-match", "schema-transform", "webfetch-html"];

fn main() -> anyhow::Result<ExitCode> {
    // A test runner asks every test program for its tests; this one has none to name.
    if std::env::args().any(|argument| argument == "--list") {
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = Runtime::new()?;
    let mut code = ExitCode::SUCCESS;
    for set in SETS {
        let Some(cases) = read(set.name)? else { continue };
        if !run(&runtime, set, &cases) {
            code = ExitCode::FAILURE;
        }
    }
    for name in LATER {
        if folder().join(format!("{name}.jsonl")).exists() {
            println!("{name} skipped: not built yet");
        }
    }
    Ok(code)
}

fn folder() -> PathBuf {
    std::env::var_os("HAFT_CASES").map_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/cases").into(), PathBuf::from)
}

fn read(name: &str) -> anyhow::Result<Option<Vec<Value>>> {
    let path = folder().join(format!("{name}.jsonl"));
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let case = |(number, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("{}, line {}", path.display(), number + 1))
    };
    Ok(Some(lines.map(case).collect::<anyhow::Result<_>>()?))
}

/// Runs and reports one set. Says whether it reached its threshold.
fn run(runtime: &Runtime, set: &Set, cases: &[Value]) -> bool {
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let id = case["id"].as_str().unwrap_or("?");
            let checked = catch_unwind(AssertUnwindSafe(|| (set.check)(runtime, case)));
            let checked = checked.unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked; see above")));
            checked.err().map(|error| format!("fail {id} {error:#}").replace('\n', " "))
        })
        .collect();
    let passed = cases.len() - failures.len();
    println!("{} {passed}/{}", set.name, cases.len());
    for failure in failures {
        println!("{failure}");
    }
    passed * 100 >= cases.len() * set.threshold
}
