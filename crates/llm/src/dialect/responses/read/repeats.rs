//! Events that come twice.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Events that come twice, as a proxy that tries again may send them.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// The number of the last event, and what it says.
    last: Option<(u64, u64)>,
    /// Whether events are numbered at all: with some servers all have the same number.
    numbered: bool,
}

impl Repeats {
    /// Whether the event with this number, which says `data`, is the one before it again.
    pub(super) fn is_one(&mut self, number: Option<u64>, data: &str) -> bool {
        let Some(number) = number else { return false };
        let mut hasher = DefaultHasher::new();
        data.hash(&mut hasher);
        let this = (number, hasher.finish());
        let last = self.last.replace(this);
        self.numbered |= last.is_some_and(|(last, _)| last < number);
        self.numbered && last == Some(this)
    }
}
