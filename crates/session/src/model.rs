//! The model a session talks to.

use std::sync::Arc;

use haft_llm::{Provider, Usage};
use haft_protocol::{CacheTokens, ModelRef, Tokens};
use serde_json::{Map, Value};

/// A model, and the way to it.
#[derive(Clone)]
pub struct Model {
    /// What messages keep: the vendor's and the model's name as the user knows them.
    pub reference: ModelRef,
    /// What the vendor calls it.
    pub api_id: String,
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// What it can take.
    pub limits: Limits,
    /// What it costs, if that is known.
    pub cost: Option<Cost>,
    /// Further fields of each request.
    pub extra: Map<String, Value>,
}

/// What a model can take, in tokens. Zero: not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Everything together.
    pub context: u64,
    /// What it may write.
    pub output: u64,
}

impl Limits {
    /// Most tokens that one answer is asked for.
    const MAX_OUTPUT: u64 = 32_000;

    /// How many tokens to ask for, or `None` to leave it to the vendor.
    pub fn ask_for(self) -> Option<u64> {
        (self.output > 0).then(|| self.output.min(Self::MAX_OUTPUT))
    }
}

/// Prices in dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Read.
    pub input: f64,
    /// Written, reasoning too.
    pub output: f64,
    /// Read from the vendor's cache.
    pub cache_read: f64,
    /// Written to the vendor's cache.
    pub cache_write: f64,
    /// The prices of a request that reads more than 200,000 tokens, where they are others.
    pub long: Option<Prices>,
}

/// Prices in dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prices {
    /// Read.
    pub input: f64,
    /// Written, reasoning too.
    pub output: f64,
    /// Read from the vendor's cache.
    pub cache_read: f64,
    /// Written to the vendor's cache.
    pub cache_write: f64,
}

impl Cost {
    /// Requests that read more tokens than this, from a cache or not, are long ones.
    const LONG: u64 = 200_000;

    /// What `tokens` of one request cost, in dollars, to a hundredth of a millionth.
    pub fn of(&self, tokens: &Tokens) -> f64 {
        let Self { input, output, cache_read, cache_write, long } = *self;
        let is_long = tokens.input.saturating_add(tokens.cache.read) > Self::LONG;
        let prices = long.filter(|_| is_long).unwrap_or(Prices { input, output, cache_read, cache_write });
        #[expect(clippy::cast_precision_loss, reason = "no answer has 2^53 tokens")]
        let price = |count: u64, each: f64| count as f64 * each;
        let millionths = price(tokens.input, prices.input)
            + price(tokens.output.saturating_add(tokens.reasoning), prices.output)
            + price(tokens.cache.read, prices.cache_read)
            + price(tokens.cache.write, prices.cache_write);
        (millionths * 100.0).round() / 100_000_000.0
    }
}

/// The tokens of an answer in the words of messages.
pub(crate) fn tokens(usage: &Usage) -> Tokens {
    Tokens {
        total: usage.total,
        input: usage.input,
        output: usage.output,
        reasoning: usage.reasoning,
        cache: CacheTokens { read: usage.cache_read, write: usage.cache_write },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tokens: Tokens, cost: Cost, want: f64) {
        assert_eq!(cost.of(&tokens), want);
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let cache = |read, write| CacheTokens { read, write };
        let prices = Cost { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75, long: None };
        check(Tokens { input: 800, output: 40, reasoning: 10, cache: cache(200, 0), total: None }, prices, 0.00321);
        check(Tokens { input: 700, output: 50, reasoning: 0, cache: cache(200, 100), total: None }, prices, 0.003_285);
        check(Tokens::default(), prices, 0.0);
    }

    #[test]
    fn long_requests_have_prices_of_their_own() {
        let long = Prices { input: 6.0, output: 22.5, cache_read: 0.6, cache_write: 7.5 };
        let prices = Cost { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75, long: Some(long) };
        let tokens = |input, read| Tokens {
            input,
            output: 1_000,
            reasoning: 0,
            cache: CacheTokens { read, write: 0 },
            total: None,
        };
        check(tokens(200_000, 0), prices, 0.615);
        check(tokens(200_001, 0), prices, 1.222_506);
        check(tokens(100_000, 100_001), prices, 0.682_500_6);
        check(tokens(200_001, 0), Cost { long: None, ..prices }, 0.615_003);
    }

    #[test]
    fn an_unknown_limit_is_left_to_the_vendor() {
        assert_eq!(Limits { context: 0, output: 0 }.ask_for(), None);
        assert_eq!(Limits { context: 0, output: 8_000 }.ask_for(), Some(8_000));
        assert_eq!(Limits { context: 0, output: 128_000 }.ask_for(), Some(32_000));
    }
}
