//! Hostile commands. Each is run in a cage, where what it is after must not happen, and without one, where it must: an
//! attack that comes to nothing anyway would prove nothing.
//!
//! The files in `attacks/` hold the commands. Each is a script that the project holds and `bash` runs, so that the
//! analysis of the command line sees nothing of it and the cage alone must hold.

#![expect(clippy::print_stderr, reason = "what a machine lacks is for whoever reads the tests' output")]

mod attack;
mod caged;
mod free;
mod ground;
mod seen;
mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::attack::{Attack, read};
use self::ground::PATH;

const WRITES: &str = include_str!("attacks/writes.yaml");
const PROTECTED: &str = include_str!("attacks/protected.yaml");
const SECRETS: &str = include_str!("attacks/secrets.yaml");
const NETWORK: &str = include_str!("attacks/network.yaml");
const PROCESSES: &str = include_str!("attacks/processes.yaml");

/// All files of the corpus.
const FILES: [&str; 5] = [WRITES, PROTECTED, SECRETS, NETWORK, PROCESSES];

/// How many attacks of a file run at once.
const AT_ONCE: usize = 4;

#[test]
fn the_corpus_is_large_and_whole() {
    let mut names = BTreeSet::new();
    for text in FILES {
        let mut here = BTreeSet::new();
        for attack in read(text) {
            assert!(here.insert(attack.id.clone()), "{} is there twice", attack.id);
            assert!(!attack.run.trim().is_empty(), "{} runs nothing", attack.id);
            for (rung, why) in &attack.gap {
                assert!(["namespaces", "landlock"].contains(&rung.as_str()), "{}: {rung} is no rung", attack.id);
                assert!(why.len() > 20, "{}: the gap on {rung} has no reason", attack.id);
            }
            names.insert(attack.run);
        }
    }
    assert!(names.len() >= 500, "{} attacks", names.len());
}

/// Runs `check` for each attack of `text` that this machine can run, several at once, and fails with all that it says.
/// Each thread has a place of its own, which `start` makes.
fn each<Place>(
    text: &str,
    start: impl Fn() -> Place + Sync,
    check: impl Fn(&mut Place, &Attack) -> Result<(), String> + Sync,
) {
    let all = read(text);
    let mut lacking: BTreeMap<String, usize> = BTreeMap::new();
    let mut here = Vec::new();
    for attack in &all {
        match attack.lacks(PATH) {
            Some(lack) => *lacking.entry(lack.to_owned()).or_default() += 1,
            None => here.push(attack),
        }
    }
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        let mut place = start();
        while let Some(attack) = here.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(why) = check(&mut place, attack) {
                let run = attack.run.replace('\n', "\n    ");
                failures.lock().unwrap().push(format!("{}: {why}\n    {run}", attack.id));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    eprintln!("{} of {} attacks were run; left out for what is not here: {lacking:?}", here.len(), all.len());
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} failed\n{}", failures.len(), here.len(), failures.join("\n"));
}
