//! Makes every call that OpenCode's tools were recorded with in a session of haft's and compares what comes of it.
//!
//! Prints `tool-results same=… better=… later=…` and a line `fail …` for each difference that no reason explains.
//! `docs/differences.md` tells why haft differs where it does; see `reasons`.
#![expect(clippy::print_stdout, reason = "the report is what this program is for")]

mod fixture;
mod record;
mod run;
mod web;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use record::differences;
use serde_json::Value;
use tokio::runtime::Runtime;

fn main() -> Result<ExitCode> {
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
    for record in &records {
        if record.project != "base" || (!only.is_empty() && !only.contains(&record.n)) {
            continue;
        }
        let got = match runtime.block_on(theatre.play(record)) {
            Ok(got) => got,
            Err(error) => {
                println!("fail {} {error:#}", record.n);
                continue;
            }
        };
        let wanted = record.seen();
        for facet in differences(&wanted, &got) {
            println!("{} {} {facet:?} | {}", record.n, record.tool, record.fixture);
            let show = |seen: &record::Seen| match facet {
                record::Facet::Tool => seen.tool.clone(),
                record::Facet::Failed | record::Facet::Output => seen.output.clone(),
                record::Facet::Title => seen.title.clone(),
                record::Facet::Keys | record::Facet::Values => Value::from(seen.metadata.clone()).to_string(),
                record::Facet::Attachments => format!("{:?}", seen.attachments),
                record::Facet::Files => format!("{:?}", seen.files),
                record::Facet::Asks => format!("{:?}", seen.asks),
                record::Facet::Stopped => format!("{:?}", seen.stopped),
            };
            let cut = |text: String| text.chars().take(900).collect::<String>();
            println!("   - {:?}\n   + {:?}", cut(show(&wanted)), cut(show(&got)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn folder() -> PathBuf {
    std::env::var_os("HAFT_CASES").map_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/cases").into(), PathBuf::from)
}
