//! Ids of calls: unique in an answer, also where the vendor gives none or the same one twice.

use std::collections::HashSet;

/// The ids of the calls of one answer.
pub(crate) struct Ids {
    /// How many answers came before this one; ids that are made up carry it.
    turn: usize,
    taken: HashSet<String>,
}

impl Ids {
    /// No id is taken in the answer number `turn`, from 1.
    pub(crate) fn new(turn: usize) -> Self {
        Self { turn, taken: HashSet::new() }
    }

    /// The id of the call number `number`, from 1, to which the vendor gave `given`, perhaps empty.
    pub(crate) fn take(&mut self, given: &str, number: usize) -> String {
        let given = match given {
            "" => format!("call_{}_{number}", self.turn),
            given => given.to_owned(),
        };
        let mut id = given.clone();
        let mut more = 1;
        while !self.taken.insert(id.clone()) {
            more += 1;
            id = format!("{given}_{more}");
        }
        id
    }
}

/// Whether [`Ids::take`] may have made up `id`: `call_` and two numbers, or three where it was taken.
pub(super) fn is_made_up(id: &str) -> bool {
    let Some(numbers) = id.strip_prefix("call_") else { return false };
    let mut count = 0;
    numbers.split('_').all(|number| {
        count += 1;
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    }) && matches!(count, 2 | 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_up_is_known_again() {
        let mut ids = Ids::new(3);
        for (given, number) in [("", 1), ("", 2), ("call_3_2", 3)] {
            assert!(is_made_up(&ids.take(given, number)));
        }
        for theirs in ["call_abc", "call_1", "call_1_", "call_1_2_3_4", "toolu_1_2", "call_1_x", ""] {
            assert!(!is_made_up(theirs), "{theirs}");
        }
    }
}
