//! The set `bash-parse`: what a command line does, what rules are asked about it, and what "always" may cover.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use haft_shell::{Analysis, Surroundings, analyse};
use serde_json::Value;
use tokio::runtime::Runtime;

/// The folders of the machine that the cases were made on.
const FOLDERS: [&str; 18] = [
    "/",
    "/etc",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/var",
    "/var/log",
    "/home",
    "/home/user",
    "/home/user/.ssh",
    "/home/user/docs",
    "/home/user/proj",
    "/home/user/proj/src",
    "/home/user/proj/docs",
    "/opt",
    "/root",
    "/dev",
    "/home/user/other",
];
const HOME: &str = "/home/user";
const PROJECT: &str = "/home/user/proj";

pub(crate) fn check(_: &Runtime, case: &Value) -> anyhow::Result<()> {
    let command = case["command"].as_str().context("command")?;
    let cwd = case["cwd"].as_str().context("cwd")?;
    let is_dir = |path: &Path| FOLDERS.iter().any(|folder| Path::new(folder) == path);
    let around = Surroundings::new(Path::new(cwd)).home(Path::new(HOME)).is_dir(&is_dir);
    let found = analyse(command, &around);
    let outside = found.outside(&[Path::new(PROJECT)], &is_dir);
    let outside: Vec<String> = outside.iter().map(|folder| folder.join("*").display().to_string()).collect();
    match case.get("better") {
        Some(better) if case["upstream_wrong"] == true => meets(better, &found, &outside),
        _ => {
            let expected = &case["expected"];
            same("patterns", &expected["patterns"], &found.patterns)?;
            same("always", &expected["always"], &found.always)?;
            same("external", &expected["external"], &outside)
        }
    }
}

/// The conditions that a careful answer meets.
fn meets(better: &Value, found: &Analysis, outside: &[String]) -> anyhow::Result<()> {
    for (key, want) in better.as_object().context("better")? {
        match key.as_str() {
            "external_includes" => includes(key, want, outside)?,
            "commands_include" => {
                let names: Vec<String> = found.commands.iter().filter_map(|one| one.words.first().cloned()).collect();
                includes(key, want, &names)?;
            }
            "always_excludes" => {
                let offered = texts(want)?.into_iter().find(|pattern| found.always.contains(pattern));
                ensure!(offered.is_none(), "always offers {offered:?}");
            }
            "ask" => ensure!(!found.is_known(), "it is known, where {want} is wanted"),
            "note" | "why" => {}
            other => bail!("unknown condition {other}"),
        }
    }
    Ok(())
}

fn includes(name: &str, want: &Value, got: &[String]) -> anyhow::Result<()> {
    let missing: Vec<String> = texts(want)?.into_iter().filter(|text| !got.contains(text)).collect();
    ensure!(missing.is_empty(), "{name}: {missing:?} missing in {got:?}");
    Ok(())
}

/// Both hold the same, in whatever order.
fn same(name: &str, want: &Value, got: &[String]) -> anyhow::Result<()> {
    let mut want = texts(want)?;
    let mut got = got.to_vec();
    for list in [&mut want, &mut got] {
        list.sort();
        list.dedup();
    }
    ensure!(want == got, "{name}: wanted {want:?}, got {got:?}");
    Ok(())
}

fn texts(list: &Value) -> anyhow::Result<Vec<String>> {
    let list = list.as_array().context("a list is wanted")?;
    list.iter().map(|text| Ok(text.as_str().context("a text is wanted")?.to_owned())).collect()
}
