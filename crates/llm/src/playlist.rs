//! Which answer is played next.

use std::sync::{Mutex, PoisonError};

use crate::answer::{Answer, Beat};

/// The order of a list of answers, and how far each place in it has been tried.
///
/// The history of a request says which *place* in the conversation is asked for: the count of answers in it. So a
/// session that was killed, and goes on in another process, goes on at the right place. An answer that fails leaves
/// nothing in a history; it and the one behind it are tries at the same place.
#[derive(Debug)]
pub struct Playlist {
    /// For each place, the number of the answer that is next. It stays at the last one, which did not fail.
    next: Mutex<Vec<usize>>,
    /// For each place, the number of its last answer.
    last: Vec<usize>,
}

impl Playlist {
    /// The order of `answers`, of which nothing has been played.
    pub fn new(answers: &[Answer]) -> Self {
        let (mut next, mut last) = (Vec::new(), Vec::new());
        let mut begin = 0;
        for (at, answer) in answers.iter().enumerate() {
            if !fails(answer) || at + 1 == answers.len() {
                next.push(begin);
                last.push(at);
                begin = at + 1;
            }
        }
        Self { next: Mutex::new(next), last }
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.last.len()
    }

    /// The number, from 0, of the answer to a request with `answered` answers in its history. `None` behind the last
    /// place.
    pub fn next(&self, answered: usize) -> Option<usize> {
        let last = *self.last.get(answered)?;
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = next[answered];
        next[answered] = last.min(at + 1);
        Some(at)
    }
}

fn fails(answer: &Answer) -> bool {
    matches!(answer.beats.last(), Some(Beat::Fail(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{FailKind, Failing, Step};

    /// Plays the places in `asked` from answers that are words or, where they are `!`, failures.
    #[track_caller]
    fn check(answers: &str, asked: &[usize], want: &str) {
        let answer = |letter| match letter {
            '!' => Answer::new([Step::Fail(Failing::new(FailKind::Server, ""))]),
            letter => Answer::new([Step::text(letter)]),
        };
        let list = Playlist::new(&answers.chars().map(answer).collect::<Vec<_>>());
        let letter = |at: Option<usize>| at.and_then(|at| answers.chars().nth(at)).unwrap_or('-');
        let got: String = asked.iter().map(|place| letter(list.next(*place))).collect();
        assert_eq!(got, want, "places {asked:?}");
    }

    #[test]
    fn the_count_of_answers_is_the_place() {
        check("abc", &[0, 1, 2, 3], "abc-");
        check("abc", &[2], "c");
        check("abc", &[1, 1, 0], "bba");
        check("", &[0], "-");
    }

    #[test]
    fn a_failure_is_a_try_at_the_place_of_the_next_answer() {
        check("!!ab", &[0, 0, 0, 0, 1], "!!aab");
        check("a!b", &[0, 1, 1, 1, 2], "a!bb-");
        check("!!ab", &[1], "b");
        check("a!", &[0, 1, 1], "a!!");
    }
}
