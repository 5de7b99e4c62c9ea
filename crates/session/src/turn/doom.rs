//! Notices a model that goes in circles: the same calls again and again. Pure.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// Times that calls are made over, across steps, at which somebody is asked.
const EQUAL: usize = 3;
/// The same where the results were others each time: looking again until something is ready is no circle at once.
const POLLS: usize = 6;
/// Times, with the same results, at which the model is reminded.
const REMIND: usize = 2;
/// Longest circle that is noticed, in calls.
const LONGEST: usize = 3;

/// The latest calls of a turn.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    /// At most as many as it takes to notice the longest circle. Forgotten when somebody says that they may go on.
    calls: VecDeque<Seen>,
    /// Whether the model was reminded of the circle that it is in.
    pub reminded: bool,
}

/// A call, and what came of it as far as that is known.
#[derive(Debug)]
struct Seen {
    tool: String,
    call: u64,
    result: Option<u64>,
}

impl Trail {
    /// Takes note of a call that is about to run. Returns whether it goes in circles.
    pub(crate) fn step(&mut self, tool: &str, input: &Value) -> bool {
        if self.calls.len() == LONGEST * POLLS {
            self.calls.pop_front();
        }
        let call = hash(&(tool, input.to_string()));
        self.calls.push_back(Seen { tool: tool.to_owned(), call, result: None });
        if (1..=LONGEST).all(|length| self.times(length) < REMIND) {
            self.reminded = false;
        }
        (1..=LONGEST).any(|length| self.times(length) >= if self.polls(length) { POLLS } else { EQUAL })
    }

    /// Takes note of what came of a call.
    pub(crate) fn came(&mut self, tool: &str, input: &Value, result: &str) {
        let call = hash(&(tool, input.to_string()));
        if let Some(seen) = self.calls.iter_mut().rev().find(|seen| seen.call == call && seen.result.is_none()) {
            seen.result = Some(hash(&result));
        }
    }

    /// Somebody said that it may go on: counting begins again.
    pub(crate) fn forgive(&mut self) {
        *self = Self::default();
    }

    /// The tools whose calls repeat themselves with the same results, in their order, if any do.
    pub(crate) fn repeats(&self) -> Option<Vec<&str>> {
        let length = (1..=LONGEST).find(|&length| {
            let known = self.calls.iter().rev().take(length * REMIND).all(|seen| seen.result.is_some());
            known && self.times(length) >= REMIND && self.equal(length)
        })?;
        Some(self.calls.iter().skip(self.calls.len() - length).map(|seen| seen.tool.as_str()).collect())
    }

    /// How often the last `length` calls were made over, the last time included.
    fn times(&self, length: usize) -> usize {
        if self.calls.len() < length {
            return 0;
        }
        let same = |at: &usize| self.calls[*at].call == self.calls[*at - length].call;
        let back = (length..self.calls.len()).rev().take_while(same).count();
        back / length + 1
    }

    /// Whether the last two times had the same results.
    fn equal(&self, length: usize) -> bool {
        let last = self.calls.iter().rev().take(length);
        last.zip(self.calls.iter().rev().skip(length)).all(|(one, other)| one.result == other.result)
    }

    /// Whether one of the last `length` calls had another result each time, as far as they are known.
    fn polls(&self, length: usize) -> bool {
        let times = self.times(length);
        (0..length).any(|place| {
            let made = self.calls.iter().rev().skip(place).step_by(length).take(times);
            let results: Vec<u64> = made.filter_map(|seen| seen.result).collect();
            results.len() >= 2 && results.iter().collect::<HashSet<_>>().len() == results.len()
        })
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
    fn calls_that_take_turns_are_a_circle_too() {
        check(&["x=1", "y=1", "x=1", "y=1", "x=1", "y=1"], &[6]);
        check(&["a=1", "x=1", "y=1", "z=1", "x=1", "y=1", "z=1", "x=1", "y=1", "z=1"], &[10]);
        check(&["x=1", "y=1", "x=1", "z=1", "x=1", "y=1"], &[]);
        // Four are too many to be noticed.
        check(&["a=1", "b=1", "c=1", "d=1", "a=1", "b=1", "c=1", "d=1", "a=1", "b=1", "c=1", "d=1"], &[]);
        // One of them looks whether something is ready.
        let look = ["x=1", "y=1", "x=2", "y=1", "x=3", "y=1", "x=4", "y=1", "x=5", "y=1", "x=6", "y=1"];
        check(&look, &[12]);
    }

    #[test]
    fn the_model_is_reminded_of_what_came_to_nothing_twice() {
        let row = |calls: &[&str], want: Option<&[&str]>| {
            let mut trail = Trail::default();
            for call in calls {
                let (input, result) = call.split_once('=').unwrap();
                trail.step(input, &json!({}));
                trail.came(input, &json!({}), result);
            }
            assert_eq!(trail.repeats().as_deref(), want, "{calls:?}");
        };
        row(&["x=1"], None);
        row(&["x=1", "x=1"], Some(&["x"]));
        row(&["x=1", "x=2"], None);
        row(&["x=1", "x=2", "x=2"], Some(&["x"]));
        row(&["x=1", "x=1", "y=1"], None);
        row(&["x=1", "y=1", "x=1", "y=1"], Some(&["x", "y"]));
        row(&["x=1", "y=1", "x=2", "y=1"], None);
        row(&["x=1", "y=1", "z=1", "x=1", "y=1", "z=1"], Some(&["x", "y", "z"]));
    }

    #[test]
    fn the_trail_is_bounded() {
        let mut trail = Trail::default();
        for number in 0..1_000 {
            trail.step("read", &json!({ "a": number }));
        }
        assert_eq!(trail.calls.len(), LONGEST * POLLS);
    }

    #[test]
    fn after_a_yes_counting_begins_again() {
        check(&["x=1", "x=1", "x=1", "!", "x=1", "x=1", "x=1"], &[3, 7]);
    }
}
