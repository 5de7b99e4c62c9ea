//! What a call tells while it runs, and how it makes others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::Object;
use haft_tool::{Output, ToolError};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::turn::calls::Prepared;

/// Where a call tells of itself, as the call in place `slot`.
#[derive(Clone)]
pub(crate) struct Report {
    pub slot: usize,
    /// How far it is.
    pub progress: Arc<Latest>,
    /// Which calls it makes.
    pub within: Within,
}

impl Report {
    /// Nobody keeps what the call tells.
    pub(crate) fn nobody() -> Self {
        Self { slot: 0, progress: Arc::default(), within: Within::Unkept }
    }
}

/// What becomes of the calls that a call makes.
#[derive(Clone)]
pub(crate) enum Within {
    /// They are kept as calls of their own by whoever listens here.
    Kept(mpsc::Sender<Inner>),
    /// They are made, and nobody keeps them.
    Unkept,
    /// There may be none: a call made this one, and not the model.
    None,
}

/// What calls told last of themselves and nobody took yet, by their places: of several that one call tells, only the
/// last counts, so nobody has to wait and nothing piles up.
#[derive(Default)]
pub(crate) struct Latest {
    told: Mutex<BTreeMap<usize, Progress>>,
    news: Notify,
}

impl Latest {
    /// Takes the place of what the call in place `slot` told before. Never waits.
    pub(crate) fn tell(&self, slot: usize, progress: Progress) {
        self.told().insert(slot, progress);
        self.news.notify_one();
    }

    /// Takes what one call told, when there is something. Nothing is lost when the future is dropped.
    pub(crate) async fn next(&self) -> (usize, Progress) {
        loop {
            if let Some(told) = self.told().pop_first() {
                return told;
            }
            self.news.notified().await;
        }
    }

    fn told(&self) -> MutexGuard<'_, BTreeMap<usize, Progress>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that a running call makes.
pub(crate) struct Inner {
    /// The place of the one that makes it.
    pub by: usize,
    pub prepared: Prepared,
    pub done: oneshot::Sender<Result<Output, ToolError>>,
}

/// Work in progress of one call.
pub(crate) struct Progress {
    pub title: String,
    pub metadata: Object,
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn the_last_that_each_call_tells_is_never_lost() {
        let latest = Latest::default();
        let tell = |slot: usize, title: &str| {
            latest.tell(slot, Progress { title: title.to_owned(), metadata: Object::new() });
        };
        let next = || latest.next().now_or_never().map(|(slot, progress)| (slot, progress.title));
        for number in 0..1000 {
            tell(1, &number.to_string());
        }
        tell(0, "other");
        // A wait that is given up takes nothing with it.
        drop(latest.next());
        assert_eq!(next(), Some((0, "other".to_owned())));
        assert_eq!(next(), Some((1, "999".to_owned())));
        assert_eq!(next(), None);
        tell(2, "late");
        assert_eq!(next(), Some((2, "late".to_owned())));
    }

    #[tokio::test]
    async fn whoever_waits_is_woken() {
        let latest = Latest::default();
        let (told, ()) = tokio::join!(latest.next(), async {
            latest.tell(3, Progress { title: "now".to_owned(), metadata: Object::new() });
        });
        assert_eq!((told.0, told.1.title.as_str()), (3, "now"));
    }
}
