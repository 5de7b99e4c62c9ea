//! Runs one formatter to its end.

use std::time::Duration;

use haft_permission::Grant;
use haft_project::{Command, Processes};
use tokio_util::sync::CancellationToken;

/// How long it may take to end after that, or when the call is stopped.
const GRACE: Duration = Duration::from_millis(200);
/// Most bytes that are kept of what it says, from the beginning; the rest is read and dropped.
const MAX_WORDS: usize = 16 * 1024;

/// How a formatter ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ran {
    pub(super) end: Ended,
    /// What it said.
    pub(super) words: String,
}

/// How a formatter ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It could not be started.
    NotStarted,
    /// It took longer than this and was ended.
    TooLong(Duration),
    /// The call was stopped, and it with it.
    Stopped,
}

/// Runs `command`, which ends after `time`, or with the call that `cancel` stops, at the latest. Never fails. Dropping the
/// future kills all that it started.
pub(super) async fn run(
    processes: &Processes,
    grant: &Grant,
    command: &Command,
    time: Duration,
    cancel: &CancellationToken,
) -> Ran {
    let mut running = match processes.spawn(grant, command).await {
        Ok(running) => running,
        Err(error) => return Ran { end: Ended::NotStarted, words: haft_tool::with_causes(&error) },
    };
    let (mut kept, mut piece) = (Vec::new(), Vec::new());
    let mut stopped = None;
    let deadline = tokio::time::sleep(time);
    tokio::pin!(deadline);
    loop {
        tokio::select! {
            more = running.read(&mut piece) => {
                let room = MAX_WORDS.saturating_sub(kept.len()).min(piece.len());
                kept.extend_from_slice(piece.get(..room).unwrap_or_default());
                if !more {
                    break;
                }
            }
            () = &mut deadline, if stopped.is_none() => {
                stopped = Some(Ended::TooLong(time));
                running.stop(GRACE);
            }
            () = cancel.cancelled(), if stopped.is_none() => {
                stopped = Some(Ended::Stopped);
                running.stop(GRACE);
            }
        }
    }
    let (end, repairs) = running.finish().await;
    for repair in repairs {
        tracing::info!(path = %repair.path.display(), "put back after a formatter");
    }
    let by_itself = || match (end.code, end.signal) {
        (Some(code), _) => Ended::Exit(code),
        (None, signal) => Ended::Signal(signal.unwrap_or_default()),
    };
    let words = String::from_utf8_lossy(&kept).into_owned();
    Ran { end: stopped.unwrap_or_else(by_itself), words }
}
