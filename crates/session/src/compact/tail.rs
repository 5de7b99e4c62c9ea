//! Which of the last messages stay word for word. Pure.
//!
//! A message holds calls and their results together, so no border between messages parts them.

/// A message as a request shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Whether it is a prompt, and not an answer.
    pub prompt: bool,
    /// About how many tokens it takes; 0 where requests leave it out.
    pub size: u64,
}

/// What stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// How many messages from the end.
    pub count: usize,
    /// How many tokens they take.
    pub size: u64,
    /// How many of these are prompts that wait for an answer.
    pub waiting: u64,
}

/// How much of the end of a conversation stays: the prompts that nobody answered yet, whatever they take, then messages of
/// at most `turns` turns and `budget` tokens. `backwards` are the messages, the last one first.
pub(crate) fn kept(backwards: impl Iterator<Item = Piece>, turns: u64, budget: u64) -> Kept {
    let mut kept = Kept::default();
    let (mut waits, mut seen, mut left) = (true, 0, budget);
    for (at, Piece { prompt, size }) in backwards.enumerate() {
        waits &= prompt || size == 0;
        if waits {
            kept.waiting += size;
        } else if seen == turns || size > left {
            break;
        } else {
            left -= size;
            seen += u64::from(prompt);
        }
        kept = Kept { count: at + 1, size: kept.size + size, ..kept };
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `p5` is a prompt of 5 tokens, `a5` an answer; what is kept is told as its messages and tokens, those that wait
    /// among them.
    #[track_caller]
    fn check(messages: &str, turns: u64, budget: u64, want: (usize, u64, u64)) {
        let pieces = messages
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(|word| Piece { prompt: word.starts_with('p'), size: word[1..].parse().unwrap() });
        let got = kept(pieces.collect::<Vec<_>>().into_iter().rev(), turns, budget);
        assert_eq!((got.count, got.size, got.waiting), want, "{messages}: {turns} turns, {budget} tokens");
    }

    #[test]
    fn whole_turns_stay_while_they_fit() {
        check("p1 a1 p1 a1 p1 a1", 2, 100, (4, 4, 0));
        check("p1 a1 p1 a1 p1 a1", 9, 100, (6, 6, 0));
        check("p1 a1 p1 a1 p1 a1", 2, 3, (3, 3, 0));
        check("p1 a1", 0, 100, (0, 0, 0));
        check("", 2, 100, (0, 0, 0));
    }

    #[test]
    fn a_turn_that_is_too_large_is_parted_between_messages() {
        check("p9 a5 a5 a5 a5", 2, 11, (2, 10, 0));
        check("p9 a5 a5 a5 a50", 2, 11, (0, 0, 0));
    }

    #[test]
    fn prompts_that_wait_stay_whatever_they_take() {
        check("p1 a1 p500", 2, 10, (3, 502, 500));
        check("p1 a1 p500", 0, 10, (1, 500, 500));
        check("p1 a1 p5 p6", 1, 10, (4, 13, 11));
        // An answer that failed is none.
        check("p1 a9 p5 a0", 1, 5, (2, 5, 5));
        check("p5", 2, 10, (1, 5, 5));
    }
}
