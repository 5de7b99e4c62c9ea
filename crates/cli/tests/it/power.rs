//! The power goes at any moment, and haft opens at a consistent earlier point.
//!
//! The real binary works under `strace`, which notes each change of the files that it keeps. A model of a disk then says
//! what may be left of them at each point: what was not forced to the disk is there, is missing or is torn, and names
//! lag behind. Each such state is opened. `HAFT_POWER_STATES` and `HAFT_CRASH_SEED` choose how many, and which.

mod disk;
mod stored;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use disk::{Disk, State};
use haft_snapshot::{Hash, Keep, KeepError};
use serde_json::json;
use stored::{Dump, dump};
use trace::{Op, record, record_answered};

use crate::crash::blow::{Dice, can_trace};
use crate::support::Machine;

/// How many states are opened where nobody says it.
const STATES: u64 = 500;
/// Files of haft's own that are replaced whole: each is as it was or as it became, and never empty.
const OWN: [&str; 3] = ["auth.json", "trust.json", "approvals.json"];

/// Everything that is recorded, in a machine that has nothing of haft's yet.
fn ops(machine: &Machine) -> Vec<Op> {
    let answers: Vec<String> = (0..3)
        .map(|number| {
            json!({ "answer": [
                { "text": format!("Answer {number}. ").repeat(40), "pieces": 4 },
                { "call": "write", "args": { "filePath": "a.txt", "content": "x\n".repeat(100 * (number + 1)) } },
                { "call": "bash", "args": { "command": format!("seq 1 {}", 100 * (number + 1)) } },
                { "call": "todowrite", "args": { "todos": [{ "content": number.to_string(), "status": "pending", "priority": "low", "id": "1" }] } },
            ]})
            .to_string()
        })
        .chain(std::iter::once(r#"{"answer":[{"text":"Done."}]}"#.to_owned()))
        .collect();
    let mut answers: Vec<&str> = answers.iter().map(String::as_str).collect();
    let last = answers.len() - 1;
    answers.extend([answers[0], answers[1], answers[last]]);
    let model = machine.scenario(&answers);
    machine.write(
        "opencode.json",
        r#"{"provider": {"own": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:9"}}}}"#,
    );
    std::fs::create_dir_all(machine.data()).unwrap();
    let commands: [(&[&str], &str); 6] = [
        (&["auth", "login", "groq", "--key-stdin"], "first-key"),
        (&["trust", "--yes"], ""),
        (&["run", "begin", "--auto", "--model", &model], ""),
        (&["auth", "login", "mistral", "--key-stdin"], "second-key"),
        (&["run", "go on", "--continue", "--auto", "--model", &model], ""),
        (&["trust", "--revoke"], ""),
    ];
    let mut ops: Vec<Op> = commands.iter().flat_map(|(args, input)| record(machine, args, input)).collect();
    let touch = |name: &str| json!({ "answer": [{ "call": "bash", "args": { "command": name } }] }).to_string();
    for command in ["touch made", "mkdir made.d"] {
        let model = machine.scenario(&[&touch(command), r#"{"answer":[{"text":"Done."}]}"#]);
        ops.extend(record_answered(machine, &["run", "make it", "--model", &model], "a\n"));
    }
    ops
}

/// What is there if nothing is lost, after each change: what may be found later.
struct Past {
    /// When each content of the store was first and last the newest one.
    stored: BTreeMap<Dump, (usize, usize)>,
    /// The contents that each of [`OWN`] had, with when they came.
    own: BTreeMap<&'static str, Vec<(usize, Vec<u8>)>>,
    /// Every old content of a file that was ever kept.
    contents: BTreeSet<Hash>,
    /// The content that the store has kept since, whatever happens.
    floor: Vec<usize>,
}

fn past(ops: &[Op], scratch: &Scratch) -> Past {
    let mut disk = Disk::default();
    let mut past = Past { stored: BTreeMap::new(), own: BTreeMap::new(), contents: BTreeSet::new(), floor: Vec::new() };
    let (mut newest, mut floor) = (dump(&scratch.put(&State::new())).unwrap(), 0);
    past.stored.insert(newest.clone(), (0, 0));
    for (at, op) in ops.iter().enumerate() {
        disk.apply(op);
        let now = disk.live();
        if op.path().to_string_lossy().contains("haft.db") {
            if !matches!(op, Op::Sync(_)) {
                newest = dump(&scratch.put(&now)).unwrap_or_else(|error| panic!("after {at} changes: {error}"));
            }
            // A folder is synced right after the log is made, and nothing is written to it before.
            if matches!(op, Op::Sync(path) if path.ends_with("haft.db-wal")) {
                floor = at;
            }
        }
        past.stored.entry(newest.clone()).or_insert((at, at)).1 = at;
        past.floor.push(floor);
        past.contents.extend(content(op.path()));
        for name in OWN {
            if let Some(bytes) = now.get(Path::new(name)) {
                let seen = past.own.entry(name).or_default();
                if seen.last().is_none_or(|(_, last)| last != bytes) {
                    seen.push((at, bytes.clone()));
                }
            }
        }
    }
    past
}

/// The folder of [`Keep`], below the root.
const CONTENTS: &str = "snapshots/contents";

/// The old content that is kept in the file `path`.
fn content(path: &Path) -> Option<Hash> {
    let name = path.strip_prefix(CONTENTS).ok()?.to_str()?.replace('/', "");
    name.parse().ok()
}

/// What is wrong with `state`, which may be left when the power goes after the change `at`.
fn faults(state: &State, at: usize, past: &Past, scratch: &Scratch) -> Vec<String> {
    let mut faults = Vec::new();
    match dump(&scratch.put(state)) {
        Err(error) => faults.push(format!("it does not open: {error}")),
        Ok(dump) => match past.stored.get(&dump) {
            None => faults.push(format!("it opens with something that never was: {dump:.400}")),
            Some((first, _)) if *first > at => faults.push("it opens at a later point".to_owned()),
            Some((_, last)) if *last < past.floor[at] => faults.push("what was forced to the disk is gone".to_owned()),
            Some(_) => {}
        },
    }
    // They are not forced to the disk: one may be gone or damaged, and then says so. A wrong one is never brought back.
    let keep = Keep::new(scratch.root().join(CONTENTS));
    for hash in &past.contents {
        match keep.get(hash) {
            Ok(content) if Hash::of(&content) == *hash => {}
            Err(KeepError::Missing(_) | KeepError::Damaged(_)) => {}
            other => faults.push(format!("the old content {hash} is {other:?}")),
        }
    }
    for name in OWN {
        let Some(bytes) = state.get(Path::new(name)) else { continue };
        let seen = past.own.get(name).into_iter().flatten();
        if !seen.filter(|(came, _)| *came <= at).any(|(_, was)| was == bytes) {
            faults.push(format!("{name} is neither old nor new: {:?}", String::from_utf8_lossy(bytes)));
        }
    }
    faults
}

/// A folder where one state after the other is put.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        // What is written there is forced to no disk, which would take most of the time.
        let memory = PathBuf::from("/dev/shm");
        let here = tempfile::tempdir_in(&memory).or_else(|_| tempfile::tempdir()).unwrap();
        Self(here)
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn put(&self, state: &State) -> PathBuf {
        let root = self.root();
        if root.exists() {
            std::fs::remove_dir_all(&root).unwrap();
        }
        std::fs::create_dir_all(&root).unwrap();
        for (path, bytes) in state {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        root
    }
}

#[test]
fn a_power_cut_leaves_a_consistent_earlier_point() {
    if !can_trace() {
        eprintln!("skipped: strace is not here, or may not look");
        return;
    }
    let states = crate::crash::number("HAFT_POWER_STATES").unwrap_or(STATES);
    let seed = crate::crash::number("HAFT_CRASH_SEED").unwrap_or(1);
    let machine = Machine::uncaged(&[]);
    let ops = ops(&machine);
    let scratch = Scratch::new();
    let past = past(&ops, &scratch);
    for name in OWN {
        assert!(past.own[name].len() > 1, "{name} was replaced: {:?}", past.own.keys());
    }
    assert!(past.contents.len() > 5, "{} old contents", past.contents.len());
    assert!(past.stored.len() > 30, "{} points of the store", past.stored.len());

    let mut disk = Disk::default();
    let (mut opened, mut distinct, mut wrong) = (0_u64, BTreeSet::new(), Vec::new());
    for (at, op) in ops.iter().enumerate() {
        disk.apply(op);
        // As many at each point, and the rest where there is a remainder.
        let until = states * (at as u64 + 1) / ops.len() as u64;
        while opened < until {
            let mut dice = Dice::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(opened));
            let state = disk.cut(&mut dice);
            opened += 1;
            distinct.insert(state.get(Path::new("haft.db-wal")).cloned());
            let found = faults(&state, at, &past, &scratch);
            wrong.extend(found.into_iter().map(|fault| format!("state {opened}, after change {at} ({op}): {fault}")));
        }
    }
    println!(
        "seed={seed} changes={} points={} contents={} states={opened} logs={} inconsistent={}",
        ops.len(),
        past.stored.len(),
        past.contents.len(),
        distinct.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "seed={seed}: {wrong:#?}");
}
