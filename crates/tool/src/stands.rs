//! Under whose rules work is done now: what hooks do meanwhile comes no further.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_permission::Rules;
use haft_protocol::SessionId;

/// The sessions in which work is done, with the rules of who does it. A handle, cheap to clone. As long as there are turns,
/// which whoever runs them bounds.
#[derive(Debug, Clone, Default)]
pub struct Stands(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Those at work, the latest last.
    now: Vec<(u64, SessionId, Rules)>,
    /// Who was the last at work, when nobody is.
    last: Option<Rules>,
    count: u64,
}

/// Work that goes on. It ends with this.
#[derive(Debug)]
pub struct Standing {
    stands: Stands,
    number: u64,
}

impl Stands {
    fn state(&self) -> MutexGuard<'_, State> {
        // Whole after each line.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on work is done in `session` under `rules`, until what is given is dropped.
    #[must_use]
    pub fn stand(&self, session: &SessionId, rules: &Rules) -> Standing {
        let mut state = self.state();
        state.count += 1;
        let number = state.count;
        state.now.push((number, session.clone(), rules.clone()));
        Standing { stands: self.clone(), number }
    }

    /// The rules of who works in `session`; where nobody does, or no session is meant, of who began last. `None`: nobody ever
    /// did.
    pub fn rules(&self, session: Option<&SessionId>) -> Option<Rules> {
        let state = self.state();
        let here = state.now.iter().rev().find(|(_, at, _)| Some(at) == session);
        here.or(state.now.last()).map(|(_, _, rules)| rules.clone()).or_else(|| state.last.clone())
    }

    /// Whether any of those at work has rules that `wanted` says yes to; of those who were, where nobody is.
    pub fn any(&self, wanted: impl Fn(&Rules) -> bool) -> bool {
        let state = self.state();
        match state.now.is_empty() {
            true => state.last.as_ref().is_some_and(wanted),
            false => state.now.iter().any(|(_, _, rules)| wanted(rules)),
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let mut state = self.stands.state();
        let Some(at) = state.now.iter().position(|(number, _, _)| *number == self.number) else { return };
        let (_, _, rules) = state.now.remove(at);
        if state.now.is_empty() {
            state.last = Some(rules);
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_permission::{Action, Rule};
    use haft_protocol::Clock;

    use super::*;

    fn rules(action: Action) -> Rules {
        Rules::from(vec![Rule::new("edit", "*", action)])
    }

    #[test]
    fn rules_are_those_of_who_works_in_the_session() {
        let (stands, clock) = (Stands::default(), Clock::system());
        let (one, other, third): (SessionId, SessionId, SessionId) = (clock.mint(), clock.mint(), clock.mint());
        let edits = |session: Option<&SessionId>| stands.rules(session).map(|rules| rules.in_general("edit"));
        let any = || stands.any(|rules| rules.in_general("edit") == Action::Allow);
        assert_eq!((edits(Some(&one)), any()), (None, false));
        let above = stands.stand(&one, &rules(Action::Allow));
        let below = stands.stand(&other, &rules(Action::Deny));
        assert_eq!((edits(Some(&one)), edits(Some(&other))), (Some(Action::Allow), Some(Action::Deny)));
        // Nobody works there, and no session is meant: who began last counts.
        assert_eq!((edits(Some(&third)), edits(None), any()), (Some(Action::Deny), Some(Action::Deny), true));
        drop(below);
        assert_eq!(edits(None), Some(Action::Allow));
        drop(above);
        assert_eq!((edits(Some(&other)), any()), (Some(Action::Allow), true));
        let plan = stands.stand(&one, &rules(Action::Deny));
        assert_eq!((edits(Some(&one)), any()), (Some(Action::Deny), false));
        drop(plan);
        assert!(!any());
    }
}
