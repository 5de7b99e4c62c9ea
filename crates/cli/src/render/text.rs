//! `run` where nothing can be drawn anew: words as they come, or the final answer alone, and a few lines for each call.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::time::{Duration, Instant};

use haft_protocol::{
    Clock, Event, Id, Message, MessageId, Part, PartId, PartKind, Session, SessionId, Status, Tokens, ToolState,
};

use super::tool_line::{activity, begun, task_ended};
use super::usage::used;
use super::{COMPACTED, Looks, Paint, Render, call_lines, clean, wait};
use crate::report::Output;

/// Shows a run. On a terminal everything goes to `out` as it comes; else the final answer alone goes there, and the
/// rest to `err`. Whether words are the final answer is known when no call follows them, so there they are held back.
pub(crate) struct Text<O, E> {
    out: O,
    err: E,
    terminal: bool,
    thinking: bool,
    details: bool,
    paint: Paint,
    clock: Clock,
    started: Instant,
    answers: HashSet<MessageId>,
    /// Words that grow on the screen; gone when they ended.
    grown: HashMap<PartId, Grown>,
    printed: HashSet<PartId>,
    /// Calls whose beginning was shown, and the one of them whose line is the last on the screen.
    begun: HashSet<PartId>,
    above: Option<PartId>,
    /// What was last shown of a task at work.
    activity: Option<String>,
    /// Words of the latest answer that were not shown yet, where stdout is no terminal.
    held: Vec<(PartId, String)>,
    /// Whether the cursor stands in the middle of a line.
    midway: bool,
    /// Whether what is shown comes from the store.
    stored: bool,
    /// What the whole session had used before this run, to tell this run's share.
    before: Option<(Tokens, f64)>,
    session: Option<Box<Session>>,
}

#[derive(Default)]
struct Grown {
    printed: usize,
    text: String,
    thinking: bool,
    /// Taken from the store while they grew: which of their deltas are in that is not known, so none counts any more,
    /// and what is missing is shown when they end.
    stored: bool,
}

impl<O: Write + Send, E: Write + Send> Text<O, E> {
    /// `terminal`: whether stdout is one. `thinking`: whether to show what the model thinks. `clock`: the session's.
    pub(crate) fn new(out: O, err: E, terminal: bool, thinking: bool, paint: Paint, clock: Clock) -> Self {
        Self {
            out,
            err,
            terminal,
            thinking,
            details: true,
            paint,
            clock,
            started: Instant::now(),
            answers: HashSet::new(),
            grown: HashMap::new(),
            printed: HashSet::new(),
            begun: HashSet::new(),
            above: None,
            activity: None,
            held: Vec::new(),
            midway: false,
            stored: false,
            before: None,
            session: None,
        }
    }

    /// The session as it was before this run.
    pub(crate) fn begin(&mut self, session: &Session) {
        self.before = Some((session.tokens, session.cost));
    }

    /// Prints the final answer where it was held back, then what was used, and how to go on if `go_on`.
    ///
    /// # Errors
    ///
    /// When nobody reads stdout any more.
    pub(crate) fn end(&mut self, session: &SessionId, go_on: bool) -> Result<(), Output> {
        self.answer()?;
        if self.terminal {
            let used = used(self.before, self.session.as_deref(), self.started.elapsed());
            self.aside(&format!("\n{}\n", self.paint.dim(&used)));
        }
        if go_on {
            let how = self.paint.dim(&format!("continue: haft run --session {} \"…\"", session.as_str()));
            self.aside(&format!("{how}\n"));
        }
        Ok(())
    }

    /// Prints the final answer where it was held back.
    fn answer(&mut self) -> Result<(), Output> {
        self.new_line();
        let answer = self.take_held();
        if !answer.is_empty() {
            writeln!(self.out, "{}", answer.trim_end())?;
            self.out.flush()?;
        }
        Ok(())
    }

    fn part(&mut self, part: &Part) {
        let ended = task_ended(part, self.paint);
        if !ended.is_empty() && self.printed.insert(part.id.clone()) {
            self.new_line();
            return self.aside(&format!("{}\n", ended.join("\n")));
        }
        if !self.answers.contains(&part.message_id) {
            return;
        }
        match &part.kind {
            PartKind::Text { text, time, .. } => {
                self.words(part, text, false, time.is_none_or(|time| time.end.is_some()));
            }
            PartKind::Reasoning { text, time, .. } => {
                if self.thinking {
                    self.words(part, text, true, time.end.is_some());
                }
            }
            PartKind::Tool { tool, state, .. } => self.call(&part.id, tool, state),
            PartKind::StepStart {} => self.release(),
            PartKind::File { .. }
            | PartKind::Vendor { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::Retry { .. }
            | PartKind::StepFinish { .. } => {}
        }
    }

    fn call(&mut self, id: &PartId, tool: &str, state: &ToolState) {
        self.release();
        if let Some(line) = begun(tool, state, self.paint)
            && self.begun.insert(id.clone())
        {
            self.new_line();
            self.aside(&format!("{line}\n"));
            self.above = Some(id.clone());
        }
        if let Some(line) = activity(state, self.paint).filter(|line| self.activity.as_ref() != Some(line)) {
            self.new_line();
            self.aside(&format!("{line}\n"));
            (self.above, self.activity) = (None, Some(line));
        }
        let lines = call_lines(tool, state, self.details, self.paint);
        if lines.is_empty() || !self.printed.insert(id.clone()) {
            return;
        }
        self.new_line();
        // Its first line may stand right above already.
        let completed = matches!(state, ToolState::Completed { .. });
        let stands = self.above.take().is_some_and(|above| completed && above == *id);
        for line in lines.iter().skip(usize::from(stands)) {
            self.aside(&format!("{line}\n"));
        }
    }

    /// Shows what is new of `text`.
    fn words(&mut self, part: &Part, text: &str, thinking: bool, ended: bool) {
        if !self.terminal {
            if ended && self.printed.insert(part.id.clone()) {
                match thinking {
                    true => self.aside(&self.paint.dim(&format!("{}\n", clean(text.trim_end())))),
                    false => self.held.push((part.id.clone(), format!("{}\n", text.trim_end()))),
                }
            }
            return;
        }
        if self.printed.contains(&part.id) {
            return;
        }
        let grown = self.grown.entry(part.id.clone()).or_default();
        grown.thinking = thinking;
        grown.stored |= self.stored;
        if grown.text.len() < text.len() {
            text.clone_into(&mut grown.text);
        }
        let new = grown.text.get(grown.printed..).unwrap_or_default().to_owned();
        grown.printed = grown.text.len();
        self.print_words(&new, thinking);
        if ended && self.printed.insert(part.id.clone()) {
            self.grown.remove(&part.id);
            self.new_line();
        }
    }

    /// Shows the words that were held back as what they are: not the final answer.
    fn release(&mut self) {
        let words = self.take_held();
        if !words.is_empty() {
            let words = clean(&words).into_owned();
            self.aside(&words);
        }
    }

    fn take_held(&mut self) -> String {
        std::mem::take(&mut self.held).into_iter().map(|(_, words)| words).collect()
    }

    /// Says that the model is asked again, and when: somebody may be wondering what takes so long.
    fn again(&mut self, tried: u32, why: &str, next: u64) {
        let left = Duration::from_millis(next.saturating_sub(self.clock.now_ms()));
        let line = self.paint.dim(&format!("… {}", wait(tried, &clean(why).replace('\n', " "), left)));
        self.new_line();
        self.aside(&format!("{line}\n"));
    }

    fn print_words(&mut self, new: &str, thinking: bool) {
        let safe = clean(new);
        if safe.is_empty() {
            return;
        }
        let text = if thinking { self.paint.dim(&safe) } else { safe.clone().into_owned() };
        self.aside(&text);
        self.midway = !safe.ends_with('\n');
    }

    fn new_line(&mut self) {
        if std::mem::take(&mut self.midway) {
            self.aside("\n");
        }
    }

    /// Prints what is not the final answer.
    fn aside(&mut self, text: &str) {
        // A terminal that went away must not stop the turn; the end of the run finds out.
        let _ = match self.terminal {
            true => self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()),
            false => self.err.write_all(text.as_bytes()).and_then(|()| self.err.flush()),
        };
    }
}

impl<O: Write + Send, E: Write + Send> Render for Text<O, E> {
    fn note(&mut self, lines: Vec<String>) {
        self.new_line();
        for line in lines {
            self.aside(&format!("{line}\n"));
        }
        self.above = None;
    }

    fn rest(&mut self) {
        // Nobody who reads is found out by the next prompt.
        let _ = self.answer();
        self.grown.clear();
        self.activity = None;
    }

    fn look(&mut self, Looks { thinking, details, paint }: Looks) {
        (self.thinking, self.details, self.paint) = (thinking, details, paint);
    }

    fn head(&mut self, agent: &str, model: &str) {
        let head = self.paint.dim(&clean(&format!("> {agent} · {model}")));
        self.aside(&format!("{head}\n"));
    }

    fn show_stored(&mut self, event: &Event) {
        self.stored = true;
        self.show(event);
        self.stored = false;
    }

    fn show(&mut self, event: &Event) {
        match event {
            Event::SessionCreated { info, .. } | Event::SessionUpdated { info, .. } => {
                self.session = Some(info.clone());
            }
            Event::MessageUpdated { info, .. } => {
                // A summary is for the model.
                if let Message::Assistant(answer) = &**info
                    && !answer.summary
                {
                    self.answers.insert(answer.id.clone());
                }
            }
            Event::PartUpdated { part, .. } => self.part(part),
            Event::PartDelta { part_id, delta, .. } => {
                if let Some(grown) = self.grown.get_mut(part_id).filter(|grown| !grown.stored) {
                    grown.text.push_str(delta);
                    grown.printed = grown.text.len();
                    let thinking = grown.thinking;
                    self.print_words(delta, thinking);
                }
            }
            Event::SessionCompacted { .. } => {
                self.new_line();
                self.aside(&format!("{}\n", self.paint.dim(COMPACTED)));
            }
            // A question is about to stand there.
            Event::PermissionAsked(_) => self.above = None,
            Event::SessionStatus { status: Status::Retry { attempt, message, next }, .. } => {
                self.again(*attempt, message, *next);
            }
            // A try that failed is taken back; what it said is no part of the answer.
            Event::PartRemoved { part_id, .. } => self.held.retain(|(held, _)| held != part_id),
            Event::SessionStatus { status: Status::Busy | Status::Idle, .. }
            | Event::SessionError { .. }
            | Event::SessionDeleted { .. }
            | Event::SessionDiff { .. }
            | Event::MessageRemoved { .. }
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
mod tests;
