//! Runs the oracle cases and prints one line for each set: `truncate 71/71`, then `fail ID reason` for each case that
//! failed. Ends with 1 when a set is below its threshold.
//!
//! A set is a file `NAME.jsonl`. Sets whose file is missing are left out; sets that nothing is built for yet are named
//! and left out. To add a set, write a module with a [`Check`] and a line in [`SETS`].
#![expect(clippy::print_stdout, reason = "the report is what this program is for")]

mod apply_patch;
mod arity;
mod bash_parse;
mod config_merge;
mod edit_match;
mod frontmatter;
mod permission;
mod retry;
mod schema_transform;
mod truncate;
mod webfetch_html;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::Value;
use tokio::runtime::Runtime;

/// Runs one case. The error says in what the answer differs from the one wanted; in a graded set it holds a [`Miss`].
type Check = fn(&Runtime, &Value) -> anyhow::Result<()>;

struct Set {
    name: &'static str,
    check: Check,
    /// Least cases in a hundred that must pass.
    threshold: usize,
    /// Whether what is missed is told apart; then nothing may be [`Miss::Wrong`].
    graded: bool,
}

impl Set {
    const fn new(name: &'static str, check: Check, threshold: usize) -> Self {
        Self { name, check, threshold, graded: false }
    }

    const fn graded(self) -> Self {
        Self { graded: true, ..self }
    }
}

/// How a change of files missed what was meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Miss {
    /// An error where a result was meant.
    Refused,
    /// The right place, with other white space than was meant.
    WhitespaceOff,
    /// Anything else, also a result where an error was meant.
    Wrong,
}

impl std::fmt::Display for Miss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused",
            Self::WhitespaceOff => "whitespace off",
            Self::Wrong => "wrong",
        })
    }
}

impl std::error::Error for Miss {}

const SETS: &[Set] = &[
    Set::new("apply-patch", apply_patch::check, 97).graded(),
    Set::new("bash-parse", bash_parse::check, 95),
    Set::new("config-merge", config_merge::check, 98),
    Set::new("edit-match", edit_match::check, 98).graded(),
    Set::new("frontmatter", frontmatter::check, 98),
    Set::new("permission", permission::check, 99),
    Set::new("retry", retry::check, 98),
    Set::new("schema-transform", schema_transform::check, 100),
    Set::new("truncate", truncate::check, 100),
    Set::new("webfetch-html", webfetch_html::check, 98),
];

/// Sets of the reference that nothing is built for yet.
const LATER: &[&str] = &[];

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

/// Runs and reports one set. Says whether it reached its threshold, and nothing graded was wrong.
fn run(runtime: &Runtime, set: &Set, cases: &[Value]) -> bool {
    let mut misses = Vec::new();
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let id = case["id"].as_str().unwrap_or("?");
            let checked = catch_unwind(AssertUnwindSafe(|| (set.check)(runtime, case)));
            let error = checked.unwrap_or_else(|_| Err(anyhow::anyhow!("it panicked; see above"))).err()?;
            // What cannot be told apart counts as the worst.
            misses.push(error.downcast_ref().copied().unwrap_or(Miss::Wrong));
            Some(format!("fail {id} {error:#}").replace('\n', " "))
        })
        .collect();
    let passed = cases.len() - failures.len();
    let count = |kind: Miss| misses.iter().filter(|miss| **miss == kind).count();
    let wrong = if set.graded { count(Miss::Wrong) } else { 0 };
    if set.graded {
        let (refused, off) = (count(Miss::Refused), count(Miss::WhitespaceOff));
        println!("{} {passed}/{} refused={refused} whitespace_off={off} wrong={wrong}", set.name, cases.len());
    } else {
        println!("{} {passed}/{}", set.name, cases.len());
    }
    for failure in failures {
        println!("{failure}");
    }
    wrong == 0 && passed * 100 >= cases.len() * set.threshold
}
