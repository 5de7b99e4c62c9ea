//! A tool call in a few lines for a person. Pure.

use haft_protocol::{Object, ToolState};
use serde_json::Value;

use super::{Paint, clean, spelled};

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
                lines.extend(short_diff(diff, paint));
            } else if tool == "bash" {
                lines.extend(shell_lines(metadata, paint));
            }
            lines
        }
        ToolState::Error { input, error, .. } => {
            let mut lines = vec![paint.red(&one_line(&format!("✗ {tool}{} failed", subject(tool, input))))];
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
        ToolState::Running { input, metadata: Some(metadata), .. } if tool == "bash" => {
            Some(paint.dim(&format!("{} …", one_line(&headline(tool, "", input, "", metadata)))))
        }
        ToolState::Pending { .. }
        | ToolState::Running { .. }
        | ToolState::Completed { .. }
        | ToolState::Error { .. } => None,
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
            None if end == 1 => " (1 line)".to_owned(),
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
    input.get(key).and_then(Value::as_str).map_or_else(String::new, |subject| format!(" {subject}"))
}

/// A unified diff without its head, cut to size.
fn short_diff(diff: &str, paint: Paint) -> Vec<String> {
    let all = diff_body(diff).count();
    let mut lines: Vec<String> =
        diff_body(diff).take(DIFF_LINES).map(|line| diff_line(line, &cut(&spelled(line)), paint)).collect();
    lines.extend(more(all, DIFF_LINES, paint));
    lines
}

/// A unified diff without its head, all of it: for whoever decides about it.
pub(crate) fn diff_lines(diff: &str, paint: Paint) -> Vec<String> {
    diff_body(diff).map(|line| diff_line(line, &spelled(line), paint)).collect()
}

fn diff_body(diff: &str) -> impl Iterator<Item = &str> {
    const HEAD: [&str; 4] = ["Index: ", "=====", "--- ", "+++ "];
    diff.lines().skip_while(|line| HEAD.iter().any(|head| line.starts_with(head)))
}

fn diff_line(line: &str, shown: &str, paint: Paint) -> String {
    let text = format!("  {shown}");
    match line.as_bytes().first() {
        Some(b'+') => paint.green(&text),
        Some(b'-') => paint.red(&text),
        _ => paint.dim(&text),
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
    match metadata.get("exit").and_then(Value::as_i64) {
        Some(0) => {}
        Some(code) => lines.push(paint.red(&format!("  exit code {code}"))),
        None => lines.push(paint.red("  stopped before its end")),
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
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use haft_protocol::ToolSpan;
    use serde_json::json;

    #[track_caller]
    fn check(tool: &str, state: &ToolState, want: Expect) {
        want.assert_eq(&lines(tool, state, Paint::new(false)).join("\n"));
    }

    fn completed(input: Value, title: &str, output: &str, metadata: Value) -> ToolState {
        ToolState::Completed {
            input,
            output: output.to_owned(),
            title: title.to_owned(),
            metadata: metadata.as_object().unwrap().clone(),
            time: ToolSpan::default(),
            attachments: Vec::new(),
        }
    }

    fn failed(input: Value, error: &str) -> ToolState {
        ToolState::Error { input, error: error.to_owned(), metadata: None, time: ToolSpan::default() }
    }

    #[test]
    fn each_tool_has_its_line() {
        let part = json!({"display": {"lineStart": 5, "lineEnd": 9, "totalLines": 40}});
        check("read", &completed(json!({}), "a.rs", "", part), expect!["→ Read a.rs (5-9 of 40 lines)"]);
        let whole = json!({"display": {"lineStart": 1, "lineEnd": 9, "totalLines": 9}});
        check("read", &completed(json!({}), "a.rs", "", whole), expect!["→ Read a.rs (9 lines)"]);
        check("write", &completed(json!({}), "b.rs", "", json!({})), expect!["← Write b.rs"]);
        let edit = json!({"filediff": {"additions": 1, "deletions": 1}, "diff": "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-one\n+two\n"});
        check(
            "edit",
            &completed(json!({}), "a.rs", "", edit),
            expect![[r#"
            ← Edit a.rs +1 -1
              @@ -1,1 +1,1 @@
              -one
              +two"#]],
        );
        let shell = json!({"output": "one\ntwo\n", "exit": 3});
        check(
            "bash",
            &completed(json!({"command": "ls\npwd"}), "List", "", shell),
            expect![[r#"
            $ ls ⏎ pwd
              one
              two
              exit code 3"#]],
        );
        check(
            "invalid",
            &completed(json!({}), "Invalid call", "This call was not run: no.", json!({})),
            expect!["✗ Invalid call: This call was not run: no."],
        );
        check("my_tool", &completed(json!({"a": 1}), "", "", json!({})), expect![[r#"⚙ my_tool {"a":1}"#]]);
        check(
            "edit",
            &failed(json!({"filePath": "a.rs"}), "a.rs does not\ncontain it"),
            expect![[r#"
            ✗ edit a.rs failed
              a.rs does not
              contain it"#]],
        );
    }

    #[test]
    fn long_things_are_cut() {
        let output: String = (0..30).map(|n| format!("{n}\n")).collect();
        let shell = completed(json!({"command": "x".repeat(500)}), "", "", json!({"output": output, "exit": 0}));
        let shown = lines("bash", &shell, Paint::new(false));
        assert_eq!(shown.len(), 1 + 1 + OUTPUT_LINES);
        assert_eq!(shown[0].chars().count(), WIDTH + 1);
        assert_eq!(shown[1], "  … 20 earlier lines");
        assert_eq!(shown.last().unwrap(), "  29");
    }

    #[test]
    fn who_decides_about_a_change_sees_all_of_it() {
        let lines: String = (0..100).map(|n| format!("+{n}{}\n", "x".repeat(500))).collect();
        let shown =
            diff_lines(&format!("Index: a\n=====\n--- a\n+++ a\n@@ -0,0 +1,100 @@\n{lines}"), Paint::new(false));
        assert_eq!(shown.len(), 101);
        assert!(shown.iter().skip(1).all(|line| line.len() > 500));
        let large = diff_lines("Index: a\n=====\n--- a\n+++ a\n(too large to be compared)\n", Paint::new(false));
        assert_eq!(large, ["  (too large to be compared)"]);
    }

    #[test]
    fn nothing_of_a_tool_drives_the_terminal() {
        let hostile = "\u{1b}[2Jx\u{1b}]0;t\u{7}";
        let diff = json!({"diff": format!("@@ -1 +1 @@\n+{hostile}\n")});
        let states = [
            ("bash", completed(json!({"command": hostile}), hostile, hostile, json!({"output": hostile, "exit": 1}))),
            ("edit", completed(json!({}), hostile, hostile, diff)),
            ("read", failed(json!({"filePath": hostile}), hostile)),
            (hostile, completed(json!({"a": hostile}), "", hostile, json!({}))),
        ];
        for (tool, state) in &states {
            let shown = lines(tool, state, Paint::new(false)).join("\n");
            assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown:?}");
        }
    }
}
