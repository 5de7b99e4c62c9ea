//! What "always" adds: leave for one permission and one pattern, here and, if somebody keeps it, later.

use std::collections::HashMap;

use futures::future::BoxFuture;

use crate::rule::{Action, Rule, decide, decide_opaque};

/// Leave that a person gave for always: for exactly this permission, and what matches this pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The permission. It is no pattern: a tool that is called `*` speaks for no other.
    pub permission: String,
    /// The pattern, as it was shown to the person.
    pub pattern: String,
}

/// Keeps approvals beyond the life of a gate. Neither call fails: whatever goes wrong is told to the user by the keeper,
/// and means that a person is asked again.
pub trait Keeper: Send + Sync {
    /// What was approved earlier. Called once for each gate, and only when a question would otherwise be put; again where
    /// the future was dropped. The question waits for it, and nothing else.
    fn load(&self) -> BoxFuture<'_, Vec<Approval>>;
    /// Keeps more. May use a disk, briefly.
    fn add(&self, approvals: &[Approval]);
}

/// The approvals that a gate knows of.
#[derive(Default)]
pub(crate) struct Approvals {
    by_permission: HashMap<String, Vec<Rule>>,
}

impl Approvals {
    pub(crate) fn add(&mut self, approval: Approval) {
        let rules = self.by_permission.entry(approval.permission).or_default();
        let rule = Rule { permission: "*".to_owned(), pattern: approval.pattern, action: Action::Allow };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }

    /// Whether `value` is approved. `opaque` as in [`decide_opaque`]; `exact`: only in so many words.
    pub(crate) fn cover(&self, permission: &str, value: &str, opaque: bool, exact: bool) -> bool {
        let Some(rules) = self.by_permission.get(permission) else { return false };
        if exact {
            return rules.iter().any(|rule| rule.pattern == value);
        }
        let look = if opaque { decide_opaque } else { decide };
        look(permission, value, rules).0 == Action::Allow
    }
}
