//! Ids of calls: unique in an answer, also where the vendor gives none or the same one twice.

use std::collections::HashSet;

/// The ids of the calls of one answer.
pub(super) struct Ids {
    /// How many answers came before this one; ids that are made up carry it.
    turn: usize,
    taken: HashSet<String>,
}

impl Ids {
    /// No id is taken in the answer number `turn`, from 1.
    pub(super) fn new(turn: usize) -> Self {
        Self { turn, taken: HashSet::new() }
    }

    /// The id of the call number `number`, from 1, to which the vendor gave `given`, perhaps empty.
    pub(super) fn take(&mut self, given: &str, number: usize) -> String {
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
