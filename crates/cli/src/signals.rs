//! Being asked to stop: Ctrl-C, a closed terminal, a polite kill.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::report::Exit;

/// How long a program that was asked twice may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(1);

/// Listens for wishes to stop. From the first listener on the system no longer ends the program by itself, so whoever
/// makes one must go on listening, or end.
pub(crate) struct Signals {
    ctrl_c: Signal,
    term: Signal,
    /// `None` where the program was started to outlive its terminal, as `nohup` does.
    hangup: Option<Signal>,
    _counted: Option<Counted>,
}

/// How many listen right now for whom the program waits. Where nobody does, nothing counts as asked twice.
static LISTENERS: AtomicUsize = AtomicUsize::new(0);
/// How often the program was asked to stop since somebody began to listen.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// One of those who listen.
struct Counted;

impl Counted {
    fn begin() -> Self {
        if LISTENERS.fetch_add(1, Ordering::SeqCst) == 0 {
            ASKED.store(0, Ordering::SeqCst);
        }
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// When the system does not allow it.
    pub(crate) fn listen() -> Result<Self> {
        static WATCH: Once = Once::new();
        // Ends with the program.
        WATCH.call_once(|| drop(std::thread::spawn(watch)));
        Ok(Self { _counted: Some(Counted::begin()), ..Self::hear()? })
    }

    fn hear() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            ctrl_c: listen(SignalKind::interrupt())?,
            term: listen(SignalKind::terminate())?,
            hangup: if ignores_hangup() { None } else { Some(listen(SignalKind::hangup())?) },
            _counted: None,
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

/// Being asked to end while somebody types, who stops a turn in another way: a closed terminal, a polite kill.
pub(crate) struct Endings {
    term: Signal,
    hangup: Option<Signal>,
}

impl Endings {
    /// Begins to listen; from then on the system no longer ends the program by itself.
    ///
    /// # Errors
    ///
    /// When the system does not allow it.
    pub(crate) fn listen() -> Result<Self> {
        let Signals { term, hangup, .. } = Signals::hear()?;
        Ok(Self { term, hangup })
    }

    /// Completes at the next one. Dropping the future loses none.
    pub(crate) async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.term.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Ends the program when it was asked twice and does not end. Everything else waits on one thread, and that thread can
/// itself be held up, by a reader of our output who reads no more.
fn watch() {
    // What could not be made is not missed by anybody who is not held up.
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Ok(mut signals) = Signals::hear() else { return };
        loop {
            signals.next().await;
            let listening = LISTENERS.load(Ordering::SeqCst) > 0;
            if listening && ASKED.fetch_add(1, Ordering::SeqCst) >= 1 {
                break;
            }
        }
        tokio::time::sleep(PATIENCE).await;
        tracing::warn!("asked to stop twice and held up: ended at once");
        crate::audit::finish();
        crate::chat::editor::give_back();
        // What was said and done is stored; the next opening closes what is left open.
        std::process::exit(Exit::Interrupted.code().into());
    });
}

/// Whether this program was started with the signal of a closed terminal ignored.
fn ignores_hangup() -> bool {
    // Known on Linux alone; elsewhere `nohup` needs a shell's help.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
