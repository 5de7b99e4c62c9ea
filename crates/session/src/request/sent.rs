//! The definitions of tools that models were sent: the same ones for as long as a session is open, whatever comes and
//! goes meanwhile, because a vendor's cache holds only what begins alike.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_tool::{Registry, Spec};

/// How long a session's first request waits for sources of tools. Later ones are found by searching.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Most pairs of an agent and a model that are remembered; beyond it all are settled anew.
const MAX_REMEMBERED: usize = 64;

/// What each agent was sent on each model. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Sent {
    settled: Arc<Mutex<BTreeMap<String, Vec<Spec>>>>,
    waited: Arc<AtomicBool>,
}

impl Sent {
    /// What was settled for `key`.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<Spec>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Settles `specs` for `key`.
    pub(crate) fn settle(&self, key: String, specs: Vec<Spec>) -> Vec<Spec> {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if settled.len() >= MAX_REMEMBERED {
            settled.clear();
        }
        settled.insert(key, specs.clone());
        specs
    }

    /// Waits, the first time, for those who have tools to offer. Says whether it was the first time.
    pub(crate) async fn wait(&self, registry: &Registry) -> bool {
        let first = !self.waited.swap(true, Ordering::Relaxed);
        if first {
            registry.ready(PATIENCE).await;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_has_a_bound() {
        let sent = Sent::default();
        for n in 0..=MAX_REMEMBERED {
            sent.settle(n.to_string(), Vec::new());
        }
        assert_eq!((sent.get("0"), sent.get(&MAX_REMEMBERED.to_string())), (None, Some(Vec::new())));
    }
}
