//! What the person types in a chat, one submission at a time, while output appears above it.
//!
//! Two sources of lines: [`Plain`], where the terminal itself edits a line (pipes, `TERM=dumb`, screen readers), and the
//! editor, which draws what is typed below everything else.
//!
//! **Never here:** what a submission means, what answers it, the session.

mod blocks;
mod buffer;
mod complete;
mod external;
mod history;
mod history_file;
mod keys;
mod layout;
mod line;
mod menu;
mod motion;
mod open;
mod plain;
mod terminal;
mod undo;
mod view;

use std::ops::Range;
use std::path::PathBuf;

use futures::future::BoxFuture;

use crate::render::Paint;

pub(crate) use complete::{Complete, Word};
pub(crate) use external::edited;
pub(crate) use open::{Editor, Habits, can_edit};
pub(crate) use plain::Plain;
pub(crate) use terminal::give_back;

/// Longest submission and longest paste, in bytes; a longer one is refused and nothing of it is kept.
pub(crate) const MAX_INPUT: usize = 4 * 1024 * 1024;

/// Where lines come from.
///
/// Output goes where it always goes (`render::Console`, `render::print_beside`) and appears above an open prompt.
pub(crate) trait LineSource: Send {
    /// Reads the next thing the person says. Dropping the future loses nothing: the next call goes on with what was
    /// typed. A call with another [`Kind`] keeps what was typed for the one before until that is asked for again.
    fn read<'a>(&'a mut self, prompt: &'a Prompt) -> BoxFuture<'a, Input>;

    /// Replaces what is typed in the chat by `text`, for the person to change and submit: what they wrote elsewhere.
    fn fill(&mut self, text: &str);

    /// Puts `text` where the person finds what they said before, as the newest; what is typed stays. Says whether there is
    /// such a place.
    fn recall(&mut self, text: &str) -> bool;

    /// Draws in these colours from now on. Where nothing is drawn nothing changes.
    fn paint(&mut self, _paint: Paint) {}

    /// Takes the prompt off the screen and gives the terminal back as it was found, for a program that needs it for
    /// itself or for the end. The next [`LineSource::read`] takes it again.
    fn release(&mut self);
}

/// What to read, and what to show for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub kind: Kind,
    /// What stands before the first line, with a blank at its end: `build › `. May hold colours of our own.
    pub mark: String,
    /// Whether a turn runs. Ctrl-C then is [`Input::Interrupt`] whatever is typed, and nothing of that is lost.
    pub busy: bool,
    /// What is shown while nothing is typed.
    pub hint: String,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A prompt or a command: history, completion, shell lines.
    Chat,
    /// An answer to a question that was just shown: one line, no history. What was typed before the question was there
    /// does not answer it.
    Answer,
}

impl Prompt {
    /// Reads a prompt or a command.
    pub(crate) fn chat(mark: impl Into<String>) -> Self {
        Self { kind: Kind::Chat, mark: mark.into(), busy: false, hint: String::new() }
    }

    /// Reads an answer.
    pub(crate) fn answer(mark: impl Into<String>) -> Self {
        Self { kind: Kind::Answer, ..Self::chat(mark) }
    }
}

/// What the person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// Sent this. Never empty in a chat; an answer may be.
    Submit(Draft),
    /// Ctrl-C: with nothing typed, or while a turn runs. (Else it takes away what is typed, and is not told of.)
    Interrupt,
    /// Esc where it closed nothing.
    Escape,
    /// Another one of several is wanted. What is typed stays.
    Cycle(Cycle),
    /// Ctrl-D with nothing typed, or the terminal is gone.
    Eof,
}

/// What there are several of, and the next one of which is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cycle {
    /// The next agent: Tab where nothing is typed.
    Agent,
    /// The one before: Shift-Tab.
    AgentBack,
    /// The next set of the model's options: Ctrl-T.
    Variant,
}

/// What was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    pub mode: Mode,
    /// All of it, pasted blocks included; in [`Mode::Shell`] without the `!`.
    pub text: String,
    /// The same as it was shown, with `[Pasted ~12 lines]` for a block.
    pub shown: String,
    /// Files that were dropped on the terminal and stand in the text as `[Image 1]`.
    pub files: Vec<PathBuf>,
    /// Whether it waits for the end of the turn that runs: sent with Ctrl-Q.
    pub later: bool,
}

/// What a submission is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// For the model, or a command of the chat.
    #[default]
    Prompt,
    /// A line for the shell.
    Shell,
}

/// Knows how what is typed may go on.
pub(crate) trait Completer: Send + Sync {
    /// How it may go on at the cursor. May read folders; is called on a thread where that is no harm.
    fn complete(&self, typed: &Typed) -> Completion;
}

/// What is typed so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Typed {
    pub mode: Mode,
    pub text: String,
    /// In bytes.
    pub cursor: usize,
}

/// How a text may go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The bytes that a candidate replaces.
    pub range: Range<usize>,
    /// The best first.
    pub candidates: Vec<Candidate>,
}

/// One way to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// What is put into the text.
    pub insert: String,
    /// What it is called in the list; `insert` where this is empty.
    pub label: String,
    /// One line about it.
    pub help: String,
    pub then: Then,
}

/// What happens once a candidate was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// A blank follows.
    Space,
    /// More is to be chosen: a folder's files.
    More,
    /// It is complete: Enter sends it.
    Submit,
}
