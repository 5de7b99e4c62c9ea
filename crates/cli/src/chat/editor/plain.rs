//! Lines as the terminal itself edits them, or as a pipe brings them: nothing is drawn anew.

use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver as Wishes, SyncSender, sync_channel};

use futures::FutureExt;
use futures::future::BoxFuture;
use rustix::termios::{QueueSelector, tcflush};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{Draft, Input, Kind, LineSource, MAX_INPUT, Mode, Prompt};
use crate::render::{complain, errors};

/// Lines of standard input. A line that ends with `\` goes on in the next one.
///
/// Ctrl-C arrives as a signal here; nobody else may wait for that while a `Plain` is there.
pub(crate) struct Plain {
    wishes: SyncSender<()>,
    lines: Receiver<Line>,
    /// Whether a line was wished for that did not come yet.
    wished: bool,
    /// The mark that stands on the screen.
    shown: Option<(Kind, String)>,
    /// The lines so far of a submission that goes on.
    begun: String,
    /// What came for the chat when an answer was waited for.
    early: VecDeque<Line>,
    interrupt: Option<Signal>,
    terminal: bool,
}

/// What the thread that reads found.
#[derive(Debug)]
enum Line {
    Read(String),
    TooLong,
    End,
}

impl Plain {
    /// Reads standard input from now on.
    pub(crate) fn new() -> Self {
        let (wishes, wished) = sync_channel(1);
        let (found, lines) = channel(1);
        // Ends with the program: nothing can end a thread that waits for a terminal.
        drop(std::thread::spawn(move || serve(&wished, &found)));
        Self {
            wishes,
            lines,
            wished: false,
            shown: None,
            begun: String::new(),
            early: VecDeque::new(),
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminal: std::io::stdin().is_terminal(),
        }
    }

    /// Shows `prompt`, once.
    fn show(&mut self, prompt: &Prompt) {
        let goes_on = prompt.kind == Kind::Chat && !self.begun.is_empty();
        let mark = if goes_on { "… ".to_owned() } else { prompt.mark.clone() };
        let wanted = (prompt.kind, mark);
        if self.shown.as_ref() == Some(&wanted) {
            return;
        }
        if prompt.kind == Kind::Answer && self.shown.as_ref().is_none_or(|(kind, _)| *kind == Kind::Chat) {
            self.set_aside();
        }
        let mut screen = errors();
        // A screen that is gone is found out by the end of the input.
        let _ = write!(screen, "{}", wanted.1).and_then(|()| screen.flush());
        self.shown = Some(wanted);
    }

    /// Keeps what was typed before a question from answering it.
    fn set_aside(&mut self) {
        if !self.terminal {
            return;
        }
        if let Ok(line) = self.lines.try_recv() {
            self.wished = false;
            self.early.push_back(line);
        }
        // What cannot be thrown away was not typed on a terminal.
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    }

    async fn line(&mut self, kind: Kind) -> Option<Line> {
        if kind == Kind::Chat
            && let Some(line) = self.early.pop_front()
        {
            return Some(line);
        }
        if !self.wished && self.wishes.try_send(()).is_err() {
            return Some(Line::End);
        }
        self.wished = true;
        let interrupted = async {
            match &mut self.interrupt {
                Some(interrupt) => interrupt.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            line = self.lines.recv() => {
                self.wished = false;
                Some(line.unwrap_or(Line::End))
            }
            _ = interrupted => None,
        }
    }

    async fn next(&mut self, prompt: &Prompt) -> Input {
        loop {
            self.show(prompt);
            let Some(line) = self.line(prompt.kind).await else {
                self.shown = None;
                let begun = prompt.kind == Kind::Chat && !std::mem::take(&mut self.begun).is_empty();
                complain("");
                if begun && !prompt.busy {
                    continue;
                }
                return Input::Interrupt;
            };
            self.shown = None;
            match line {
                Line::Read(text) => match self.add(text, prompt.kind) {
                    Some(draft) => return Input::Submit(draft),
                    None => continue,
                },
                Line::TooLong => complain(&too_long()),
                Line::End if self.begun.is_empty() => {
                    // Ctrl-D leaves the cursor where it was.
                    if self.terminal {
                        complain("");
                    }
                    return Input::Eof;
                }
                Line::End => return Input::Submit(draft(std::mem::take(&mut self.begun), prompt.kind)),
            }
        }
    }

    /// Adds a line; gives what is complete with it.
    fn add(&mut self, line: String, kind: Kind) -> Option<Draft> {
        // What is begun in the chat waits for the answer.
        if kind == Kind::Answer {
            return Some(draft(line, kind));
        }
        if self.begun.len() + line.len() > MAX_INPUT {
            self.begun.clear();
            complain(&too_long());
            return None;
        }
        self.begun.push_str(&line);
        if self.begun.ends_with('\\') {
            self.begun.pop();
            self.begun.push('\n');
            return None;
        }
        let text = std::mem::take(&mut self.begun);
        (!text.trim().is_empty()).then(|| draft(text, kind))
    }
}

impl LineSource for Plain {
    fn read<'a>(&'a mut self, prompt: &'a Prompt) -> BoxFuture<'a, Input> {
        self.next(prompt).boxed()
    }

    fn fill(&mut self, text: &str) {
        // A terminal that edits by itself takes no text from us; the person can copy it.
        complain(text);
    }

    fn recall(&mut self, _text: &str) -> bool {
        false
    }

    fn release(&mut self) {
        self.shown = None;
    }
}

fn too_long() -> String {
    format!("that is longer than {} MiB, and was not taken; put it into a file and name it as @FILE", MAX_INPUT >> 20)
}

/// `text` as it was sent.
fn draft(text: String, kind: Kind) -> Draft {
    match text.strip_prefix('!') {
        Some(line) if kind == Kind::Chat => {
            let line = line.trim_start().to_owned();
            Draft { mode: Mode::Shell, shown: line.clone(), text: line, ..Draft::default() }
        }
        _ => Draft { mode: Mode::Prompt, shown: text.clone(), text, ..Draft::default() },
    }
}

/// Reads a line for each wish.
fn serve(wishes: &Wishes<()>, found: &Sender<Line>) {
    let mut input = std::io::stdin().lock();
    while wishes.recv().is_ok() {
        let line = one(&mut input);
        let end = matches!(line, Line::End);
        // Standard input of a terminal goes on after Ctrl-D, so the next wish tries again.
        if found.blocking_send(line).is_err() || (end && !std::io::stdin().is_terminal()) {
            return;
        }
    }
}

/// Reads a line, without its end.
fn one(input: &mut impl BufRead) -> Line {
    let mut bytes = Vec::new();
    match input.by_ref().take(MAX_INPUT as u64).read_until(b'\n', &mut bytes) {
        Ok(0) | Err(_) => Line::End,
        Ok(_) if bytes.last() != Some(&b'\n') && bytes.len() == MAX_INPUT => {
            skip(input);
            Line::TooLong
        }
        Ok(_) => {
            let text = String::from_utf8_lossy(&bytes);
            Line::Read(text.trim_end_matches(['\n', '\r']).to_owned())
        }
    }
}

/// Reads up to the end of the line, and keeps none of it.
fn skip(input: &mut impl BufRead) {
    while let Ok(bytes) = input.fill_buf() {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let (length, over) = (bytes.len(), bytes.is_empty());
        input.consume(end.map_or(length, |at| at + 1));
        if over || end.is_some() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is submitted after each of `lines` was read.
    #[track_caller]
    fn check(lines: &[&str], kind: Kind, want: &[(Mode, &str)]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let mut plain = Plain::new();
        let got: Vec<Draft> = lines.iter().filter_map(|line| plain.add((*line).to_owned(), kind)).collect();
        let got: Vec<(Mode, &str)> = got.iter().map(|draft| (draft.mode, draft.text.as_str())).collect();
        assert_eq!(got, want, "{lines:?}");
    }

    #[test]
    fn a_line_is_a_submission_unless_it_says_that_it_goes_on() {
        check(&["fix it"], Kind::Chat, &[(Mode::Prompt, "fix it")]);
        check(&["fix \\", "it\\", "\\", "!"], Kind::Chat, &[(Mode::Prompt, "fix \nit\n\n!")]);
        check(&["", "  ", "x"], Kind::Chat, &[(Mode::Prompt, "x")]);
        check(&["! ls -l", "!ls \\", "  x"], Kind::Chat, &[(Mode::Shell, "ls -l"), (Mode::Shell, "ls \n  x")]);
    }

    #[test]
    fn an_answer_is_no_part_of_what_is_begun() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let mut plain = Plain::new();
        assert_eq!(plain.add("fix \\".to_owned(), Kind::Chat), None);
        assert_eq!(plain.add("y".to_owned(), Kind::Answer).unwrap().text, "y");
        assert_eq!(plain.add("it".to_owned(), Kind::Chat).unwrap().text, "fix \nit");
    }

    #[test]
    fn an_answer_is_a_line_and_may_be_empty() {
        check(&["", "a\\", "!x"], Kind::Answer, &[(Mode::Prompt, ""), (Mode::Prompt, "a\\"), (Mode::Prompt, "!x")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_not_taken_and_the_next_one_is() {
        let text = format!("a\r\n{}\nb\n\u{ff}", "x".repeat(MAX_INPUT));
        let mut input = std::io::Cursor::new(text);
        let mut kinds = Vec::new();
        loop {
            match one(&mut input) {
                Line::Read(line) => kinds.push(line),
                Line::TooLong => kinds.push("too long".to_owned()),
                Line::End => break,
            }
        }
        assert_eq!(kinds, ["a", "too long", "b", "\u{ff}"]);
    }
}
