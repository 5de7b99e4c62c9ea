//! The terminal while somebody types in it: keys come one by one, and a paste is told from typing.

use std::future::poll_fn;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use crossterm::event::{Event, EventStream};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures::StreamExt;
use rustix::termios::{OptionalActions, OutputModes, QueueSelector, tcflush, tcgetattr, tcsetattr};

use crate::render;

/// Whether the terminal is in our hands.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The keyboard, as long as it is ours. Dropped, it gives the terminal back as it was.
pub(super) struct Keyboard {
    pub events: EventStream,
}

impl Keyboard {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn take() -> std::io::Result<Self> {
        hold()?;
        Ok(Self { events: EventStream::new() })
    }

    /// The next event, if it came already.
    pub(super) async fn ready(&mut self) -> Option<std::io::Result<Event>> {
        // A poll for nobody in particular would leave nobody to be woken by the next key.
        poll_fn(|context| match self.events.poll_next_unpin(context) {
            Poll::Ready(event) => Poll::Ready(event),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// Forgets what was typed and not read yet.
    pub(super) async fn forget(&mut self) {
        // What cannot be thrown away was not typed on a terminal.
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
        while self.ready().await.is_some_and(|event| event.is_ok()) {}
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Has keys come one by one. Called again it repairs what another program has left.
pub(super) fn hold() -> std::io::Result<()> {
    if TAKEN.swap(true, Ordering::SeqCst) {
        give_back();
        TAKEN.store(true, Ordering::SeqCst);
    }
    let keyboard = std::io::stdin();
    let before = if keyboard.is_terminal() { Some(tcgetattr(&keyboard)?) } else { None };
    enable_raw_mode()?;
    if let Some(before) = before {
        // Only what is typed is ours: everybody else goes on printing lines that end as they always did.
        let mut raw = tcgetattr(&keyboard)?;
        raw.output_modes |= before.output_modes & (OutputModes::OPOST | OutputModes::ONLCR);
        tcsetattr(&keyboard, OptionalActions::Now, &raw)?;
    }
    render::mark_pastes(true);
    Ok(())
}

/// Gives the terminal back as it was, if it is in our hands: at the end of the program, however that comes.
pub(crate) fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        render::mark_pastes(false);
        // A terminal that is gone needs nothing back.
        let _ = disable_raw_mode();
    }
}
