//! An answer written down in advance: what the players play, what scenarios and recordings hold.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Chunk, Finish, LlmError, Purpose, Usage};

/// One answer of a model, as it is played. Without a [`Chunk::Finish`], a [`Beat::Fail`] or a [`Beat::Hang`] at its
/// end it counts as cut off.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// What happens, in order.
    pub beats: Vec<Beat>,
    /// What it is given to.
    pub purpose: Purpose,
    /// Whose it is: a session below the first one, by the name that a recording gave it. `None`: the first one's.
    pub stream: Option<String>,
}

/// One thing that happens in an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Beat {
    /// A chunk comes.
    Chunk(Chunk),
    /// Nothing comes for a while.
    Wait(Duration),
    /// The request fails. Nothing follows.
    Fail(Failing),
    /// Nothing comes any more, and the stream stays open.
    Hang,
}

/// One thing that a model does in an answer, said more shortly than with chunks.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// It thinks.
    Reasoning(String),
    /// It speaks, in `pieces` chunks of about the same size. Two steps of text in a row are one block.
    Text {
        /// The words.
        text: String,
        /// How many chunks; fewer where the text is shorter.
        pieces: usize,
    },
    /// It calls a tool.
    Call {
        /// The tool.
        tool: String,
        /// The arguments text, broken or not.
        arguments: String,
        /// The call's id. `call_1`, `call_2`, … when left out.
        id: Option<String>,
    },
    /// It says what it used.
    Usage(Usage),
    /// It takes its time.
    Wait(Duration),
    /// It fails. Steps behind this one are never reached.
    Fail(Failing),
    /// It falls silent. Steps behind this one are never reached.
    Hang,
}

impl Step {
    /// It speaks, in one chunk.
    pub fn text(text: impl Into<String>) -> Self {
        Step::Text { text: text.into(), pieces: 1 }
    }

    /// It calls `tool` with `arguments`.
    pub fn call(tool: impl Into<String>, arguments: &Value) -> Self {
        Step::Call { tool: tool.into(), arguments: arguments.to_string(), id: None }
    }
}

impl Answer {
    /// The answer that does `steps`, then finishes: for its calls if it made one, else because it had said all.
    ///
    /// The chunks come in the order that a real dialect gives them: each call is complete, and the usage is told, at
    /// the end.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::compose(steps, None)
    }

    /// The answer that does `steps`, then stops for the reason `finish`.
    pub fn finishing(steps: impl IntoIterator<Item = Step>, finish: Finish) -> Self {
        Self::compose(steps, Some(finish))
    }

    fn compose(steps: impl IntoIterator<Item = Step>, finish: Option<Finish>) -> Self {
        let mut composer = Composer::default();
        for step in steps {
            if !composer.push(step) {
                return Self { beats: composer.beats, ..Self::default() };
            }
        }
        Self { beats: composer.end(finish), ..Self::default() }
    }

    /// The same, for requests of that purpose.
    #[must_use]
    pub fn serving(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// The chunks of the answer, without what happens between them.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.beats.iter().filter_map(|beat| match beat {
            Beat::Chunk(chunk) => Some(chunk),
            Beat::Wait(_) | Beat::Fail(_) | Beat::Hang => None,
        })
    }
}

/// Turns steps into beats.
#[derive(Default)]
struct Composer {
    beats: Vec<Beat>,
    /// The end of the block that is open.
    open: Option<Chunk>,
    /// [`Chunk::ToolCall`]s for the end.
    calls: Vec<Chunk>,
    usage: Option<Usage>,
}

impl Composer {
    /// Whether anything can follow.
    fn push(&mut self, step: Step) -> bool {
        match step {
            Step::Reasoning(text) => {
                self.open(Chunk::ReasoningEnd { item: None });
                self.say(Chunk::Reasoning, &text, 1);
            }
            Step::Text { text, pieces } => {
                self.open(Chunk::TextEnd { item: None });
                self.say(Chunk::Text, &text, pieces);
            }
            Step::Call { tool, arguments, id } => self.call(tool, arguments, id),
            Step::Usage(usage) => self.usage = Some(usage),
            Step::Wait(time) => self.beats.push(Beat::Wait(time)),
            Step::Fail(failing) => {
                self.beats.push(Beat::Fail(failing));
                return false;
            }
            Step::Hang => {
                self.beats.push(Beat::Hang);
                return false;
            }
        }
        true
    }

    fn chunk(&mut self, chunk: Chunk) {
        self.beats.push(Beat::Chunk(chunk));
    }

    /// Opens the block that ends with `end`, unless it is open.
    fn open(&mut self, end: Chunk) {
        if self.open.as_ref() != Some(&end) {
            self.close();
            self.open = Some(end);
        }
    }

    fn close(&mut self) {
        if let Some(end) = self.open.take() {
            self.chunk(end);
        }
    }

    fn say(&mut self, chunk: fn(String) -> Chunk, text: &str, pieces: usize) {
        let letters = text.chars().count();
        let each = letters.div_ceil(pieces.max(1)).max(1);
        let mut rest = text.chars();
        for _ in 0..letters.div_ceil(each) {
            self.chunk(chunk(rest.by_ref().take(each).collect()));
        }
    }

    fn call(&mut self, name: String, arguments: String, id: Option<String>) {
        self.close();
        let id = id.unwrap_or_else(|| format!("call_{}", self.calls.len() + 1));
        self.chunk(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta: String::new() });
        if !arguments.is_empty() {
            self.chunk(Chunk::ToolInput { id: id.clone(), name: name.clone(), delta: arguments.clone() });
        }
        self.calls.push(Chunk::ToolCall { id, name, arguments, item: None });
    }

    fn end(mut self, finish: Option<Finish>) -> Vec<Beat> {
        self.close();
        let natural = if self.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        self.beats.extend(self.calls.into_iter().map(Beat::Chunk));
        self.beats.extend(self.usage.map(|usage| Beat::Chunk(Chunk::Usage(usage))));
        self.beats.push(Beat::Chunk(Chunk::Finish(finish.unwrap_or(natural))));
        self.beats
    }
}

/// A failure, as scenarios and recordings write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failing {
    /// Which.
    pub kind: FailKind,
    /// What the vendor said.
    #[serde(default)]
    pub message: String,
    /// The HTTP status, if the failure came as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the vendor asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

/// The kinds of [`LlmError`] that can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailKind {
    /// [`LlmError::RateLimited`].
    RateLimited,
    /// [`LlmError::Server`].
    Server,
    /// [`LlmError::TooLong`].
    TooLong,
    /// [`LlmError::Unauthorized`].
    Unauthorized,
    /// [`LlmError::Quota`].
    Quota,
    /// [`LlmError::Rejected`].
    Rejected,
    /// [`LlmError::Transport`].
    Transport,
    /// [`LlmError::CutOff`].
    CutOff,
    /// [`LlmError::Malformed`].
    Malformed,
}

impl fmt::Display for FailKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Failing {
    /// A failure of this kind that says `message`.
    pub fn new(kind: FailKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, after_ms: None }
    }

    /// The failure as it is written down. `None` for [`LlmError::Script`], which no vendor makes.
    pub fn of(error: &LlmError) -> Option<Self> {
        let with = |kind, message: &str, status, after: Option<Duration>| {
            let after_ms = after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            Some(Self { kind, message: message.to_owned(), status, after_ms })
        };
        match error {
            LlmError::RateLimited { message, after, .. } => with(FailKind::RateLimited, message, None, *after),
            LlmError::Server { status, message, after, .. } => with(FailKind::Server, message, *status, *after),
            LlmError::TooLong { message, .. } => with(FailKind::TooLong, message, None, None),
            LlmError::Unauthorized { status, message, .. } => with(FailKind::Unauthorized, message, *status, None),
            LlmError::Quota { message, .. } => with(FailKind::Quota, message, None, None),
            LlmError::Rejected { status, message, .. } => with(FailKind::Rejected, message, *status, None),
            LlmError::Transport { source, .. } => with(FailKind::Transport, &causes(&**source), None, None),
            LlmError::TimedOut { .. } => with(FailKind::Transport, &causes(error), None, None),
            LlmError::Unreachable { reason, .. } => with(FailKind::Rejected, reason, None, None),
            LlmError::CutOff { .. } => with(FailKind::CutOff, "", None, None),
            LlmError::Malformed { excerpt, .. } => with(FailKind::Malformed, excerpt, None, None),
            LlmError::Script(_) => None,
        }
    }

    /// The error that a request to `model` of `provider` ends with.
    pub fn into_error(self, provider: &str, model: &str) -> LlmError {
        let Self { kind, message, status, after_ms } = self;
        let provider = provider.to_owned();
        let after = after_ms.map(Duration::from_millis);
        match kind {
            FailKind::RateLimited => LlmError::RateLimited { provider, message, after },
            FailKind::Server => LlmError::Server { provider, status, message, after },
            FailKind::TooLong => LlmError::TooLong { model: model.to_owned(), message },
            FailKind::Unauthorized => LlmError::Unauthorized { provider, status, message },
            FailKind::Quota => LlmError::Quota { provider, message },
            FailKind::Rejected => LlmError::Rejected { provider, status, message },
            FailKind::Transport => {
                LlmError::Transport { provider, address: "a written address".to_owned(), source: message.into() }
            }
            FailKind::CutOff => LlmError::CutOff { provider },
            FailKind::Malformed => LlmError::Malformed { provider, wanted: "an answer", excerpt: message },
        }
    }
}

/// An error and what caused it, in one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(answer: &Answer, want: Expect) {
        let lines: String = answer.beats.iter().map(|beat| format!("{beat:?}\n")).collect();
        want.assert_eq(&lines);
    }

    #[test]
    fn calls_complete_and_usage_comes_at_the_end() {
        let usage = Usage { input: 3, ..Usage::default() };
        check(
            &Answer::new([
                Step::Reasoning("Hm.".to_owned()),
                Step::Usage(usage),
                Step::Text { text: "Grüße!".to_owned(), pieces: 3 },
                Step::text(" And?"),
                Step::call("read", &json!({"filePath": "a"})),
                Step::call("ls", &json!({})),
            ]),
            expect![[r#"
                Chunk(Reasoning("Hm."))
                Chunk(ReasoningEnd { item: None })
                Chunk(Text("Gr"))
                Chunk(Text("üß"))
                Chunk(Text("e!"))
                Chunk(Text(" And?"))
                Chunk(TextEnd { item: None })
                Chunk(ToolInput { id: "call_1", name: "read", delta: "" })
                Chunk(ToolInput { id: "call_1", name: "read", delta: "{\"filePath\":\"a\"}" })
                Chunk(ToolInput { id: "call_2", name: "ls", delta: "" })
                Chunk(ToolInput { id: "call_2", name: "ls", delta: "{}" })
                Chunk(ToolCall { id: "call_1", name: "read", arguments: "{\"filePath\":\"a\"}", item: None })
                Chunk(ToolCall { id: "call_2", name: "ls", arguments: "{}", item: None })
                Chunk(Usage(Usage { total: None, input: 3, output: 0, reasoning: 0, cache_read: 0, cache_write: 0 }))
                Chunk(Finish(ToolCalls))
            "#]],
        );
    }

    #[test]
    fn nothing_follows_a_failure() {
        check(
            &Answer::new([Step::text("a"), Step::Fail(Failing::new(FailKind::CutOff, "")), Step::text("never")]),
            expect![[r#"
                Chunk(Text("a"))
                Fail(Failing { kind: CutOff, message: "", status: None, after_ms: None })
            "#]],
        );
    }

    #[test]
    fn pieces_are_never_empty() {
        let row = |text: &str, pieces, want: &[&str]| {
            let answer = Answer::new([Step::Text { text: text.to_owned(), pieces }]);
            let got: Vec<_> = answer.chunks().filter(|chunk| matches!(chunk, Chunk::Text(_))).cloned().collect();
            let want: Vec<_> = want.iter().map(|piece| Chunk::Text((*piece).to_owned())).collect();
            assert_eq!(got, want, "{text:?} in {pieces}");
        };
        row("abcd", 2, &["ab", "cd"]);
        row("abcde", 2, &["abc", "de"]);
        row("ab", 9, &["a", "b"]);
        row("ab", 0, &["ab"]);
        row("", 3, &[]);
    }

    #[test]
    fn every_failure_survives_being_written_down() {
        for kind in
            ["rate_limited", "server", "too_long", "unauthorized", "quota", "rejected", "transport", "malformed"]
        {
            let failing: Failing = serde_json::from_value(json!({"kind": kind, "message": "why"})).unwrap();
            assert_eq!(failing.kind.to_string(), kind);
            assert_eq!(Failing::of(&failing.clone().into_error("v", "m")), Some(failing));
        }
    }
}
