//! What a task may use, with all that it hands on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_protocol::Tokens;

/// Most that a task may use. What it hands on counts too.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TaskLimits {
    /// Model steps of the task itself; the last one is for summing up.
    pub steps: Option<u32>,
    /// Tokens, those that came from a cache included. No step is begun once they are used.
    pub tokens: Option<u64>,
    /// Dollars. No step is begun once they are spent.
    pub cost: Option<f64>,
    /// Time, waiting for answers of the user's included. Then it is stopped.
    pub time: Option<Duration>,
}

/// Counts what a task and those below it use. A handle, cheap to clone.
#[derive(Clone)]
pub(crate) struct Meter(Arc<Counted>);

struct Counted {
    limits: TaskLimits,
    used: Mutex<Used>,
    /// Counts the same, and more.
    above: Option<Meter>,
}

#[derive(Clone, Copy, Default)]
struct Used {
    dollars: f64,
    tokens: u64,
}

impl Meter {
    /// A meter for all tasks of a session together.
    pub(crate) fn new(limits: TaskLimits) -> Self {
        Self(Arc::new(Counted { limits, used: Mutex::default(), above: None }))
    }

    /// A meter for one of those that this one counts.
    pub(crate) fn below(&self, limits: TaskLimits) -> Self {
        Self(Arc::new(Counted { limits, used: Mutex::default(), above: Some(self.clone()) }))
    }

    /// Its own limits.
    pub(crate) fn limits(&self) -> TaskLimits {
        self.0.limits
    }

    /// Counts what a step used.
    pub(crate) fn add(&self, dollars: f64, tokens: &Tokens) {
        let Tokens { input, output, reasoning, cache, .. } = tokens;
        let count = [*output, *reasoning, cache.read, cache.write].into_iter().fold(*input, u64::saturating_add);
        let mut meter = Some(self);
        while let Some(Meter(counted)) = meter {
            let mut used = counted.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.dollars += dollars;
            used.tokens = used.tokens.saturating_add(count);
            meter = counted.above.as_ref();
        }
    }

    /// The limit that is reached, in words, if one is: its own, or one above.
    pub(crate) fn reached(&self) -> Option<String> {
        let mut meter = Some(self);
        while let Some(Meter(counted)) = meter {
            let used = *counted.used.lock().unwrap_or_else(PoisonError::into_inner);
            let whose = if counted.above.is_some() { "it" } else { "all tasks together" };
            if let Some(most) = counted.limits.tokens.filter(|most| used.tokens >= *most) {
                return Some(format!("{whose} used {} tokens, and may use {most}", used.tokens));
            }
            if let Some(most) = counted.limits.cost.filter(|most| used.dollars >= *most) {
                return Some(format!("{whose} cost ${:.4}, and may cost ${most}", used.dollars));
            }
            meter = counted.above.as_ref();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Tokens {
        Tokens { input, output, ..Tokens::default() }
    }

    #[test]
    fn what_is_used_below_counts_above_and_whoever_is_over_says_so() {
        let all = Meter::new(TaskLimits { cost: Some(1.0), ..TaskLimits::default() });
        let one = all.below(TaskLimits { tokens: Some(100), ..TaskLimits::default() });
        let deep = one.below(TaskLimits::default());
        let other = all.below(TaskLimits::default());
        deep.add(0.25, &tokens(60, 39));
        assert_eq!((deep.reached(), one.reached(), other.reached()), (None, None, None));
        deep.add(0.25, &tokens(0, 1));
        let want = Some("it used 100 tokens, and may use 100".to_owned());
        assert_eq!((deep.reached(), one.reached(), other.reached()), (want.clone(), want, None));
        other.add(0.5, &tokens(1, 1));
        assert_eq!(other.reached(), Some("all tasks together cost $1.0000, and may cost $1".to_owned()));
        assert_eq!(all.reached(), other.reached());
    }

    #[test]
    fn a_limit_of_nothing_is_reached_at_once() {
        let none = Meter::new(TaskLimits { tokens: Some(0), ..TaskLimits::default() });
        assert!(none.below(TaskLimits::default()).reached().is_some());
        assert_eq!(Meter::new(TaskLimits::default()).below(TaskLimits::default()).reached(), None);
    }
}
