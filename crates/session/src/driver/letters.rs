//! What is told a session that may be at work, and has time until its next step.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::{Event, History, Session};
use tokio::sync::{Notify, oneshot};

use crate::error::{SessionError, TurnError};
use crate::setup::Setup;
use crate::turn::record_all;

/// Most letters that wait.
pub(crate) const MAX_LETTERS: usize = 1_024;

/// Something told.
pub(crate) enum Letter {
    /// These were stored: a message that nobody has to answer.
    Noted(Vec<Event>),
    /// It is to be called so, and who waits until it is.
    Title(String, oneshot::Sender<Result<(), SessionError>>),
}

/// The letters that wait, oldest first. A handle, cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Letters(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<VecDeque<Letter>>,
    news: Notify,
}

impl Letters {
    /// Whether there is room for another one.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting().len() < MAX_LETTERS
    }

    /// Puts one behind the others.
    pub(crate) fn put(&self, letter: Letter) {
        self.waiting().push_back(letter);
        self.0.news.notify_one();
    }

    /// Waits until there is one.
    pub(crate) async fn news(&self) {
        while self.waiting().is_empty() {
            self.0.news.notified().await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Letter>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what they say, in the session that they were told to. Whoever waits hears of a store that cannot be written.
    pub(crate) async fn read(&self, setup: &Setup, record: &mut Session, history: &mut History) {
        let letters = std::mem::take(&mut *self.waiting());
        for letter in letters {
            match letter {
                Letter::Noted(events) => events.iter().for_each(|event| history.apply(event)),
                Letter::Title(title, done) => {
                    let renamed = rename(setup, record, history, title).await;
                    // Whoever asked may not wait any more.
                    let _ = done.send(renamed.map_err(SessionError::from));
                }
            }
        }
    }
}

/// Gives a session another title. One that is still being found counts no more.
pub(crate) async fn rename(
    setup: &Setup,
    record: &mut Session,
    history: &mut History,
    title: String,
) -> Result<(), TurnError> {
    let mut renamed = record.clone();
    renamed.title = title;
    renamed.time.updated = setup.clock.now_ms();
    let info = Box::new(renamed.clone());
    record_all(setup, history, vec![Event::SessionUpdated { session_id: renamed.id.clone(), info }]).await?;
    *record = renamed;
    Ok(())
}
