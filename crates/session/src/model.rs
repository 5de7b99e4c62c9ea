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
    /// Which tools it is offered.
    pub toolset: Toolset,
    /// Whether it can call tools at all.
    pub calls_tools: bool,
}

impl Model {
    /// A model of which nothing but the way is known: no limits, no prices, all tools.
    pub fn new(reference: ModelRef, api_id: impl Into<String>, provider: Arc<dyn Provider>) -> Self {
        Self {
            reference,
            api_id: api_id.into(),
            provider,
            limits: Limits::default(),
            cost: None,
            extra: Map::new(),
            toolset: Toolset::Full,
            calls_tools: true,
        }
    }

    /// `vendor/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.reference.provider_id, self.reference.model_id)
    }
}

/// Which tools a model is offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Toolset {
    /// Those that suit it, as they are.
    #[default]
    Full,
    /// The few that no work on code can do without, in few words.
    Small,
}

impl Toolset {
    /// Contexts of fewer tokens than this are too small for all tools, which with the prompt take about 3,500 of them
    /// in each request; and models that have no more lose their way among many.
    const SMALL_CONTEXT: u64 = 40_000;

    /// The set for a model that the settings say `wanted` about (`None`: nothing), with room for `context` tokens (zero:
    /// not known); `local`: it runs on this machine.
    ///
    /// What runs here is mostly small, and a server that says nothing of its context often has a few thousand tokens.
    pub fn of(wanted: Option<Self>, context: u64, local: bool) -> Self {
        match (wanted, context, local) {
            (Some(wanted), ..) => wanted,
            (None, 0, true) => Self::Small,
            (None, 0, false) => Self::Full,
            (None, context, _) if context < Self::SMALL_CONTEXT => Self::Small,
            (None, ..) => Self::Full,
        }
    }
}

/// What a model can take, in tokens. Zero: not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Everything together.
    pub context: u64,
    /// What it may be sent, where that is less.
    pub input: u64,
    /// What it may write.
    pub output: u64,
}

impl Limits {
    /// Most tokens that one answer is asked for.
    const MAX_OUTPUT: u64 = 32_000;
    /// Fewest tokens that an answer is asked for, however full the context is by our count: with less a model cannot
    /// say what stands in its way.
    const MIN_OUTPUT: u64 = 1_024;

    /// How many tokens to ask for, or `None` to leave it to the vendor.
    pub fn ask_for(self) -> Option<u64> {
        (self.output > 0).then(|| self.output.min(Self::MAX_OUTPUT))
    }

    /// How many tokens to ask for behind a request of about `size` tokens: with it, no more than the context.
    pub fn ask_behind(self, size: u64) -> Option<u64> {
        let most = self.ask_for()?;
        let left = if self.context == 0 { most } else { self.context.saturating_sub(size) };
        Some(most.min(left.max(Self::MIN_OUTPUT)))
    }

    /// The limit that a request of about `size` tokens cannot keep, if it surely cannot.
    ///
    /// An estimate may be too high by a quarter, as for plain English prose; a vendor's refusal costs nothing, and one of
    /// ours that is wrong would cost the work.
    pub fn too_small_for(self, size: u64) -> Option<u64> {
        let read = [self.context, self.input].into_iter().filter(|limit| *limit > 0).min()?;
        (size > read.saturating_add(read / 4)).then_some(read)
    }
}

/// Prices in dollars for a million tokens.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cost {
    /// Read.
    pub input: f64,
    /// Written, reasoning too.
    pub output: f64,
    /// Read from the vendor's cache.
    pub cache_read: f64,
    /// Written to the vendor's cache.
    pub cache_write: f64,
    /// The prices of requests that read much, where they are others. Of those that hold, the one for the most counts.
    pub tiers: Vec<Tier>,
}

/// Prices of long requests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tier {
    /// They hold for requests that read more tokens than this, from a cache or not.
    pub above: u64,
    /// The prices.
    pub prices: Prices,
}

impl Tier {
    /// Where most vendors draw the line.
    pub const LONG: u64 = 200_000;
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
    /// What `tokens` of one request cost, in dollars, to a hundredth of a millionth.
    pub fn of(&self, tokens: &Tokens) -> f64 {
        let Self { input, output, cache_read, cache_write, ref tiers } = *self;
        let read = tokens.input.saturating_add(tokens.cache.read);
        let tier = tiers.iter().filter(|tier| read > tier.above).max_by_key(|tier| tier.above);
        let prices = tier.map_or(Prices { input, output, cache_read, cache_write }, |tier| tier.prices);
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
    fn check(tokens: Tokens, cost: &Cost, want: f64) {
        assert_eq!(cost.of(&tokens), want);
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let cache = |read, write| CacheTokens { read, write };
        let prices = Cost { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75, tiers: Vec::new() };
        check(Tokens { input: 800, output: 40, reasoning: 10, cache: cache(200, 0), total: None }, &prices, 0.00321);
        check(Tokens { input: 700, output: 50, reasoning: 0, cache: cache(200, 100), total: None }, &prices, 0.003_285);
        check(Tokens::default(), &prices, 0.0);
    }

    #[test]
    fn long_requests_have_prices_of_their_own() {
        let tier = |above, prices| Tier { above, prices };
        let long = Prices { input: 6.0, output: 22.5, cache_read: 0.6, cache_write: 7.5 };
        let prices =
            Cost { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75, tiers: vec![tier(Tier::LONG, long)] };
        let tokens = |input, read| Tokens {
            input,
            output: 1_000,
            reasoning: 0,
            cache: CacheTokens { read, write: 0 },
            total: None,
        };
        check(tokens(200_000, 0), &prices, 0.615);
        check(tokens(200_001, 0), &prices, 1.222_506);
        check(tokens(100_000, 100_001), &prices, 0.682_500_6);
        check(tokens(200_001, 0), &Cost { tiers: Vec::new(), ..prices.clone() }, 0.615_003);
        // The tier for the most counts, in whatever order they stand.
        let more = Prices { input: 60.0, ..long };
        let prices = Cost { tiers: vec![tier(250_000, more), tier(32_000, long)], ..prices };
        check(tokens(250_000, 0), &prices, 1.5225);
        check(tokens(250_001, 0), &prices, 15.022_56);
    }

    #[test]
    fn an_unknown_limit_is_left_to_the_vendor() {
        let output = |output| Limits { output, ..Limits::default() };
        assert_eq!(output(0).ask_for(), None);
        assert_eq!(output(8_000).ask_for(), Some(8_000));
        assert_eq!(output(128_000).ask_for(), Some(32_000));
        assert_eq!(output(8_000).ask_behind(u64::MAX), Some(8_000));
        assert_eq!(Limits { context: 100, ..output(0) }.ask_behind(50), None);
    }

    #[test]
    fn request_and_answer_fit_into_the_context() {
        let limits = |context, output| Limits { context, input: 0, output };
        let row = |limits: Limits, size, want| assert_eq!(limits.ask_behind(size), Some(want), "{limits:?} {size}");
        row(limits(200_000, 64_000), 100_000, 32_000);
        row(limits(200_000, 64_000), 168_000, 32_000);
        row(limits(200_000, 64_000), 168_001, 31_999);
        row(limits(200_000, 64_000), 199_900, 1_024);
        row(limits(200_000, 64_000), 900_000, 1_024);
        row(limits(8_192, 500), 8_000, 500);
    }

    #[test]
    fn what_surely_does_not_fit_is_known_before() {
        let row = |context, input, size, want: Option<u64>| {
            let limits = Limits { context, input, output: 1 };
            assert_eq!(limits.too_small_for(size), want, "{limits:?} {size}");
        };
        row(0, 0, u64::MAX, None);
        row(1_000, 0, 1_250, None);
        row(1_000, 0, 1_251, Some(1_000));
        row(1_000, 400, 501, Some(400));
        row(1_000, 400, 500, None);
        row(0, 400, 501, Some(400));
        row(u64::MAX, 0, u64::MAX, None);
    }

    #[test]
    fn who_gets_few_tools() {
        let row = |wanted, context, local, want| assert_eq!(Toolset::of(wanted, context, local), want, "{context}");
        row(None, 200_000, false, Toolset::Full);
        row(None, 0, false, Toolset::Full);
        row(None, 32_768, false, Toolset::Small);
        row(None, 40_000, false, Toolset::Full);
        row(None, 0, true, Toolset::Small);
        row(None, 131_072, true, Toolset::Full);
        row(Some(Toolset::Full), 8_192, true, Toolset::Full);
        row(Some(Toolset::Small), 200_000, false, Toolset::Small);
    }
}
