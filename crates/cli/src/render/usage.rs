//! What a run used, in a line. Pure.

use std::time::Duration;

use haft_protocol::{CacheTokens, Session, Tokens};

/// What a session has used since it stood at `before` (tokens and dollars), and how long that took.
pub(super) fn used(before: Option<(Tokens, f64)>, now: Option<&Session>, took: Duration) -> String {
    let mut words = Vec::new();
    if let Some(session) = now {
        let (before, paid) = before.unwrap_or_default();
        let since = |count: fn(&Tokens) -> u64| count(&session.tokens).saturating_sub(count(&before));
        let cache = CacheTokens { read: since(|tokens| tokens.cache.read), write: since(|tokens| tokens.cache.write) };
        let tokens = Tokens {
            total: None,
            input: since(|tokens| tokens.input),
            output: since(|tokens| tokens.output),
            reasoning: since(|tokens| tokens.reasoning),
            cache,
        };
        words.extend(spent(&tokens, session.cost - paid));
    }
    words.push(format!("{:.1} s", took.as_secs_f64()));
    words.join(" · ")
}

/// What `tokens` are, and what they cost in dollars; nothing where that is not known.
pub(crate) fn spent(tokens: &Tokens, cost: f64) -> Vec<String> {
    let Tokens { total: _, input, output, reasoning, cache: CacheTokens { read, write } } = *tokens;
    let mut words = Vec::new();
    if input + output + reasoning + read + write > 0 {
        let parts = [(read, "cached"), (write, "put into the cache")];
        let parts =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{} {what}", grouped(*count)));
        let parts: Vec<String> = parts.collect();
        let cached = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        words.push(format!("{} tokens in{cached}, {} out", grouped(input + read + write), grouped(output + reasoning)));
    }
    if cost > 0.0 {
        words.push(format!("${cost:.4}"));
    }
    words
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(before: Option<(u64, f64)>, tokens: Option<(u64, u64, u64)>, cost: f64, want: &str) {
        let before = before.map(|(input, cost)| (Tokens { input, ..Tokens::default() }, cost));
        let session = tokens.map(|(input, output, read)| {
            let cache = CacheTokens { read, write: 0 };
            let tokens = Tokens { input, output, cache, ..Tokens::default() };
            serde_json::from_value::<Session>(json!({
                "id": "ses_000000000001AAAAAAAAAAAAAA", "slug": "s", "projectID": "p", "directory": "/", "title": "t",
                "version": "1", "time": {"created": 0, "updated": 0}, "tokens": tokens, "cost": cost,
            }))
            .unwrap()
        });
        assert_eq!(used(before, session.as_ref(), Duration::from_millis(1234)), want);
    }

    #[test]
    fn only_what_is_known_is_told() {
        check(None, None, 0.0, "1.2 s");
        check(None, Some((0, 0, 0)), 0.0, "1.2 s");
        check(None, Some((800, 50, 0)), 0.0, "800 tokens in, 50 out · 1.2 s");
        check(None, Some((800, 50, 1200)), 0.0096, "2,000 tokens in (1,200 cached), 50 out · $0.0096 · 1.2 s");
    }

    #[test]
    fn what_passed_the_cache_is_told_both_ways() {
        let cache = CacheTokens { read: 1_200, write: 300 };
        let tokens = Tokens { input: 500, output: 40, reasoning: 10, cache, total: None };
        assert_eq!(spent(&tokens, 0.5), ["2,000 tokens in (1,200 cached, 300 put into the cache), 50 out", "$0.5000"]);
        let written = Tokens { cache: CacheTokens { read: 0, write: 7 }, ..Tokens::default() };
        assert_eq!(spent(&written, 0.0), ["7 tokens in (7 put into the cache), 0 out"]);
        assert!(spent(&Tokens::default(), 0.0).is_empty());
    }

    #[test]
    fn what_was_used_before_is_not_counted_again() {
        check(Some((500, 0.01)), Some((800, 50, 0)), 0.015, "300 tokens in, 50 out · $0.0050 · 1.2 s");
    }

    #[test]
    fn thousands_are_apart() {
        let row = |number: u64, want: &str| assert_eq!(grouped(number), want);
        row(0, "0");
        row(999, "999");
        row(1000, "1,000");
        row(1_234_567, "1,234,567");
    }
}
