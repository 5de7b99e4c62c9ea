//! Whether a failed request is worth another try, and after what wait. Pure: chance and time come from the caller.

use std::time::{Duration, SystemTime};

use crate::LlmError;

/// Most retries of one request: six requests in all.
pub const MAX_RETRIES: u32 = 5;

/// The wait before the first retry. Each further one is twice as long.
const FIRST: Duration = Duration::from_secs(2);

/// Longest wait where nobody answered.
const UNANSWERED: Duration = Duration::from_secs(30);

/// Longest wait of all. Who is asked to wait for longer had better come back another day.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// How long one step waits for its retries in all, where nothing else is said. Who is asked to wait for longer is better
/// told so at once.
pub const MAX_WAITED: Duration = Duration::from_secs(60 * 60);

/// Most that chance adds to a wait, as a share of it, so that many who failed together do not come back together.
const SPREAD: f64 = 0.25;

/// What the other side said about when to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// It did not answer at all.
    Unanswered,
    /// It answered and named no time.
    NoTime,
    /// It named this time.
    Wait(Duration),
}

impl LlmError {
    /// How long to wait before trying again, or `None` if trying cannot help or was tried often enough.
    ///
    /// `attempt` counts retries from 1; behind [`MAX_RETRIES`] there are none. `chance` is a random number from 0 to 1.
    /// A time that the vendor named holds exactly, up to a day; else the wait is 2 s, doubled with each attempt, plus up
    /// to a quarter by `chance`; at most 30 s where nobody answered.
    pub fn retry_after(&self, attempt: u32, chance: f64) -> Option<Duration> {
        let asked = self.passing().filter(|_| (1..=MAX_RETRIES).contains(&attempt))?;
        Some(wait(attempt, asked, chance))
    }

    /// Whether the same request may work later.
    pub fn is_passing(&self) -> bool {
        self.passing().is_some()
    }

    fn passing(&self) -> Option<Asked> {
        match self {
            LlmError::RateLimited { after, .. } => Some(after.map_or(Asked::NoTime, Asked::Wait)),
            LlmError::Server { status, after, .. } => Some(match (after, status) {
                (Some(after), _) => Asked::Wait(*after),
                (None, Some(_)) => Asked::NoTime,
                (None, None) => Asked::Unanswered,
            }),
            LlmError::Transport { .. } | LlmError::TimedOut { .. } | LlmError::CutOff { .. } => Some(Asked::Unanswered),
            LlmError::TooLong { .. }
            | LlmError::Unauthorized { .. }
            | LlmError::Quota { .. }
            | LlmError::Rejected { .. }
            | LlmError::Unreachable { .. }
            | LlmError::Malformed { .. }
            | LlmError::Script(_) => None,
        }
    }
}

/// The wait before retry number `attempt`, which counts from 1, to a millisecond; see [`LlmError::retry_after`].
pub fn wait(attempt: u32, asked: Asked, chance: f64) -> Duration {
    let longest = match asked {
        Asked::Wait(time) => return time.min(MAX_WAIT),
        Asked::NoTime => MAX_WAIT,
        Asked::Unanswered => UNANSWERED,
    };
    // Beyond 2^16 every wait is longer than the longest.
    let doubled = FIRST * 2_u32.pow(attempt.saturating_sub(1).min(16));
    let spread = if chance.is_finite() { chance.clamp(0.0, 1.0) * SPREAD } else { 0.0 };
    let milliseconds = (doubled.mul_f64(1.0 + spread).as_secs_f64() * 1000.0).ceil();
    Duration::from_secs_f64(milliseconds / 1000.0).min(longest)
}

/// What the headers of an answer, by their names in lower case, ask to wait: `retry-after-ms` in milliseconds, else
/// `retry-after` in seconds or as a date. Of a list the first number counts. What cannot be read is skipped, a date
/// that has passed names no time, less than nothing is nothing, and more than a day is a day.
pub fn after<'a>(header: impl Fn(&str) -> Option<&'a str>, now: SystemTime) -> Option<Duration> {
    let text = |name| header(name).map(str::trim);
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(MAX_WAIT).min(MAX_WAIT);
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Some(seconds(milliseconds / 1000.0));
    }
    let text = text("retry-after")?;
    if let Some(number) = number(text) {
        return Some(seconds(number));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    date.duration_since(now).ok().filter(|wait| !wait.is_zero()).map(|wait| wait.min(MAX_WAIT))
}

/// When, by the headers of an answer that says "too often", the limit that was reached is lifted: what many vendors send
/// with every answer, and some of them without `retry-after`. Of the limits that have nothing left the longest counts;
/// more than a day is a day.
///
/// Known are the headers of OpenAI and those who follow it (`x-ratelimit-remaining-tokens`, `x-ratelimit-reset-tokens`:
/// `6m0s`), of Anthropic (`anthropic-ratelimit-tokens-reset`: a time of RFC 3339), of OpenRouter and GitHub
/// (`x-ratelimit-reset`: milliseconds or seconds since 1970), and of the draft of a standard (`ratelimit-reset`: seconds).
pub fn reset<'a>(header: impl Fn(&str) -> Option<&'a str>, now: SystemTime) -> Option<Duration> {
    const PAIRS: [(&str, &str); 9] = [
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        ("x-ratelimit-remaining-input-tokens", "x-ratelimit-reset-input-tokens"),
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
        ("ratelimit-remaining", "ratelimit-reset"),
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
        ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
        ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
        ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ];
    let lifted = |(left, reset): (&str, &str)| {
        let used_up = header(left).and_then(number).is_some_and(|left| left <= 0.0);
        used_up.then(|| moment(header(reset)?.trim(), now)).flatten()
    };
    PAIRS.into_iter().filter_map(lifted).max().map(|wait| wait.min(MAX_WAIT))
}

/// How long it is from `now` to what `text` names: a span such as `1m30.5s`, a date, or a number.
fn moment(text: &str, now: SystemTime) -> Option<Duration> {
    if let Some(span) = span(text) {
        return Some(span);
    }
    let since_1970 = |since: Duration| (SystemTime::UNIX_EPOCH.checked_add(since)?).duration_since(now).ok();
    match text.parse::<f64>() {
        // More than thirty years cannot be a wait.
        Ok(seconds) if seconds < 1e9 => Duration::try_from_secs_f64(seconds).ok(),
        Ok(seconds) if seconds < 1e12 => since_1970(Duration::try_from_secs_f64(seconds).ok()?),
        Ok(milliseconds) => since_1970(Duration::try_from_secs_f64(milliseconds / 1000.0).ok()?),
        Err(_) => {
            let date =
                aws_smithy_types::DateTime::from_str(text, aws_smithy_types::date_time::Format::DateTime).ok()?;
            SystemTime::try_from(date).ok()?.duration_since(now).ok()
        }
    }
}

/// A span of numbers with units, `h`, `m`, `s` and `ms`, the larger ones first, such as `6m0s` and `120ms`.
pub(crate) fn span(text: &str) -> Option<Duration> {
    let (mut rest, mut whole) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !matches!(letter, '0'..='9' | '.'))?;
        let amount: f64 = rest[..end].parse().ok()?;
        let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
        let (name, unit) = units.into_iter().find(|(name, _)| rest[end..].starts_with(name))?;
        whole += amount * unit;
        rest = &rest[end + name.len()..];
    }
    Duration::try_from_secs_f64(whole).ok().filter(|_| !text.is_empty())
}

/// The number that `text` begins with.
fn number(text: &str) -> Option<f64> {
    let end = text.find(|letter: char| !matches!(letter, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailKind, Failing};

    fn error(kind: FailKind, status: Option<u16>, after_ms: Option<u64>) -> LlmError {
        Failing { kind, message: "why".to_owned(), status, after_ms }.into_error("v", "m")
    }

    #[track_caller]
    fn check(error: &LlmError, attempt: u32, chance: f64, want_ms: impl Into<Option<u64>>) {
        let got = error.retry_after(attempt, chance).map(|wait| wait.as_millis() as u64);
        assert_eq!(got, want_ms.into(), "{error}, attempt {attempt}");
    }

    #[test]
    fn waits_double_and_spread() {
        let broken = error(FailKind::Transport, None, None);
        for (attempt, want) in [(1, 2_000), (2, 4_000), (3, 8_000), (4, 16_000), (5, 30_000)] {
            check(&broken, attempt, 0.0, want);
        }
        check(&broken, 1, 0.5, 2_250);
        check(&broken, 1, 1.0, 2_500);
        check(&broken, 5, 1.0, 30_000);
        // Whatever a caller takes for chance, a wait stays one.
        check(&broken, 1, 7.0, 2_500);
        check(&broken, 1, f64::NAN, 2_000);
        // A server that answers is up; it decides itself how long that is to last.
        check(&error(FailKind::Server, Some(503), None), 5, 0.0, 32_000);
    }

    #[test]
    fn a_named_time_holds_exactly() {
        check(&error(FailKind::RateLimited, None, Some(12)), 3, 1.0, 12);
        check(&error(FailKind::RateLimited, None, Some(120_000)), 1, 1.0, 120_000);
        check(&error(FailKind::Server, Some(529), Some(0)), 1, 1.0, 0);
        check(&error(FailKind::Server, Some(529), Some(u64::MAX)), 1, 0.0, 24 * 3_600_000);
    }

    #[test]
    fn there_is_an_end_to_it() {
        let limited = error(FailKind::RateLimited, None, Some(1));
        check(&limited, 0, 0.0, None);
        check(&limited, MAX_RETRIES, 0.0, 1);
        check(&limited, MAX_RETRIES + 1, 0.0, None);
        assert_eq!(wait(u32::MAX, Asked::NoTime, 1.0), MAX_WAIT);
    }

    #[test]
    fn only_what_passes_is_tried_again() {
        let row = |kind, want| {
            assert_eq!(error(kind, None, None).is_passing(), want, "{kind}");
            assert_eq!(error(kind, None, None).retry_after(1, 0.0).is_some(), want, "{kind}");
        };
        row(FailKind::RateLimited, true);
        row(FailKind::Server, true);
        row(FailKind::Transport, true);
        row(FailKind::CutOff, true);
        row(FailKind::TooLong, false);
        row(FailKind::Unauthorized, false);
        row(FailKind::Quota, false);
        row(FailKind::Rejected, false);
        row(FailKind::Malformed, false);
        assert!(!LlmError::Script("the end".to_owned()).is_passing());
    }

    #[test]
    fn times_are_read_from_headers() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let row = |headers: &[(&str, &'static str)], want: Option<u64>| {
            let header = |wanted: &str| headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
            let got = after(header, now).map(|wait| wait.as_micros() as u64);
            assert_eq!(got, want);
        };
        row(&[], None);
        row(&[("retry-after-ms", "1500"), ("retry-after", "7")], Some(1_500_000));
        row(&[("retry-after-ms", "12.5")], Some(12_500));
        row(&[("retry-after-ms", "abc"), ("retry-after", "3")], Some(3_000_000));
        row(&[("retry-after", "-3")], Some(0));
        row(&[("retry-after", "soon")], None);
        row(&[("retry-after", "NaN")], None);
        row(&[("retry-after", "inf")], None);
        row(&[("retry-after", "5, 10")], Some(5_000_000));
        row(&[("retry-after", "99999999")], Some(24 * 3600 * 1_000_000));
        row(&[("retry-after", "Tue, 14 Nov 2023 22:13:30 GMT")], Some(10_000_000));
        row(&[("retry-after", "Tue, 14 Nov 2023 22:13:10 GMT")], None);
    }

    #[test]
    fn a_limit_that_is_used_up_says_when_it_is_lifted() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let row = |headers: &[(&str, &'static str)], want: Option<u64>| {
            let header = |wanted: &str| headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
            assert_eq!(reset(header, now).map(|wait| wait.as_millis() as u64), want, "{headers:?}");
        };
        const REQUESTS: (&str, &str) = ("x-ratelimit-remaining-requests", "0");
        row(&[REQUESTS, ("x-ratelimit-reset-requests", "1s")], Some(1_000));
        row(&[REQUESTS, ("x-ratelimit-reset-requests", "6m0.5s")], Some(360_500));
        row(&[REQUESTS, ("x-ratelimit-reset-requests", "120ms")], Some(120));
        row(&[REQUESTS, ("x-ratelimit-reset-requests", "1h2m3s")], Some(3_723_000));
        row(&[REQUESTS, ("x-ratelimit-reset-requests", "999h")], Some(24 * 3_600_000));
        row(&[REQUESTS, ("x-ratelimit-reset-requests", "soon")], None);
        row(&[REQUESTS, ("x-ratelimit-reset-requests", "")], None);
        row(&[REQUESTS], None);
        // What is not used up was not the reason.
        row(&[("x-ratelimit-remaining-requests", "3"), ("x-ratelimit-reset-requests", "1s")], None);
        row(&[("x-ratelimit-reset-requests", "1s")], None);
        row(
            &[
                REQUESTS,
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "7.66s"),
            ],
            Some(7_660),
        );
        row(
            &[
                ("anthropic-ratelimit-tokens-remaining", "0"),
                ("anthropic-ratelimit-tokens-reset", "2023-11-14T22:13:30Z"),
            ],
            Some(10_000),
        );
        row(
            &[
                ("anthropic-ratelimit-tokens-remaining", "0"),
                ("anthropic-ratelimit-tokens-reset", "2023-11-14T22:13:10Z"),
            ],
            None,
        );
        row(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000005000")], Some(5_000));
        row(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000005")], Some(5_000));
        row(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "5")], Some(5_000));
        row(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "-5")], None);
    }
}
