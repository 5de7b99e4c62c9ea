//! A session without anything that was said, read or named: its shape, times and costs stay. Pure.

use haft_protocol::{FileDiff, Message, Part, PartKind, ToolState};
use haft_session::Portable;
use serde_json::{Map, Value, json};

/// Puts `[redacted:KIND:ID]` in the place of every word.
pub(super) fn sanitize(session: &mut Portable) {
    let info = &mut session.info;
    let id = info.id.to_string();
    info.title = gone("title", &id);
    info.slug = gone("slug", &id);
    info.directory = gone("directory", &id);
    info.path = gone("path", &id);
    info.metadata = None;
    info.permission = None;
    info.share = None;
    if let Some(revert) = &mut info.revert {
        // Without one it would look like a way back that was cut off.
        revert.diff = Some(String::new());
    }
    if let Some(summary) = &mut info.summary {
        diffs(summary.diffs.iter_mut().flatten(), &id);
    }
    for turned in &mut session.messages {
        let id = turned.info.id().to_string();
        match &mut turned.info {
            Message::User(user) => {
                user.system = user.system.as_ref().map(|_| gone("system", &id));
                user.format = None;
                if let Some(summary) = &mut user.summary {
                    summary.title = summary.title.as_ref().map(|_| gone("title", &id));
                    summary.body = summary.body.as_ref().map(|_| gone("body", &id));
                    diffs(&mut summary.diffs, &id);
                }
            }
            Message::Assistant(answer) => {
                answer.path.cwd = gone("cwd", &id);
                answer.path.root = gone("root", &id);
                answer.structured = answer.structured.as_ref().map(|_| Box::new(gone("structured", &id).into()));
                if let Some(error) = &mut answer.error {
                    error.data = message(&id);
                }
            }
        }
        turned.parts.iter_mut().for_each(part);
    }
    for (number, todo) in session.todos.iter_mut().enumerate() {
        todo.content = gone("todo", &number.to_string());
    }
}

fn gone(kind: &str, id: &str) -> String {
    format!("[redacted:{kind}:{id}]")
}

fn message(id: &str) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("message".to_owned(), json!(gone("error", id)));
    data
}

fn diffs<'a>(all: impl IntoIterator<Item = &'a mut FileDiff>, id: &str) {
    for diff in all {
        diff.file = gone("file", id);
        diff.patch = gone("patch", id);
    }
}

fn part(part: &mut Part) {
    let id = part.id.to_string();
    match &mut part.kind {
        PartKind::Text { text, metadata, .. } => (*text, *metadata) = (gone("text", &id), None),
        PartKind::Reasoning { text, metadata, .. } => (*text, *metadata) = (gone("reasoning", &id), None),
        PartKind::File { filename, url, source, .. } => {
            *source = None;
            *filename = filename.as_ref().map(|_| gone("filename", &id));
            *url = gone("url", &id);
        }
        PartKind::Tool { state, metadata, .. } => {
            *metadata = None;
            call(state, &id);
        }
        PartKind::Vendor { metadata } => metadata.clear(),
        PartKind::Agent { source, .. } => *source = None,
        PartKind::StepStart {} | PartKind::StepFinish { .. } => {}
        PartKind::Subtask(task) => {
            (task.prompt, task.description) = (gone("prompt", &id), gone("description", &id));
            task.command = task.command.as_ref().map(|_| gone("command", &id));
        }
        PartKind::Retry { error, .. } => error.data = message(&id),
        PartKind::Patch { files, .. } => files.iter_mut().for_each(|file| *file = gone("file", &id)),
        PartKind::Compaction { focus, .. } => *focus = focus.as_ref().map(|_| gone("focus", &id)),
    }
}

fn call(state: &mut ToolState, id: &str) {
    let nothing = || json!({ "redacted": gone("input", id) });
    match state {
        ToolState::Pending { input, raw } => {
            input.clear();
            *raw = gone("raw", id);
        }
        ToolState::Running { input, title, metadata, .. } => {
            (*input, *metadata) = (nothing(), None);
            *title = title.as_ref().map(|_| gone("title", id));
        }
        ToolState::Completed { input, output, title, metadata, attachments, .. } => {
            *input = nothing();
            (*output, *title) = (gone("output", id), gone("title", id));
            metadata.clear();
            attachments.iter_mut().for_each(part);
        }
        ToolState::Error { input, error, metadata, .. } => {
            (*input, *error, *metadata) = (nothing(), gone("error", id), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_stays() {
        const SECRET: &str = "hunter2";
        let time = json!({"start": 1, "end": 2});
        let diff = json!({"file": SECRET, "patch": SECRET, "additions": 1, "deletions": 1, "status": "added"});
        let error = json!({"name": "APIError", "data": {"message": SECRET, "responseBody": SECRET}});
        let file = json!({"id": "prt_f", "sessionID": "ses_1", "messageID": "msg_2", "type": "file", "mime": "text/plain", "filename": SECRET, "url": SECRET});
        let tool = |n: u32, state: Value| json!({"id": format!("prt_t{n}"), "type": "tool", "callID": "c", "tool": "bash", "state": state, "metadata": {"x": SECRET}});
        let mut session = Portable::read(json!({
            "info": {"id": "ses_1", "title": SECRET, "slug": SECRET, "directory": SECRET, "path": SECRET,
                     "metadata": {"x": SECRET}, "share": {"url": SECRET},
                     "permission": [{"permission": "bash", "pattern": SECRET, "action": "deny"}],
                     "revert": {"messageID": "msg_1", "diff": SECRET},
                     "summary": {"additions": 1, "deletions": 1, "files": 1, "diffs": [diff]}},
            "todos": [{"content": SECRET, "status": "pending", "priority": "high"}],
            "messages": [
                {"info": {"id": "msg_1", "role": "user", "system": SECRET, "summary": {"title": SECRET, "body": SECRET, "diffs": [diff]},
                          "format": {"type": "json_schema", "schema": {"x": SECRET}}},
                 "parts": [{"id": "prt_1", "type": "text", "text": SECRET, "metadata": {"x": SECRET}},
                           {"id": "prt_2", "type": "subtask", "prompt": SECRET, "description": SECRET, "agent": "general", "command": SECRET},
                           {"id": "prt_3", "type": "compaction", "auto": false, "focus": SECRET}]},
                {"info": {"id": "msg_2", "role": "assistant", "path": {"cwd": SECRET, "root": SECRET}, "error": error, "structured": {"x": SECRET}},
                 "parts": [{"id": "prt_4", "type": "reasoning", "text": SECRET, "time": time, "metadata": {"x": SECRET}}, file,
                           {"id": "prt_5", "type": "vendor", "metadata": {"x": SECRET}},
                           {"id": "prt_6", "type": "retry", "attempt": 1, "error": error, "time": {"created": 1}},
                           tool(1, json!({"status": "pending", "input": {"x": SECRET}, "raw": SECRET})),
                           tool(2, json!({"status": "running", "input": {"x": SECRET}, "title": SECRET, "metadata": {"x": SECRET}, "time": {"start": 1}})),
                           tool(3, json!({"status": "completed", "input": {"x": SECRET}, "output": SECRET, "title": SECRET,
                                          "metadata": {"x": SECRET}, "time": time, "attachments": [file]})),
                           tool(4, json!({"status": "error", "input": {"x": SECRET}, "error": SECRET, "metadata": {"x": SECRET}, "time": time}))]}
            ]
        }), u64::MAX)
        .unwrap();
        assert_eq!(session.left_out, std::collections::BTreeMap::new());
        // A session that is stored has them; one that is read never.
        let patch = json!({"id": "prt_7", "sessionID": "ses_1", "messageID": "msg_2", "type": "patch", "hash": "abc", "files": [SECRET]});
        session.messages[1].parts.push(serde_json::from_value(patch).unwrap());
        assert!(session.value().to_string().contains(SECRET));
        sanitize(&mut session);
        let text = session.value().to_string();
        assert!(!text.contains(SECRET), "{text}");
        assert!(text.contains("[redacted:text:prt_1]") && text.contains("[redacted:title:ses_1]"), "{text}");
        // It can be read again.
        session.messages[1].parts.pop();
        assert_eq!(Portable::read(session.value(), u64::MAX).unwrap(), session);
    }
}
