//! `haft debug snapshot`: what would be recorded around a command in this folder, and how long a look takes.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::InFolder;
use crate::render;
use crate::report::Exit;
use crate::wire::Ground;

pub(crate) fn run(args: &InFolder) -> Result<Exit> {
    let ground = Ground::at(args.dir.as_deref())?;
    render::say_json(&told(&ground), true)?;
    Ok(Exit::Done)
}

fn told(ground: &Ground) -> Value {
    let root = ground.place.worktree.as_ref().unwrap_or(&ground.place.directory);
    let Some(snapshots) = &ground.snapshots else {
        return json!({ "root": root, "recorded": false, "why": "the settings say \"snapshot\": false" });
    };
    let (first, took) = timed(|| snapshots.survey());
    let (_, again) = timed(|| snapshots.survey());
    let keep = snapshots.keep();
    let kept = json!({ "folder": keep.folder(), "bytes": keep.used(), "quota": keep.quota() });
    match first {
        Some(Ok(survey)) => json!({
            "root": root,
            "recorded": true,
            "files": survey.files,
            "in_repository": survey.in_repository,
            "kept": survey.kept,
            "not_covered": survey.not_kept,
            "examples": survey.uncovered.iter().map(|(path, why)| json!({ "path": path.to_string_lossy(), "why": why })).collect::<Vec<_>>(),
            "first_look_ms": milliseconds(took),
            "next_look_ms": milliseconds(again),
            "store": kept,
        }),
        Some(Err(refused)) => {
            json!({ "root": root, "recorded": false, "why": refused.to_string(), "edits_recorded": true, "store": kept })
        }
        None => json!({ "root": root, "recorded": false, "store": kept }),
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    (work(), begun.elapsed())
}

/// In thousandths.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1_000_000.0).round() / 1000.0
}
