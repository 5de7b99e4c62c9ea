//! `run` for people: words as they come, a few lines for each call, what it cost at the end.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::time::Instant;

use haft_protocol::{Event, Id, Message, MessageId, Part, PartId, PartKind, Session, SessionId, Tokens, ToolState};

use super::tool_line::{begun, lines};
use super::{Paint, Render, clean};
use crate::report::Output;

/// Shows a run. On a terminal everything goes to `out` as it comes; else the final answer alone goes there, and the
/// rest to `err`. Whether words are the final answer is known when no call follows them, so there they are held back.
pub(crate) struct Text<O, E> {
    out: O,
    err: E,
    terminal: bool,
    thinking: bool,
    paint: Paint,
    started: Instant,
    answers: HashSet<MessageId>,
    /// Words that grow on the screen; gone when they ended.
    grown: HashMap<PartId, Grown>,
    printed: HashSet<PartId>,
    /// Calls whose beginning was shown, and the one of them whose line is the last on the screen.
    begun: HashSet<PartId>,
    above: Option<PartId>,
    /// Words of the latest answer that were not shown yet, where stdout is no terminal.
    held: String,
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
    /// `terminal`: whether stdout is one. `thinking`: whether to show what the model thinks.
    pub(crate) fn new(out: O, err: E, terminal: bool, thinking: bool, paint: Paint) -> Self {
        Self {
            out,
            err,
            terminal,
            thinking,
            paint,
            started: Instant::now(),
            answers: HashSet::new(),
            grown: HashMap::new(),
            printed: HashSet::new(),
            begun: HashSet::new(),
            above: None,
            held: String::new(),
            midway: false,
            stored: false,
            before: None,
            session: None,
        }
    }

    /// Says who is asked.
    pub(crate) fn head(&mut self, agent: &str, model: &str) {
        let head = self.paint.dim(&clean(&format!("> {agent} · {model}")));
        self.aside(&format!("{head}\n"));
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
        self.new_line();
        let answer = std::mem::take(&mut self.held);
        if !answer.is_empty() {
            writeln!(self.out, "{}", answer.trim_end())?;
            self.out.flush()?;
        }
        let used = self.paint.dim(&self.used());
        self.aside(&format!("\n{used}\n"));
        if go_on {
            let how = self.paint.dim(&format!("continue: haft run --session {} \"…\"", session.as_str()));
            self.aside(&format!("{how}\n"));
        }
        Ok(())
    }

    fn used(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        let Some(session) = &self.session else { return format!("{seconds:.1} s") };
        let (before, cost) = self.before.unwrap_or_default();
        let now = &session.tokens;
        let since = |count: fn(&Tokens) -> u64| count(now).saturating_sub(count(&before));
        let read = since(|tokens| tokens.input + tokens.cache.read + tokens.cache.write);
        let cached = since(|tokens| tokens.cache.read);
        let written = since(|tokens| tokens.output + tokens.reasoning);
        if read + written == 0 {
            return format!("{seconds:.1} s");
        }
        let cached = if cached > 0 { format!(" ({cached} from the cache)") } else { String::new() };
        let mut used = format!("{read} tokens read{cached}, {written} written");
        let cost = session.cost - cost;
        if cost > 0.0 {
            used.push_str(&format!(" · ${cost:.4}"));
        }
        format!("{used} · {seconds:.1} s")
    }

    fn part(&mut self, part: &Part) {
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
            PartKind::File { .. } | PartKind::Vendor { .. } | PartKind::StepFinish { .. } => {}
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
        let lines = lines(tool, state, self.paint);
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
                    false => {
                        self.held.push_str(text.trim_end());
                        self.held.push('\n');
                    }
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
        let words = std::mem::take(&mut self.held);
        if !words.is_empty() {
            let words = clean(&words).into_owned();
            self.aside(&words);
        }
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
                if let Message::Assistant(answer) = &**info {
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
            // A question is about to stand there.
            Event::PermissionAsked(_) => self.above = None,
            Event::SessionStatus { .. }
            | Event::SessionError { .. }
            | Event::PartRemoved { .. }
            | Event::PermissionReplied { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use haft_protocol::{Assistant, Clock, History, MessageTime, Object, Paths, Span, ToolSpan};

    /// The events of two answers: one with a call, and the final one.
    fn story() -> (SessionId, Vec<Event>) {
        let clock = Clock::scripted(1);
        let session: SessionId = clock.mint();
        let mut events = Vec::new();
        let answer = |events: &mut Vec<Event>| -> MessageId {
            let id: MessageId = clock.mint();
            let info = Message::Assistant(Assistant {
                id: id.clone(),
                session_id: session.clone(),
                parent_id: clock.mint(),
                time: MessageTime::default(),
                model_id: String::new(),
                provider_id: String::new(),
                mode: String::new(),
                agent: String::new(),
                path: Paths { cwd: String::new(), root: String::new() },
                cost: 0.0,
                tokens: Tokens::default(),
                finish: None,
                error: None,
            });
            events.push(Event::MessageUpdated { session_id: session.clone(), info: Box::new(info) });
            id
        };
        let part = |message: &MessageId, id: &PartId, kind: PartKind| Event::PartUpdated {
            session_id: session.clone(),
            part: Box::new(Part { id: id.clone(), session_id: session.clone(), message_id: message.clone(), kind }),
            time: 1,
        };
        let text = |text: &str, end: Option<u64>| PartKind::Text {
            text: text.to_owned(),
            synthetic: false,
            time: Some(Span { start: 1, end }),
            metadata: None,
        };
        let delta = |message: &MessageId, id: &PartId, delta: &str| Event::PartDelta {
            session_id: session.clone(),
            message_id: message.clone(),
            part_id: id.clone(),
            field: "text".to_owned(),
            delta: delta.to_owned(),
        };
        let (first, words, tool): (_, PartId, PartId) = (answer(&mut events), clock.mint(), clock.mint());
        events.push(part(&first, &clock.mint(), PartKind::StepStart {}));
        events.push(part(&first, &words, text("", None)));
        events.extend(["Let me ", "look."].map(|words_| delta(&first, &words, words_)));
        events.push(part(&first, &words, text("Let me look.", Some(2))));
        let state = ToolState::Completed {
            input: serde_json::json!({}),
            output: String::new(),
            title: "a.rs".to_owned(),
            metadata: Object::new(),
            time: ToolSpan::default(),
            attachments: Vec::new(),
        };
        let call = PartKind::Tool { call_id: "c".to_owned(), tool: "read".to_owned(), state, metadata: None };
        events.push(part(&first, &tool, call));
        let (second, last): (_, PartId) = (answer(&mut events), clock.mint());
        events.push(part(&second, &clock.mint(), PartKind::StepStart {}));
        events.push(part(&second, &last, text("", None)));
        events.push(delta(&second, &last, "All is well.\n"));
        events.push(part(&second, &last, text("All is well.\n", Some(3))));
        (session, events)
    }

    /// Shows `events`; prints what came out where, without the time it took.
    #[track_caller]
    fn check(terminal: bool, session: &SessionId, events: &[Event], want: Expect) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut shown = Text::new(&mut out, &mut err, terminal, false, Paint::new(false));
        shown.head("build", "v/m");
        events.iter().for_each(|event| shown.show(event));
        shown.end(session, false).unwrap();
        let (out, err) = (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap());
        let timeless = |text: &str| -> String {
            text.lines()
                .filter(|line| !line.is_empty() && !line.ends_with(" s"))
                .map(|line| format!("  {line}\n"))
                .collect()
        };
        want.assert_eq(&format!("stdout\n{}stderr\n{}", timeless(&out), timeless(&err)));
    }

    #[test]
    fn a_terminal_gets_everything_as_it_comes() {
        let (session, events) = story();
        check(
            true,
            &session,
            &events,
            expect![[r#"
                stdout
                  > build · v/m
                  Let me look.
                  → Read a.rs
                  All is well.
                stderr
            "#]],
        );
    }

    #[test]
    fn a_pipe_gets_the_final_answer_alone() {
        let (session, events) = story();
        check(
            false,
            &session,
            &events,
            expect![[r#"
                stdout
                  All is well.
                stderr
                  > build · v/m
                  Let me look.
                  → Read a.rs
            "#]],
        );
    }

    #[test]
    fn a_command_is_shown_when_it_begins_and_its_output_below() {
        let clock = Clock::scripted(1);
        let (session, events) = story();
        let message = match &events[0] {
            Event::MessageUpdated { info, .. } => info.id().clone(),
            other => panic!("{other:?}"),
        };
        let input = serde_json::json!({"command": "make test"});
        let time = ToolSpan::default();
        let running = || ToolState::Running {
            input: input.clone(),
            title: Some("Test".to_owned()),
            metadata: Some(Object::new()),
            time: Span::default(),
        };
        let output = serde_json::json!({"output": "ok\n", "exit": 0}).as_object().unwrap().clone();
        let completed = || ToolState::Completed {
            input: input.clone(),
            output: String::new(),
            title: "Test".to_owned(),
            metadata: output.clone(),
            time,
            attachments: Vec::new(),
        };
        let event = |id: &PartId, state: ToolState| Event::PartUpdated {
            session_id: session.clone(),
            part: Box::new(Part {
                id: id.clone(),
                session_id: session.clone(),
                message_id: message.clone(),
                kind: PartKind::Tool { call_id: "c".to_owned(), tool: "bash".to_owned(), state, metadata: None },
            }),
            time: 1,
        };
        let (one, two): (PartId, PartId) = (clock.mint(), clock.mint());
        let alone = [events[0].clone(), event(&one, running()), event(&one, running()), event(&one, completed())];
        check(
            true,
            &session,
            &alone,
            expect![[r#"
            stdout
              > build · v/m
              $ make test …
                ok
            stderr
        "#]],
        );
        let beside = [
            events[0].clone(),
            event(&one, running()),
            event(&two, running()),
            event(&one, completed()),
            event(&two, completed()),
        ];
        check(
            true,
            &session,
            &beside,
            expect![[r#"
            stdout
              > build · v/m
              $ make test …
              $ make test …
              $ make test
                ok
              $ make test
                ok
            stderr
        "#]],
        );
    }

    #[test]
    fn what_is_seen_twice_is_shown_once() {
        let (session, events) = story();
        // A listener that stopped after `seen` events reads the store as it is after `stored` of them, and then still
        // gets those it missed.
        for (seen, stored) in [(0, 3), (3, 4), (3, 5), (4, 5), (4, 6), (5, 9), (2, 11), (9, 11), (0, events.len())] {
            let mut history = History::default();
            events[..stored].iter().for_each(|event| history.apply(event));
            for terminal in [true, false] {
                let (mut out, mut err) = (Vec::new(), Vec::new());
                let mut shown = Text::new(&mut out, &mut err, terminal, false, Paint::new(false));
                events[..seen].iter().for_each(|event| shown.show(event));
                for turned in history.messages() {
                    let (session_id, info) = (session.clone(), Box::new(turned.info.clone()));
                    shown.show_stored(&Event::MessageUpdated { session_id, info });
                    for part in &turned.parts {
                        let (session_id, part) = (session.clone(), Box::new(part.clone()));
                        shown.show_stored(&Event::PartUpdated { session_id, part, time: 1 });
                    }
                }
                events[seen..].iter().for_each(|event| shown.show(event));
                shown.end(&session, false).unwrap();
                let all = String::from_utf8([err, out].concat()).unwrap();
                for words in ["Let me look.", "→ Read a.rs", "All is well."] {
                    assert_eq!(all.matches(words).count(), 1, "{words:?} after {seen}, {stored} in: {all}");
                }
            }
        }
    }
}
