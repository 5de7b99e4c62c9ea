//! `run --format json`: one object a line for each finished part of an answer.

use std::collections::HashSet;
use std::io::Write;
use std::time::Duration;

use haft_protocol::{
    Clock, Event, Failure, Id, Message, MessageId, Part, PartId, PartKind, SessionId, Status, ToolState,
};
use serde_json::{Value, json};

use super::{Render, complain, wait};
use crate::report::Output;

/// Prints the lines that clients of `opencode run --format json` know.
pub(crate) struct Json<W> {
    out: W,
    clock: Clock,
    thinking: bool,
    answers: HashSet<MessageId>,
    printed: HashSet<PartId>,
    /// Finished words of an answer that may still break off and be begun anew, and their lines.
    held: Vec<(PartId, String)>,
    /// The first line that could not be written.
    failed: Option<std::io::Error>,
}

impl<W: Write + Send> Json<W> {
    /// Prints to `out`; what the model thinks only if `thinking`.
    pub(crate) fn new(out: W, clock: Clock, thinking: bool) -> Self {
        Self { out, clock, thinking, answers: HashSet::new(), printed: HashSet::new(), held: Vec::new(), failed: None }
    }

    /// Whether every line was written.
    ///
    /// # Errors
    ///
    /// Why the first one that was not could not be.
    pub(crate) fn end(mut self) -> Result<(), Output> {
        self.release();
        self.failed.map_or(Ok(()), |failed| Err(failed.into()))
    }

    fn part(&mut self, part: &Part, time: u64) {
        // Calls run when the answer is whole, and may take long.
        if matches!(part.kind.state(), Some(ToolState::Running { .. })) {
            self.release();
        }
        let Some(kind) = self.kind(part) else { return };
        if !self.answers.contains(&part.message_id) || !self.printed.insert(part.id.clone()) {
            return;
        }
        let value = serde_json::to_value(part).unwrap_or_default();
        let line = line(kind, &part.session_id, time, "part", value);
        if matches!(part.kind, PartKind::Text { .. } | PartKind::Reasoning { .. }) {
            self.held.push((part.id.clone(), line));
            return;
        }
        self.release();
        self.print(&line);
    }

    /// Prints what was held back: the answer is whole, or nothing more comes.
    fn release(&mut self) {
        std::mem::take(&mut self.held).iter().for_each(|(_, line)| self.print(line));
    }

    /// The type of the line that `part` makes once it is finished.
    fn kind(&self, part: &Part) -> Option<&'static str> {
        match &part.kind {
            PartKind::Text { time: Some(time), text, .. } => (time.end.is_some() && !text.is_empty()).then_some("text"),
            PartKind::Reasoning { time, text, .. } => {
                (self.thinking && time.end.is_some() && !text.is_empty()).then_some("reasoning")
            }
            PartKind::Tool { .. } => (!part.is_open()).then_some("tool_use"),
            PartKind::StepStart {} => Some("step_start"),
            PartKind::StepFinish { .. } => Some("step_finish"),
            PartKind::Text { time: None, .. }
            | PartKind::File { .. }
            | PartKind::Vendor { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::Retry { .. } => None,
        }
    }

    fn error(&mut self, session: &SessionId, error: &Failure) {
        let time = self.clock.now_ms();
        self.release();
        self.print(&line("error", session, time, "error", serde_json::to_value(error).unwrap_or_default()));
    }

    fn print(&mut self, line: &str) {
        // A reader that went away does not stop the turn; the run fails at its end.
        if self.failed.is_none() {
            self.failed = writeln!(self.out, "{line}").and_then(|()| self.out.flush()).err();
        }
    }
}

fn line(kind: &str, session: &SessionId, time: u64, key: &str, value: Value) -> String {
    let mut line = json!({ "type": kind, "timestamp": time, "sessionID": session.as_str() });
    line[key] = value;
    line.to_string()
}

impl<W: Write + Send> Render for Json<W> {
    fn show(&mut self, event: &Event) {
        match event {
            Event::MessageUpdated { info, .. } => {
                if let Message::Assistant(answer) = &**info {
                    self.answers.insert(answer.id.clone());
                }
            }
            Event::PartUpdated { part, time, .. } => self.part(part, *time),
            Event::SessionError { session_id, error } => self.error(session_id, error),
            // A try that failed is taken back.
            Event::PartRemoved { part_id, .. } => self.held.retain(|(held, _)| held != part_id),
            Event::SessionStatus { status: Status::Retry { attempt, message, next }, .. } => {
                let left = Duration::from_millis(next.saturating_sub(self.clock.now_ms()));
                complain(&format!("… {}", wait(*attempt, message, left)));
            }
            Event::SessionStatus { status: Status::Idle, .. } => self.release(),
            Event::SessionCreated { .. }
            | Event::SessionUpdated { .. }
            | Event::SessionDeleted { .. }
            | Event::SessionCompacted { .. }
            | Event::SessionDiff { .. }
            | Event::MessageRemoved { .. }
            | Event::SessionStatus { status: Status::Busy, .. }
            | Event::PartDelta { .. }
            | Event::PermissionAsked(_)
            | Event::PermissionReplied { .. }
            | Event::QuestionAsked(_)
            | Event::QuestionReplied { .. }
            | Event::QuestionRejected { .. }
            | Event::CommandExecuted { .. }
            | Event::TodoUpdated { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::story;
    use super::*;

    /// The types of the lines of `events`, with the words of those that have some.
    fn lines(events: &[Event]) -> Vec<String> {
        let mut json = Json::new(Vec::new(), Clock::scripted(1), false);
        events.iter().for_each(|event| json.show(event));
        json.release();
        let out = String::from_utf8(json.out).unwrap();
        let line = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap();
            let (kind, text) = (value["type"].as_str().unwrap(), value["part"]["text"].as_str());
            text.map_or_else(|| kind.to_owned(), |text| format!("{kind} {}", text.trim_end()))
        };
        out.lines().map(line).collect()
    }

    #[test]
    fn each_finished_part_has_a_line() {
        let (_, events) = story();
        let want = ["step_start", "text Let me look.", "tool_use", "step_start", "text All is well."];
        assert_eq!(lines(&events), want);
        assert_eq!(lines(&events[..6]), want[..2], "nothing is held back for ever");
    }

    #[test]
    fn a_try_that_failed_has_none() {
        let (session_id, mut events) = story();
        let Event::PartUpdated { part, .. } = &events[2] else { panic!("{:?}", events[2]) };
        let (message_id, part_id) = (part.message_id.clone(), part.id.clone());
        events.insert(6, Event::PartRemoved { session_id, message_id, part_id });
        assert_eq!(lines(&events), ["step_start", "tool_use", "step_start", "text All is well."]);
    }
}
