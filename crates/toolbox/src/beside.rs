//! Work that takes its time, on a thread of its own: whoever else runs on this one is not held up.

use std::panic::resume_unwind;

/// What `work` comes to. A panic in it goes on here. Dropping the future does not stop the work, which has to have a
/// bound of its own.
pub(crate) async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // It is never aborted, so an error is a panic.
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}
