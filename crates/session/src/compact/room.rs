//! How much a conversation may take before it is made shorter. Pure.

use crate::Limits;

/// How a long session is made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// By itself, when the next request would be too long.
    pub auto: bool,
    /// Old tool outputs are left out of requests before anything is summed up.
    pub prune: bool,
    /// How many of the last turns stay word for word; 2 where left out.
    pub tail_turns: Option<u64>,
    /// How many tokens these may take; a quarter of what there is room for, from 2,000 to 8,000, where left out.
    pub preserve_recent_tokens: Option<u64>,
    /// How many tokens are kept free for the answer; as many as it may have where left out.
    pub reserved: Option<u64>,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { auto: true, prune: true, tail_turns: None, preserve_recent_tokens: None, reserved: None }
    }
}

impl Compaction {
    /// Turns that stay word for word where nothing is said.
    const TAIL_TURNS: u64 = 2;
    /// Fewest and most tokens that they take where nothing is said.
    const TAIL: (u64, u64) = (2_000, 8_000);

    /// How many of the last turns stay word for word.
    pub(crate) fn turns(&self) -> u64 {
        self.tail_turns.unwrap_or(Self::TAIL_TURNS)
    }

    /// How many tokens these may take of a conversation that takes `now`, where there is room for `usable`.
    pub(crate) fn tail(&self, usable: Option<u64>, now: u64) -> u64 {
        let (least, most) = Self::TAIL;
        let usual = usable.map_or(most, |usable| (usable / 4).clamp(least, most));
        // With as much again for the summary, half of it is gone.
        self.preserve_recent_tokens.unwrap_or(usual).min(now / 4)
    }
}

/// Most tokens that are kept free where a vendor says how much it may be sent.
const RESERVED: u64 = 20_000;

/// How many tokens a request to a model with `limits` may take before the conversation is made shorter. `None`: nobody
/// knows.
///
/// Where vendors name an answer as long as all they read, a quarter is kept free for it: the answer is asked to be
/// shorter then.
pub(crate) fn usable(limits: Limits, settings: &Compaction) -> Option<u64> {
    let answer = limits.ask_for().unwrap_or(RESERVED);
    let (all, keep) = match (limits.context, limits.input) {
        (0, 0) => return None,
        (context, 0) => (context, answer),
        (_, input) => (input, answer.min(RESERVED)),
    };
    let keep = match settings.reserved {
        Some(reserved) => reserved.min(all - all / 10),
        None => keep.min(all / 4),
    };
    Some(all - keep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usable_leaves_room_for_the_answer() {
        let row = |context, input, output, reserved, want: Option<u64>| {
            let settings = Compaction { reserved, ..Compaction::default() };
            let limits = Limits { context, input, output };
            assert_eq!(usable(limits, &settings), want, "{limits:?} {reserved:?}");
        };
        row(0, 0, 8_000, None, None);
        row(200_000, 0, 64_000, None, Some(168_000));
        row(200_000, 0, 8_000, None, Some(192_000));
        row(200_000, 0, 0, None, Some(180_000));
        row(400_000, 272_000, 128_000, None, Some(252_000));
        row(400_000, 272_000, 8_000, None, Some(264_000));
        row(0, 100_000, 8_000, None, Some(92_000));
        row(8_000, 0, 8_000, None, Some(6_000));
        row(200_000, 0, 64_000, Some(50_000), Some(150_000));
        row(400_000, 272_000, 128_000, Some(0), Some(272_000));
        row(10_000, 0, 4_000, Some(u64::MAX), Some(1_000));
        row(1, 0, 1, None, Some(1));
    }

    #[test]
    fn the_tail_is_a_quarter_within_bounds() {
        let row = |preserve_recent_tokens, usable, now, want| {
            let settings = Compaction { preserve_recent_tokens, ..Compaction::default() };
            assert_eq!(settings.tail(usable, now), want);
        };
        row(None, Some(168_000), 170_000, 8_000);
        row(None, Some(12_000), 12_000, 3_000);
        row(None, Some(6_000), 20_000, 2_000);
        row(None, Some(6_000), 6_000, 1_500);
        row(None, None, 100_000, 8_000);
        row(Some(20_000), Some(168_000), 168_000, 20_000);
        row(Some(90_000), Some(168_000), 168_000, 42_000);
        row(Some(0), Some(168_000), 168_000, 0);
    }
}
