//! Notices a model that goes in circles: the same call again and again. Pure.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// Equal calls in a row, across steps, at which somebody is asked.
const EQUAL: usize = 3;
/// The same where each result was another: looking again until something is ready is no circle at once.
const POLLS: usize = 6;

/// The latest calls of a turn, as far as they are equal.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    call: Option<u64>,
    /// Equal calls in a row, and since somebody last said that they may go on.
    count: usize,
    /// The results of these, as far as they are known.
    results: HashSet<u64>,
    known: usize,
}

impl Trail {
    /// Takes note of a call that is about to run. Returns whether it goes in circles.
    pub(crate) fn step(&mut self, tool: &str, input: &Value) -> bool {
        let call = hash(&(tool, input.to_string()));
        if self.call != Some(call) {
            *self = Self { call: Some(call), ..Self::default() };
        }
        self.count += 1;
        let polls = self.known >= 2 && self.results.len() == self.known;
        self.count >= if polls { POLLS } else { EQUAL }
    }

    /// Takes note of what came of a call.
    pub(crate) fn came(&mut self, tool: &str, input: &Value, result: &str) {
        if self.call == Some(hash(&(tool, input.to_string()))) {
            self.known += 1;
            self.results.insert(hash(&result));
        }
    }

    /// Somebody said that it may go on: counting begins again.
    pub(crate) fn forgive(&mut self) {
        *self = Self { call: self.call, ..Self::default() };
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Plays calls as `input=result`, or `input` alone where the result comes later; `!` says that it may go on.
    /// Returns the places (from 1) of the calls that go in circles.
    fn circles(calls: &[&str]) -> Vec<usize> {
        let mut trail = Trail::default();
        let mut found = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            if *call == "!" {
                trail.forgive();
                continue;
            }
            let (input, result) = call.split_once('=').map_or((*call, None), |(input, result)| (input, Some(result)));
            if trail.step("read", &json!({ "a": input })) {
                found.push(at + 1);
            }
            if let Some(result) = result {
                trail.came("read", &json!({ "a": input }), result);
            }
        }
        found
    }

    #[track_caller]
    fn check(calls: &[&str], want: &[usize]) {
        assert_eq!(circles(calls), want, "{calls:?}");
    }

    #[test]
    fn the_third_equal_call_is_a_circle() {
        check(&["x=1", "x=1", "x=1"], &[3]);
        check(&["x=1", "x=1", "x=1", "x=1"], &[3, 4]);
        check(&["x", "x", "x"], &[3]);
        check(&["x=1", "y=1", "x=1", "x=1"], &[]);
        check(&["x=1", "x=1", "y=1", "x=1", "x=1", "x=1"], &[6]);
    }

    #[test]
    fn looking_again_is_one_from_the_sixth_call() {
        check(&["x=1", "x=2", "x=3", "x=4", "x=5", "x=6"], &[6]);
        check(&["x=1", "x=2", "x=2"], &[]);
        check(&["x=1", "x=2", "x=2", "x=2"], &[4]);
    }

    #[test]
    fn after_a_yes_counting_begins_again() {
        check(&["x=1", "x=1", "x=1", "!", "x=1", "x=1", "x=1"], &[3, 7]);
    }
}
