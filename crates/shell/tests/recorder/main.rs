//! What the real bash runs and writes must be what the analysis says, for command lines that nobody thought of.
//!
//! Each generated line is analysed, and then run by bash in a cage, in a folder of its own, where every program is a
//! recorder that writes down with which words it was called. What bash ran must be among the commands, and what it
//! wrote among the paths written, or the line must be unknown.
//!
//! The lines are the same in every run. `HAFT_RECORDER_CASES` says how many, `HAFT_RECORDER_SEED` which; then every
//! line that fails is shown, not only the first.

mod compare;
mod grammar;
mod scene;

use std::io::Write;
use std::process::ExitCode;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::scene::Scene;

/// How many lines are tried without a wish.
const CASES: u32 = 300;
/// Most times that a line that fails is made smaller.
const SHRINKS: u32 = 200;

fn main() -> ExitCode {
    // The cage starts this program again to become the one that is caged.
    haft_sandbox::enter_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            say("bash_runs_what_the_analysis_says: test");
        }
        return ExitCode::SUCCESS;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let wish = number("HAFT_RECORDER_CASES");
    let seed = number("HAFT_RECORDER_SEED").unwrap_or(1);
    let Some(scene) = Scene::new() else {
        say("there is no bash here: nothing was compared");
        return ExitCode::SUCCESS;
    };
    say(&format!("in a cage: {}", scene.is_caged()));
    let failures = run(&scene, wish.unwrap_or(CASES), seed, wish.is_some());
    for failure in &failures {
        say(failure);
    }
    say(&format!(
        "{} failures; {} of {} lines were known, {} calls recorded",
        failures.len(),
        scene.known(),
        scene.lines(),
        scene.recorded()
    ));
    // A generator of which nothing is known, or nothing runs, compares nothing.
    let compared = scene.known() * 10 > scene.lines() && scene.recorded() * 10 > scene.lines();
    if failures.is_empty() && compared { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tries `cases` lines; stops at the first that fails, unless `all` shall be seen.
fn run(scene: &Scene, cases: u32, seed: u32, all: bool) -> Vec<String> {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases, max_shrink_iters: SHRINKS, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let lines = grammar::lines();
    let check = |line: String| match scene.check(&line) {
        Some(why) => Err(TestCaseError::fail(why)),
        None => Ok(()),
    };
    if !all {
        return match runner.run(&lines, check) {
            Ok(()) => Vec::new(),
            Err(TestError::Fail(why, line)) => vec![format!("{line:?}\n    {why}")],
            Err(TestError::Abort(why)) => vec![format!("aborted: {why}")],
        };
    }
    let mut failures = Vec::new();
    for _ in 0..cases {
        let Ok(mut tree) = lines.new_tree(&mut runner) else { continue };
        if scene.check(&tree.current()).is_none() {
            continue;
        }
        let (mut line, mut left) = (tree.current(), SHRINKS);
        while left > 0 && tree.simplify() {
            left -= 1;
            while left > 0 && scene.check(&tree.current()).is_none() && tree.complicate() {
                left -= 1;
            }
            if scene.check(&tree.current()).is_some() {
                line = tree.current();
            }
        }
        failures.push(format!("{line:?}\n    {}", scene.check(&line).unwrap_or_default()));
    }
    failures
}

fn say(text: &str) {
    // Nobody to read it is no reason to fail.
    let _ = writeln!(std::io::stdout(), "{text}");
}
