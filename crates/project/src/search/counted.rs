//! Files that are counted, and a few of them named. Pure.

use super::best::Best;

/// How many files are named.
const MAX_NAMED: usize = 3;

/// Some files: how many, and the titles of a few.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SomeFiles {
    /// How many.
    pub count: usize,
    /// The first ones by title.
    pub titles: Vec<String>,
}

/// Counts files and remembers a few of their titles, always the same ones.
#[derive(Debug)]
pub(super) struct Counted {
    count: usize,
    titles: Best<String, ()>,
}

impl Default for Counted {
    fn default() -> Self {
        Self { count: 0, titles: Best::new(MAX_NAMED) }
    }
}

impl Counted {
    pub(super) fn add(&mut self, title: String) {
        self.count += 1;
        self.titles.add(title, 1, ());
    }

    /// Takes what `other` counted; no file is in both.
    pub(super) fn absorb(&mut self, other: Self) {
        self.count += other.count;
        self.titles.absorb(other.titles);
    }

    pub(super) fn into_files(self) -> SomeFiles {
        SomeFiles { count: self.count, titles: self.titles.into_ordered().map(|(title, ())| title).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_ones_named() {
        let (mut one, mut other) = (Counted::default(), Counted::default());
        ["d", "a"].into_iter().for_each(|title| one.add(title.to_owned()));
        ["c", "b"].into_iter().for_each(|title| other.add(title.to_owned()));
        one.absorb(other);
        assert_eq!(one.into_files(), SomeFiles { count: 4, titles: ["a", "b", "c"].map(str::to_owned).to_vec() });
    }
}
