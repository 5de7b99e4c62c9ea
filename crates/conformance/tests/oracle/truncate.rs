//! The set `truncate`: cutting outputs of tools and commands, and pages of files.

use anyhow::{Context, bail, ensure};
use haft_project::{Files, Processes};
use haft_tool::fake::FakeHost;
use haft_tool::truncate::{Cut, Limits, Unit, head, preview, tail};
use haft_tool::{Output, ToolError};
use haft_toolbox::{World, builtin};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// A piece of a text, see [`text`].
#[derive(Deserialize)]
struct Part {
    unit: String,
    #[serde(default = "one")]
    times: usize,
    #[serde(default = "one")]
    count: usize,
    #[serde(default)]
    numbered: bool,
    #[serde(default = "feed")]
    eol: String,
}

fn one() -> usize {
    1
}

fn feed() -> String {
    "\n".to_owned()
}

pub(crate) fn check(runtime: &Runtime, case: &Value) -> anyhow::Result<()> {
    let text = text(&case["spec"])?;
    match case["kind"].as_str() {
        Some("tool_output") => tool_output(&text, case),
        Some("shell_tail") => shell_tail(&text, case),
        Some("shell_preview") => shell_preview(&text, case),
        Some("read") => read(runtime, &text, case),
        other => bail!("unknown kind {other:?}"),
    }
}

/// The text that a case describes: of each part `count` lines, each a number if wanted, `unit` so many `times`, and
/// the line end. Numbers count the lines of the whole text.
fn text(spec: &Value) -> anyhow::Result<String> {
    let parts = Vec::<Part>::deserialize(spec).context("spec")?;
    let (mut text, mut number) = (String::new(), 0);
    for part in parts {
        for _ in 0..part.count {
            number += 1;
            if part.numbered {
                text.push_str(&format!("L{number}: "));
            }
            text.push_str(&part.unit.repeat(part.times));
            text.push_str(&part.eol);
        }
    }
    Ok(text)
}

fn limits(case: &Value) -> Limits {
    let number = |key: &str| case["options"][key].as_u64().and_then(|number| usize::try_from(number).ok());
    let usual = Limits::default();
    Limits { lines: number("maxLines").unwrap_or(usual.lines), bytes: number("maxBytes").unwrap_or(usual.bytes) }
}

fn tool_output(text: &str, case: &Value) -> anyhow::Result<()> {
    let (expected, limits) = (&case["expected"], limits(case));
    let cut = if case["options"]["direction"] == "tail" { tail(text, limits) } else { head(text, limits) };
    same("truncated", cut.is_some(), &expected["truncated"])?;
    let Some(cut) = cut else {
        same("lines", text.split('\n').count(), &expected["lines"])?;
        return same("bytes", text.len(), &expected["bytes"]);
    };
    same("total_lines", cut.total_lines, &expected["total_lines"])?;
    same("total_bytes", cut.total_bytes, &expected["total_bytes"])?;
    if let Some(least) = case["better"]["kept_bytes_at_least"].as_u64() {
        ensure!(cut.kept.len() as u64 >= least, "kept {} bytes, at least {least} wanted", cut.kept.len());
        return fits(&cut, limits);
    }
    if is_left_empty(text, limits, expected) {
        return keeps_a_piece(&cut, limits);
    }
    let unit = match cut.by {
        Unit::Lines => "lines",
        Unit::Bytes => "bytes",
    };
    let first = if cut.lines == 0 && case["options"]["direction"] != "tail" { 0 } else { cut.first };
    same("kept_lines", cut.lines, &expected["kept_lines"])?;
    same("kept_bytes", cut.kept.len(), &expected["kept_bytes"])?;
    same("kept_from", first, &expected["kept_from"])?;
    same("removed", cut.removed(), &expected["removed"])?;
    same("unit", unit, &expected["unit"])?;
    same("marker", cut.marker(), &expected["marker"])
}

fn shell_tail(text: &str, case: &Value) -> anyhow::Result<()> {
    let (expected, limits) = (&case["expected"], limits(case));
    let cut = tail(text, limits);
    // An empty output has no lines here; nothing is shown of it.
    let whole = (text, if text.is_empty() { 0 } else { text.split('\n').count() });
    let (kept, lines) = cut.map_or(whole, |cut| (cut.kept, cut.lines));
    same("cut", cut.is_some(), &expected["cut"])?;
    if let Some(cut) = cut.filter(|_| is_left_empty(text, limits, expected)) {
        return keeps_a_piece(&cut, limits);
    }
    same("kept_bytes", kept.len(), &expected["kept_bytes"])?;
    same("kept_lines", lines, &expected["kept_lines"])?;
    let (start, end) = (&expected["starts_with"], &expected["ends_with"]);
    ensure!(kept.starts_with(start.as_str().unwrap_or_default()), "starts otherwise than {start}");
    ensure!(kept.ends_with(end.as_str().unwrap_or_default()), "ends otherwise than {end}");
    Ok(())
}

fn shell_preview(text: &str, case: &Value) -> anyhow::Result<()> {
    let expected = &case["expected"];
    let preview = preview(text);
    let prefix = if preview == text { "" } else { "...\n\n" };
    same("cut", preview != text, &expected["cut"])?;
    same("prefix", prefix, &expected["prefix"])?;
    same("kept_chars", preview.chars().count() - prefix.chars().count(), &expected["kept_chars"])
}

fn read(runtime: &Runtime, text: &str, case: &Value) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let name = format!("f{}", case["options"]["ext"].as_str().unwrap_or(".txt"));
    std::fs::write(folder.path().join(&name), text)?;
    let mut input = json!({ "filePath": name });
    for key in ["offset", "limit"] {
        if let Some(value) = case["options"].get(key) {
            input[key] = value.clone();
        }
    }
    let files = Files::new(folder.path().to_owned(), None);
    let world = World { files, processes: Processes::new("/bin/sh".into(), Vec::new()) };
    let bench = FakeHost::allowing_all(folder.path());
    let result = runtime.block_on(builtin(&world).run("read", input, &bench.call()));
    let expected = &case["expected"];
    match result {
        Ok(output) => page(&output, text.len(), expected),
        Err(error) => {
            let wanted = expected["error"].as_str().unwrap_or("none");
            // A file that is no text has more than one name.
            ensure!(wanted.starts_with(kind(&error)), "error is {} ({error}), not {wanted}", kind(&error));
            Ok(())
        }
    }
}

/// Larger files are not read to their end just to count their lines, on purpose: there the total is not compared.
const COUNTED: usize = 8 * 1024 * 1024;

fn page(output: &Output, size: usize, expected: &Value) -> anyhow::Result<()> {
    let content = output.text.split_once("<content>\n").and_then(|(_, rest)| rest.strip_suffix("\n</content>"));
    let (body, footer) = content.and_then(|content| content.rsplit_once("\n\n")).context("no frame around the page")?;
    let display = &output.metadata["display"];
    same("ok", true, &expected["ok"])?;
    same("truncated", output.metadata["truncated"].clone(), &expected["truncated"])?;
    if size <= COUNTED {
        same("footer", footer, &expected["footer"])?;
        same("total_lines", display["totalLines"].clone(), &expected["total_lines"])?;
    }
    same("line_start", display["lineStart"].clone(), &expected["line_start"])?;
    same("line_end", display["lineEnd"].clone(), &expected["line_end"])?;
    same("body_bytes", body.len(), &expected["body_bytes"])?;
    let (first, last) = (&expected["first"], &expected["last"]);
    ensure!(body.starts_with(first.as_str().unwrap_or_default()), "starts otherwise than {first}");
    ensure!(body.ends_with(last.as_str().unwrap_or_default()), "ends otherwise than {last}");
    Ok(())
}

/// The reference's word for a failed read; its sentences are its own.
fn kind(error: &ToolError) -> &'static str {
    let text = error.to_string();
    match error {
        ToolError::BadInput(_) => "bad_parameter",
        _ if text.contains("is past the end of") => "offset_out_of_range",
        _ if text.contains("is a binary file") => "binary",
        _ => "other",
    }
}

/// Whether the reference shows nothing of a text with something in it, because one line is longer than the limit. The
/// set calls that a mistake in some cases; we hold it to be one in all of them.
fn is_left_empty(text: &str, limits: Limits, expected: &Value) -> bool {
    expected["kept_bytes"] == 0 && limits.lines > 0 && limits.bytes > 0 && !text.trim().is_empty()
}

/// What we do instead.
fn keeps_a_piece(cut: &Cut<'_>, limits: Limits) -> anyhow::Result<()> {
    ensure!(cut.inside_line, "the line was not cut inside");
    // A character has up to four bytes, so not every limit can be met exactly.
    ensure!(cut.kept.len() + 3 >= limits.bytes, "kept {} of {} bytes", cut.kept.len(), limits.bytes);
    fits(cut, limits)
}

fn fits(cut: &Cut<'_>, limits: Limits) -> anyhow::Result<()> {
    ensure!(cut.kept.len() <= limits.bytes, "kept {} bytes, more than {}", cut.kept.len(), limits.bytes);
    Ok(())
}

fn same(what: &str, got: impl Into<Value>, want: &Value) -> anyhow::Result<()> {
    let got = got.into();
    ensure!(got == *want, "{what} is {got}, not {want}");
    Ok(())
}
