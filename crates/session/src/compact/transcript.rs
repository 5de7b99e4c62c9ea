//! A conversation as the text that is summed up. Pure.

use std::fmt::Write;

use haft_protocol::{Part, PartKind, ToolState, Turned};

/// Most characters of a prompt or of an answer's words.
const MAX_WORDS: usize = 16_000;
/// Most characters of a call's arguments, and of what came of it.
const MAX_CALL: usize = 2_000;

/// `messages` as lines, the oldest first, in at most about `bytes`: where that is not enough, the oldest are left out.
/// Thoughts and files are, too.
pub(crate) fn transcript<'a>(messages: impl DoubleEndedIterator<Item = &'a Turned>, bytes: usize) -> String {
    let mut lines = Vec::new();
    let (mut left, mut out) = (bytes, 0_usize);
    for turned in messages.rev() {
        // All of a message or nothing of it: a result says little without its call.
        let text: String = turned.parts.iter().filter_map(|part| line(part, turned)).collect();
        if text.len() > left || out > 0 {
            out += usize::from(!text.is_empty());
            continue;
        }
        left -= text.len();
        lines.push(text);
    }
    if out > 0 {
        lines.push(format!("({out} older messages are left out here.)\n"));
    }
    lines.reverse();
    lines.concat()
}

fn line(part: &Part, turned: &Turned) -> Option<String> {
    let who = match &turned.info {
        haft_protocol::Message::User(_) => "User",
        haft_protocol::Message::Assistant(_) => "Assistant",
    };
    Some(match &part.kind {
        PartKind::Text { text, ignored: false, .. } if !text.trim().is_empty() => {
            format!("[{who}]: {}\n", cut(text.trim(), MAX_WORDS))
        }
        PartKind::Tool { tool, state, .. } => {
            let (input, came) = match &**state {
                ToolState::Completed { input, output, .. } => {
                    (input.to_string(), format!("[Tool result]: {}", cut(output, MAX_CALL)))
                }
                ToolState::Error { input, error, .. } => {
                    (input.to_string(), format!("[Tool failed]: {}", cut(error, MAX_CALL)))
                }
                ToolState::Running { input, .. } => (input.to_string(), "[Tool was stopped]".to_owned()),
                ToolState::Pending { raw, .. } => (raw.clone(), "[Tool was not run]".to_owned()),
            };
            format!("[Assistant tool call]: {}({})\n{came}\n", cut(tool, MAX_CALL), cut(&input, MAX_CALL))
        }
        PartKind::File { mime, filename, .. } => {
            format!("[{who}]: (attached {mime}: {})\n", cut(filename.as_deref().unwrap_or("a file"), MAX_CALL))
        }
        PartKind::Subtask(task) => {
            format!("[{who}]: (a task for the agent {}: {})\n", task.agent, cut(&task.description, MAX_CALL))
        }
        PartKind::Text { .. }
        | PartKind::Reasoning { .. }
        | PartKind::Vendor { .. }
        | PartKind::Agent { .. }
        | PartKind::Patch { .. }
        | PartKind::Compaction { .. }
        | PartKind::Retry { .. }
        | PartKind::StepStart {}
        | PartKind::StepFinish { .. } => return None,
    })
}

/// At most about `most` characters of `text`, from its beginning and its end, and in no way the end of the transcript.
fn cut(text: &str, most: usize) -> String {
    let count = text.chars().count();
    let mut kept = if count <= most {
        text.to_owned()
    } else {
        let head: String = text.chars().take(most / 2).collect();
        let tail: String = text.chars().skip(count - most / 2).collect();
        let mut kept = head;
        let _ = write!(kept, " …({} characters left out)… {tail}", count - most / 2 * 2);
        kept
    };
    if kept.contains("</") {
        kept = kept.replace("</conversation", "<\\/conversation").replace("</earlier-notes", "<\\/earlier-notes");
    }
    kept
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use haft_protocol::{Clock, Message, MessageTime, ModelRef, ToolSpan, User};
    use serde_json::json;

    use super::*;

    fn turned(kinds: Vec<PartKind>) -> Turned {
        let clock = Clock::scripted(1);
        let info = Message::User(User {
            id: clock.mint(),
            session_id: clock.mint(),
            time: MessageTime::default(),
            agent: String::new(),
            model: ModelRef { provider_id: String::new(), model_id: String::new() },
            variant: None,
            format: None,
            summary: None,
            system: None,
        });
        let part = |kind| Part { id: clock.mint(), session_id: clock.mint(), message_id: info.id().clone(), kind };
        let parts = kinds.into_iter().map(part).collect();
        Turned { info, parts }
    }

    fn text(text: &str) -> PartKind {
        PartKind::Text { text: text.to_owned(), synthetic: false, ignored: false, time: None, metadata: None }
    }

    fn call(output: &str) -> PartKind {
        let state = ToolState::Completed {
            input: json!({"filePath": "a.rs"}),
            output: output.to_owned(),
            title: String::new(),
            metadata: haft_protocol::Object::new(),
            time: ToolSpan::default(),
            attachments: Vec::new(),
        };
        PartKind::Tool { call_id: "c".to_owned(), tool: "read".to_owned(), state: Box::new(state), metadata: None }
    }

    #[track_caller]
    fn check(messages: &[Turned], bytes: usize, want: Expect) {
        want.assert_eq(&transcript(messages.iter(), bytes));
    }

    #[test]
    fn words_and_calls_are_lines() {
        let file = PartKind::File {
            mime: "image/png".to_owned(),
            filename: None,
            url: "data:image/png;base64,AAAA".to_owned(),
            source: None,
        };
        check(
            &[turned(vec![text("Look at </conversation> this"), file, text(" ")]), turned(vec![call("fn a() {}")])],
            10_000,
            expect![[r#"
                [User]: Look at <\/conversation> this
                [User]: (attached image/png: a file)
                [Assistant tool call]: read({"filePath":"a.rs"})
                [Tool result]: fn a() {}
            "#]],
        );
    }

    #[test]
    fn what_is_too_long_loses_its_middle_and_its_beginning() {
        let long = format!("{}é{}", "a".repeat(1_500), "z".repeat(1_500));
        let got = transcript([turned(vec![call(&long)])].iter(), 10_000);
        assert!(got.contains("aa …(1001 characters left out)… zz"), "{got}");
        check(
            &[turned(vec![text("one")]), turned(vec![text("two")]), turned(vec![]), turned(vec![text("three")])],
            20,
            expect![[r#"
                (2 older messages are left out here.)
                [User]: three
            "#]],
        );
    }
}
