//! What a run used, in a line. Pure.

use std::time::Duration;

use haft_protocol::{Session, Tokens};

/// What a session has used since it stood at `before` (tokens and dollars), and how long that took.
pub(super) fn used(before: Option<(Tokens, f64)>, now: Option<&Session>, took: Duration) -> String {
    let mut words = Vec::new();
    if let Some(session) = now {
        let (before, paid) = before.unwrap_or_default();
        let since = |count: fn(&Tokens) -> u64| count(&session.tokens).saturating_sub(count(&before));
        let read = since(|tokens| tokens.input + tokens.cache.read + tokens.cache.write);
        let cached = since(|tokens| tokens.cache.read);
        let written = since(|tokens| tokens.output + tokens.reasoning);
        if read + written > 0 {
            let cached = if cached > 0 { format!(" ({} cached)", grouped(cached)) } else { String::new() };
            words.push(format!("{} tokens in{cached}, {} out", grouped(read), grouped(written)));
        }
        if session.cost > paid {
            words.push(format!("${:.4}", session.cost - paid));
        }
    }
    words.push(format!("{:.1} s", took.as_secs_f64()));
    words.join(" · ")
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
    use haft_protocol::CacheTokens;
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
