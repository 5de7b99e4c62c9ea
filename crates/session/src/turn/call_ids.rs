//! Ids of calls, of which no two are the same in a request. Pure.

use std::collections::HashMap;

/// The ids of the calls so far. Those of other vendors, or of servers that count anew in each answer, may come again,
/// and vendors refuse a conversation in which two calls have one id.
#[derive(Default)]
pub(crate) struct Ids {
    /// By what is left of them where least is, with the number that the next one like it gets.
    taken: HashMap<String, u32>,
    /// Those that were taken since [`Ids::settle`], each with the one that it is like and the number that had then.
    new: Vec<(String, String, Option<u32>)>,
}

impl Ids {
    /// The id for a call that the model called `id`.
    pub(crate) fn take(&mut self, id: &str) -> String {
        // No vendor takes an empty one.
        let id = if id.is_empty() { "call" } else { id };
        let least = least(id);
        let before = self.taken.get(&least).copied();
        let mut number = before.unwrap_or(1);
        let mut name = id.to_owned();
        while self.taken.contains_key(&self::least(&name)) {
            number += 1;
            // In front, where it is left.
            name = format!("c{number}_{id}");
        }
        if let Some(next) = self.taken.get_mut(&least) {
            *next = number;
        }
        let own = self::least(&name);
        self.taken.insert(own.clone(), 1);
        self.new.push((own, least, before));
        name
    }

    /// What was taken stays so.
    pub(crate) fn settle(&mut self) {
        self.new.clear();
    }

    /// Forgets what was taken since it was settled.
    pub(crate) fn forget(&mut self) {
        for (own, least, before) in self.new.drain(..).rev() {
            self.taken.remove(&own);
            if let Some(before) = before {
                self.taken.insert(least, before);
            }
        }
    }
}

/// What is left of an id at the vendor that takes least of it: Mistral wants nine letters and digits. Ids that differ in
/// these differ everywhere.
fn least(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).chain(std::iter::repeat('0')).take(9).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_calls_have_one_id() {
        let mut ids = Ids::default();
        let mut row = |id: &str, want: &str| assert_eq!(ids.take(id), want);
        row("a", "a");
        row("a", "c2_a");
        row("a", "c3_a");
        row("c3_a", "c2_c3_a");
        row("", "call");
        // What is the same to one vendor.
        row("a.", "c4_a.");
        row("toolu_01AbCd", "toolu_01AbCd");
        row("toolu_01AbEf", "c2_toolu_01AbEf");
        ids.settle();
        assert_eq!(ids.take("b"), "b");
        ids.forget();
        assert_eq!((ids.take("b"), ids.take("a")), ("b".to_owned(), "c5_a".to_owned()));
        // As if it had never been: what is projected again is the same.
        ids.forget();
        assert_eq!((ids.take("a"), ids.take("a")), ("c5_a".to_owned(), "c6_a".to_owned()));
    }
}
