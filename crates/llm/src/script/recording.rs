//! The lines of a recording, which `record.rs` writes and [`Reader`] reads.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Beat, Failing};
use crate::{Chunk, Purpose};

/// A line behind the first. Keys that are not known are ignored, so that later versions may add some.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// An answer begins.
    Request {
        /// What was asked.
        request: RequestLine,
    },
    /// Something came.
    Came {
        /// When, in milliseconds since the request.
        ms: u64,
        /// What.
        #[serde(flatten)]
        what: Timed,
    },
}

/// What was asked, as far as it is recorded.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestLine {
    /// How many messages.
    pub(crate) messages: usize,
    /// How many tools.
    pub(crate) tools: usize,
    /// What for; the next step where left out.
    #[serde(default, rename = "for", skip_serializing_if = "Purpose::is_step")]
    pub(crate) purpose: Purpose,
    /// Whose answer it is: the name of a session below the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<String>,
}

/// What came.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Timed {
    /// A chunk.
    Chunk(Chunk),
    /// The end, with an error.
    Error(Failing),
}

/// Puts lines together to answers.
#[derive(Default)]
pub(super) struct Reader {
    answers: Vec<Answer>,
    /// When the chunk before came.
    now: u64,
}

impl Reader {
    pub(super) fn push(&mut self, line: &str) -> Result<(), String> {
        let line = serde_json::from_str(line).map_err(|_| {
            r#"a line has "request", or "ms" with "chunk" or "error", in the forms of this version"#.to_owned()
        })?;
        match line {
            Line::Request { request: RequestLine { purpose, stream, .. } } => {
                self.answers.push(Answer { stream, ..Answer::default().serving(purpose) });
                self.now = 0;
            }
            Line::Came { ms, what } => {
                let answer = self.answers.last_mut().ok_or(r#"a "request" comes before what was answered"#)?;
                if ms > self.now {
                    answer.beats.push(Beat::Wait(Duration::from_millis(ms - self.now)));
                    self.now = ms;
                }
                let twin = |beat: &Beat| {
                    matches!((beat, &what),
                    (Beat::Chunk(Chunk::ToolCall { id: one, .. }), Timed::Chunk(Chunk::ToolCall { id: other, .. })) if one == other)
                };
                if answer.beats.iter().any(twin) {
                    return Err("a call of this answer has that id already; ids are unique in an answer".to_owned());
                }
                answer.beats.push(match what {
                    Timed::Chunk(chunk) => Beat::Chunk(chunk),
                    Timed::Error(failing) => Beat::Fail(failing),
                });
            }
        }
        Ok(())
    }

    pub(super) fn answers(self) -> Vec<Answer> {
        self.answers
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use crate::script::parse_recording;

    #[track_caller]
    fn check(lines: &str, want: Expect) {
        let text =
            match parse_recording("r", &format!("{{\"haft\":\"recording\",\"version\":1,\"model\":\"v/m\"}}\n{lines}"))
            {
                Ok(answers) => answers.iter().map(|answer| format!("{:?}\n", answer.beats)).collect(),
                Err(error) => format!("{error}\n"),
            };
        want.assert_eq(&text);
    }

    #[test]
    fn waits_are_the_time_between_chunks() {
        check(
            concat!(
                r#"{"request":{"messages":1,"tools":2,"later":true}}"#,
                "\n",
                r#"{"ms":12,"chunk":{"text":"a"}}"#,
                "\n",
                r#"{"ms":12,"chunk":{"text":"b"}}"#,
                "\n",
                r#"{"ms":20,"chunk":{"finish":"stop"}}"#,
                "\n",
                r#"{"request":{"messages":3,"tools":2}}"#,
                "\n",
                r#"{"ms":0,"error":{"kind":"cut_off"}}"#,
                "\n",
            ),
            expect![[r#"
                [Wait(12ms), Chunk(Text("a")), Chunk(Text("b")), Wait(8ms), Chunk(Finish(Stop))]
                [Fail(Failing { kind: CutOff, message: "", status: None, after_ms: None })]
            "#]],
        );
    }

    #[test]
    fn a_last_line_that_is_not_whole_is_left_out() {
        check(
            concat!(
                r#"{"request":{"messages":1,"tools":0}}"#,
                "\n",
                r#"{"ms":1,"chunk":{"text":"a"}}"#,
                "\n",
                r#"{"ms":2,"chu"#
            ),
            expect![[r#"
                [Wait(1ms), Chunk(Text("a"))]
            "#]],
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        check(
            "{\"ms\":1,\"chunk\":{\"text\":\"a\"}}\n",
            expect![[r#"
                r, line 2: a "request" comes before what was answered
            "#]],
        );
        check(
            "{\"request\":{\"messages\":1,\"tools\":0}}\n{\"ms\":1,\"chunk\":{\"smell\":\"a\"}}\n",
            expect![[r#"
                r, line 3: a line has "request", or "ms" with "chunk" or "error", in the forms of this version
            "#]],
        );
    }
}
