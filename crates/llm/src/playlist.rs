//! Which answer is played next.

use std::sync::{Mutex, PoisonError};

use crate::Purpose;
use crate::answer::{Answer, Beat};

/// The order of a list of answers, and how far each place in it has been tried. Answers of each [`Purpose`] have an order
/// of their own.
///
/// The history of a request says which *place* in the conversation is asked for: the count of answers in it. So a
/// session that was killed, and goes on in another process, goes on at the right place. An answer that fails leaves
/// nothing in a history; it and the one behind it are tries at the same place.
#[derive(Debug)]
pub struct Playlist {
    order: Vec<(Purpose, Order)>,
}

/// The answers of one purpose.
#[derive(Debug)]
struct Order {
    /// For each place, the number of the answer that is next. It stays at the last one, which did not fail.
    next: Mutex<Vec<usize>>,
    /// For each place, the numbers of its answers.
    tries: Vec<Vec<usize>>,
}

impl Playlist {
    /// The order of `answers`, of which nothing has been played.
    pub fn new(answers: &[Answer]) -> Self {
        let order = Purpose::ALL.map(|purpose| {
            let own: Vec<usize> = (0..answers.len()).filter(|&at| answers[at].purpose == purpose).collect();
            let mut tries = vec![Vec::new()];
            for at in own {
                if let Some(place) = tries.last_mut() {
                    place.push(at);
                }
                if !fails(&answers[at]) {
                    tries.push(Vec::new());
                }
            }
            tries.retain(|place| !place.is_empty());
            (purpose, Order { next: Mutex::new(vec![0; tries.len()]), tries })
        });
        Self { order: order.into() }
    }

    /// How many places there are for `purpose`.
    pub fn places(&self, purpose: Purpose) -> usize {
        self.of(purpose).map_or(0, |order| order.tries.len())
    }

    /// The number, from 0, of the answer to a request for `purpose` with `answered` answers in its history. `None`
    /// behind the last place.
    pub fn next(&self, purpose: Purpose, answered: usize) -> Option<usize> {
        let order = self.of(purpose)?;
        let tries = order.tries.get(answered)?;
        let mut next = order.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = next.get_mut(answered)?;
        let number = tries.get(*at).copied();
        *at = (*at + 1).min(tries.len() - 1);
        number
    }

    fn of(&self, purpose: Purpose) -> Option<&Order> {
        self.order.iter().find(|(one, _)| *one == purpose).map(|(_, order)| order)
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
        let answer = |letter: char| match letter {
            '!' => Answer::new([Step::Fail(Failing::new(FailKind::Server, ""))]),
            'A'..='Z' => Answer::new([Step::text(letter)]).serving(Purpose::Title),
            letter => Answer::new([Step::text(letter)]),
        };
        let list = Playlist::new(&answers.chars().map(answer).collect::<Vec<_>>());
        let letter = |at: Option<usize>| at.and_then(|at| answers.chars().nth(at)).unwrap_or('-');
        let got: String = asked.iter().map(|place| letter(list.next(Purpose::Step, *place))).collect();
        assert_eq!(got, want, "places {asked:?}");
    }

    #[test]
    fn each_purpose_has_an_order_of_its_own() {
        check("aXbYc", &[0, 1, 2, 3], "abc-");
        let list = Playlist::new(&[Answer::new([]), Answer::new([]).serving(Purpose::Title)]);
        assert_eq!((list.next(Purpose::Title, 0), list.next(Purpose::Title, 1)), (Some(1), None));
        assert_eq!((list.places(Purpose::Title), list.places(Purpose::Compaction)), (1, 0));
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
