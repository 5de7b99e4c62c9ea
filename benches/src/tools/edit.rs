//! Matching an edit: how its cost grows with the file and the old text, where it is dearest.

use std::time::Instant;

use anyhow::{Result, ensure};
use haft_project::{Files, Processes};
use haft_tool::fake::FakeHost;
use haft_toolbox::edit::{Replacement, apply};
use haft_toolbox::{World, builtin};
use serde_json::json;

use crate::limits::Row;
use crate::stats::median;

/// What matching may take in a file of [`LARGE`] bytes, in milliseconds.
const MATCHING: f64 = 100.0;
/// What the whole call may take there.
const CALL: f64 = 300.0;
/// What ten times the file may cost, against ten times the time.
const GROWTH: f64 = 2.0;

const SIZES: [usize; 4] = [10_000, 100_000, 1_000_000, LARGE];
const LARGE: usize = 10_000_000;
/// Lines of the old text.
const NEEDLES: [usize; 3] = [1, 50, 2_000];
const ROUNDS: usize = 5;

/// A file of some size, and an old text of some lines for it.
type Make = fn(size: usize, lines: usize) -> (String, String);

const SCENES: [(&str, Make); 8] = [
    ("exact", exact),
    ("indented otherwise", shifted),
    ("not there", missing),
    ("nearly everywhere", nearly),
    ("one line repeated", repeated),
    ("a word differs", drifted),
    ("one long line", long_line),
    ("escaped once too often", escaped),
];

/// Measures, and gives the figures.
///
/// # Errors
///
/// When what it measures does not work.
pub fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, make) in SCENES {
        for lines in NEEDLES {
            let times: Vec<f64> = SIZES.iter().map(|size| matching(make, *size, lines)).collect();
            let what = |size: usize| format!("edit: {name}, {lines} lines in {} kB", size / 1000);
            for (size, time) in SIZES.iter().zip(&times) {
                rows.push(Row::new(what(*size), *time, (*size == LARGE).then_some(MATCHING), "ms"));
            }
            // What takes less than a millisecond is mostly something else.
            if let [.., before, last] = times.as_slice()
                && *before > 1.0
            {
                rows.push(Row::new("… ten times the file, per byte", last / before / 10.0, GROWTH, "×"));
            }
        }
    }
    rows.extend(calls()?);
    Ok(rows)
}

/// The least time of some rounds, in milliseconds, that it takes to find out what an edit comes to: what else runs on the
/// machine is no part of how the cost grows.
fn matching(make: Make, size: usize, lines: usize) -> f64 {
    let (content, old) = make(size, lines);
    let edits = [Replacement { new: format!("{old} "), old, all: false }];
    let time = || {
        let started = Instant::now();
        let applied = apply(&content, &edits);
        let time = started.elapsed();
        drop(std::hint::black_box(applied));
        time.as_secs_f64() * 1000.0
    };
    (0..ROUNDS).map(|_| time()).fold(f64::INFINITY, f64::min)
}

/// Whole calls of the tool on files of [`LARGE`] bytes.
fn calls() -> Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let world = World {
        files: Files::new(folder.path().to_owned(), None),
        processes: Processes::new("/bin/sh".into(), Vec::new()),
    };
    let registry = builtin(&world);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut rows = Vec::new();
    for (name, make, all, fits) in [
        ("exact", exact as Make, false, true),
        ("indented otherwise", shifted, false, true),
        ("not there", missing, false, false),
        ("nearly everywhere", nearly, false, false),
        ("every line, replaceAll", repeated, true, true),
    ] {
        let (content, old) = make(LARGE, if all { 1 } else { 50 });
        let new = old.replacen("value", "other", 1);
        let input = json!({ "filePath": "file", "oldString": old, "newString": new, "replaceAll": all });
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            std::fs::write(folder.path().join("file"), &content)?;
            let call = FakeHost::allowing_all(folder.path()).call();
            let started = Instant::now();
            let done = runtime.block_on(registry.run("edit", input.clone(), &call));
            times.push(started.elapsed().as_secs_f64() * 1000.0);
            ensure!(done.is_ok() == fits, "{name}: {done:?}");
        }
        rows.push(Row::new(
            format!("edit: a whole call, {name}, 10 MB"),
            median(times).unwrap_or_default(),
            CALL,
            "ms",
        ));
    }
    Ok(rows)
}

/// So many lines of a program, the one at `from` first.
fn program(from: usize, lines: usize) -> String {
    (from..from + lines)
        .map(|at| format!("    let value_{at} = compute({at}, \"name {at}\"); // step {at}\n"))
        .collect()
}

fn sized(size: usize) -> (String, usize) {
    let lines = size / 65;
    let mut text = program(0, lines);
    text.truncate(size);
    (text, lines)
}

fn exact(size: usize, lines: usize) -> (String, String) {
    let (text, there) = sized(size);
    (text, program(there / 2, lines))
}

fn shifted(size: usize, lines: usize) -> (String, String) {
    let (text, old) = exact(size, lines);
    (text, old.replace("    let", "\tlet"))
}

fn missing(size: usize, lines: usize) -> (String, String) {
    (sized(size).0, program(10_000_000, lines))
}

/// A file of the old text over and over, each time with another last line but one.
fn nearly(size: usize, lines: usize) -> (String, String) {
    let block = program(0, lines);
    let mut text = String::new();
    while text.len() < size {
        let cut = block.len() / 2;
        text.push_str(&block[..cut]);
        text.push_str("  zz ");
        text.push_str(&block[cut..]);
    }
    (text, block)
}

/// One line over and over; the old text is that line, and something else at its end.
fn repeated(size: usize, lines: usize) -> (String, String) {
    let line = "    value = value + 1;\n";
    let old = if lines == 1 { line.to_owned() } else { format!("{}  other\n", line.repeat(lines - 1)) };
    (line.repeat(size / line.len()), old)
}

fn drifted(size: usize, lines: usize) -> (String, String) {
    let (text, old) = exact(size, lines.max(5));
    let middle = old.len() / 2;
    let at = middle + old[middle..].find("compute").unwrap_or_default();
    (text, format!("{}Compute{}", &old[..at], &old[at + "compute".len()..]))
}

fn long_line(size: usize, lines: usize) -> (String, String) {
    ("a = b ; ".repeat(size / 8), "a  =  b ; ".repeat(lines) + "c")
}

fn escaped(size: usize, lines: usize) -> (String, String) {
    let (text, old) = exact(size, lines);
    (text, old.replace('"', "\\\"").replace('\n', "\\n"))
}
