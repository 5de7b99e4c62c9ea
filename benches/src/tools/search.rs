//! `grep` and `glob`, beside `rg`.

mod rg;
mod tree;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use haft_permission::{Action, Rule};
use haft_project::{Files, Processes};
use haft_tool::Registry;
use haft_tool::fake::FakeHost;
use haft_toolbox::{World, builtin};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use self::rg::Rg;
use crate::limits::Row;
use crate::stats::{median, ms};

/// How often each side runs; both in turn.
const RUNS: usize = 10;
/// How many times as long as `rg` searching may take.
const GREP: f64 = 1.1;
/// The same for names of which few match.
const GLOB_FEW: f64 = 1.0;
/// The same for all names: newest first needs the date of every file.
const GLOB_ALL: f64 = 1.7;

/// One tool call and what `rg` does for the same.
struct Pair {
    what: &'static str,
    tool: &'static str,
    input: Value,
    rg: &'static [&'static str],
    limit: f64,
}

/// Measures, and gives the figures.
///
/// # Errors
///
/// When what it measures does not work, or there is no `rg` and none can be installed.
pub fn rows() -> Result<Vec<Row>> {
    let folder = folder()?;
    let rg = Rg::find(&folder)?;
    let tree = tree::at(&folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let ours = Ours::new(&tree.path, runtime);
    let mut rows = vec![
        Row::new("tree: files", tree.files as f64, None, ""),
        Row::new("tree: size", tree.bytes as f64 / 1e6, None, "MB"),
    ];
    for pair in pairs() {
        rows.extend(compare(&pair, &ours, &rg, &tree.path)?);
    }
    Ok(rows)
}

fn pairs() -> Vec<Pair> {
    let grep = |what, pattern: &'static str, rg| {
        let input = json!({"pattern": pattern});
        Pair { what, tool: "grep", input, rg, limit: GREP }
    };
    let glob = |what, pattern: &'static str, rg, limit| {
        let input = json!({"pattern": pattern});
        Pair { what, tool: "glob", input, rg, limit }
    };
    vec![
        grep("grep, a word that is rare", tree::RARE, &["-n", tree::RARE]),
        grep("grep, an expression", r"fn \w+_handler\(", &["-n", r"fn \w+_handler\("]),
        grep("grep, any case", "(?i)rarely_seen_token", &["-n", "(?i)rarely_seen_token"]),
        grep("grep, nothing there", "no_such_word_anywhere", &["-n", "no_such_word_anywhere"]),
        grep("grep, very many lines", "return", &["-n", "return"]),
        glob("glob, few", "**/*_special.toml", &["--files", "-g", "**/*_special.toml"], GLOB_FEW),
        glob("glob, all", "**/*", &["--files"], GLOB_ALL),
    ]
}

/// Both in turn, after once for nothing.
fn compare(pair: &Pair, ours: &Ours, rg: &Rg, tree: &Path) -> Result<[Row; 3]> {
    let Pair { what, tool, input, rg: args, limit } = pair;
    let (found, theirs) = (ours.run(tool, input)?.1, rg.count(args, tree)?);
    ensure!(found == theirs, "{what}: haft finds {found}, rg {theirs}");
    let (mut mine, mut yours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        mine.push(ms(ours.run(tool, input)?.0));
        yours.push(ms(rg.run(args, tree)?));
    }
    let (Some(mine), Some(yours)) = (median(mine), median(yours)) else { bail!("nothing was measured") };
    Ok([
        Row::new(format!("{what}: haft ({found} found)"), mine, None, "ms"),
        Row::new(format!("{what}: {}", rg.version), yours, None, "ms"),
        Row::new(format!("{what}: haft / rg"), mine / yours, *limit, "×"),
    ])
}

/// The tools on the tree, in this process.
struct Ours {
    registry: Registry,
    host: FakeHost,
    runtime: Runtime,
}

impl Ours {
    fn new(tree: &Path, runtime: Runtime) -> Self {
        let files = Files::new(tree.to_owned(), Some(tree.to_owned()));
        let registry = builtin(&World { files, processes: Processes::new("/bin/sh".into(), Vec::new()) });
        // As they are where the user has set nothing: each file is looked up in them.
        let rules = [
            ("*", "*", Action::Allow),
            ("external_directory", "*", Action::Ask),
            ("read", "*.env", Action::Ask),
            ("read", "*.env.*", Action::Ask),
            ("read", "*.env.example", Action::Allow),
        ];
        let rules = rules.map(|(permission, pattern, action)| Rule::new(permission, pattern, action)).to_vec();
        Self { registry, host: FakeHost::new(tree, rules), runtime }
    }

    /// How long a call takes, and how much it finds.
    fn run(&self, tool: &str, input: &Value) -> Result<(Duration, u64)> {
        let call = self.host.call();
        let begin = Instant::now();
        let output = self.runtime.block_on(self.registry.run(tool, input.clone(), &call))?;
        let took = begin.elapsed();
        let count = |key: &str| output.metadata.get(key).and_then(Value::as_u64);
        let found = count("total").or_else(|| count("matches")).context("the tool does not say how much it found")?;
        Ok((took, found))
    }
}

/// A folder that outlives the run, beside what the compiler makes.
fn folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent).context("the bench runs outside a target folder")?;
    let folder = target.join("bench-search");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}
