//! A session's list of things to do.

use std::sync::Arc;

use haft_protocol::{Event, SessionId, Todo};
use haft_store::Journal;
use haft_tool::{ToolError, with_causes};
use tokio::sync::Mutex;

/// The list. A handle, cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Todos {
    // Locked while a list is stored, so that of two calls the one that was stored last is the one that is read.
    list: Arc<Mutex<Vec<Todo>>>,
    /// Where it is kept, if it is.
    kept: Option<(Journal, SessionId)>,
}

impl Todos {
    /// The list of a stored session, which is `list` so far.
    pub(crate) fn kept(journal: Journal, session: SessionId, list: Vec<Todo>) -> Self {
        Self { list: Arc::new(Mutex::new(list)), kept: Some((journal, session)) }
    }

    /// The list as it is.
    pub(crate) async fn list(&self) -> Vec<Todo> {
        self.list.lock().await.clone()
    }

    /// Puts another in its place: stored first, told next.
    pub(crate) async fn set(&self, todos: Vec<Todo>) -> Result<(), ToolError> {
        let mut list = self.list.lock().await;
        let before = std::mem::replace(&mut *list, todos.clone());
        if let Some((journal, session)) = &self.kept {
            // A call that is dropped from here on is stored all the same.
            let event = Event::TodoUpdated { session_id: session.clone(), todos };
            journal.record(event).await.map_err(|error| {
                *list = before;
                ToolError::Failed(format!("the list could not be stored: {}", with_causes(&error)))
            })?;
        }
        Ok(())
    }
}
