//! What stands below an answer, and what a session is. Pure.

use std::time::Duration;

use haft_protocol::{CacheTokens, Tokens};

use crate::render::spent;

/// A turn that is over.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    pub agent: String,
    pub model: String,
    pub took: Duration,
    pub tokens: Tokens,
    /// In dollars.
    pub cost: f64,
    pub window: Window,
}

/// How much of what a model reads at once is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// Tokens of the latest answer and all that led to it.
    pub used: u64,
    /// What the model reads at most; 0 where that is not known.
    pub most: u64,
}

impl Window {
    /// How much of a model's window of `most` tokens an answer that took `tokens` fills.
    pub(super) fn of(tokens: &Tokens, most: u64) -> Self {
        let CacheTokens { read, write } = tokens.cache;
        Self { used: tokens.input + read + write + tokens.output + tokens.reasoning, most }
    }

    /// In words, where it is known.
    pub(super) fn words(self) -> Option<String> {
        if self.used == 0 || self.most == 0 {
            return None;
        }
        Some(match self.used.saturating_mul(100) / self.most {
            0 => "under 1% of context".to_owned(),
            percent => format!("{percent}% of context"),
        })
    }
}

/// The line below an answer.
pub(super) fn line(turn: &Turn) -> String {
    let mut words = vec![turn.agent.clone(), turn.model.clone(), took(turn.took)];
    words.extend(spent(&turn.tokens, 0.0));
    words.extend(turn.window.words());
    words.extend(spent(&Tokens::default(), turn.cost));
    words.join(" · ")
}

/// What `now` is more than `before`.
pub(super) fn since(before: &Tokens, now: &Tokens) -> Tokens {
    let less = |count: fn(&Tokens) -> u64| count(now).saturating_sub(count(before));
    Tokens {
        total: None,
        input: less(|tokens| tokens.input),
        output: less(|tokens| tokens.output),
        reasoning: less(|tokens| tokens.reasoning),
        cache: CacheTokens { read: less(|tokens| tokens.cache.read), write: less(|tokens| tokens.cache.write) },
    }
}

fn took(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(turn: &Turn, want: &str) {
        assert_eq!(line(turn), want);
    }

    fn turn() -> Turn {
        Turn {
            agent: "build".to_owned(),
            model: "v/m".to_owned(),
            took: Duration::from_millis(1234),
            ..Turn::default()
        }
    }

    #[test]
    fn only_what_is_known_is_told() {
        check(&turn(), "build · v/m · 1.2 s");
        let tokens = Tokens { input: 800, output: 50, ..Tokens::default() };
        check(
            &Turn { tokens, took: Duration::from_secs(75), ..turn() },
            "build · v/m · 1 min 15 s · 800 tokens in, 50 out",
        );
        let window = Window::of(&tokens, 10_000);
        check(
            &Turn { tokens, window, cost: 0.5, ..turn() },
            "build · v/m · 1.2 s · 800 tokens in, 50 out · 8% of context · $0.5000",
        );
    }

    #[test]
    fn a_window_is_told_where_both_its_sides_are_known() {
        let row = |used: u64, most: u64, want: Option<&str>| {
            assert_eq!(Window { used, most }.words().as_deref(), want);
        };
        row(0, 100, None);
        row(100, 0, None);
        row(1, 1000, Some("under 1% of context"));
        row(500, 1000, Some("50% of context"));
        row(1500, 1000, Some("150% of context"));
    }

    #[test]
    fn a_turn_is_what_the_session_has_more_than_before() {
        let cache = CacheTokens { read: 10, write: 0 };
        let before = Tokens { input: 5, ..Tokens::default() };
        let now = Tokens { input: 7, output: 3, cache, ..Tokens::default() };
        assert_eq!(since(&before, &now), Tokens { input: 2, output: 3, cache, ..Tokens::default() });
        assert_eq!(since(&now, &before), Tokens::default());
    }
}
