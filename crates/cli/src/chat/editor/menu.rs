//! The list of ways to go on. Pure.

use super::{Candidate, Completion};

/// Most candidates that are shown at once.
pub(super) const MAX_ROWS: usize = 8;

/// A list with one candidate chosen.
// Invariant: there is a candidate, and `chosen` is the place of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Menu {
    completion: Completion,
    chosen: usize,
    /// How often the text was changed when it was true of it.
    version: u64,
}

impl Menu {
    /// The list of `completion`, if there is anything in it.
    pub(super) fn new(completion: Completion, version: u64) -> Option<Self> {
        (!completion.candidates.is_empty()).then_some(Self { completion, chosen: 0, version })
    }

    /// Whether it is about a text that was changed so often.
    pub(super) fn is_of(&self, version: u64) -> bool {
        self.version == version
    }

    pub(super) fn completion(&self) -> &Completion {
        &self.completion
    }

    pub(super) fn chosen(&self) -> Option<&Candidate> {
        self.completion.candidates.get(self.chosen)
    }

    /// Chooses the next one; from the last the first.
    pub(super) fn next(&mut self) {
        self.chosen = (self.chosen + 1) % self.completion.candidates.len().max(1);
    }

    pub(super) fn previous(&mut self) {
        let all = self.completion.candidates.len().max(1);
        self.chosen = (self.chosen + all - 1) % all;
    }

    /// The candidates that are shown in so many rows, each with whether it is the chosen one, and how many are not shown.
    pub(super) fn shown(&self, rows: usize) -> (impl Iterator<Item = (&Candidate, bool)>, usize) {
        let rows = rows.clamp(1, MAX_ROWS);
        let all = self.completion.candidates.len();
        let first = self.chosen.saturating_sub(rows / 2).min(all.saturating_sub(rows));
        let some = self.completion.candidates.iter().enumerate().skip(first).take(rows);
        (some.map(|(at, candidate)| (candidate, at == self.chosen)), all.saturating_sub(rows))
    }
}

/// What all candidates begin with, if that goes on from `typed`.
pub(super) fn common(completion: &Completion, typed: &str) -> Option<String> {
    let mut all = completion.candidates.iter().map(|candidate| candidate.insert.as_str());
    let first = all.next()?;
    let mut length = first.len();
    for other in all {
        let same = first.chars().zip(other.chars()).take_while(|(one, other)| one == other);
        length = length.min(same.map(|(c, _)| c.len_utf8()).sum());
    }
    let common = &first[..length];
    (common.len() > typed.len() && common.starts_with(typed)).then(|| common.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::editor::Then;

    fn completion(words: &[&str]) -> Completion {
        let candidate = |word: &&str| Candidate {
            insert: (*word).to_owned(),
            label: String::new(),
            help: String::new(),
            then: Then::Space,
        };
        Completion { range: 0..0, candidates: words.iter().map(candidate).collect() }
    }

    #[test]
    fn the_chosen_one_is_always_shown() {
        let words: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut menu = Menu::new(completion(&words), 0).unwrap();
        for _ in 0..45 {
            for rows in [1, 3, 100] {
                let (shown, left) = menu.shown(rows);
                let shown: Vec<_> = shown.collect();
                assert_eq!(shown.iter().filter(|(_, chosen)| *chosen).count(), 1);
                assert_eq!(shown.len() + left, 20);
            }
            menu.next();
        }
        menu.previous();
        assert_eq!(menu.chosen().unwrap().insert, "4");
        assert_eq!(Menu::new(Completion::default(), 0), None);
    }

    #[test]
    fn what_is_common_goes_on_from_what_is_typed() {
        let check = |words: &[&str], typed: &str, want: Option<&str>| {
            assert_eq!(common(&completion(words), typed).as_deref(), want, "{words:?}");
        };
        check(&["src/main.rs", "src/map.rs"], "s", Some("src/ma"));
        check(&["src/main.rs", "lib/main.rs"], "", None);
        check(&["äé", "äè"], "", Some("ä"));
        check(&["abc"], "abc", None);
        check(&["a.rs"], "main", None);
        check(&[], "", None);
    }
}
