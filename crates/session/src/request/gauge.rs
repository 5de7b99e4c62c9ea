//! What a request turned out to take, which corrects the estimate of the next one. Pure.

/// The last request that a vendor counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gauge {
    /// How many tokens the request at work was estimated to take.
    asked: u64,
    /// The same of the last one that was counted, and what it took.
    counted: Option<(u64, u64)>,
}

impl Gauge {
    /// A request of about `estimate` tokens is sent.
    pub(crate) fn ask(&mut self, estimate: u64) {
        self.asked = estimate;
    }

    /// It took `tokens`, as its vendor says. Zero: it does not say.
    ///
    /// A count of less than half of the estimate is not believed: some servers count only what they did not have in
    /// their cache.
    pub(crate) fn took(&mut self, tokens: u64) {
        self.counted = (tokens.saturating_mul(2) >= self.asked && tokens > 0).then_some((self.asked, tokens));
    }

    /// About how many tokens a request takes that is estimated to take `estimate`: what the last one took, and what came
    /// since.
    pub(crate) fn read(&self, estimate: u64) -> u64 {
        self.counted.map_or(estimate, |(asked, took)| took.saturating_add(estimate).saturating_sub(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_corrects_what_comes_after_it() {
        // What was estimated, what it took, the next estimate, and what is made of it.
        for (asked, took, next, want) in [
            (1_000, 800, 1_100, 900),
            (1_000, 1_500, 1_100, 1_600),
            (1_000, 500, 1_100, 600),
            (1_000, 499, 1_100, 1_100),
            (1_000, 0, 1_100, 1_100),
            (0, 0, 1_100, 1_100),
            (1_000, 800, 100, 0),
        ] {
            let mut gauge = Gauge::default();
            gauge.ask(asked);
            gauge.took(took);
            assert_eq!(gauge.read(next), want, "{asked} {took} {next}");
        }
    }
}
