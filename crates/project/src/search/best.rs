//! The first few of very many, in order, however they come. Pure.

use std::collections::BTreeMap;

/// Keeps what comes first by its key, as much as makes up a given weight, and forgets the rest at once.
#[derive(Debug)]
pub(super) struct Best<K, V> {
    max: usize,
    held: usize,
    kept: BTreeMap<K, (usize, V)>,
}

impl<K: Ord, V> Best<K, V> {
    /// Keeps the first ones whose weights together reach `max`.
    pub(super) fn new(max: usize) -> Self {
        Self { max, held: 0, kept: BTreeMap::new() }
    }

    /// Takes `value`, whose key no other has. What has no weight is not kept.
    pub(super) fn add(&mut self, key: K, weight: usize, value: V) {
        if weight == 0 {
            return;
        }
        self.held += weight;
        self.kept.insert(key, (weight, value));
        while let Some(last) = self.kept.last_entry() {
            let weight = last.get().0;
            // The one that crosses the limit stays: the rest is full without what comes after it.
            if self.held - weight < self.max {
                break;
            }
            self.held -= weight;
            last.remove();
        }
    }

    /// Whether there is nothing for what `is_behind` says of the last one that is kept: enough comes before it.
    pub(super) fn is_past(&self, is_behind: impl Fn(&K) -> bool) -> bool {
        self.held >= self.max && self.kept.last_key_value().is_none_or(|(last, _)| is_behind(last))
    }

    /// Takes what `other` kept.
    pub(super) fn absorb(&mut self, other: Self) {
        for (key, (weight, value)) in other.kept {
            self.add(key, weight, value);
        }
    }

    /// What was kept, in order.
    pub(super) fn into_ordered(self) -> impl Iterator<Item = (K, V)> {
        self.kept.into_iter().map(|(key, (_, value))| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(max: usize, come: &[(u32, usize)], want: &[u32]) {
        let run = |come: &mut dyn Iterator<Item = &(u32, usize)>| {
            let mut best = Best::new(max);
            for (key, weight) in come {
                best.add(*key, *weight, ());
            }
            best.into_ordered().map(|(key, ())| key).collect::<Vec<_>>()
        };
        let halves = |at: usize| {
            let mut best = Best::new(max);
            for half in [&come[..at], &come[at..]] {
                let mut own = Best::new(max);
                half.iter().for_each(|(key, weight)| own.add(*key, *weight, ()));
                best.absorb(own);
            }
            best.into_ordered().map(|(key, ())| key).collect::<Vec<_>>()
        };
        (0..=come.len()).for_each(|at| assert_eq!(halves(at), want, "in two parts, cut at {at}"));
        assert_eq!(run(&mut come.iter()), want);
        assert_eq!(run(&mut come.iter().rev()), want, "the other way round");
    }

    #[test]
    fn the_first_ones_are_kept_however_they_come() {
        check(2, &[(3, 1), (1, 1), (2, 1)], &[1, 2]);
        check(5, &[(2, 1), (1, 1)], &[1, 2]);
        check(0, &[(1, 1)], &[]);
        check(3, &[], &[]);
    }

    #[test]
    fn what_comes_behind_enough_others_is_not_even_looked_at() {
        let past = |max: usize, kept: &[u32], key: u32| {
            let mut best = Best::new(max);
            kept.iter().for_each(|key| best.add(*key, 1, ()));
            best.is_past(|last| key > *last)
        };
        assert!(past(2, &[1, 3], 4));
        assert!(!past(2, &[1, 3], 3) && !past(2, &[1, 3], 2));
        assert!(!past(3, &[1, 3], 4));
        assert!(past(0, &[], 1));
    }

    #[test]
    fn weights_count_and_the_one_that_crosses_the_limit_stays() {
        check(10, &[(1, 4), (2, 4), (3, 4), (4, 1)], &[1, 2, 3]);
        check(10, &[(1, 10), (2, 1)], &[1]);
        check(10, &[(1, 100), (2, 100)], &[1]);
        check(10, &[(1, 9), (2, 0), (3, 1), (4, 1)], &[1, 3]);
    }
}
