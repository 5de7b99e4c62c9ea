//! One agent lets another go on in the same session, as between planning and doing.

use std::sync::{Arc, Mutex, PoisonError};

use crate::agents::cast::Cast;
use crate::error::TurnError;
use crate::turn::Turn;

/// Another agent is to go on, and what it is told. A slot for one such wish; a handle, cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Wish(Arc<Mutex<Option<(String, String)>>>);

impl Wish {
    /// Puts a wish in the place of the one before.
    pub(crate) fn put(&self, agent: String, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((agent, text));
    }

    /// Takes the wish out: the agent's name and the text.
    pub(crate) fn take(&self) -> Option<(String, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Turn<'_> {
    /// Lets the agent go on that a call wished for, if one did.
    pub(crate) async fn hand_over(&mut self) -> Result<(), TurnError> {
        let Some((name, text)) = self.role.calls.wish.take() else { return Ok(()) };
        let Some(agent) = self.setup.agents.get(&name).cloned() else { return Ok(()) };
        let Cast { model, variant, .. } = &*self.role.cast;
        let cast = Arc::new(Cast { agent, model: model.clone(), variant: variant.clone() });
        self.arrived(self.told(cast, &text)).await
    }
}
