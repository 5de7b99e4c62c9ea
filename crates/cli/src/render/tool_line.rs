//! A tool call in a few lines for a person. Pure.

mod headline;

use haft_protocol::{Object, Part, PartKind, ToolState};
use serde_json::Value;

use self::headline::{headline, subject};
use super::{Page, Paint, clean, spelled};

/// Most lines of a diff that are shown.
const DIFF_LINES: usize = 60;
/// Most lines of output that are shown.
const OUTPUT_LINES: usize = 10;
/// Most entries of a list of things to do, and most questions, that are shown.
const TODOS: usize = 30;
/// Longest line of anything that is shown, in characters.
const WIDTH: usize = 160;

/// The lines for a call of `tool` that ended as `state`; empty while it has not.
pub(crate) fn lines(tool: &str, state: &ToolState, paint: Paint) -> Vec<String> {
    match state {
        ToolState::Completed { input, output, title, metadata, attachments, .. } => {
            let mut lines = vec![paint.cyan(&one_line(&headline(tool, title, input, output, metadata, attachments)))];
            if let Some(diff) = metadata.get("diff").and_then(Value::as_str) {
                lines.extend(short_diff(diff, paint));
            } else {
                lines.extend(match tool {
                    "bash" => shell_lines(metadata, paint),
                    "job_output" | "job_kill" => job_lines(metadata, paint),
                    "todowrite" | "todoread" => todo_lines(metadata, paint),
                    "question" => answer_lines(input, metadata, paint),
                    "task" => left_in(metadata, paint).into_iter().collect(),
                    _ => Vec::new(),
                });
            }
            lines
        }
        ToolState::Error { input, error, .. } => {
            let mut lines = vec![paint.red(&one_line(&format!("✗ {tool}{} failed", subject(input))))];
            lines.extend(first_lines(error, OUTPUT_LINES).map(|line| paint.red(&format!("  {line}"))));
            lines
        }
        ToolState::Pending { .. } | ToolState::Running { .. } => Vec::new(),
    }
}

/// The line for a call that has begun, where that is worth a line: a command may take long. It says what the first one
/// of [`lines`] will say.
pub(crate) fn begun(tool: &str, state: &ToolState, paint: Paint) -> Option<String> {
    match state {
        ToolState::Running { input, metadata: Some(metadata), .. } if tool == "bash" || tool == "task" => {
            Some(paint.dim(&format!("{} …", one_line(&headline(tool, "", input, "", metadata, &[])))))
        }
        ToolState::Pending { .. }
        | ToolState::Running { .. }
        | ToolState::Completed { .. }
        | ToolState::Error { .. } => None,
    }
}

/// The line about a task that went on in the background, where `part` tells its end; a second one where changes of it wait.
pub(crate) fn task_ended(part: &Part, paint: Paint) -> Vec<String> {
    let PartKind::Text { synthetic: true, metadata: Some(metadata), .. } = &part.kind else { return Vec::new() };
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let Some(state) = text("task").and(text("state")) else { return Vec::new() };
    let title = one_line(text("title").unwrap_or("without a name"));
    let line = match state {
        "completed" => paint.cyan(&format!("◆ background task ended: {title}")),
        "partial" => paint.yellow(&format!("◆ background task came to a limit: {title}")),
        "interrupted" => paint.yellow(&format!("◆ background task was cut off: {title}")),
        _ => paint.red(&format!("✗ background task failed: {title}")),
    };
    std::iter::once(line).chain(left_in(metadata, paint)).collect()
}

/// Where the changes of a task stand that are not in the project. Whole, however long: somebody wants to go there.
fn left_in(metadata: &Object, paint: Paint) -> Option<String> {
    let path = metadata.get("leftIn").and_then(Value::as_str)?;
    Some(paint.yellow(&format!("  ! its changes are not in the project; they stand in {}", spelled(path))))
}

/// What a call is about that is at work, for a line that is drawn anew.
pub(crate) fn doing(tool: &str, title: &str, input: &Value) -> String {
    one_line(&headline(tool, title, input, "", &Object::new(), &[]))
}

/// What a task does right now, in a line that says which task it is: several may be at work.
pub(crate) fn activity(state: &ToolState, paint: Paint) -> Option<String> {
    match state {
        ToolState::Running { input, metadata: Some(metadata), .. } => {
            let activity = metadata.get("activity").and_then(Value::as_str)?;
            let task = input.get("description").and_then(Value::as_str).map(|task| format!("{task}: "));
            Some(paint.dim(&format!("  ↳ {}", one_line(&format!("{}{activity}", task.unwrap_or_default())))))
        }
        ToolState::Pending { .. }
        | ToolState::Running { metadata: None, .. }
        | ToolState::Completed { .. }
        | ToolState::Error { .. } => None,
    }
}

/// The last lines, `most` of them, of what a call that is at work has written so far; of a task, what it does.
pub(crate) fn latest(metadata: &Object, most: usize, paint: Paint) -> Vec<String> {
    if let Some(activity) = metadata.get("activity").and_then(Value::as_str) {
        return if most == 0 { Vec::new() } else { vec![paint.dim(&format!("  ↳ {}", one_line(activity)))] };
    }
    let output = metadata.get("output").and_then(Value::as_str).unwrap_or_default().trim_end();
    let mut lines: Vec<&str> = output.rsplit('\n').take(most).collect();
    lines.reverse();
    let said = lines.into_iter().filter(|_| !output.is_empty());
    said.map(|line| paint.dim(&format!("  {}", shortened(line).replace('\t', "    ")))).collect()
}

/// The list as it is now.
fn todo_lines(metadata: &Object, paint: Paint) -> Vec<String> {
    let todos = metadata.get("todos").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut lines: Vec<String> = todos
        .iter()
        .take(TODOS)
        .map(|todo| {
            let text = |key: &str| todo.get(key).and_then(Value::as_str).unwrap_or_default();
            let content = one_line(text("content"));
            match text("status") {
                "completed" => paint.dim(&format!("  [✓] {content}")),
                "in_progress" => paint.bold(&format!("  [•] {content}")),
                "cancelled" => paint.dim(&format!("  [-] {content}")),
                _ => format!("  [ ] {content}"),
            }
        })
        .collect();
    lines.extend(more(todos.len(), TODOS, paint));
    lines
}

/// Each question with its answer.
fn answer_lines(input: &Value, metadata: &Object, paint: Paint) -> Vec<String> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let answers = list(metadata.get("answers"));
    let questions = list(input.get("questions"));
    let lines = questions.iter().take(TODOS).enumerate().map(|(at, question)| {
        let chosen: Vec<String> = list(answers.get(at)).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let answer = if chosen.is_empty() { "no answer".to_owned() } else { chosen.join(", ") };
        let asked = question.get("question").and_then(Value::as_str).unwrap_or_default();
        format!("  {} {}", one_line(asked), paint.dim(&format!("→ {}", one_line(&answer))))
    });
    lines.collect()
}

/// A unified diff without its heads, cut to size.
fn short_diff(diff: &str, paint: Paint) -> Vec<String> {
    let body = diff_body(diff);
    let mut lines: Vec<String> = body.iter().take(DIFF_LINES).map(|line| diff_line(line, paint)).collect();
    lines.extend(more(body.len(), DIFF_LINES, paint));
    lines
}

/// A unified diff without its heads, all of it: for whoever decides about it.
pub(crate) fn diff_on(page: &mut Page, diff: &str, paint: Paint) {
    for line in diff_body(diff) {
        let shown = line.strip_prefix(FILE).unwrap_or(line);
        page.put("  ", shown, |text| coloured(line, text, paint));
    }
}

/// How the diff of a file begins. No line of a file does: a sign stands before it.
const FILE: &str = "Index: ";

/// The lines of a diff without the heads of its files. Where there are several files, each begins with its [`FILE`] line.
fn diff_body(diff: &str) -> Vec<&str> {
    const HEAD: [&str; 3] = ["=====", "--- ", "+++ "];
    const MODES: [&str; 2] = ["old mode ", "new mode "];
    let several = diff.lines().filter(|line| line.starts_with(FILE)).count() > 1;
    let (mut body, mut in_head) = (Vec::new(), true);
    for line in diff.lines() {
        if line.starts_with(FILE) {
            in_head = true;
            body.extend(several.then_some(line));
        } else if in_head && MODES.iter().any(|mode| line.starts_with(mode)) {
            body.push(line);
        } else if !in_head || !HEAD.iter().any(|head| line.starts_with(head)) {
            in_head = false;
            body.push(line);
        }
    }
    body
}

fn diff_line(line: &str, paint: Paint) -> String {
    let shown = line.strip_prefix(FILE).unwrap_or(line);
    coloured(line, &format!("  {}", cut(&spelled(shown))), paint)
}

/// `text` in the colour of the line of a diff that it shows.
fn coloured(line: &str, text: &str, paint: Paint) -> String {
    match line.as_bytes().first() {
        Some(b'+') => paint.green(text),
        Some(b'-') => paint.red(text),
        _ if line.starts_with(FILE) => paint.bold(text),
        _ => paint.dim(text),
    }
}

/// The end of a command's output, where what went wrong stands.
fn shell_lines(metadata: &Object, paint: Paint) -> Vec<String> {
    let output = metadata.get("output").and_then(Value::as_str).unwrap_or_default().trim_end();
    let earlier = output.lines().count().saturating_sub(OUTPUT_LINES);
    let mut lines = Vec::new();
    if earlier > 0 {
        lines.push(paint.dim(&format!("  … {earlier} earlier lines")));
    }
    lines.extend(output.lines().skip(earlier).map(|line| paint.dim(&format!("  {}", shortened(line)))));
    let status = metadata.get("status").and_then(Value::as_str);
    match metadata.get("exit").and_then(Value::as_i64) {
        Some(0) => {}
        Some(code) => lines.push(paint.red(&format!("  exit code {code}"))),
        None if status == Some("running") => {}
        None => lines.push(paint.red("  stopped before its end")),
    }
    // Without a word on how it is, it is what a command left behind.
    let goes_on = status.is_none_or(|status| status == "running");
    let job = metadata.get("jobId").and_then(Value::as_str).filter(|_| goes_on);
    lines.extend(job.map(|job| paint.dim(&format!("  goes on as {}", one_line(job)))));
    lines
}

/// What a job has written since the last look, or the jobs there are.
fn job_lines(metadata: &Object, paint: Paint) -> Vec<String> {
    let Some(jobs) = metadata.get("jobs").and_then(Value::as_array) else {
        return latest(metadata, OUTPUT_LINES, paint);
    };
    let text = |job: &Value, key: &str| one_line(job.get(key).and_then(Value::as_str).unwrap_or_default());
    let line = |job: &Value| format!("  {} {}: {}", text(job, "jobId"), text(job, "status"), text(job, "command"));
    jobs.iter().map(|job| paint.dim(&cut(&line(job)))).collect()
}

fn more(total: usize, shown: usize, paint: Paint) -> Option<String> {
    (total > shown).then(|| paint.dim(&format!("  … {} more lines", total - shown)))
}

fn first_lines(text: &str, most: usize) -> impl Iterator<Item = String> {
    text.lines().take(most).map(shortened)
}

fn one_line(text: &str) -> String {
    cut(&spelled(&text.replace('\n', " ⏎ ")))
}

fn shortened(line: &str) -> String {
    cut(&clean(line))
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
