//! The editor: what is typed stands below everything else, and every key changes it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use crossterm::event::Event;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use rustix::process::{Signal as Kill, kill_current_process_group};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::external::edited;
use super::history::{Entry, History};
use super::history_file::HistoryFile;
use super::keys::{Act, act};
use super::line::{Around, Line, Outcome, Wish};
use super::terminal::{Keyboard, hold};
use super::view::{Room, foot, text_columns};
use super::{Completer, Completion, Input, Kind, LineSource, Prompt, Typed};
use crate::render::{Console, Foot, Paint, Raw};

/// How long a process that stopped itself may take to stop. One that nobody could wake goes on then.
const STOPS: Duration = Duration::from_millis(200);

/// How the person likes it.
#[derive(Debug, Clone)]
pub(crate) struct Habits {
    /// Whether long pastes are shown as labels.
    pub summary: bool,
    pub paint: Paint,
    /// The folder for the history and for texts that another editor works on.
    pub state: PathBuf,
}

/// Reads from the terminal, key by key.
pub(crate) struct Editor {
    habits: Habits,
    console: Console<Raw>,
    chat: Line,
    answer: Line,
    /// What was read last.
    kind: Kind,
    /// Whether the question that the next answer is for was not shown yet.
    unasked: bool,
    keyboard: Option<Keyboard>,
    /// Told when a stopped process goes on.
    resumed: Option<Signal>,
    history: History,
    file: HistoryFile,
    completer: Arc<dyn Completer>,
    /// Ways to go on that are being looked for.
    asked: Option<(Wish, JoinHandle<Completion>)>,
    /// The user's own editor, while it runs.
    external: Option<JoinHandle<Result<String>>>,
}

/// What woke the editor.
enum Woke {
    Event(Option<std::io::Result<Event>>),
    Found(Completion),
    Resumed,
}

impl Editor {
    /// Reads from this process's terminal, which is taken at the first [`LineSource::read`].
    pub(crate) fn new(habits: Habits, completer: Arc<dyn Completer>) -> Self {
        let file = HistoryFile::within(&habits.state);
        Self {
            console: Console::here(),
            chat: Line::new(Kind::Chat),
            answer: Line::new(Kind::Answer),
            kind: Kind::Chat,
            unasked: true,
            keyboard: None,
            resumed: signal(SignalKind::from_raw(Kill::CONT.as_raw())).ok(),
            history: file.read(),
            file,
            completer,
            asked: None,
            external: None,
            habits,
        }
    }

    async fn next(&mut self, prompt: &Prompt) -> Input {
        if prompt.kind == Kind::Answer && (self.kind == Kind::Chat || self.unasked) {
            self.answer = Line::new(Kind::Answer);
            self.unasked = false;
            // What was typed before belongs to no question, whoever read the terminal then.
            self.keyboard = self.keyboard.take().or_else(|| Keyboard::take().ok());
            if let Some(keyboard) = &mut self.keyboard {
                keyboard.forget().await;
            }
        }
        self.kind = prompt.kind;
        loop {
            if let Some(external) = &mut self.external {
                let text = external.await;
                self.external = None;
                match text.map_err(anyhow::Error::from).and_then(|text| text) {
                    Ok(text) => self.chat.fill(&text),
                    Err(error) => self.chat.notice = Some(format!("{error:#}")),
                }
            }
            if self.keyboard.is_none() {
                match Keyboard::take() {
                    Ok(keyboard) => self.keyboard = Some(keyboard),
                    Err(error) => {
                        tracing::warn!(%error, "the terminal cannot be read");
                        return Input::Eof;
                    }
                }
            }
            self.draw(prompt);
            self.look();
            let outcome = match self.woke().await {
                Woke::Event(Some(Ok(event))) => self.events(event, prompt).await,
                // The terminal is gone.
                Woke::Event(Some(Err(_)) | None) => return Input::Eof,
                Woke::Found(completion) => {
                    if let Some((wish, _)) = self.asked.take() {
                        self.line().offer(&wish, completion);
                    }
                    Outcome::Typed
                }
                Woke::Resumed => {
                    // A terminal that cannot be had is found out at the next key.
                    let _ = hold();
                    self.console.again();
                    Outcome::Typed
                }
            };
            match outcome {
                Outcome::Typed => {}
                Outcome::Input(input) => return self.end(input, prompt),
                Outcome::ClearScreen => self.console.clear(),
                Outcome::Suspend => self.suspend().await,
                Outcome::External if prompt.busy => {
                    self.line().notice = Some("a turn runs; the editor can be opened after it".to_owned());
                }
                Outcome::External => {
                    let (text, folder) = (self.chat.draft().text, self.habits.state.join("scratch"));
                    self.release();
                    self.external = Some(tokio::spawn(async move { edited(&text, &folder).await }));
                }
            }
        }
    }

    async fn woke(&mut self) -> Woke {
        let Self { keyboard, asked, resumed, .. } = self;
        let event = async {
            match keyboard {
                Some(keyboard) => keyboard.events.next().await,
                None => None,
            }
        };
        let found = async {
            match asked {
                Some((_, found)) => found.await.unwrap_or_default(),
                None => std::future::pending().await,
            }
        };
        let resumed = async {
            match resumed {
                Some(resumed) => resumed.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = event => Woke::Event(event),
            found = found => Woke::Found(found),
            _ = resumed => Woke::Resumed,
        }
    }

    /// Handles `event`, and what came with it: it is drawn once.
    async fn events(&mut self, event: Event, prompt: &Prompt) -> Outcome {
        let mut event = Some(Ok(event));
        while let Some(Ok(next)) = event {
            let outcome = self.event(next, prompt);
            if outcome != Outcome::Typed {
                return outcome;
            }
            event = match &mut self.keyboard {
                Some(keyboard) => keyboard.ready().await,
                None => None,
            };
        }
        Outcome::Typed
    }

    fn event(&mut self, event: Event, prompt: &Prompt) -> Outcome {
        let columns = self.console.size().columns;
        let line = match self.kind {
            Kind::Chat => &mut self.chat,
            Kind::Answer => &mut self.answer,
        };
        let columns = text_columns(line, prompt, columns);
        let around = Around { busy: prompt.busy, columns, summary: self.habits.summary, history: &self.history };
        match event {
            Event::Key(key) => match act(&key, line.is_prefixed()) {
                Act::Nothing if !line.is_prefixed() => Outcome::Typed,
                act => line.act(act, around),
            },
            Event::Paste(text) => {
                line.paste(&text, around, |path| path.is_file());
                Outcome::Typed
            }
            _ => Outcome::Typed,
        }
    }

    fn line(&mut self) -> &mut Line {
        match self.kind {
            Kind::Chat => &mut self.chat,
            Kind::Answer => &mut self.answer,
        }
    }

    fn draw(&mut self, prompt: &Prompt) {
        let size = self.console.size();
        let room = Room { columns: size.columns, rows: size.rows };
        let paint = self.habits.paint;
        let foot = foot(self.line(), prompt, room, paint);
        self.console.foot(&foot);
    }

    /// Looks for ways to go on, if they are wanted, one wish after the other.
    fn look(&mut self) {
        if self.asked.is_some() {
            return;
        }
        let line = self.line();
        let Some(wish) = line.take_wish() else { return };
        let typed = Typed { mode: line.mode, text: line.buffer.text().to_owned(), cursor: line.buffer.cursor() };
        let completer = Arc::clone(&self.completer);
        self.asked = Some((wish, tokio::task::spawn_blocking(move || completer.complete(&typed))));
    }

    /// Leaves on the screen what was sent.
    fn end(&mut self, input: Input, prompt: &Prompt) -> Input {
        self.unasked |= prompt.kind == Kind::Answer && input != Input::Interrupt;
        if !matches!(input, Input::Submit(_)) {
            return input;
        }
        let line = self.line();
        (line.menu, line.notice) = (None, None);
        let plain = Prompt { hint: String::new(), ..prompt.clone() };
        self.draw(&plain);
        self.console.leave_foot();
        let entry = self.line().sent();
        if self.kind == Kind::Chat {
            if let Err(error) = self.file.add(&entry) {
                tracing::warn!(error = format!("{error:#}"), "the history is not kept");
            }
            self.history.add(entry);
        }
        input
    }

    /// Stops this process, as Ctrl-Z does, until the shell lets it go on.
    async fn suspend(&mut self) {
        self.release();
        // Where a signal can be sent to others, it can be sent to oneself.
        let _ = kill_current_process_group(Kill::TSTP);
        let resumed = async {
            match &mut self.resumed {
                Some(resumed) => resumed.recv().await,
                None => std::future::pending().await,
            }
        };
        let _ = tokio::time::timeout(STOPS, resumed).await;
    }
}

impl LineSource for Editor {
    fn read<'a>(&'a mut self, prompt: &'a Prompt) -> BoxFuture<'a, Input> {
        self.next(prompt).boxed()
    }

    fn fill(&mut self, text: &str) {
        self.chat.fill(text);
    }

    fn recall(&mut self, text: &str) -> bool {
        // The file has it from when it was sent.
        self.history.add(Entry::of(text));
        true
    }

    fn paint(&mut self, paint: Paint) {
        self.habits.paint = paint;
    }

    fn release(&mut self) {
        self.console.foot(&Foot::default());
        self.keyboard = None;
        // What is typed meanwhile answers nothing.
        self.unasked = true;
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if let Some(external) = &self.external {
            external.abort();
        }
        self.release();
    }
}

/// Whether there is a terminal that lines can be edited on.
pub(crate) fn can_edit() -> bool {
    use std::io::IsTerminal;
    crate::render::can_draw() && std::io::stdin().is_terminal()
}
