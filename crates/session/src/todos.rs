//! A session's list of things to do.

use std::sync::{Arc, Mutex, PoisonError};

use haft_protocol::{Event, SessionId, Todo};
use haft_store::Journal;
use haft_tool::{ToolError, with_causes};

/// The list. A handle, cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Todos {
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
    pub(crate) fn list(&self) -> Vec<Todo> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another in its place: stored first, told next.
    pub(crate) async fn set(&self, todos: Vec<Todo>) -> Result<(), ToolError> {
        if let Some((journal, session)) = &self.kept {
            let event = Event::TodoUpdated { session_id: session.clone(), todos: todos.clone() };
            let stored = journal.record(event).await;
            stored
                .map_err(|error| ToolError::Failed(format!("the list could not be stored: {}", with_causes(&error))))?;
        }
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = todos;
        Ok(())
    }
}
