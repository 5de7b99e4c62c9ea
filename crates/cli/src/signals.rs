//! Being asked to stop: Ctrl-C, a closed terminal, a polite kill.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for wishes to stop. From the first listener on the system no longer ends the program by itself, so whoever
/// makes one must go on listening, or end.
pub(crate) struct Signals {
    ctrl_c: Signal,
    term: Signal,
    hangup: Signal,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// When the system does not allow it.
    pub(crate) fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            ctrl_c: listen(SignalKind::interrupt())?,
            term: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Completes at the next wish to stop. Dropping the future loses none.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.ctrl_c.recv() => {}
            _ = self.term.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
