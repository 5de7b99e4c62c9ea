//! How long one request waits for what: each silence has a limit, and the whole may have one.

use tokio::time::{Duration, Instant, timeout_at};

use crate::LlmError;
use crate::server::{Deadlines, Limit};

/// The limits of one request, and when it began.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    provider: String,
    deadlines: Deadlines,
    began: Instant,
}

impl Patience {
    /// A request to `provider` that begins now.
    pub(crate) fn begin(provider: &str, deadlines: Deadlines) -> Self {
        Self { provider: provider.to_owned(), deadlines, began: Instant::now() }
    }

    /// Waits for `work`, at most as long after `since` as `limit` allows, and not beyond the limit of the whole.
    ///
    /// # Errors
    ///
    /// [`LlmError::TimedOut`], which names the limit.
    pub(crate) async fn wait<T>(
        &self,
        limit: Limit,
        since: Instant,
        work: impl Future<Output = T>,
    ) -> Result<T, LlmError> {
        let Some((end, limit, after)) = self.end(limit, since) else { return Ok(work.await) };
        let provider = || self.provider.clone();
        timeout_at(end, work).await.map_err(|_| LlmError::TimedOut { provider: provider(), limit, after })
    }

    /// Which limit holds for the silence before the first words, once the answer has begun: the shorter one.
    pub(crate) fn first(&self) -> Limit {
        match (self.deadlines.first_byte, self.deadlines.idle) {
            (Some(first), Some(idle)) if first < idle => Limit::FirstByte,
            (Some(_), None) => Limit::FirstByte,
            (Some(_) | None, Some(_)) | (None, None) => Limit::Idle,
        }
    }

    /// The error that a connection which took too long to open is.
    pub(crate) fn unconnected(&self) -> LlmError {
        let Self { provider, deadlines, .. } = self;
        LlmError::TimedOut { provider: provider.clone(), limit: Limit::Connect, after: deadlines.connect }
    }

    /// The limit that ends first, and when.
    fn end(&self, limit: Limit, since: Instant) -> Option<(Instant, Limit, Duration)> {
        let Deadlines { connect, first_byte, idle, whole } = self.deadlines;
        let length = match limit {
            Limit::Connect => Some(connect),
            Limit::FirstByte => first_byte,
            Limit::Idle => idle,
            Limit::Whole => whole,
        };
        let ends = [(since, limit, length), (self.began, Limit::Whole, whole)];
        let ends =
            ends.into_iter().filter_map(|(from, limit, length)| Some((from.checked_add(length?)?, limit, length?)));
        ends.min_by_key(|(end, ..)| *end)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// What comes of waiting for ever, and after how many milliseconds.
    async fn check(deadlines: Deadlines, limit: Limit, want: Option<(Limit, u64)>) {
        let began = Instant::now();
        let patience = Patience::begin("v", deadlines);
        let waited = timeout_at(began + Duration::from_secs(9), patience.wait(limit, began, pending::<()>())).await;
        let got = match waited {
            Err(_) => None,
            Ok(Ok(())) => panic!("it never ends"),
            Ok(Err(LlmError::TimedOut { limit, after, .. })) => {
                assert_eq!(began.elapsed(), after);
                Some((limit, u64::try_from(after.as_millis()).unwrap()))
            }
            Ok(Err(other)) => panic!("{other}"),
        };
        assert_eq!(got, want, "{deadlines:?} {limit:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_that_ends_first_is_named() {
        let ms = Duration::from_millis;
        let all = Deadlines { connect: ms(10), first_byte: Some(ms(20)), idle: Some(ms(30)), whole: None };
        check(all, Limit::FirstByte, Some((Limit::FirstByte, 20))).await;
        check(all, Limit::Idle, Some((Limit::Idle, 30))).await;
        check(all, Limit::Connect, Some((Limit::Connect, 10))).await;
        let whole = Deadlines { whole: Some(ms(25)), ..all };
        check(whole, Limit::FirstByte, Some((Limit::FirstByte, 20))).await;
        check(whole, Limit::Idle, Some((Limit::Whole, 25))).await;
        let none = Deadlines { first_byte: None, idle: None, ..all };
        check(none, Limit::FirstByte, None).await;
        check(none, Limit::Idle, None).await;
        check(Deadlines { idle: Some(Duration::MAX), ..all }, Limit::Idle, None).await;
    }

    #[test]
    fn before_the_first_words_the_shorter_limit_holds() {
        let row = |first: Option<u64>, idle: Option<u64>, want: Limit| {
            let [first_byte, idle] = [first, idle].map(|limit| limit.map(Duration::from_secs));
            let patience = Patience::begin("v", Deadlines { first_byte, idle, ..Deadlines::default() });
            assert_eq!(patience.first(), want, "{first_byte:?} {idle:?}");
        };
        row(Some(1), Some(2), Limit::FirstByte);
        row(Some(2), Some(1), Limit::Idle);
        row(Some(1), Some(1), Limit::Idle);
        row(Some(1), None, Limit::FirstByte);
        row(None, Some(1), Limit::Idle);
        row(None, None, Limit::Idle);
    }
}
