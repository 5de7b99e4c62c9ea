//! Being asked to stop: Ctrl-C, a closed terminal, a polite kill.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for wishes to stop. From the first listener on the system no longer ends the program by itself, so whoever
/// makes one must go on listening, or end.
pub(crate) struct Signals {
    ctrl_c: Signal,
    term: Signal,
    /// `None` where the program was started to outlive its terminal, as `nohup` does.
    hangup: Option<Signal>,
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
            hangup: if ignores_hangup() { None } else { Some(listen(SignalKind::hangup())?) },
        })
    }

    /// Completes at the next wish to stop. Dropping the future loses none.
    pub(crate) async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.ctrl_c.recv() => {}
            _ = self.term.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether this program was started with the signal of a closed terminal ignored.
fn ignores_hangup() -> bool {
    // Known on Linux alone; elsewhere `nohup` needs a shell's help.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
