//! Asking the person at the terminal for leave.

pub(crate) mod words;

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

use haft_permission::{Answerer, Gate};
use haft_protocol::{Ask, Reply};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio_util::sync::CancellationToken;

use self::words::{choices, question};
use crate::render::{Paint, complain, errors, errors_are_terminal, size};

/// Longest answer, in bytes; a terminal gives no longer lines.
const MAX_LINE: usize = 4096;

/// Who answers what no rule decides; `auto` is a yes in advance.
pub(crate) fn answerer(auto: bool) -> Answerer {
    match (auto, somebody_is_there()) {
        (true, _) => Answerer::Yes,
        (false, true) => Answerer::Person,
        (false, false) => Answerer::Nobody,
    }
}

/// Whether somebody is there to ask: there is a screen, and a keyboard that belongs to it. Standard input may be a
/// pipe that holds the prompt.
fn somebody_is_there() -> bool {
    errors_are_terminal() && keyboard().is_ok()
}

/// The keyboard of the terminal that this program was started from.
fn keyboard() -> std::io::Result<File> {
    File::open("/dev/tty")
}

/// Shows `ask`, waits for an answer and passes it on. Gives up when `stop` fires. `who`: the agent that asks, where that
/// is not the one that the person talks to.
pub(crate) async fn answer(ask: &Ask, who: Option<&str>, gate: &Gate, stop: &CancellationToken) {
    // An answer to another question may have settled this one.
    if !gate.is_waiting(&ask.id) {
        return;
    }
    let always = !ask.always.is_empty();
    let (paint, columns) = (Paint::new(true), size().columns);
    let mut shown = question(ask, who, paint, columns);
    let reply = loop {
        let line = tokio::select! {
            line = typed(&shown) => line.ok().flatten(),
            () = stop.cancelled() => {
                complain("");
                return;
            }
        };
        let Some(line) = line else {
            // Ctrl-D leaves the cursor where it was.
            complain("");
            break Reply::Reject { advice: None };
        };
        match understood(&line, always) {
            Some(reply) => break reply,
            None => shown = choices(ask, columns),
        }
    };
    // An ask that was taken back meanwhile needs no answer.
    let _ = gate.reply(&ask.id, reply);
}

/// Shows a question and reads a line that was typed after it was there to read. `None` where the terminal is gone or
/// the person closed it.
pub(crate) fn read_line(shown: &str) -> std::io::Result<Option<String>> {
    read(&show(shown)?)
}

/// The same. Where the future is dropped, what is typed later is left for whoever reads next.
pub(crate) async fn typed(shown: &str) -> std::io::Result<Option<String>> {
    let keyboard = show(shown)?;
    wait(&keyboard).await?;
    tokio::task::spawn_blocking(move || read(&keyboard)).await?
}

/// Waits until there is something to read. Some systems cannot wait for a terminal; there reading does, and cannot be
/// called off.
async fn wait(keyboard: &File) -> std::io::Result<()> {
    #[expect(
        deprecated,
        reason = "the other way cannot be had without unsafe code; the file stays open while it is waited for"
    )]
    let ready = AsyncFd::with_interest(keyboard.as_fd(), Interest::READABLE);
    match ready {
        Ok(ready) => ready.readable().await.map(drop),
        Err(_) => Ok(()),
    }
}

/// Shows a question, and gives the keyboard on which nothing is typed yet.
fn show(shown: &str) -> std::io::Result<File> {
    let keyboard = keyboard()?;
    // What was typed or pasted before cannot be meant for this question.
    tcflush(&keyboard, QueueSelector::IFlush)?;
    let mut screen = errors();
    write!(screen, "{shown}").and_then(|()| screen.flush())?;
    Ok(keyboard)
}

fn read(keyboard: &File) -> std::io::Result<Option<String>> {
    let mut line = vec![0; MAX_LINE];
    let read = rustix::io::read(keyboard, &mut line)?;
    line.truncate(read);
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}

/// While this is there, the terminal does not show what is typed.
pub(crate) struct Hidden {
    keyboard: File,
    before: Termios,
}

impl Hidden {
    /// Begins to hide.
    ///
    /// # Errors
    ///
    /// When the terminal cannot.
    pub(crate) fn begin() -> std::io::Result<Self> {
        let keyboard = keyboard()?;
        let before = tcgetattr(&keyboard)?;
        let mut quiet = before.clone();
        quiet.local_modes &= !(LocalModes::ECHO | LocalModes::ECHONL);
        tcsetattr(&keyboard, OptionalActions::Now, &quiet)?;
        Ok(Self { keyboard, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing anyway.
        let _ = tcsetattr(&self.keyboard, OptionalActions::Now, &self.before);
    }
}

/// What a line means, or `None` if that is not clear and must be asked again.
pub(crate) fn understood(line: &str, always: bool) -> Option<Reply> {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "y" | "yes" => Some(Reply::Once),
        "a" | "always" if always => Some(Reply::Always),
        "n" | "no" => Some(Reply::Reject { advice: None }),
        // A slip of the finger, or a key that is no letter, is no advice.
        other if other.chars().count() < 2 || other == "always" || other.contains(char::is_control) => None,
        _ => Some(Reply::Reject { advice: Some(line.to_owned()) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, always: bool, want: Option<Reply>) {
        assert_eq!(understood(line, always), want, "{line:?}");
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        check("y\n", true, Some(Reply::Once));
        check(" YES \n", true, Some(Reply::Once));
        check("a\n", true, Some(Reply::Always));
        check("n\n", true, Some(Reply::Reject { advice: None }));
        check("use b.rs\n", true, Some(Reply::Reject { advice: Some("use b.rs".to_owned()) }));
    }

    #[test]
    fn what_is_not_clear_is_asked_again() {
        for line in ["\n", "a\n", "q\n", "always\n", "\u{1b}[A\n", "é\n"] {
            check(line, false, None);
        }
    }
}
