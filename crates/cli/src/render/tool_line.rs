//! A tool call in a few lines for a person. Pure.

use haft_protocol::{Object, ToolState};
use serde_json::Value;

use super::{Paint, clean};

/// Most lines of a diff that are shown.
const DIFF_LINES: usize = 60;
/// Most lines of output that are shown.
const OUTPUT_LINES: usize = 10;
/// Longest line of anything that is shown, in characters.
const WIDTH: usize = 160;

/// The lines for a call of `tool` that ended as `state`; empty while it has not.
pub(crate) fn lines(tool: &str, state: &ToolState, paint: Paint) -> Vec<String> {
    match state {
        ToolState::Completed { input, output, title, metadata, .. } => {
            let mut lines = vec![paint.cyan(&one_line(&headline(tool, title, input, output, metadata)))];
            if let Some(diff) = metadata.get("diff").and_then(Value::as_str) {
                lines.extend(diff_lines(diff, paint));
            } else if tool == "bash" {
                lines.extend(shell_lines(metadata, paint));
            }
            lines
        }
        ToolState::Error { input, error, .. } => {
            let mut lines = vec![paint.red(&one_line(&format!("✗ {tool} {} failed", subject(tool, input))))];
            lines.extend(first_lines(error, OUTPUT_LINES).map(|line| paint.red(&format!("  {line}"))));
            lines
        }
        ToolState::Pending { .. } | ToolState::Running { .. } => Vec::new(),
    }
}

fn headline(tool: &str, title: &str, input: &Value, output: &str, metadata: &Object) -> String {
    match tool {
        "read" => format!("→ Read {title}{}", amount(metadata)),
        "write" => format!("← Write {title}"),
        "edit" => format!("← Edit {title}{}", counts(metadata)),
        "bash" => {
            let command = input.get("command").and_then(Value::as_str).unwrap_or(title);
            format!("$ {command}")
        }
        "invalid" => format!("✗ {title}: {}", output.lines().next().unwrap_or_default()),
        _ => format!("⚙ {tool} {}", if title.is_empty() { input.to_string() } else { title.to_owned() }),
    }
}

/// How much a read showed.
fn amount(metadata: &Object) -> String {
    let shown = metadata.get("display").and_then(|display| {
        let line = |key: &str| display.get(key).and_then(Value::as_u64);
        let (start, end) = (line("lineStart")?, line("lineEnd")?);
        let total = line("totalLines").filter(|total| *total != end || start != 1);
        Some(match total {
            Some(total) => format!(" ({start}-{end} of {total} lines)"),
            None => format!(" ({end} lines)"),
        })
    });
    shown.unwrap_or_default()
}

fn counts(metadata: &Object) -> String {
    let count = |key: &str| metadata.get("filediff").and_then(|diff| diff.get(key)).and_then(Value::as_u64);
    match (count("additions"), count("deletions")) {
        (Some(added), Some(removed)) => format!(" +{added} -{removed}"),
        _ => String::new(),
    }
}

/// What a failed call was about.
fn subject(tool: &str, input: &Value) -> String {
    let key = if tool == "bash" { "command" } else { "filePath" };
    input.get(key).and_then(Value::as_str).map_or_else(String::new, str::to_owned)
}

/// The hunks of a unified diff, without its head.
pub(crate) fn diff_lines(diff: &str, paint: Paint) -> Vec<String> {
    let body: Vec<&str> = diff.lines().skip_while(|line| !line.starts_with("@@")).collect();
    let mut lines: Vec<String> = body
        .iter()
        .take(DIFF_LINES)
        .map(|line| {
            let text = format!("  {}", shortened(line));
            match line.as_bytes().first() {
                Some(b'+') => paint.green(&text),
                Some(b'-') => paint.red(&text),
                _ => paint.dim(&text),
            }
        })
        .collect();
    lines.extend(more(body.len(), DIFF_LINES, paint));
    lines
}

fn shell_lines(metadata: &Object, paint: Paint) -> Vec<String> {
    let output = metadata.get("output").and_then(Value::as_str).unwrap_or_default().trim_end();
    let total = output.lines().count();
    let mut lines: Vec<String> =
        first_lines(output, OUTPUT_LINES).map(|line| paint.dim(&format!("  {line}"))).collect();
    lines.extend(more(total, OUTPUT_LINES, paint));
    if let Some(code) = metadata.get("exit").and_then(Value::as_i64).filter(|code| *code != 0) {
        lines.push(paint.red(&format!("  exit code {code}")));
    }
    lines
}

fn more(total: usize, shown: usize, paint: Paint) -> Option<String> {
    (total > shown).then(|| paint.dim(&format!("  … {} more lines", total - shown)))
}

fn first_lines(text: &str, most: usize) -> impl Iterator<Item = String> {
    text.lines().take(most).map(shortened)
}

fn one_line(text: &str) -> String {
    shortened(&text.replace('\n', " ⏎ "))
}

fn shortened(line: &str) -> String {
    let line = clean(line);
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}
