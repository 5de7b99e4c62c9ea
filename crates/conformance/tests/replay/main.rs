//! Makes every call that OpenCode's tools were recorded with in a session of haft's and compares what comes of it.
//!
//! Prints `tool-results same=… better=… later=…` and a line `fail …` for each difference that no reason explains.
//! `docs/differences.md` tells why haft differs where it does; see `reasons`.
#![expect(clippy::print_stdout, reason = "the report is what this program is for")]

mod fixture;
mod reasons;
mod record;
mod run;
mod scripts;
mod web;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use reasons::Difference;
use record::{Facet, Record, Seen, differences};
use serde_json::Value;
use tokio::runtime::Runtime;

fn main() -> Result<ExitCode> {
    if let Some(exit) = scripts::serve_if_asked() {
        return Ok(exit);
    }
    // A test runner asks every test program for its tests; this one has none to name.
    if std::env::args().any(|argument| argument == "--list") {
        return Ok(ExitCode::SUCCESS);
    }
    fixture::check_rules()?;
    let described: Value = serde_json::from_str(&std::fs::read_to_string(folder().join("fixture.json"))?)?;
    let records = run::read(&folder().join("tool-results.jsonl"))?;
    let png = records.iter().flat_map(|record| record.seen().attachments).find(|file| file.mime == "image/png");
    let png = png.context("no picture")?.url;
    let page = records.iter().find(|record| record.tool == "webfetch" && record.args["format"] == "html");
    let port = web::serve(page.context("no page")?.seen().output, png.rsplit(',').next().unwrap_or_default())?;
    let theatre = run::Theatre::new(fixture::Fixture::build(&described)?, port)?;
    let runtime = Runtime::new()?;
    let only: Vec<u64> = std::env::args().filter_map(|one| one.parse().ok()).collect();
    let mut told = Told { can_serve: run::can_serve(), ..Told::default() };
    for record in records.iter().filter(|record| only.is_empty() || only.contains(&record.n)) {
        match runtime.block_on(theatre.play(record)) {
            Ok(got) => told.compare(record, &got),
            Err(error) => told.failures.push(format!("fail {} {error:#}", record.n)),
        }
    }
    println!("tool-results same={} better={} later={}", told.same, told.better, told.later);
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/differences.md"))?;
    let declared = reasons::declared(&text);
    let unknown = told.reasons.iter().filter(|reason| !declared.contains(reason));
    told.failures.extend(unknown.map(|reason| format!("fail docs/differences.md has no row for `{reason}`")));
    // Other records need not show every reason.
    if only.is_empty() && std::env::var_os("HAFT_CASES").is_none() {
        // It is needed where nothing can be served.
        let idle = declared.iter().filter(|reason| !told.reasons.contains(*reason) && **reason != "later-mcp");
        told.failures.extend(idle.map(|reason| format!("fail no record needs the reason `{reason}` any more")));
    }
    for failure in &told.failures {
        println!("{failure}");
    }
    Ok(if told.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What came of the comparison.
#[derive(Default)]
struct Told {
    /// Whether there is what the server of tools is written in.
    can_serve: bool,
    same: usize,
    better: usize,
    later: usize,
    reasons: BTreeSet<&'static str>,
    failures: Vec<String>,
}

impl Told {
    fn compare(&mut self, record: &Record, got: &Seen) {
        let wanted = record.seen();
        let facets = differences(&wanted, got);
        if let Some(reason) = reasons::later(record, self.can_serve) {
            self.later += 1;
            self.reasons.insert(reason);
            if facets.is_empty() {
                self.failures.push(format!("fail {} {} is no longer for later", record.n, record.tool));
            }
            return;
        }
        let mut explained = true;
        for facet in facets.iter().copied() {
            let reasons = reasons::explain(&Difference { record, wanted: &wanted, got, facet });
            if reasons.is_empty() {
                explained = false;
                let (theirs, ours) = (shown(&wanted, facet), shown(got, facet));
                let what = format!("fail {} {} ({}): {facet:?}", record.n, record.tool, record.fixture);
                self.failures.push(format!("{what}\n  theirs {theirs}\n  ours   {ours}"));
            }
            self.reasons.extend(reasons);
        }
        match (facets.is_empty(), explained) {
            (true, _) => self.same += 1,
            (false, true) => self.better += 1,
            (false, false) => {}
        }
    }
}

/// What `seen` has to show, on one line of bounded length.
fn shown(seen: &Seen, facet: Facet) -> String {
    let text = match facet {
        Facet::Tool => seen.tool.clone(),
        Facet::Failed => format!("{} {:?}", seen.failed, seen.output),
        Facet::Output => format!("{:?}", seen.output),
        Facet::Title => format!("{:?}", seen.title),
        Facet::Keys => format!("{:?}", seen.metadata.keys().collect::<Vec<_>>()),
        Facet::Values => Value::from(seen.metadata.clone()).to_string(),
        Facet::Attachments => format!("{:?}", seen.attachments),
        Facet::Files => format!("{:?}", seen.files),
        Facet::Asks => format!("{:?}", seen.asks),
        Facet::Stopped => seen.stopped.to_string(),
    };
    text.chars().take(1000).collect()
}

fn folder() -> PathBuf {
    std::env::var_os("HAFT_CASES").map_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/cases").into(), PathBuf::from)
}
