//! The analysis of command lines: both parsers and the judgement.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use haft_shell::{Surroundings, analyse};

use crate::limits::Row;
use crate::stats::{median, ms};

/// How often each line is analysed.
const ROUNDS: usize = 301;
/// Microseconds that a line of 1 kB may take.
const LIMIT: f64 = 200.0;

/// Measures, and gives the figures.
///
/// # Errors
///
/// Never: as the other benches.
pub fn rows() -> Result<Vec<Row>> {
    let around = Surroundings::new(Path::new("/home/u/p")).home(Path::new("/home/u"));
    let body = "some text that is written to a file, as models do\n".repeat(19);
    let lines = [
        ("one command", format!("echo {}", "word ".repeat(200))),
        ("28 commands", "cargo test -p foo --all-targets 2>&1 | tail -n 20 && git status --short; ".repeat(14)),
        ("a here-document", format!("cat > notes.txt <<'EOF'\n{body}EOF\n")),
    ];
    let row = |(name, line): &(&str, String)| {
        let times = (0..ROUNDS).map(|_| {
            let begun = Instant::now();
            black_box(analyse(black_box(line), &around));
            ms(begun.elapsed()) * 1e3
        });
        let figure = median(times.collect::<Vec<f64>>()).unwrap_or_default();
        Row::new(format!("analysis, {} bytes, {name}", line.len()), figure, LIMIT, "µs")
    };
    Ok(lines.iter().map(row).collect())
}
