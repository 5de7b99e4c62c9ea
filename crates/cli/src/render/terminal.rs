//! `run` for a person at a terminal: words and calls as they come, and who is at work below them.

use std::collections::HashSet;
use std::io::Write;
use std::time::{Duration, Instant};

use haft_protocol::{
    Clock, Event, Id, Message, MessageId, Object, Part, PartId, PartKind, Session, SessionId, Status, Tokens, ToolState,
};

use super::console::Console;
use super::markdown::Look;
use super::screen::{self, Size};
use super::style::folded;
use super::tool_line::{doing, latest, task_ended};
use super::usage::used;
use super::wait;
use super::words::Words;
use super::{COMPACTED, Looks, Paint, Render, call_lines, clean};

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(66);
/// How long the sign of work stands still.
const TURN: Duration = Duration::from_millis(120);
/// Frames take one part in so many of the time, so that a block that grows without end does not eat the processor.
const SHARE: u32 = 20;
/// Longest pause for that reason.
const MAX_PAUSE: Duration = Duration::from_millis(400);
/// Widest text. Longer lines are hard to read.
const MAX_WIDTH: usize = 100;
/// Most calls at work that are shown.
const MAX_CALLS: usize = 6;
/// Most lines that are shown of what a call at work writes.
const MAX_LATEST: usize = 5;
/// Longest wait that is counted down; a longer one is told as this.
const MAX_COUNTDOWN: Duration = Duration::from_secs(24 * 60 * 60);
/// Stands below words that the model began and that count no more.
const BROKE_OFF: &str = "(this answer broke off; it is asked for again)";
/// The sign of work.
const SIGNS: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Shows a run on a terminal.
pub(crate) struct Terminal<W: Write> {
    console: Console<W>,
    paint: Paint,
    thinking: bool,
    details: bool,
    /// Whether nothing may be drawn right now.
    still: bool,
    clock: Clock,
    model: String,
    started: Instant,
    /// What the whole session had used before this run, to tell this run's share.
    before: Option<(Tokens, f64)>,
    session: Option<Box<Session>>,
    answers: HashSet<MessageId>,
    printed: HashSet<PartId>,
    /// Words that grow on the screen.
    words: Vec<(PartId, Words)>,
    /// Calls at work, in the order they began.
    calls: Vec<Call>,
    /// Whether the model, or whatever else, is at work, and since when.
    work: Option<(Work, Instant)>,
    /// Lines that the next frame prints.
    above: Vec<String>,
    /// What the last printed line was part of.
    last: Option<Kind>,
    /// When the screen is to be looked at again: something changed, or the sign of work turns.
    due: Option<Instant>,
    drawn: Option<Instant>,
    /// How long to wait after a frame at least.
    pause: Duration,
    /// Whether what is shown comes from the store.
    stored: bool,
}

struct Call {
    part: PartId,
    tool: String,
    title: String,
    input: serde_json::Value,
    metadata: Object,
    since: Instant,
}

/// What the model does, or what is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Work {
    Asked,
    Thinks,
    Writes,
    Calls(String),
    /// Before the next try: what failed, and until when.
    Waits {
        tried: u32,
        why: String,
        until: Instant,
    },
}

/// What a printed line is part of. An empty line stands between lines of different kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Note,
    Answer,
    Thoughts,
    Call,
}

impl<W: Write + Send> Terminal<W> {
    /// Draws on `console`; what the model thinks only if `thinking`. `clock` is the one that the session goes by.
    pub(crate) fn new(console: Console<W>, thinking: bool, paint: Paint, clock: Clock) -> Self {
        Self {
            console,
            paint,
            thinking,
            details: true,
            still: false,
            clock,
            model: String::new(),
            started: Instant::now(),
            before: None,
            session: None,
            answers: HashSet::new(),
            printed: HashSet::new(),
            words: Vec::new(),
            calls: Vec::new(),
            work: None,
            above: Vec::new(),
            last: None,
            due: None,
            drawn: None,
            pause: FRAME,
            stored: false,
        }
    }

    /// The session as it was before this run.
    pub(crate) fn begin(&mut self, session: &Session) {
        self.before = Some((session.tokens, session.cost));
    }

    /// Prints everything that is left, then what was used, and how to go on if `go_on`.
    pub(crate) fn end(&mut self, session: &SessionId, go_on: bool) {
        self.close();
        let used = used(self.before, self.session.as_deref(), self.started.elapsed());
        let mut last = vec![String::new(), self.paint.dim(&used)];
        if go_on {
            last.push(self.paint.dim(&format!("continue: haft run --session {} \"…\"", session.as_str())));
        }
        self.above.extend(last);
        self.draw(Instant::now());
    }

    /// Nothing grows any more.
    fn close(&mut self) {
        for (id, words) in std::mem::take(&mut self.words) {
            self.printed.insert(id);
            self.finish(words);
        }
        self.calls.clear();
        self.work = None;
    }

    fn part(&mut self, part: &Part) {
        let ended = task_ended(part, self.paint);
        if !ended.is_empty() && self.printed.insert(part.id.clone()) {
            return self.print(Kind::Note, ended);
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
                } else if time.end.is_none() {
                    self.works(Work::Thinks);
                }
            }
            PartKind::Tool { tool, state, .. } => self.call(&part.id, tool, state),
            PartKind::StepStart {} => self.works(Work::Asked),
            PartKind::StepFinish { .. } => self.work = None,
            PartKind::File { .. }
            | PartKind::Vendor { .. }
            | PartKind::Agent { .. }
            | PartKind::Subtask { .. }
            | PartKind::Patch { .. }
            | PartKind::Compaction { .. }
            | PartKind::Retry { .. } => {}
        }
    }

    fn words(&mut self, part: &Part, text: &str, thinking: bool, ended: bool) {
        if self.printed.contains(&part.id) {
            return;
        }
        let at = match self.words.iter().position(|(id, _)| *id == part.id) {
            Some(at) => at,
            None => {
                let look = Look { columns: self.columns(), paint: self.paint };
                self.words.push((part.id.clone(), Words::new(thinking, look)));
                self.words.len() - 1
            }
        };
        self.words[at].1.reach(text, self.stored);
        if ended {
            let (id, words) = self.words.remove(at);
            self.printed.insert(id);
            self.finish(words);
            self.works(Work::Asked);
        } else {
            self.works(if thinking { Work::Thinks } else { Work::Writes });
        }
    }

    /// A try that failed is taken back. What was printed of it stays, with a word on what it is.
    fn removed(&mut self, id: &PartId) {
        self.calls.retain(|call| call.part != *id);
        let growing = self.words.iter().position(|(part, _)| part == id).map(|at| self.words.remove(at).1);
        let shown = growing.is_some() || self.printed.contains(id);
        growing.into_iter().for_each(|words| self.finish(words));
        if shown {
            self.print(Kind::Note, vec![self.paint.dim(BROKE_OFF)]);
        }
    }

    fn finish(&mut self, words: Words) {
        let kind = kind(&words);
        let lines = words.end();
        self.print(kind, lines);
    }

    fn call(&mut self, id: &PartId, tool: &str, state: &ToolState) {
        match state {
            ToolState::Pending { .. } => self.works(Work::Calls(clean(tool).into_owned())),
            ToolState::Running { input, title, metadata, .. } => {
                let at = self.calls.iter().position(|call| call.part == *id);
                let since = at.map_or_else(Instant::now, |at| self.calls[at].since);
                let call = Call {
                    part: id.clone(),
                    tool: tool.to_owned(),
                    title: title.clone().unwrap_or_default(),
                    input: input.clone(),
                    metadata: metadata.clone().unwrap_or_default(),
                    since,
                };
                match at {
                    Some(at) => self.calls[at] = call,
                    None if !self.printed.contains(id) => self.calls.push(call),
                    None => {}
                }
            }
            ToolState::Completed { .. } | ToolState::Error { .. } => {
                self.calls.retain(|call| call.part != *id);
                if self.printed.insert(id.clone()) {
                    self.print(Kind::Call, call_lines(tool, state, self.details, self.paint));
                }
            }
        }
    }

    fn works(&mut self, work: Work) {
        if self.work.as_ref().is_none_or(|(now, _)| *now != work) {
            self.work = Some((work, Instant::now()));
        }
    }

    fn print(&mut self, kind: Kind, lines: Vec<String>) {
        if lines.is_empty() {
            return;
        }
        if self.last.is_some_and(|last| last != kind) {
            self.above.push(String::new());
        }
        self.last = Some(kind);
        self.above.extend(lines);
    }

    fn columns(&self) -> usize {
        columns(self.console.size())
    }

    /// Asks for a frame, not too soon after the last one.
    fn changed(&mut self) {
        let now = Instant::now();
        let due = self.drawn.map_or(now, |drawn| now.max(drawn + self.pause));
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
        if due <= now {
            self.draw(now);
        }
    }

    fn draw(&mut self, now: Instant) {
        if self.still {
            self.due = None;
            return;
        }
        let columns = self.columns();
        for at in 0..self.words.len() {
            self.words[at].1.fit(columns);
            let settled = self.words[at].1.settle();
            self.print(kind(&self.words[at].1), settled);
        }
        let live = self.live(now);
        self.console.frame(&std::mem::take(&mut self.above), &live);
        let ended = Instant::now();
        self.pause = ((ended - now) * SHARE).clamp(FRAME, MAX_PAUSE);
        self.drawn = Some(ended);
        // Only a sign that turns needs to be looked at again by itself.
        let turning = self.work.is_some() || !self.calls.is_empty();
        self.due = turning.then(|| ended + self.pause.max(TURN));
    }

    /// What stands at the bottom: words that may still change, and who is at work.
    fn live(&self, now: Instant) -> Vec<String> {
        let rows = self.console.size().rows;
        let work = self.working(now, (rows / 2).max(1));
        let room = rows.saturating_sub(work.len() + 2).max(1);
        let mut live: Vec<String> = Vec::new();
        for (_, words) in &self.words {
            let tail = words.tail(room);
            if !tail.is_empty() && self.last.is_some_and(|last| last != kind(words)) {
                live.push(String::new());
            }
            live.extend(tail);
        }
        let hidden = live.len().saturating_sub(room);
        live.drain(..hidden);
        // As what the work brings will stand.
        let apart = self.last.is_some_and(|last| self.calls.is_empty() || last != Kind::Call) || !live.is_empty();
        if !work.is_empty() && apart {
            live.push(String::new());
        }
        live.extend(work);
        live
    }

    /// Who is at work, in at most `rows` lines.
    fn working(&self, now: Instant, rows: usize) -> Vec<String> {
        let turned = now.duration_since(self.started).as_millis() / TURN.as_millis();
        let sign = || self.paint.cyan(&SIGNS[(turned % SIGNS.len() as u128) as usize].to_string());
        let line = |what: &str, since: Instant| {
            let seconds = now.duration_since(since).as_secs();
            format!("{} {}", sign(), self.paint.dim(&format!("{what} · {seconds} s")))
        };
        if self.calls.is_empty() {
            let Some((work, since)) = &self.work else { return Vec::new() };
            let what = match work {
                Work::Asked => self.model.clone(),
                Work::Thinks => format!("{} thinks", self.model),
                Work::Writes => format!("{} writes", self.model),
                Work::Calls(tool) => format!("{} writes a call of {tool}", self.model),
                Work::Waits { tried, why, until } => {
                    let left = until.saturating_duration_since(now);
                    let how_to_end = if left.is_zero() { "" } else { " · Ctrl-C stops" };
                    return vec![format!(
                        "{} {}",
                        sign(),
                        self.paint.dim(&format!("{}{how_to_end}", wait(*tried, why, left)))
                    )];
                }
            };
            return vec![line(&what, *since)];
        }
        let shown = &self.calls[..self.calls.len().min(MAX_CALLS).min(rows)];
        let latest_lines = (rows / shown.len().max(1)).saturating_sub(1).min(MAX_LATEST);
        let mut lines = Vec::new();
        for call in shown {
            lines.push(line(&doing(&call.tool, &call.title, &call.input), call.since));
            lines.extend(latest(&call.metadata, latest_lines, self.paint));
        }
        if self.calls.len() > shown.len() {
            lines.push(self.paint.dim(&format!("… and {} more", self.calls.len() - shown.len())));
        }
        lines
    }
}

/// How wide text is laid out on a terminal of this size.
pub(super) fn columns(size: Size) -> usize {
    size.columns.saturating_sub(1).clamp(1, MAX_WIDTH)
}

fn kind(words: &Words) -> Kind {
    if words.is_thinking() { Kind::Thoughts } else { Kind::Answer }
}

impl<W: Write + Send> Render for Terminal<W> {
    fn head(&mut self, agent: &str, model: &str) {
        self.model = clean(model).into_owned();
        self.print(Kind::Note, vec![self.paint.dim(&clean(&format!("> {agent} · {model}")))]);
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
                return;
            }
            Event::MessageUpdated { info, .. } => {
                // A summary is for the model.
                if let Message::Assistant(answer) = &**info
                    && !answer.summary
                {
                    self.answers.insert(answer.id.clone());
                }
                return;
            }
            Event::PartUpdated { part, .. } => self.part(part),
            Event::PartDelta { part_id, delta, .. } => {
                if let Some((_, words)) = self.words.iter_mut().find(|(id, _)| id == part_id) {
                    words.grow(delta);
                }
            }
            Event::SessionStatus { status, .. } => match status {
                Status::Busy => self.works(Work::Asked),
                Status::Idle => self.work = None,
                Status::Retry { attempt, message, next } => {
                    let left = Duration::from_millis(next.saturating_sub(self.clock.now_ms()));
                    let until = Instant::now() + left.min(MAX_COUNTDOWN);
                    self.works(Work::Waits { tried: *attempt, why: clean(message).replace('\n', " "), until });
                }
            },
            Event::PartRemoved { part_id, .. } => self.removed(part_id),
            Event::SessionCompacted { .. } => self.print(Kind::Note, vec![self.paint.dim(COMPACTED)]),
            Event::SessionError { .. }
            | Event::SessionDeleted { .. }
            | Event::SessionDiff { .. }
            | Event::MessageRemoved { .. }
            | Event::PermissionAsked(_)
            | Event::PermissionReplied { .. }
            | Event::QuestionAsked(_)
            | Event::QuestionReplied { .. }
            | Event::QuestionRejected { .. }
            | Event::CommandExecuted { .. }
            | Event::TodoUpdated { .. } => return,
        }
        self.changed();
    }

    fn due(&self) -> Option<Instant> {
        self.due
    }

    fn tick(&mut self) {
        self.draw(Instant::now());
    }

    fn step_aside(&mut self) {
        for at in 0..self.words.len() {
            let settled = self.words[at].1.settle();
            self.print(kind(&self.words[at].1), settled);
        }
        self.console.frame(&std::mem::take(&mut self.above), &[]);
        // What is asked stands apart by itself.
        self.last = None;
    }

    fn note(&mut self, lines: Vec<String>) {
        // What is said to the person is said at once.
        let still = std::mem::take(&mut self.still);
        // In the last column a terminal is undecided about the next line.
        let columns = self.console.size().columns.saturating_sub(1);
        self.print(Kind::Note, lines.iter().flat_map(|text| folded(&screen::line(text), columns)).collect());
        if still {
            self.step_aside();
        } else {
            self.draw(Instant::now());
        }
        self.still = still;
    }

    fn hush(&mut self, still: bool) {
        if still && !self.still {
            self.step_aside();
        }
        self.still = still;
        if !still {
            self.draw(Instant::now());
        }
    }

    fn rest(&mut self) {
        self.close();
        self.draw(Instant::now());
    }

    fn look(&mut self, Looks { thinking, details, paint }: Looks) {
        (self.thinking, self.details, self.paint) = (thinking, details, paint);
        self.words.iter_mut().for_each(|(_, words)| words.paint(paint));
        self.changed();
    }
}

impl<W: Write> Drop for Terminal<W> {
    fn drop(&mut self) {
        self.console.frame(&[], &[]);
    }
}

#[cfg(test)]
mod tests;
