//! A session as Markdown for people. Pure.

use haft_protocol::{Message, Part, PartKind, ToolState};
use haft_session::Portable;
use serde_json::Value;

/// Longest output of a call that is shown, in bytes; the JSON form has all of it.
const MAX_OUTPUT: usize = 4 * 1024;

/// The whole text. What the model thought, and what calls gave, can be unfolded.
pub(super) fn markdown(session: &Portable) -> String {
    let mut text = format!("# {}\n\n", plain(&session.info.title));
    text.push_str(&format!("`{}` in `{}`\n", session.info.id, plain(&session.info.directory)));
    for turned in &session.messages {
        let who = match &turned.info {
            Message::User(_) => "You".to_owned(),
            Message::Assistant(answer) => {
                format!("{} ({}/{})", plain(&answer.agent), plain(&answer.provider_id), plain(&answer.model_id))
            }
        };
        let parts: String = turned.parts.iter().map(part).collect();
        let failure = match &turned.info {
            Message::Assistant(answer) => answer.error.as_ref(),
            Message::User(_) => None,
        };
        if parts.is_empty() && failure.is_none() {
            continue;
        }
        text.push_str(&format!("\n## {who}\n{parts}"));
        if let Some(failure) = failure {
            text.push_str(&format!("\n> **Failed:** {}\n", plain(failure.message())));
        }
    }
    text
}

fn part(part: &Part) -> String {
    match &part.kind {
        PartKind::Text { synthetic: true, .. } => String::new(),
        PartKind::Text { text, .. } if text.trim().is_empty() => String::new(),
        PartKind::Text { text, .. } => format!("\n{}\n", closed(text.trim())),
        PartKind::Reasoning { text, .. } if text.trim().is_empty() => String::new(),
        PartKind::Reasoning { text, .. } => folded("Thinking", &format!("{}\n", closed(text.trim()))),
        PartKind::File { filename, url, mime, .. } => {
            let name = filename.as_deref().unwrap_or(if url.starts_with("data:") { mime } else { url });
            format!("\n*File: {}*\n", plain(name))
        }
        PartKind::Agent { name, .. } => format!("\n*@{}*\n", plain(name)),
        PartKind::Subtask(task) => {
            format!("\n*Task for {}: {}*\n", plain(&task.agent), plain(&task.description))
        }
        PartKind::Tool { tool, state, .. } => call(tool, state),
        PartKind::Compaction { .. } => "\n---\n\n*What came before was summed up here.*\n".to_owned(),
        PartKind::Retry { attempt, error, .. } => {
            format!("\n*Try {attempt} failed: {}*\n", plain(error.message()))
        }
        PartKind::Vendor { .. } | PartKind::Patch { .. } | PartKind::StepStart {} | PartKind::StepFinish { .. } => {
            String::new()
        }
    }
}

fn call(tool: &str, state: &ToolState) -> String {
    let tool = plain(tool);
    match state {
        ToolState::Completed { input, output, title, metadata, .. } => {
            let title = if title.is_empty() { String::new() } else { format!(" {}", plain(title)) };
            let mut inside = fenced("json", &format!("{input:#}"));
            if let Some(diff) = metadata.get("diff").and_then(Value::as_str).filter(|diff| !diff.is_empty()) {
                // What it did to files is what people look for.
                return format!("\n**{tool}**{title}\n\n{}", fenced("diff", diff));
            }
            inside.push('\n');
            inside.push_str(&fenced("", shortened(output).as_str()));
            folded(&format!("{tool}{title}"), &inside)
        }
        ToolState::Error { input, error, .. } => {
            let inside = format!("{}\n{}", fenced("json", &format!("{input:#}")), fenced("", &shortened(error)));
            folded(&format!("{tool} failed"), &inside)
        }
        ToolState::Running { input, .. } => {
            folded(&format!("{tool} has not ended"), &fenced("json", &format!("{input:#}")))
        }
        ToolState::Pending { .. } => format!("\n*{tool} was not run*\n"),
    }
}

/// `text` with an end to a block of code that it leaves open: what follows would be taken for code.
fn closed(text: &str) -> String {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let Some(fence) = fence(line) else { continue };
        let is_bare = line.trim().len() == fence.len();
        match open {
            None => open = Some(fence),
            Some(begun) if is_bare && fence.len() >= begun.len() && fence[..1] == begun[..1] => open = None,
            Some(_) => {}
        }
    }
    open.map_or_else(|| text.to_owned(), |fence| format!("{text}\n{fence}"))
}

/// The signs by which a line may begin or end a block of code.
fn fence(line: &str) -> Option<&str> {
    let begun = line.trim_start_matches(' ');
    let sign = begun.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let rest = begun.trim_start_matches(sign);
    let fence = &begun[..begun.len() - rest.len()];
    let is_indented = line.len() - begun.len() > 3;
    // Code within a line stands between single ones.
    (fence.len() >= 3 && !is_indented && !(sign == '`' && rest.contains('`'))).then_some(fence)
}

/// Something that can be unfolded where Markdown is shown as a page.
fn folded(head: &str, inside: &str) -> String {
    format!(
        "\n<details><summary>{}</summary>\n\n{inside}\n</details>\n",
        head.replace('&', "&amp;").replace('<', "&lt;")
    )
}

/// A block of code whose fence is longer than any within.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

fn shortened(text: &str) -> String {
    match text.char_indices().map(|(at, _)| at).find(|&at| at >= MAX_OUTPUT) {
        None => text.to_owned(),
        Some(end) => format!("{}\n… {} more bytes", &text[..end], text.len() - end),
    }
}

/// Words that stay on their line.
fn plain(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_session_reads_like_a_story() {
        let time = json!({"start": 1, "end": 2});
        let user = json!({"id": "msg_1", "role": "user", "time": {"created": 1}});
        let answer = json!({"id": "msg_2", "role": "assistant", "agent": "build", "modelID": "m", "providerID": "v",
            "error": {"name": "UnknownError", "data": {"message": "it broke\noff"}}});
        let call = |n: u32, state: serde_json::Value| json!({"id": format!("prt_{n}"), "type": "tool", "callID": "c", "tool": "edit", "state": state});
        let session = Portable::read(json!({
            "info": {"id": "ses_1", "title": "Mend\nit", "directory": "/p"},
            "messages": [
                {"info": user, "parts": [
                    {"id": "prt_1", "type": "text", "text": "Mend `a.rs`"},
                    {"id": "prt_2", "type": "text", "text": "hidden", "synthetic": true},
                    {"id": "prt_3", "type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA"}
                ]},
                {"info": answer, "parts": [
                    {"id": "prt_4", "type": "reasoning", "text": "Hm.", "time": time},
                    call(5, json!({"status": "completed", "input": {"filePath": "a.rs"}, "output": "ok", "title": "a.rs",
                                   "metadata": {"diff": "-old\n+new ```"}, "time": time})),
                    call(6, json!({"status": "completed", "input": {"a": 1}, "output": "out <x>", "title": "",
                                   "metadata": {}, "time": time})),
                    call(7, json!({"status": "error", "input": {}, "error": "no", "time": time})),
                    {"id": "prt_8", "type": "text", "text": "Done."}
                ]}
            ]
        }), 1)
        .unwrap();
        expect_test::expect![[r#"
            # Mend it

            `ses_1` in `/p`

            ## You

            Mend `a.rs`

            *File: image/png*

            ## build (v/m)

            <details><summary>Thinking</summary>

            Hm.

            </details>

            **edit** a.rs

            ````diff
            -old
            +new ```
            ````

            <details><summary>edit</summary>

            ```json
            {
              "a": 1
            }
            ```

            ```
            out <x>
            ```

            </details>

            <details><summary>edit failed</summary>

            ```json
            {}
            ```

            ```
            no
            ```

            </details>

            Done.

            > **Failed:** it broke off
        "#]]
        .assert_eq(&markdown(&session));
    }

    #[test]
    fn a_block_of_code_that_is_left_open_ends_with_its_message() {
        let row = |text: &str, want: &str| assert_eq!(closed(text), want);
        row("words", "words");
        row("```rust\nfn a() {}\n```", "```rust\nfn a() {}\n```");
        row("```rust\nfn a() {}", "```rust\nfn a() {}\n```");
        row("````md\n```\na", "````md\n```\na\n````");
        row("~~~\n```\nb", "~~~\n```\nb\n~~~");
        row("a\n```\nb\n```\n```sh\nc", "a\n```\nb\n```\n```sh\nc\n```");
        row("```so``` stands in a line", "```so``` stands in a line");
        row("    ```", "    ```");
    }

    #[test]
    fn long_outputs_are_cut() {
        assert!(shortened(&"ä".repeat(MAX_OUTPUT)).ends_with("more bytes"));
        assert_eq!(shortened("short"), "short");
    }
}
