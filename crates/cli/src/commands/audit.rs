//! `haft audit`: the record of what was asked, decided and done.

use anyhow::{Context, Result};
use haft_protocol::civil;
use serde_json::{Value, json};

use crate::args::Audit;
use crate::audit::{self, Fault, Report};
use crate::folders::Folders;
use crate::render::{self, spelled};
use crate::report::Exit;

pub(crate) fn run(command: Audit) -> Result<Exit> {
    let data = Folders::find()?.data;
    let path = audit::path(&data);
    let unreadable = || format!("cannot read {}", path.display());
    match command {
        Audit::Verify { json } => told(&audit::verify(&data).with_context(unreadable)?, json),
        Audit::Show { session, last, json } => {
            let mut entries = audit::entries(&data).with_context(unreadable)?;
            entries.retain(|entry| session.as_deref().is_none_or(|session| entry["session"] == session));
            entries.drain(..entries.len().saturating_sub(last));
            show(&entries, json)
        }
        Audit::Path => {
            render::say(&spelled(&path.display().to_string()))?;
            Ok(Exit::Done)
        }
    }
}

fn told(report: &Report, json: bool) -> Result<Exit> {
    let intact = report.faults.is_empty();
    let exit = if intact { Exit::Done } else { Exit::Failed };
    if json {
        let list = |faults: &[Fault]| -> Value { faults.iter().map(fault_json).collect() };
        let value = json!({
            "ok": intact, "entries": report.entries, "first": report.first, "last": report.last, "files": report.files,
            "faults": list(&report.faults), "more": report.more, "notes": list(&report.notes),
        });
        render::say_json(&value, false)?;
        return Ok(exit);
    }
    for note in &report.notes {
        render::complain(&format!("note: {}", fault_text(note)));
    }
    for fault in &report.faults {
        render::say(&format!("broken: {}", fault_text(fault)))?;
    }
    if report.more > 0 {
        render::say(&format!("broken: {} more places", report.more))?;
    }
    let Report { entries, first, last, files, .. } = report;
    match (intact, entries) {
        (false, _) => {}
        (true, 0) => render::say("intact: nothing is recorded yet")?,
        (true, _) => render::say(&format!("intact: {entries} entries, {first} to {last}, in {files} files"))?,
    }
    Ok(exit)
}

fn fault_json(fault: &Fault) -> Value {
    json!({ "file": fault.file.display().to_string(), "line": fault.line, "why": fault.why })
}

fn fault_text(fault: &Fault) -> String {
    let line = fault.line.map_or_else(String::new, |line| format!(" line {line}"));
    spelled(&format!("{}{line}: {}", fault.file.display(), fault.why)).into_owned()
}

fn show(entries: &[Value], json: bool) -> Result<Exit> {
    if json {
        render::say_json(&Value::from(entries.to_vec()), false)?;
        return Ok(Exit::Done);
    }
    if entries.is_empty() {
        render::complain("nothing is recorded");
    }
    for entry in entries {
        render::say(&line(entry))?;
    }
    Ok(Exit::Done)
}

/// The time `ms` (Unix milliseconds) for people, in UTC: two machines tell it alike.
fn utc(ms: u64) -> String {
    const DAY: u64 = 24 * 60 * 60 * 1000;
    let ((year, month, day), rest) = (civil(ms / DAY), ms % DAY);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
}

/// An entry on one line: number, time, what, and the rest as it is kept.
fn line(entry: &Value) -> String {
    const SHOWN: [&str; 7] = ["v", "n", "time", "prev", "kind", "session", "call"];
    let text = |key: &str| entry[key].as_str().unwrap_or("-").to_owned();
    let rest: serde_json::Map<String, Value> = entry.as_object().cloned().unwrap_or_default();
    let rest = rest.into_iter().filter(|(key, _)| !SHOWN.contains(&key.as_str()));
    let rest: Vec<String> = rest.map(|(key, value)| format!("{key}={value}")).collect();
    let line = format!(
        "{} {} {} {} {} {}",
        entry["n"],
        entry["time"].as_u64().map_or_else(|| entry["time"].to_string(), utc),
        text("session"),
        text("call"),
        text("kind"),
        rest.join(" ")
    );
    spelled(&line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_can_be_read() {
        assert_eq!(utc(951_868_799_999), "2000-02-29T23:59:59.999Z");
        assert_eq!(utc(1_795_292_340_480), "2026-11-21T20:19:00.480Z");
    }

    #[test]
    fn an_entry_is_one_line_that_hides_nothing() {
        let entry = json!({
            "v": 1, "n": 3, "time": 5, "prev": "00", "session": "ses_1", "call": null, "kind": "effect",
            "did": "started", "command": "ls\n\u{1b}[2J\u{202e}",
        });
        assert_eq!(
            line(&entry),
            r#"3 1970-01-01T00:00:00.005Z ses_1 - effect did="started" command="ls\n\u001b[2J\u{202e}""#
        );
    }
}
