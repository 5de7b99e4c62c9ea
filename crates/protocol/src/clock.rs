//! Where times and ids come from.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::id::{Id, compose, tick};

/// A clock that also makes ids. Cheap to clone; clones share one sequence.
///
/// The scripted kind makes two equal runs write equal records.
#[derive(Debug, Clone)]
pub struct Clock {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    source: Source,
    last_tick: u64,
    chance: fastrand::Rng,
}

#[derive(Debug)]
enum Source {
    System,
    /// The next reading; each one is a millisecond later.
    Scripted(u64),
}

impl Clock {
    /// The machine's own time, and ids nobody can guess the next of.
    pub fn system() -> Self {
        Self::new(Source::System, fastrand::Rng::new())
    }

    /// Starts at `start_ms` (Unix milliseconds) and moves one millisecond each time it is read.
    pub fn scripted(start_ms: u64) -> Self {
        Self::new(Source::Scripted(start_ms), fastrand::Rng::with_seed(start_ms))
    }

    fn new(source: Source, chance: fastrand::Rng) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { source, last_tick: 0, chance })) }
    }

    /// Milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> u64 {
        self.lock().now_ms()
    }

    /// A new id, greater than every one this clock made before (smaller for kinds that sort newest first).
    pub fn mint<T: Id>(&self) -> T {
        let mut inner = self.lock();
        let now = inner.now_ms();
        // Greater than the last one also when the machine's clock was set back.
        let tick = (now << 12 | 1).max(inner.last_tick + 1);
        inner.last_tick = tick;
        let text = compose::<T>(tick, || inner.chance.usize(..62));
        match T::parse(&text) {
            Ok(id) => id,
            Err(bad) => unreachable!("a made id is well formed: {bad}"),
        }
    }

    /// Makes every id from now on greater than `id`, also where this clock is behind the one that made it: a machine's
    /// that was set back, a scripted one that starts over. Ids that are not of our own form change nothing.
    pub fn follow(&self, id: &impl Id) {
        if let Some(tick) = tick(id) {
            let mut inner = self.lock();
            inner.last_tick = inner.last_tick.max(tick);
        }
    }

    /// A random number from 0 up to, and without, 1; the same ones from equal scripted clocks.
    pub fn chance(&self) -> f64 {
        self.lock().chance.f64()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // Nothing in here can be left half done, so a panic elsewhere does no harm to it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn now_ms(&mut self) -> u64 {
        match &mut self.source {
            Source::System => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            }
            Source::Scripted(next) => {
                *next += 1;
                *next - 1
            }
        }
    }
}

/// The day of the calendar that is `days` after the first of January 1970: year, month and day.
pub fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from the first of March of the year 0, so that the leap day is the last one of a year.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageId, SessionId};

    #[test]
    fn equal_scripted_clocks_make_equal_ids() {
        let (a, b) = (Clock::scripted(1_800_000_000_000), Clock::scripted(1_800_000_000_000));
        assert_eq!(a.mint::<SessionId>(), b.mint::<SessionId>());
        assert_eq!(a.now_ms(), b.now_ms());
        assert_eq!(a.mint::<MessageId>(), b.mint::<MessageId>());
        assert_eq!(a.chance(), b.chance());
    }

    #[test]
    fn ids_follow_those_of_another_clock() {
        let (late, early) = (Clock::scripted(1_800_000_000_000), Clock::scripted(1));
        let before: MessageId = late.mint();
        early.follow(&before);
        assert!(early.mint::<MessageId>() > before);
        // What is not of our form, or far in the future, does no harm.
        for foreign in ["msg_1ffc32100001BtrqBV2TsgVo01", "msg_my-own", "msg_hfffffffffffffffx", "msg_hfffffffffffffff"]
        {
            early.follow(&MessageId::parse(foreign).unwrap());
            assert!(early.mint::<MessageId>() > before, "{foreign}");
        }
    }

    #[test]
    fn ids_made_in_one_millisecond_still_sort() {
        let clock = Clock::system();
        let ids: Vec<MessageId> = (0..10_000).map(|_| clock.mint()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
